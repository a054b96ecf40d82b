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


def test_metadata_is_what_jupyterlab_would_write():
    """With one Python's version: under another one than that which ran ``make facts`` JupyterLab rewrites this line."""
    versions = set()
    for path in PATHS:
        notebook = nbformat.read(path, nbformat.NO_CONVERT)
        assert (notebook.nbformat, notebook.nbformat_minor) == (4, nbformat_minor), f"{path.stem}: converted on opening"
        assert notebook.metadata.kernelspec == SPEC, path.stem
        about = dict(notebook.metadata.language_info)
        versions.add(about["version"])
        assert about == IPythonKernel.language_info | {"version": about["version"]}, path.stem
    assert len(versions) == 1


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


def test_who_names_a_preprint_links_to_it_and_code_needs_no_name_that_ipython_alone_has():
    """As a script (nbconvert --to script) it would end there."""
    for path in PATHS:
        cells = nbformat.read(path, 4).cells
        words, code = ("\n".join(c.source for c in cells if c.cell_type == kind) for kind in ("markdown", "code"))
        for name, number in re.findall(r"(arXiv[ :](\d{4}\.\d{5}))", words):
            assert f"[{name}](https://arxiv.org/abs/{number})" in words, f"{path.stem}: {name}"
        assert not re.search(r"^\s*(display|get_ipython)\(", code, re.M), f"{path.stem}: say pages.display(...)"
