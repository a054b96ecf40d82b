"""The stored trainings in one file, apart from git: the same bytes whoever makes it, and its checksum beside it.

``python -m tools.archive FOLDER`` writes fedlib-VERSION-trainings.tar and SHA256SUMS, of all files of the folder.
``tar xf`` in a folder with the sources puts every training in its place. It is not compressed: trainings are, and
another version of zlib would give other bytes.
"""

import sys
import tarfile
import tomllib
from hashlib import file_digest
from pathlib import Path

from fedlib.files import ROOT, replacing
from fedlib.trainings.environment import git

WITH_THEM = "CITATION.cff", "LICENSES/CC-BY-4.0.txt"


def version(root: Path = ROOT) -> str:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def write_archive(path: Path, names: list[str], root: Path = ROOT) -> None:
    """These files of a folder as a tar archive: in the order of their names, without owners and times."""
    with replacing(path) as partial, tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(names):
            info = tarfile.TarInfo(name)
            info.size, info.mode = (root / name).stat().st_size, 0o644
            with (root / name).open("rb") as file:
                archive.addfile(info, file)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def main(folder: Path) -> None:
    names = [*filter(None, git("ls-files", "-z", "figures/*/trainings/*").split("\0"))]
    if not names:
        sys.exit("git knows of no stored training; expected a clone")
    write_archive(folder / f"fedlib-{version()}-trainings.tar", [*WITH_THEM, *names])
    sums = [f"{digest(path)}  {path.name}\n" for path in sorted(folder.glob(f"fedlib-{version()}*"))]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    print("".join(sums), end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
