"""Small pictures are those of the committed figures; links to the papers are those of CITATION.cff."""

import re

from PIL import Image, ImageChops, ImageStat

from fedlib.files import ROOT
from fedlib.pages import citations, thumbnails
from fedlib.pages.app import PAGES
from fedlib.trainings.settings import NOTEBOOKS


def test_the_apps_thumbnails_show_the_committed_figures():
    """`python -m fedlib.pages.thumbnails` draws them anew."""
    assert thumbnails.PAPERS.keys() == PAGES.keys()
    for name, figure in thumbnails.PAPERS.items():
        with (
            Image.open(thumbnails.STATIC / f"{name}.png") as small,
            Image.open(ROOT / f"figures/{figure}.png") as large,
        ):
            difference = ImageChops.difference(small.convert("RGB"), large.convert("RGB").resize(small.size))
        assert max(ImageStat.Stat(difference).mean) < 8, name


def test_the_gallery_leads_to_every_notebook():
    html = thumbnails.gallery()
    names = re.findall(r'href="notebooks/(.+?)\.html"', html)
    assert names == sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    assert html.count("data:image/png") == len(names) and len(html) < 18_000 * len(names)


def test_every_page_of_the_app_has_its_papers_links():
    links = citations.links()
    assert links.keys() == PAGES.keys()
    assert "https://doi.org/10.3390/a15090325" in links["fed-deeponet"]
    assert "https://arxiv.org/abs/2506.08169" in links["fedstnn"] and "href" not in links["feddro"]
    assert all(link in citations.lines() for link in links.values())
