"""Opening a notebook in JupyterLab must not mark it as changed.

When a kernel connects, JupyterLab writes its kernelspec and its language_info into the notebook; the notebook counts as
changed unless both are there already, word by word.
"""

import re

import nbformat
import pytest
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelspec import get_kernel_dict
from nbformat.v4 import nbformat_minor

from fedlib.pages import citations
from fedlib.trainings.settings import NOTEBOOKS

PATHS = sorted([*NOTEBOOKS.glob("*.ipynb"), *NOTEBOOKS.glob("solutions/*.ipynb")])
SPEC = {"name": "python3"} | {key: get_kernel_dict()[key] for key in ("display_name", "language")}


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_metadata_is_what_jupyterlab_would_write(path):
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, nbformat_minor)  # an older one is converted on opening
    assert notebook.metadata.kernelspec == SPEC
    assert version_of(notebook)
    assert dict(notebook.metadata.language_info) == IPythonKernel.language_info | {"version": version_of(notebook)}


def version_of(notebook):
    """That of the Python which ran ``make facts``: under another one JupyterLab still rewrites this line."""
    return notebook.metadata.language_info["version"]


def test_one_python_wrote_all_notebooks():
    assert len({version_of(nbformat.read(path, 4)) for path in PATHS}) == 1


def test_links_of_the_start_page_lead_somewhere():
    links = re.findall(r"\]\(([^)]+\.ipynb)\)", (NOTEBOOKS / "START.md").read_text())
    assert len(links) > 10 and not [link for link in links if not (NOTEBOOKS / link).exists()]


PAPERS = {
    "fed-deeponet": ["01", "02", "03"], "fedsciml": ["04", "05", "06", "07"], "fedstnn": ["08", "08b", "09"],
}  # fmt: skip


@pytest.mark.parametrize(("paper", "numbers"), PAPERS.items())
def test_a_notebook_links_to_its_paper(paper, numbers):
    """By an address that CITATION.cff has."""
    addresses = re.findall(r'href="([^"]+)"', citations.links()[paper])
    for number in numbers:
        (path,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
        assert any(address in path.read_text() for address in addresses), number


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_who_names_a_preprint_links_to_it(path):
    words = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"]
    for name, number in re.findall(r"(arXiv[ :](\d{4}\.\d{5}))", "\n".join(words)):
        assert f"[{name}](https://arxiv.org/abs/{number})" in "\n".join(words), name


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_code_needs_no_name_that_ipython_alone_has(path):
    """As a script (nbconvert --to script) it would end there."""
    code = "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")
    assert not re.search(r"^\s*(display|get_ipython)\(", code, re.M), "say pages.display(...)"
