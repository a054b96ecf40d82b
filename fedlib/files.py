"""Nothing half-written: a file appears whole or not at all."""

import io
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np

ROOT = Path(__file__).resolve().parents[1]  # of the repository


def code_path() -> str:
    """PYTHONPATH of a process that is to import this folder's fedlib: in a copied project, or a worktree, the
    environment leads to the first one's."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def from_git(path: Path) -> str:
    """The command that brings a committed file or folder back."""
    return f"git checkout -- {os.path.relpath(path.resolve(), ROOT)}"


def check_writable(folder: Path, fix: str) -> None:
    """ValueError where no file can be made in a folder; fix: what helps."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ValueError(f"cannot write to {folder} ({error.strerror}); {fix}") from None


class Unreadable(ValueError):
    """A file is damaged, none of ours, or in use; the message says what helps."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder, renamed to ``path`` at the end: a reader sees the old file or the new.

    An error leaves the old file as it was, and nothing else behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid4().hex}.partial")  # containers on one folder share process numbers
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
    for orphan in path.parent.glob(f".{path.name}.*.partial"):
        orphan.unlink()


def packed(arrays: Mapping) -> bytes:
    """name -> array, number or text, in numpy's npz, which runs no code when it is read."""
    np.savez(file := io.BytesIO(), **arrays)
    return file.getvalue()


def unpacked(content: bytes) -> dict:
    """What was packed; numbers and texts are Python's again. ValueError: it is compressed, into who knows how much."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        if any(one.compress_type for one in file.zip.infolist()):
            raise ValueError("it is compressed; expected npz as ``packed`` writes it")
        return {name: value if value.ndim else value.item() for name, value in file.items()}
