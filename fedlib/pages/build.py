"""Builds the site without the internet and without a kernel: `python -m fedlib.pages.build _site` (make site)."""

import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import nbformat

from ..files import ROOT
from . import pieces, report_table, source, thumbnails

NEEDED = "sphinx", "myst_nb", "sphinx_book_theme", "mathjax"  # the extra `site`


def lay_out(folder: Path) -> None:
    """Everything that Sphinx reads: the site's own pages, docs, notebooks as pages, figures, pieces, MathJax."""
    shutil.copytree(ROOT / "docs/site", folder, dirs_exist_ok=True)
    for name in ("cluster.md", "latency.md", "notation.md", "own_data.md", "teaching.md"):
        words = (ROOT / "docs" / name).read_text(encoding="utf-8").replace("](../notebooks/", "](notebooks/")
        words = re.sub(r"\[([^]]+)\]\((\.\./(tests|experiments)/[^)]+|machines\.md)\)", r"`\1`", words)
        words = words.replace("](notebooks/solutions)", "](notebooks/solutions/01_pendulum.ipynb)")
        (folder / name).write_text(words, encoding="utf-8")
    for path in sorted([*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "notebooks/solutions").glob("*.ipynb")]):
        made = source.page(nbformat.read(path, 4), path.stem if path.parent.name == "notebooks" else "")
        there = folder / path.relative_to(ROOT)
        there.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(made, there)
    copy_pictures(folder)
    for path in (ROOT / "figures").glob("*/paper/result.json"):
        (there := folder / "_stored" / path.relative_to(ROOT)).parent.mkdir(parents=True)
        shutil.copy(path, there)
    (folder / "_pieces").mkdir()
    for name, html in written().items():
        (folder / "_pieces" / f"{name}.html").write_text(html, encoding="utf-8")
    (folder / "_static").mkdir(exist_ok=True)
    shutil.copy(mathjax() / "es5/tex-svg.js", folder / "_static")
    shutil.copy(mathjax() / "LICENSE", folder / "_static/MATHJAX_LICENSE")


def written() -> dict[str, str]:
    """What the pages include: the pieces that move, the report, and the notebooks by their pictures."""
    return {f"explorer_{name}": pieces.explorer(name) for name in pieces.EXPLORERS} | {
        "gallery": thumbnails.gallery(),
        "training": pieces.fragment("training", pieces.Training),
        "operator": pieces.fragment("operator", pieces.Operator, {"weights": pieces.weights()}),
        "report": report_table.html(),
    }


def copy_pictures(folder: Path) -> None:
    """The committed pictures that notebooks and pages show."""
    for path in [*folder.rglob("*.ipynb"), *folder.glob("*.md")]:
        for name in re.findall(r"\.\./(figures/[\w/-]+\.png)", path.read_text(encoding="utf-8")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def mathjax() -> Path:
    """Where pip put MathJax: a package for Django, which is not needed."""
    return Path(find_spec("mathjax").submodule_search_locations[0]) / "static/mathjax"


def main(out: Path) -> int:
    """Build into a new folder and put it in the place of the old one when all went well; the exit status."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        sys.exit(f"{', '.join(missing)} not installed here; `make site` makes an environment with it")
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        lay_out(work / "source")
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-d", str(work / "trees")]
        status = subprocess.run([*command, str(work / "source"), str(work / "html")]).returncode
        if not status:
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(work / "html", out)
            print(f"written: {out}/index.html; or `python -m http.server -d {out}`")
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
