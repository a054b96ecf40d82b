"""MNIST files are read or refused; without them nothing stands in."""

import gzip

import numpy as np
import pytest
import torch

from fedlib.downloads import Unavailable
from fedlib.papers.feddro.digits import handwriting as source
from fedlib.papers.feddro.digits.handwriting import (
    FILES,
    deal_digits,
    handwriting,
    held_out,
    mnist,
    read_idx,
    small_digits,
)

HERE = "MNIST is not on this machine: name a folder in FEDLIB_DATA"


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No local folder, an empty cache, and a mirror where nobody listens."""
    monkeypatch.delenv("FEDLIB_DATA", raising=False)
    monkeypatch.setattr(source, "MIRRORS", ["http://127.0.0.1:9/"])
    return tmp_path


@pytest.fixture(scope="session")
def digits():
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(source, "MIRRORS", [])
    try:
        return mnist()
    except Unavailable:
        pytest.skip(HERE)
    finally:
        monkeypatch.undo()


def test_mnist_is_the_official_set(digits):
    """Counts per class as in LeCun's description; the first ten training labels are well known."""
    (x, y), (x_test, y_test) = digits["train"], digits["test"]
    assert (x.shape, x_test.shape) == ((60000, 784), (10000, 784))
    assert y.bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert y_test.bincount().tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert y[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert (x.min(), x.max()) == (0, 1)
    assert abs(x.mean() - 0.1307) < 1e-4  # the constants that everybody normalises with
    assert abs(x.std() - 0.3081) < 1e-4


def idx(shape, data, kind=8):
    return gzip.compress(bytes([0, 0, kind, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape) + data)


def test_read_idx_reads_row_major_bytes(tmp_path):
    (tmp_path / "a.gz").write_bytes(idx((2, 3, 2), bytes(range(12))))
    np.testing.assert_array_equal(read_idx(tmp_path / "a.gz"), np.arange(12).reshape(2, 3, 2))


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "no complete gzip file"),
        (idx((4,), bytes(4))[:-9], "no complete gzip file"),
        (gzip.compress(b"abc"), "no IDX file"),
        (idx((4,), bytes(4), kind=13), "no IDX file of bytes"),
        (idx((4,), bytes(3)), r"promises \(4,\), 12 bytes in all, and has 11"),
        (gzip.compress(bytes([0, 0, 8, 3, 0])), "no IDX file"),
    ],
    ids=["html", "cut", "no idx", "not bytes", "short", "short header"],
)
def test_broken_files_are_refused(tmp_path, content, message):
    (tmp_path / "a.gz").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_idx(tmp_path / "a.gz")


@pytest.mark.fault("clear error")
def test_a_damaged_file_in_a_named_folder(offline):
    for name in FILES:
        (offline / name).write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte.gz is damaged or another file"):
        mnist(offline)


@pytest.mark.fault("survived")
def test_nobody_answers_and_nothing_stands_in(offline):
    with pytest.raises(FileNotFoundError, match="has no mnist/train-images"):
        mnist(offline)
    with pytest.raises(Unavailable):
        mnist(cache=offline / "cache")


def test_pixels_are_normalised_as_in_the_lineages_code():
    raw, normalised = (handwriting("small", pixels) for pixels in ("raw", "normalised"))
    for split, (x, y) in raw.items():
        torch.testing.assert_close(normalised[split][0], (x - 0.1307) / 0.3081)
        assert normalised[split][1] is y or (normalised[split][1] == y).all()
    assert raw["train"][0].min() == 0 and raw["train"][0].max() == 1


def test_small_digits_look_like_mnist():
    digits = small_digits()
    assert sum(len(y) for _, y in digits.values()) == 1797
    for x, y in digits.values():
        assert (x.dtype, y.dtype) == (torch.float32, torch.int64)
        assert 0 <= x.min() < x.max() <= 1 and {*y.tolist()} == {*range(10)}
        frame = torch.ones(28, 28, dtype=bool)
        frame[4:24, 4:24] = False
        assert (x.unflatten(1, (28, 28))[:, frame] == 0).all()


@pytest.fixture
def labelled_numbers():
    """400 "digits" that are their own index, all ten labels."""
    return torch.arange(400)[:, None].float(), torch.arange(400) % 10


@pytest.mark.parametrize("partition", ["iid", "dirichlet"])
def test_clients_are_dealt_different_digits_with_their_labels(labelled_numbers, partition):
    clients = deal_digits(labelled_numbers, 4, 50, 2, partition)
    assert len({*clients.x[:, 0]}) == 200
    np.testing.assert_array_equal(clients.x[:, 0] % 10, clients.y)
    np.testing.assert_array_equal(np.sort(np.concatenate(clients.shards)), np.arange(200))
    assert ({*map(len, clients.shards)} == {50}) == (partition == "iid")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda digits: deal_digits(digits, 5, 81), "take per_client <= 80"),
        (lambda digits: deal_digits(digits, 2, 5), r"seed 0: there is no \d among the clients' 10 digits"),
        (lambda digits: deal_digits(digits, 4, 50, 0, "dirichlet", 0), "alpha = 0: expected a number > 0"),
        (lambda digits: held_out(digits, 200, 400, 3), "held out"),
        (lambda digits: handwriting("cifar"), "source = 'cifar': expected one of mnist, small"),
    ],
)
def test_what_there_is_not_is_refused(labelled_numbers, call, words):
    with pytest.raises(ValueError, match=words):
        call(labelled_numbers)


def test_digits_that_are_held_out_are_nobodys(labelled_numbers):
    """With those that are dealt they are a draw without repetition, the same for every number that is held."""
    dealt = deal_digits(labelled_numbers, 2, 100, seed=3)
    (held, labels), (few, _) = (held_out(labelled_numbers, 200, m, 3) for m in (200, 5))
    rows = {tuple(row) for row in [*dealt.x.tolist(), *held.double().tolist()]}
    assert len(rows) == 400 and torch.equal(held[:5], few) and len(labels) == 200
