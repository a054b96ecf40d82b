"""Builds the site without the internet and without a kernel: `python -m fedlib.pages.build _site` (make site)."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import nbformat

from ..files import ROOT, from_git
from ..live.training import Training
from ..trainings.environment import git
from ..trainings.settings import NOTEBOOKS
from . import pieces, report_table, source, thumbnails

NEEDED = "sphinx", "myst_nb", "sphinx_book_theme", "mathjax"  # the extra `site`


def lay_out(folder: Path) -> None:
    """The pages that Sphinx reads: the site's own, docs, notebooks; their figures, and what pages show of them."""
    shutil.copytree(ROOT / "docs/site", folder, dirs_exist_ok=True)
    for path in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/site").rglob("*.md")]:
        (folder / place(path)).write_text(relinked(path.read_text(encoding="utf-8"), path), encoding="utf-8")
    for path in published():
        made = source.page(nbformat.read(path, 4), path.stem if path.parent.name == "notebooks" else "")
        for cell in made.cells:
            if cell.cell_type == "markdown":
                cell.source = relinked(cell.source, path)
        (folder / place(path)).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(made, folder / place(path))
    copy_pictures(folder)
    for path in (ROOT / "figures").glob("*/result.json"):
        (copy := folder / "_stored" / path.relative_to(ROOT)).parent.mkdir(parents=True)
        shutil.copy(path, copy)


def lay_out_pieces(folder: Path) -> None:
    """What pages include and load: the pieces that move, the report, the pictures of notebooks, MathJax."""
    (folder / "_pieces").mkdir()
    for name, html in written().items():
        (folder / "_pieces" / f"{name}.html").write_text(html, encoding="utf-8")
    (folder / "_static").mkdir(exist_ok=True)
    shutil.copy(mathjax() / "es5/tex-svg.js", folder / "_static")
    shutil.copy(mathjax() / "LICENSE", folder / "_static/MATHJAX_LICENSE")


def written() -> dict[str, str]:
    """Names and HTML of what pages include."""
    return {f"explorer_{name}": pieces.explorer(name) for name in pieces.notebooks()} | {
        "gallery": thumbnails.gallery(),
        "training": pieces.fragment("training", Training._esm),
        "report": report_table.html(),
    }


def published() -> list[Path]:
    """The notebooks and solutions that git tracks, so that nobody's draft is published; all without a repository."""
    paths = sorted([*NOTEBOOKS.glob("*.ipynb"), *NOTEBOOKS.glob("solutions/*.ipynb")])
    listed = git("ls-files", "-z", "notebooks").split("\0")  # -z: names with umlauts and blanks as they are
    return [path for path in paths if path.relative_to(ROOT).as_posix() in listed] if any(listed) else paths


def place(path: Path) -> Path | None:
    """Where a file or folder of the repository stands on the site, if it does."""
    name = path.resolve().relative_to(ROOT).as_posix()
    if name in ("docs/site/lessons", "notebooks/solutions"):
        return Path(f"{path.name}.md")
    if re.fullmatch(r"docs/.*\.md", name):
        return Path(name.removeprefix("docs/").removeprefix("site/"))
    return Path(name) if re.fullmatch(r"notebooks/.*\.ipynb|figures/.*\.png", name) else None


def relinked(text: str, path: Path) -> str:
    """Markdown of a file for that file's place on the site: links lead there, too; of those to what is not on the site
    only the words stay. What leads nowhere in the repository (a formula may look like a link) stays as it is."""

    def moved(link: str) -> str | None:
        target = place(path.parent / link)
        return target and Path(os.path.relpath(target, place(path).parent)).as_posix()

    def words(match: re.Match) -> str:
        if not (path.parent / match[2]).exists():
            return match[0]
        return f"[{match[1]}]({link}{match[3] or ''})" if (link := moved(match[2])) else match[1]

    text = re.sub(r"\[([^]]*)\]\(([^)#:]+)(#[^)]*)?\)", words, text)
    return re.sub(r'(?<=<img src=")[^":]+', lambda match: moved(match[0]), text)


def copy_pictures(folder: Path) -> None:
    """The committed pictures that notebooks and pages show."""
    for path in [*folder.rglob("*.ipynb"), *folder.rglob("*.md")]:
        for name in re.findall(r"(?<![\w-])(figures/[\w/-]+\.png)", path.read_text(encoding="utf-8")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def mathjax() -> Path:
    """Where pip put MathJax: a package for Django, which is not needed."""
    return Path(find_spec("mathjax").submodule_search_locations[0]) / "static/mathjax"


def main(out: Path) -> int:
    """Build into a new folder and put it in the place of the old one when all went well; the exit status."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        sys.exit(f"{', '.join(missing)} not installed here; `make site` makes an environment with it")
    if not [*(ROOT / "figures").glob("*/result.json")]:
        sys.exit(f"figures has no pictures; if they were deleted, {from_git(ROOT / 'figures')} brings them back")
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        lay_out(work / "source")
        lay_out_pieces(work / "source")
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-d", str(work / "trees")]
        status = subprocess.run([*command, str(work / "source"), str(work / "html")]).returncode
        if not status:
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(work / "html", out)
            print(f"written: {out}/index.html; or `python -m http.server -d {out}`")
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
