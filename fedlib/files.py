"""Nothing half-written: a file appears whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # of the repository


class Unreadable(ValueError):
    """A file is damaged, none of ours, or in use; the message says what helps."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder, renamed to ``path`` at the end: a reader sees the old file or the new.

    An error leaves the old file as it was, and nothing else behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_atomically(path: Path, content: str | bytes) -> None:
    """A file with this content, a text as UTF-8; whole or not at all."""
    with replacing(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def clear_partials(path: Path) -> None:
    """Remove what a process killed in ``replacing`` has left; only where no other process writes to this path."""
    for orphan in path.parent.glob(f".{path.name}.[0-9]*"):
        orphan.unlink()
