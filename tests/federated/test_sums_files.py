"""A message of sums is a file: what is sent is what is read, and what no rows can give is refused."""

import numpy as np
import pytest
import torch

from fedlib.federated import sums
from fedlib.federated.sums import Sums
from fedlib.files import Unreadable, packed
from fedlib.streams import stream

P = 3
ROWS = torch.as_tensor(stream(0, "rows").normal(size=(20, P + 1)))
MESSAGES = {
    "sums": Sums(ROWS.T @ ROWS, 20.0),
    "a root": Sums(torch.linalg.qr(ROWS, mode="r").R, 20.0, root=True),
    "of few rows": Sums(ROWS[:2], 2.0, root=True),
    "of nobody": Sums(torch.zeros(0, P + 1).double(), 0.0, root=True),
    "of shared points": Sums(ROWS[:1].T @ ROWS[:1], 1 / 3),
    "private": Sums(ROWS.T @ ROWS - 30 * torch.eye(P + 1), np.nan, noise=30.0),
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_a_message_is_read_as_it_was_written(message, tmp_path):
    sums.write(tmp_path / "lab.npz", message)
    back = sums.read(tmp_path / "lab.npz", P)
    assert torch.equal(back.matrix, message.matrix) and back[2:] == message[2:]
    np.testing.assert_array_equal(back.n, message.n)


SQUARE = np.array(ROWS.T @ ROWS)
LIES = {
    "another model": {"matrix": SQUARE[1:, 1:]},
    "too many rows for a root": {"matrix": np.ones((P + 2, P + 1)), "root": True},
    "float32": {"matrix": SQUARE.astype(np.float32)},
    "a vector": {"matrix": SQUARE[0]},
    "a text": {"matrix": np.array("x")},
    "NaN": {"matrix": SQUARE * np.nan},
    "no symmetry": {"matrix": SQUARE + np.triu(np.ones_like(SQUARE), 1)},
    "a negative square": {"matrix": -SQUARE},
    "an indefinite matrix": {"matrix": np.eye(P + 1) + 100 * np.eye(P + 1)[::-1]},
    "fewer than no rows": {"n": -1.0},
    "rows without end": {"n": np.inf},
    "rows that nobody counts": {"n": np.nan},
    "rows that are counted, of private sums": {"noise": 1.0},
    "noise below 0": {"noise": -1.0},
    "a root with noise": {"matrix": np.ones((2, P + 1)), "root": True, "noise": 1.0, "n": np.nan},
    "a text for a number": {"n": "many"},
    "a text for a word": {"root": "no"},
}


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_what_no_rows_can_give_is_refused(lie, tmp_path):
    (path := tmp_path / "lab.npz").write_bytes(packed({"matrix": SQUARE, "n": 20.0, "root": False, "noise": 0.0} | lie))
    with pytest.raises(Unreadable, match=r"lab\.npz is no message of sums: .* expected a file of sums\.write"):
        sums.read(path, P)


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("content", [b"", b"no npz", packed({"matrix": SQUARE})])
def test_another_file_is_refused(content, tmp_path):
    (path := tmp_path / "lab.npz").write_bytes(content)
    with pytest.raises(Unreadable, match="no message of sums"):
        sums.read(path, P)


def test_a_message_of_float32_is_refused_where_it_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"expected torch\.float64"):
        sums.write(tmp_path / "lab.npz", Sums(ROWS.float().T @ ROWS.float(), 20.0))
    assert not [*tmp_path.iterdir()]
