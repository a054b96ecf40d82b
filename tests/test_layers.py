"""The order of DESIGN section 3: a folder imports only from those above it, and a room no other room."""

import ast
import re
from pathlib import Path

import pytest

from fedlib.files import ROOT

FLOORS = [
    {"streams", "files", "refusals", "progress", "downloads"},
    {"numerics"},
    {"models"},
    {"federated"},
    {"trainings"},
    {"notebook"},
    {"live"},
    {"machines"},
    {"papers"},
    {"pages"},
]
FLOOR = {name: i for i, names in enumerate(FLOORS) for name in names}
ABOVE_ALL = {"__init__", "__main__"}  # they import what they like
MODULES = sorted((ROOT / "fedlib").rglob("*.py"))


def imports(source: str, package: str) -> list[str]:
    """Dotted names that a module of a package imports from fedlib, inside functions, too."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            names += [".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names]
    return [name for name in names if name.startswith("fedlib.")]


def upward(package: str, name: str) -> bool:
    """Whether a module of a package (fedlib.live) may not import this (fedlib.papers.fedsciml)."""
    return FLOOR[name.split(".")[1]] > FLOOR[package.split(".")[1]]


def room_of(name: str) -> str:
    """fedlib.papers.fedsciml.forward of what is in that folder; of what is in no room nothing."""
    parts = name.split(".")[:4]
    in_room = parts[1:2] == ["papers"] and len(parts) == 4 and ROOT.joinpath(*parts).is_dir()
    return ".".join(parts) if in_room else ""


def trespasses(package: str, name: str) -> bool:
    """Whether a room imports another one; those of ``beyond`` may: ``problem``, and ``study`` for what is stored."""
    room, other = room_of(package), room_of(name)
    if not room or not other or room == other:
        return False
    open_to_all = (f"{other}.problem.", f"{other}.study.")
    return not (room.startswith("fedlib.papers.beyond.") and (name + ".").startswith(open_to_all))


def package_of(path: Path) -> str:
    return ".".join(path.parent.relative_to(ROOT).parts)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "fedlib")))
def test_a_module_imports_from_above_and_a_room_no_other_room(path):
    package = package_of(path)
    names = imports(path.read_text(encoding="utf-8"), package)
    if package == "fedlib":
        if path.stem in ABOVE_ALL:
            return
        package = f"fedlib.{path.stem}"
    assert not [name for name in names if upward(package, name)], "these stand below it, see DESIGN section 3"
    assert not [name for name in names if trespasses(package, name)], "another room"


def test_the_map_of_contributing_has_the_floors_in_their_order():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `fedlib/(\w+)` \|", page, re.MULTILINE) == [name for (name,) in FLOORS[1:]]
