"""Opening a notebook in JupyterLab must not mark it as changed.

When a kernel connects, JupyterLab writes its kernelspec and its language_info into the notebook; the notebook counts as
changed unless both are there already, word by word.
"""

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
