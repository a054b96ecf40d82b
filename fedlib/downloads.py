"""Files from the internet: mirrors tried in turn, verified, kept in a cache, nothing half-written."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import pooch

from .files import ROOT

CACHE = ROOT / "data/cache"


LOCAL = "FEDLIB_DATA"  # environment variable: a folder to look in before the internet
pooch.get_logger().setLevel("ERROR")  # else every attempt is a red line in a notebook; our errors name the mirrors


TIMEOUT = (5, 30)  # s, to connect and to wait for data: a machine without internet should not wait for minutes


class Unavailable(OSError):
    """No mirror delivered the file: the machine is offline, or all of them are down."""


def fetch(
    name: str, digest: str, urls: Sequence[str] = (), folder: str | Path | None = None, cache: str | Path = CACHE
) -> Path:
    """Path of a verified file: from a local folder, else from the cache, else from the first mirror that delivers.

    Args:
        name: e.g. "mnist/train-images-idx3-ubyte.gz", below the folder and below the cache.
        digest: its SHA-256, or its name in git where only that is known, in hexadecimal digits.
        urls: mirrors of the whole file, tried in this order.
        folder: where the file is (or only its last part); nothing else is tried then. Without it, the folder that
            the environment variable FEDLIB_DATA names is looked into, if it has the file.

    Raises:
        FileNotFoundError: ``folder`` does not have the file.
        ValueError: the file is damaged, or another one.
        Unavailable: no mirror delivered it.
    """
    path = find(name, folder) or Path(cache) / name
    if not path.exists():
        return download(path, urls, digest)
    if wrong := difference(path, digest):
        again = "replace it" if folder or not urls else "remove it, and it is fetched again"
        raise ValueError(f"{path} is {wrong}; {again}")
    return path


def find(name: str, folder: str | Path | None) -> Path | None:
    """The file in ``folder`` or, without one, in the folder that FEDLIB_DATA names."""
    if not (value := folder or os.environ.get(LOCAL)):
        return None
    place = Path(value).expanduser()
    if not folder and not place.is_dir():
        seen = "" if place.is_absolute() else f", seen from {Path.cwd()}: expected an absolute path"
        raise FileNotFoundError(f"{LOCAL} = {value!r} is no folder{seen}; name one that has {name}, or unset {LOCAL}")
    for path in (place / name, place / Path(name).name):
        if path.is_file():
            return path
    if folder:
        raise FileNotFoundError(f"folder = {str(folder)!r} has no {name}; put it there, or leave the folder out")
    return None


def difference(path: Path, digest: str) -> str:
    """What is wrong with a file; empty where it has the digest."""
    size = path.stat().st_size
    if len(digest) == 64:
        kind, value = "SHA-256", pooch.file_hash(str(path))
    else:
        kind, value = "name in git", hashlib.sha1(b"blob %d\0" % size + path.read_bytes()).hexdigest()
    if value == digest:
        return ""
    return f"damaged or another file: its {kind} is {value[:12]}... ({size} bytes), expected {digest[:12]}..."


def download(path: Path, urls: Sequence[str], digest: str) -> Path:
    """Fetch to a temporary name, verify, rename: pooch does that; here are the mirrors and one clear error."""
    from requests.exceptions import RequestException  # takes half a second, and the file is nearly always there

    def verified(url: str, partial: str, pup) -> None:
        pooch.HTTPDownloader(timeout=TIMEOUT)(url, partial, pup)
        if wrong := difference(Path(partial), digest):
            raise ValueError(wrong)

    failures = []
    for url in urls:
        try:
            return Path(pooch.retrieve(url, None, path.name, path.parent, downloader=verified))
        except (RequestException, ValueError, OSError) as error:  # offline, 404, cut off; another file; disk full
            failures.append(f"{url}: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
    where = f"put the file into a folder and name it ({LOCAL}=folder)"
    if not urls:
        raise Unavailable(f"{path.name} has no mirrors to be fetched from; {where}")
    raise Unavailable(
        f"{path.name} could not be fetched from {len(urls)} mirror{'s' * (len(urls) != 1)}; {where}, or go online\n  "
        + "\n  ".join(failures)
    )
