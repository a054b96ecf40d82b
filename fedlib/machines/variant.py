"""An experiment with other constants: the file that one would get by editing its upper-case names."""

import ast
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from ..files import write_atomically


def variant(path: Path | str, to: Path | str, **constants) -> Path:
    """Write an experiment module with other values of its constants; all machines need the same file.

    Args:
        path: of the experiment. to: the new file. constants: NAME = value; its repr must be Python that the module
            understands (numbers, texts, lists, ranges, torch.float64 where it imports torch).

    Raises:
        ValueError: the module has no such constant, which would change nothing.
    """
    text = Path(path).read_text(encoding="utf-8")
    known = constants_of(text)
    if unknown := [name for name in constants if name not in known]:
        raise ValueError(f"{Path(path).name} has no constant {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    lines = [f"{name} = {value!r}" for name, value in constants.items()]  # functions, and load, read them at the end
    write_atomically(Path(to), "\n".join([text, "# other values", *lines, ""]))
    return Path(to)


def constants_of(text: str) -> list[str]:
    """The upper-case names that a module assigns."""
    targets = [t for node in ast.parse(text).body if isinstance(node, ast.Assign) for t in node.targets]
    names = [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return [name for name in names if name.isupper()]


def numbered(sizes: Sequence[int]) -> list[list[int]]:
    """SITES with so many clients each: clients 0, 1, ... from site to site."""
    ends = [*accumulate(sizes)]
    return [[*range(end - size, end)] for size, end in zip(sizes, ends, strict=True)]
