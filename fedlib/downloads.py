"""Files from the internet: mirrors tried in turn, verified by SHA-256, kept in a cache, nothing half-written."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import pooch

from .files import ROOT, write_atomically

CACHE = ROOT / "data/cache"


LOCAL = "FEDLIB_DATA"  # environment variable: a folder to look in before the internet
pooch.get_logger().setLevel("ERROR")  # else every attempt is a red line in a notebook; our errors name the mirrors


TIMEOUT = (5, 30)  # s, to connect and to wait for data: a machine without internet should not wait for minutes


class Unavailable(OSError):
    """No mirror delivered the file: the machine is offline, or all of them are down."""


def fetch(
    name: str,
    urls: Sequence[str] = (),
    sha256: str | None = None,
    folder: str | Path | None = None,
    cache: str | Path = CACHE,
    blob: str | None = None,
) -> Path:
    """Path of a verified file: from a local folder, else from the cache, else from the first mirror that delivers.

    Args:
        name: e.g. "mnist/train-images-idx3-ubyte.gz", below the folder and below the cache.
        urls: mirrors of the whole file, tried in this order.
        sha256: of the file. None: the sum of its first use is recorded in the cache and verified afterwards.
        folder: where the file is (or only its last part); nothing else is tried then. Without it, the folder that
            the environment variable FEDLIB_DATA names is looked into, if it has the file.
        blob: the file's name in git, where only that is known; verified before the sum is recorded.

    Raises:
        FileNotFoundError: ``folder`` does not have the file.
        ValueError: a file is damaged, or not the one that was recorded.
        Unavailable: no mirror delivered it.
    """
    cache = Path(cache)
    kept, record = cache / name, cache / f"{name}.sha256"
    expected = sha256 or (record.read_text(encoding="utf-8").strip() if record.exists() else None)
    local = find(name, folder)
    if local or kept.exists():
        path = local or kept
        hint = "" if local else " (it is fetched again then)"
        verify(path, expected, f"replace or remove it{hint}")
    else:
        path = download(kept, urls, expected)
    if expected is None:
        verify_blob(path, blob)
        write_atomically(record, pooch.file_hash(str(path)) + "\n")
    return path


def find(name: str, folder: str | Path | None) -> Path | None:
    """The file in ``folder`` or, without one, in the folder that FEDLIB_DATA names."""
    given = folder or os.environ.get(LOCAL)
    if not given:
        return None
    if not folder and not Path(given).is_dir():
        raise FileNotFoundError(f"{LOCAL} = {given!r} is no folder; name one that has {name}, or unset {LOCAL}")
    for path in (Path(given) / name, Path(given) / Path(name).name):
        if path.is_file():
            return path
    if folder:
        raise FileNotFoundError(f"folder = {str(folder)!r} has no {name}; put it there, or leave the folder out")
    return None


def verify(path: Path, expected: str | None, hint: str) -> None:
    """Raise ValueError unless the file has the expected SHA-256."""
    if expected and (found := pooch.file_hash(str(path))) != expected:
        raise ValueError(
            f"{path} is damaged or another file: SHA-256 {found[:12]}... of {path.stat().st_size} bytes, expected "
            f"{expected[:12]}...; {hint}"
        )


def verify_blob(path: Path, expected: str | None) -> None:
    """Raise ValueError unless the file is the one that git knows under this name (SHA-1 of "blob <size>\\0" and it)."""
    content = path.read_bytes()
    found = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    if expected and found != expected:
        raise ValueError(
            f"{path} is damaged or another file: git names it {found[:12]}..., expected {expected[:12]}...; remove it"
        )


def download(path: Path, urls: Sequence[str], expected: str | None) -> Path:
    """Fetch to a temporary name, verify, rename: pooch does that; here are the mirrors and one clear error."""
    from requests.exceptions import RequestException  # takes half a second, and the file is nearly always there

    failures = []
    for url in urls:
        try:
            client = pooch.HTTPDownloader(timeout=TIMEOUT)
            pooch.retrieve(url, expected and f"sha256:{expected}", path.name, path.parent, downloader=client)
            return path
        except (RequestException, ValueError, OSError) as error:  # offline, 404, cut off; wrong sum; disk full
            failures.append(f"{url}: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
    raise Unavailable(
        f"{path.name} could not be fetched from {len(urls)} mirror{'s' * (len(urls) != 1)}; put the file into a folder "
        f"and name it ({LOCAL}=folder), or go online\n  " + "\n  ".join(failures)
    )
