"""A user's own tables: each is read as it is meant, or refused with its file, line and column."""

import re

import numpy as np
import pytest

from fedlib.machines.tables import TableError, file_of, table


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes):
        path = tmp_path / "client-0.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffy, who ,x\n1,a,2\n\n3,b,4e-1\n",
        "x,y\r\n2,1\r\n0.4,3\r\n",
        "x,y\r2,1\r0.4,3",
        "x;y\n2,0;1\n0,4;3\n",
        "x\ty\n2\t1\n0,4\t3\n",
        "y|x\n1|2\n3|.4\n",
        "x;y\n2;1\n0.4;3\n",
        '"x","y"\n"2","1"\n"0.4","3"\n',
        'x,"a, b",y\n2,"1, 2",1\n0.4,"he said ""no""",3\n',
        'remark,x,y\n"one\nand two",2,1\nnone,0.4,3\n',
        "x,y,z\n2,True,FALSE\n0.4,3,true\n",
        "rate/s,x,y,x2,x2\n1,2,1,3,3\n1,0.4,3,3,3\n",
        "x,y\n2,1\n4E-1 ,+3\n,\n \n",
        "x;y\n2;1\n0,4;3\n".encode("utf-16"),
        "x,y,ä\n2,1,ö\n0.4,3,ü\n".encode(),
        "\ufeff\ufeffx,y\n2,1\n0.4,3\n",
    ],
)
def test_a_table_is_read_as_it_is_meant(file, content):
    np.testing.assert_array_equal(table(file(content), ["x", "y"]), [[2, 1], [0.4, 3]])


def test_one_line_whole_numbers_and_names_with_a_slash_and_a_comma(file):
    np.testing.assert_array_equal(table(file('"error, m/s"\n9007199254740991\n'), ["error, m/s"]), [[2.0**53 - 1]])


def test_numbers_as_spreadsheets_save_them(file):
    """A decimal comma that one number tells is all others'; the typographic minus, spaces for thousands, an accent."""
    content = "the\u0302ta;y\n1\u00a0290,5;\u22122\n1\u202f234\u202f567;1,234\n"
    np.testing.assert_array_equal(table(file(content), ["th\u00eata", "y"]), [[1290.5, -2], [1234567, 1.234]])
    np.testing.assert_array_equal(table(file("x;y\n0,234;1,234\n"), ["x", "y"]), [[0.234, 1.234]])


def test_times_are_seconds_with_all_their_digits(file):
    """Across the hour that comes twice in autumn, in two zones; one comes with tenths."""
    times = ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25 01:30:00.25Z"]
    (t,) = table(file("t\n" + "\n".join(times)), ["t"]).T
    assert t[0] == 1792888200 and np.diff(t).tolist() == [3600, 0.25]


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "content, says",
    [
        ("", "names none"),
        ("x\n1\n", "no column 'y'; its first line names x"),
        ("x,y,x\n1,2,3\n", "two columns 'x'"),
        ("x,y\n", "no line of data"),
        ("x,y\n1,2\n3\n", "line 3: 1 entries, expected 2"),
        ("x,y\n1,2\n\n3,zwei\n", "line 4, column 'y': 'zwei' is no number"),
        ('x,y,who\n1,2,\'a\n3,zwei,"a\nb"\n4,5,6\n', "line 3, column 'y': 'zwei' is no number"),
        ('x,y,who\n1,2,"a\nb"\n3,zwei,c\n', "line 4, column 'y': 'zwei' is no number"),
        ("x,y\n1,nan\n", "line 2, column 'y': 'nan' is not finite"),
        ("x,y\n1,\n", "line 2, column 'y': '' is not finite; leave out lines"),
        ("x,y\n1,1e400\n", "line 2, column 'y': '1e400' is not finite"),
        ('x,y\n1,"1,5"\n', r"line 2, column 'y': '1,5' is no number; expected one such as 0\.5"),
        ("x;y\n1,5;2\n1;1.234,5\n", "line 3, column 'y': '1.234,5' is no number; expected one such as 0,5"),
        ("x;y\n1,234,567;2\n", "line 2, column 'x': '1,234,567' is no number"),
        ("x;y\n950;2\n1,234;2\n", "line 3, column 'x': a comma before three digits .* write 1234 or 1.234"),
        ("sep=;\nx;y\n1;2\n", "its first line is a comment, or Excel's sep=; leave it out"),
        ("x,y\n1,1 000\n", "line 2, column 'y': '1 000' is no number"),
        ("x,y\n1,2026-01-31T12:00\n", "line 2, column 'y': .* a time with its zone"),
        ("x,y\n1,7\n1,2026-01-31T12:00Z\n", "line 3, column 'y': .* is no number"),
        ("x,y,z\n1,2,a\n1,2,ä\n".encode("latin-1"), "line 3 is no UTF-8 text"),
        ('x,y,who\n1,2,a\n3,4,"5 inch\n5,6,a\n7,8,a\n', "line 3: .* is a quotation mark there that is not closed"),
        ('x,y\n1,"2"5\n', "line 2: .* is a quotation mark"),
        ('x,y,who\n1,2,a\n3,4,"5 inch\n', "line 3: .* is a quotation mark there that is not closed"),
        ('x,y,who\n3,4,"5 inch\n5,6,6"\n7,8,a\n', "line 2: a quotation goes on over '5,6,6'"),
        ('x,y,who\n3,4,"5 inch\n5,6,6" tube\n7,8,a\n', "line 2: "),
        ('x,y,who\n3,4,"5 inch\n' + "5,6,a\n" * 30_000, "line 2: .* is a quotation mark there that is not closed"),
    ],
)
def test_a_bad_table_is_a_clear_error(file, content, says):
    with pytest.raises(ValueError, match=f"client-0.csv.*{says}"):
        table(file(content), ["x", "y"])


@pytest.mark.fault("clear error")
def test_a_missing_file_or_folder_and_a_name_that_comes_twice_are_clear_errors(tmp_path, monkeypatch):
    monkeypatch.delenv("FEDLIB_CSV", raising=False)
    with pytest.raises(ValueError, match="FEDLIB_CSV is not set"):
        file_of(7)
    monkeypatch.setenv("FEDLIB_CSV", str(tmp_path))
    with pytest.raises(ValueError, match=re.escape(f"there is no file {tmp_path / 'client-7.csv'}")):
        table(file_of(7), ["x", "y"])
    with pytest.raises(ValueError, match="expected each name once"):
        table(file_of(7), ["x", "x"])


@pytest.mark.parametrize(
    "content, quoted",
    [
        ("y,x,who\n1,2,a\nzwei,3,b\n", "zwei"),
        ("y,x,who\n1,2,a\n1e400,3,b\n", "1e400"),
        ("y,who\n1,a\n", "who"),
        ('x,y,who\n3,4,"5 inch\n5,6,6"\n7,8,a\n', "5,6,6"),
    ],
)
def test_what_may_be_told_elsewhere_has_no_entry_in_it(file, content, quoted):
    """Nor the name of a column that nobody asked for."""
    with pytest.raises(TableError) as caught:
        table(file(content), ["x", "y"])
    assert quoted in str(caught.value) and quoted not in caught.value.public and "client-0.csv" in caught.value.public
