"""A client's own CSV file, as numbers; what is wrong with it is said with its line."""

import csv
from collections.abc import Sequence
from math import isfinite
from pathlib import Path

import numpy as np


def table(path: Path, columns: Sequence[str]) -> np.ndarray:
    """The named columns of a CSV file [n, len(columns)], in this order; other columns are left out.

    Raises:
        ValueError: there is no such file or column, no line of data, or an entry that is no finite number.
    """
    if not Path(path).is_file():
        raise ValueError(f"there is no file {path}; expected one with the columns {', '.join(columns)}")
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # a spreadsheet writes a mark in front
            names, *lines = [*csv.reader(file)] or [[]]
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no UTF-8 text; save it as 'CSV UTF-8'") from None
    names = [name.strip() for name in names]
    if missing := [name for name in columns if name not in names]:
        hint = "; is it separated by ';'?" if len(names) == 1 and ";" in names[0] else ""
        raise ValueError(
            f"{path} has no column {missing[0]!r}; its first line names {', '.join(names) or 'none'}{hint}"
        )
    at, rows = [names.index(name) for name in columns], []
    for number, line in enumerate(lines, 2):
        if not any(entry.strip() for entry in line):
            continue
        if len(line) != len(names):
            raise ValueError(f"{path}, line {number}: {len(line)} entries, expected {len(names)}")
        rows.append([_number(line[i], f"{path}, line {number}, column {names[i]!r}") for i in at])
    if not rows:
        raise ValueError(f"{path} has no line of data below the names of its columns")
    return np.array(rows)


def _number(entry: str, where: str) -> float:
    try:
        value = float(entry)
    except ValueError:
        raise ValueError(f"{where}: {entry!r} is no number; expected one such as 0.5 (with a point)") from None
    if not isfinite(value):
        raise ValueError(f"{where}: {entry!r} is not finite; leave out lines without a value")
    return value
