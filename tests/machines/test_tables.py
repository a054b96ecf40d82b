"""A user's CSV files: what is wrong is said with its place."""

import numpy as np
import pytest

from fedlib.machines.tables import table


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes):
        path = tmp_path / "client-0.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_columns_come_by_name(file):
    path = file("\ufeffy, who ,x1\n1,a,2\n\n3,b,4e-1\n")
    np.testing.assert_array_equal(table(path, ["x1", "y"]), [[2, 1], [0.4, 3]])


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "content, says",
    [
        ("", "names none"),
        ("x;y\n1;2\n", "separated by ';'"),
        ("x\n1\n", "no column 'y'"),
        ("x,y\n", "no line of data"),
        ("x,y\n1,2\n3\n", "line 3: 1 entries, expected 2"),
        ("x,y\n1,zwei\n", "line 2, column 'y': 'zwei' is no number"),
        ("x,y\n1,nan\n", "line 2, column 'y': 'nan' is not finite"),
        ("x,y\n1,ä\n".encode("latin-1"), "no UTF-8 text"),
    ],
)
def test_a_bad_file_is_a_clear_error(file, content, says):
    with pytest.raises(ValueError, match=says):
        table(file(content), ["x", "y"])


@pytest.mark.fault("clear error")
def test_a_missing_file_is_a_clear_error(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        table(tmp_path / "client-7.csv", ["x", "y"])
