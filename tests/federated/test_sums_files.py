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
    "no rows": {"n": 0.0},
    "rows that nobody counts": {"n": np.nan},
    "noise below 0": {"noise": -1.0},
    "a text for a number": {"n": "many"},
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
