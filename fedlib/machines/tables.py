"""A client's own table, as numbers; what is wrong with it is said with its file, line and column."""

import codecs
import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pandas as pd
import torch
from torch import Tensor

DELIMITERS = ",;\t|"
ZONE = r"(?:Z|[+-]\d\d:?\d\d)$"
THOUSANDS = r"[+-]?[1-9]\d{0,2},\d{3}"
EPOCH = pd.Timestamp(0, tz="UTC")


class TableError(ValueError):
    """What is wrong with a table. public: the same without what stands in it, which may leave the machine."""

    def __init__(self, text: str, public: str):
        super().__init__(text)
        self.public = public


def file_of(client: int) -> Path:
    """Where a client's table lies: client-K.csv in the folder FEDLIB_CSV; ValueError where that is not set."""
    if not (folder := os.environ.get("FEDLIB_CSV")):
        raise ValueError("FEDLIB_CSV is not set; expected the folder of client-0.csv, client-1.csv, ...")
    return Path(folder) / f"client-{client}.csv"


def table(path: Path | str, columns: Sequence[str]) -> np.ndarray:
    """The named columns of a table [n, len(columns)], float64, in this order; other columns are left out.

    Entries are separated by , or ; or tabs or |, and numbers may have a decimal comma where none separates. true is 1,
    false is 0, and a time with its zone (ISO 8601) is in seconds since 1970 (UTC). UTF-8, or UTF-16 with its mark.

    Raises:
        ValueError: there is no such file or column, or two of a name, no line of data, or an entry that is no finite
            number; or all commas in numbers may separate thousands.
    """
    path, columns = Path(path), [normalize("NFC", name) for name in columns]
    if len({*columns}) < len(columns):
        raise ValueError(f"columns {', '.join(columns)}: expected each name once")
    if not path.is_file():
        raise ValueError(f"there is no file {path}; expected one with the columns {', '.join(columns)}")
    text = text_of(path)
    first = (text.lstrip().splitlines() or [""])[0]
    if first.startswith(("sep=", "#")):
        raise ValueError(
            f"{path}: its first line is a comment, or Excel's sep=; leave it out, names of columns come first"
        )
    delimiter = max(DELIMITERS, key=lambda delimiter: len({*columns} & {*split(first, delimiter)}))
    (_, names), *lines = records(path, text, delimiter) or [(1, [])]
    names = [name.strip() for name in names]
    if wrong := [name for name in columns if names.count(name) != 1]:
        number = "two columns" if wrong[0] in names else "no column"
        public = f"{path} has {number} {wrong[0]!r}; its first line names "
        raise TableError(f"{public}{', '.join(names) or 'none'}", f"{public}others")
    if not lines:
        raise ValueError(f"{path} has no line of data below the names of its columns")
    for number, entries in lines:
        if len(entries) != len(names):
            raise ValueError(f"{path}, line {number}: {len(entries)} entries, expected {len(names)}")
    entries = pd.DataFrame([entries for _, entries in lines])[[names.index(name) for name in columns]]
    entries = entries.apply(
        lambda column: column.str.strip().str.replace(r"(?<=\d)[\xa0\u202f](?=\d{3})", "", regex=True)
    )
    commas = entries.apply(lambda column: column.str.contains(","))
    clear = commas & ~entries.apply(lambda column: column.str.fullmatch(THOUSANDS))
    decimal = "," if delimiter != "," and commas.any(axis=None) else "."
    if decimal == "," and not clear.any(axis=None):
        i, j = np.argwhere(commas)[0]
        raise ValueError(
            f"{path}, line {lines[i][0]}, column {columns[j]!r}: a comma before three digits is one of thousands, or a "
            "decimal comma, and no other number of the file tells which; write 1234 or 1.234 for 1,234"
        )
    values = np.array(entries.apply(numbers, decimal=decimal), float)
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        where, entry = f"{path}, line {lines[i][0]}, column {columns[j]!r}", entries.iloc[i, j]
        why = (
            f"is no number; expected one such as 0{decimal}5, as all in this file, true or false, or a time with its "
            "zone such as 2026-01-31T12:00+01:00"
        )
        if entry == "" or entry.lower().lstrip("+-") in ("nan", "inf", "infinity") or np.isinf(values[i, j]):
            why = "is not finite; leave out lines without a value"
        raise TableError(f"{where}: {entry!r} {why}", f"{where}: {'an entry' if entry else repr(entry)} {why}")
    return values


def text_of(path: Path) -> str:
    """The text of a file; ValueError where it is not UTF-8, and has no mark of UTF-16."""
    content = path.read_bytes()
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return normalize("NFC", content.decode(encoding).lstrip("\ufeff"))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line} is no UTF-8 text; save it as 'CSV UTF-8'") from None


def split(line: str, delimiter: str) -> list[str]:
    """The names in a line, without blanks around them."""
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter))]


def records(path: Path, text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """(number of its first line, entries) of all that is not blank; ValueError where a quotation is not closed."""
    reader, lines, start = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), [], 1
    try:
        for entries in reader:
            if any(entry.strip() for entry in entries):
                lines.append((start, entries))
            for line in (line for entry in entries if "\n" in entry for line in entry.splitlines()):
                if line.count(delimiter) >= len(lines[0][1]) - 1:
                    raise csv.Error(f"a quotation goes on over {line!r}")
            start = reader.line_num + 1
    except csv.Error as error:
        where, why = f"{path}, line {start}: ", "is a quotation mark there that is not closed?"
        raise TableError(f"{where}{error}; {why}", f"{where}{why}") from None
    return lines


def numbers(entries: pd.Series, decimal: str) -> pd.Series:
    """A column's entries as numbers; NaN where one is none."""
    plain = entries.str.lower().str.replace("\u2212", "-").replace({"true": "1", "false": "0"})
    if decimal == ",":  # 1.234,5 may be meant, and 1.234
        plain = plain.where(~plain.str.contains(".", regex=False), "").str.replace(",", ".")
    values = pd.to_numeric(plain, errors="coerce")
    if values.notna().any():
        return values
    times = entries.where(entries.str.contains(ZONE))
    return (pd.to_datetime(times, format="ISO8601", utc=True, errors="coerce") - EPOCH).dt.total_seconds()


def tensors(path: Path | str, columns: Mapping[str, Mapping[str, str]]) -> dict[str, Tensor]:
    """A table as tensors [n, c] in float64, name -> its columns; columns: name -> {column: unit}."""
    names = [name for of_tensor in columns.values() for name in of_tensor]
    values = torch.as_tensor(table(path, names))
    return dict(zip(columns, values.split([*map(len, columns.values())], 1), strict=True))
