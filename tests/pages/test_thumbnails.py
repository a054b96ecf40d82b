"""The gallery leads to every notebook; links to the papers are those of CITATION.cff."""

import re

from fedlib.pages import citations, thumbnails
from fedlib.trainings.settings import NOTEBOOKS


def test_the_gallery_leads_to_every_notebook():
    html = thumbnails.gallery()
    names = re.findall(r'href="notebooks/(.+?)\.html"', html)
    assert names == sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    assert html.count("data:image/png") == len(names) and len(html) < 19_000 * len(names)


def test_every_paper_has_its_links():
    links = citations.links()
    assert "https://doi.org/10.3390/a15090325" in links["fed-deeponet"]
    assert "https://arxiv.org/abs/2506.08169" in links["fedstnn"] and "href" not in links["feddro"]
    assert all(link in citations.lines() for link in links.values())
