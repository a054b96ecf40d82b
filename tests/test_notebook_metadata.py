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

from fedlib.notebook.profiles import NOTEBOOKS

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


PAPERS = {"01": "10.3390/a15090325", "05": "arxiv.org/abs/2410.13141", "08": "arxiv.org/abs/2506.08169"}


@pytest.mark.parametrize(("number", "link"), PAPERS.items())
def test_a_notebook_links_to_its_paper(number, link):
    (path,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    assert link in path.read_text()
