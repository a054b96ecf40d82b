"""Downloads: mirrors in turn, verified, nothing half-written. A local server stands in for the internet."""

import hashlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pooch
import pytest

from fedlib.downloads import Unavailable, difference, fetch

CONTENT = bytes(range(256)) * 64
SUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.delenv("FEDLIB_DATA", raising=False)


@pytest.fixture
def server():
    """A mirror: /good sends the file, /cut promises more than it sends, /other sends something else, else 404."""
    asked = []

    class Mirror(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            place = self.path.split("/")[1]
            body = {"good": CONTENT, "cut": CONTENT[:1000], "other": b"<html>please log in</html>"}.get(place)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(CONTENT) if place == "cut" else len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield (lambda place: f"http://127.0.0.1:{http.server_port}/{place}/file.bin"), asked
        http.shutdown()
        thread.join()


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_the_first_mirror_that_delivers_is_used_and_the_cache_afterwards(server, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(pooch.get_logger().handlers[0], "stream", sys.stderr)
    url, asked = server
    urls = [url("missing"), url("cut"), url("other"), url("good"), url("never")]
    path = fetch("set/file.bin", SUM, urls, cache=tmp_path)
    assert path == tmp_path / "set/file.bin"
    assert path.read_bytes() == CONTENT
    assert [a.split("/")[1] for a in asked] == ["missing", "cut", "other", "good"]
    fetch("set/file.bin", SUM, urls, cache=tmp_path)
    assert len(asked) == 4
    assert files(tmp_path) == ["set/file.bin"]
    assert capsys.readouterr().err == "", "pooch's log is red in a notebook"


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("place", ["missing", "cut", "other"])
def test_a_bad_mirror_leaves_nothing_behind(server, tmp_path, place):
    url, _ = server
    with pytest.raises(Unavailable, match=rf"file.bin could not be fetched from 1 mirror;(.|\n)*{place}/file.bin: "):
        fetch("set/file.bin", SUM, [url(place)], cache=tmp_path)
    assert files(tmp_path) == []


@pytest.mark.fault("clear error")
def test_nobody_there(tmp_path):
    with pytest.raises(Unavailable, match="ConnectionError"):
        fetch("file.bin", SUM, ["http://127.0.0.1:9/file.bin"], cache=tmp_path)


@pytest.mark.fault("clear error")
def test_a_damaged_cache_is_an_error_with_the_fix(server, tmp_path):
    (tmp_path / "file.bin").write_bytes(CONTENT[:-1])
    with pytest.raises(ValueError, match=r"file.bin is damaged or .* \(16383 bytes\).*; remove it, and it is fetched"):
        fetch("file.bin", SUM, [server[0]("good")], cache=tmp_path)


def test_local_folders(tmp_path, monkeypatch):
    cache, local = tmp_path / "cache", tmp_path / "local"
    (local / "set").mkdir(parents=True)
    (local / "set/file.bin").write_bytes(CONTENT)
    assert fetch("set/file.bin", SUM, folder=local, cache=cache) == local / "set/file.bin"
    assert fetch("set/file.bin", SUM, folder=local / "set", cache=cache) == local / "set/file.bin"
    with pytest.raises(FileNotFoundError, match=r"has no set/other.bin; put it there"):
        fetch("set/other.bin", SUM, folder=local, cache=cache)
    monkeypatch.setenv("FEDLIB_DATA", str(local))
    assert fetch("set/file.bin", SUM, cache=cache) == local / "set/file.bin"
    # the variable names one folder for all data sets, so others may be elsewhere
    with pytest.raises(Unavailable, match="has no mirrors"):
        fetch("set/other.bin", SUM, cache=cache)
    (local / "set/file.bin").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"; replace it$"):
        fetch("set/file.bin", SUM, cache=cache)
    assert not cache.exists()


@pytest.mark.fault("clear error")
def test_a_file_that_only_git_knows(server, tmp_path):
    """The name is that of `git hash-object`, here of the empty file and of ours."""
    (tmp_path / "empty").touch()
    assert not difference(tmp_path / "empty", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    ours = hashlib.sha1(b"blob 16384\0" + CONTENT).hexdigest()
    with pytest.raises(Unavailable, match=r"another file: its name in git is .*, expected e69de29bb2d1\.\.\."):
        fetch("file.bin", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", [server[0]("good")], cache=tmp_path / "no")
    assert not files(tmp_path / "no")
    path = fetch("file.bin", ours, [server[0]("good")], cache=tmp_path)
    assert path.read_bytes() == CONTENT
    path.write_bytes(b"changed")
    with pytest.raises(ValueError, match="damaged or another file"):
        fetch("file.bin", ours, cache=tmp_path)


@pytest.mark.fault("clear error")
def test_a_folder_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"FEDLIB_DATA = '.*nowhere' is no folder; name one that has file\.bin"):
        fetch("file.bin", SUM, cache=tmp_path)


def test_a_folder_below_home_is_read_and_a_relative_one_is_told_from_where(tmp_path, monkeypatch):
    """Kernels of a batch stand in notebooks/."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/file.bin").write_bytes(CONTENT)
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FEDLIB_DATA", "~/data")
    assert fetch("file.bin", SUM, cache=tmp_path) == tmp_path / "data/file.bin"
    monkeypatch.setenv("FEDLIB_DATA", "data")
    with pytest.raises(FileNotFoundError, match=r"'data' is no folder, seen from .*notebooks: .*absolute"):
        fetch("file.bin", SUM, cache=tmp_path)
