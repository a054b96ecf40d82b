"""A notebook's settings: the paper's, what a run changed of them, and where its results are."""

import ast
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from textwrap import shorten

import yaml

from ..files import ROOT
from ..refusals import hint

NOTEBOOKS, FIGURES = ROOT / "notebooks", ROOT / "figures"
START = "00_start"  # the one notebook without a room: no parameters, and nothing is made or stored
CHANGED = "changed"  # below a notebook's folder: what was run with other parameters than the paper's

REQUIRED = {"notebook", "label", "parameters", "environment", "wall_s", "metrics", "measured"}


def read_result(path: Path) -> dict:
    """A result file, or a ValueError that says what is wrong with it."""
    hint = f"remove {path} and run the notebook again"
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is truncated or damaged ({error}); {hint}") from None
    missing = REQUIRED - set(result) if isinstance(result, dict) else REQUIRED
    if missing:
        raise ValueError(f"{path} is no result file: {', '.join(sorted(missing))} missing; {hint}")
    return result


def committed(notebook: str) -> dict:
    """The committed result of a notebook; empty where there is none."""
    path = FIGURES / notebook / "result.json"
    return read_result(path) if path.exists() else {}


def core_seconds(result: Mapping) -> float:
    """What the trainings that a result reads took; else the wall time of its run."""
    return result.get("core_s") or result["wall_s"]


@cache
def paper(notebook: str) -> dict:
    """The paper's settings, all that a notebook's study asks for: ``NOTEBOOK.yaml`` in its room, which a saved notebook
    cannot move. Empty: it is no notebook of a room.

    ValueError: a file that cannot be read, or that stands twice.
    """
    files = [*(ROOT / "fedlib/papers").glob(f"*/**/{notebook}.yaml")]
    if len(files) > 1:
        raise ValueError(f"the settings of {notebook} stand in {' and in '.join(map(str, files))}; expected one file")
    return yaml.safe_load(files[0].read_text(encoding="utf-8")) if files else {}


def cells_of(notebook: Path) -> list[dict]:
    """Its cells, as they are stored; nbformat takes seconds to import, and validates in vain. ValueError: the file is
    no notebook."""
    content = notebook.read_bytes()
    try:
        return json.loads(content)["cells"]
    except (ValueError, KeyError, TypeError) as error:
        fix = "a merge conflict stands in it: take one side" if b"<<<<<<< " in content else "remove it, or save it anew"
        raise ValueError(f"{notebook.name} is no readable notebook ({error}); {fix}") from None


def foreign(notebook: Path) -> str:
    """Why a file is none of the project's notebooks, but what JupyterLab, nbconvert or a merge have left beside them;
    empty where it is one."""
    if re.search(r"-Copy\d+$|\.nbconvert$", notebook.stem):
        return f"{notebook.name} is a copy; it runs where it is named"
    try:
        parameters_of(notebook)
    except ValueError as error:
        return str(error)
    return ""


def parameters_of(notebook: Path) -> dict[str, tuple[str, object]]:
    """name -> (type hint, default) of the cell tagged ``parameters``; ValueError unless it holds literals only."""
    cells = [c for c in cells_of(notebook) if "parameters" in c["metadata"].get("tags", [])]
    if not cells and notebook.stem == START:
        return {}
    if len(cells) != 1:
        raise ValueError(f"{notebook.name} has {len(cells)} cells tagged 'parameters', expected exactly one")
    try:
        statements = ast.parse("".join(cells[0]["source"])).body
    except SyntaxError as error:
        raise ValueError(f"{notebook.name}: the parameters cell is no Python ({error})") from None
    parameters = {}
    for node in statements:
        try:
            parameters[node.target.id] = (ast.unparse(node.annotation), ast.literal_eval(node.value))
        except (AttributeError, ValueError):
            raise ValueError(
                f"{notebook.name}: the parameters cell has '{ast.unparse(node)}'; expected 'name: type = literal'"
            ) from None
    return parameters


def settings_of(notebook: Path) -> dict:
    """What a run of it is compared with: ``paper``, or its own parameters where it is of no room."""
    return paper(notebook.stem) or {name: value for name, (_, value) in parameters_of(notebook).items()}


def has_type(value, hint: str) -> bool:
    """Whether a literal fits a hint such as int, float, str, bool, list[float], float | None."""
    if " | " in hint:
        return any(has_type(value, part) for part in hint.split(" | "))
    if hint.startswith("list["):
        return isinstance(value, list) and all(has_type(v, hint[5:-1]) for v in value)
    if hint == "None":
        return value is None
    kinds = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,), "list": (list,), "dict": (dict,)}
    return isinstance(value, kinds[hint]) and (hint == "bool" or not isinstance(value, bool))


def check_type(notebook: str, name: str, value, hint: str) -> None:
    """ValueError: a value of another type than its hint says."""
    if not has_type(value, hint):
        fix = f"; did you mean {name}={[value]}?" if has_type([value], hint) else ""
        raise ValueError(f"{notebook}: {name} = {value!r}; expected {hint}{fix}")


def check_parameters(notebook: Path, overrides: Mapping) -> dict:
    """All parameters of a run: those of the cell, and ``overrides``; unknown or ill-typed ones are refused.

    papermill itself only warns about an unknown name and runs with the default.
    """
    parameters = parameters_of(notebook)
    for name, value in overrides.items():
        if name not in parameters:
            near = hint(name, parameters) or f"; known: {', '.join(parameters)}"
            raise ValueError(f"{notebook.stem} has no parameter {name!r}{near}")
        check_type(notebook.stem, name, value, parameters[name][0])
    return {name: default for name, (_, default) in parameters.items()} | dict(overrides)


def hint_of(value) -> str:
    """The type of a setting, as a hint; what a dict and a list of lists hold is not looked at."""
    if not isinstance(value, list) or not value or isinstance(value[0], list):
        return type(value).__name__
    kinds = {type(part).__name__ for part in value}
    return f"list[{'float' if kinds == {'int', 'float'} else kinds.pop()}]"


def changed(parameters: Mapping, settings: Mapping) -> dict:
    """What of the parameters is not as the settings have it. 5 and 5.0 are the same, not 1 and True."""
    return {
        name: value
        for name, value in parameters.items()
        if name in settings and _canonical(value) != _canonical(settings[name])
    }


def folder_of(notebook: str, changes: Mapping, figures: Path = FIGURES) -> Path:
    """Where the pictures and results of a run are; one with other parameters than the paper's has a folder of its
    own."""
    if not changes:
        return figures / notebook
    what = _canonical({name: _canonical(value) for name, value in changes.items()})
    return figures / notebook / CHANGED / hashlib.sha256(what.encode()).hexdigest()[:8]


def in_words(changes: Mapping, settings: Mapping) -> str:
    """ "rounds 200 instead of 1000"; of a longer list what it lacks and what it has in addition."""
    words = (f"{name} {_difference(value, settings[name])}" for name, value in changes.items())
    return shorten(", ".join(words), 160, placeholder=" ...")


def _difference(value, before) -> str:
    if isinstance(value, list) and isinstance(before, list):
        added, gone = (
            [one for one in these if one not in those] for these, those in ((value, before), (before, value))
        )
        if len(gone) < len(before) and (added or gone):
            parts = [f"{word} {_short(part)}" for word, part in (("with", added), ("without", gone)) if part]
            return " and ".join(parts)
    if isinstance(value, dict) and isinstance(before, dict) and [*value] == [*before]:
        names = [name for name in value if _canonical(value[name]) != _canonical(before[name])]
        value, before = ({name: table[name] for name in names} for table in (value, before))
    return f"{_short(value)} instead of {_short(before)}"


def _short(value) -> str:
    return shorten(str(value), 40, placeholder=" ...")


def _canonical(value) -> str:
    """The same text for values that are the same to a notebook: 5 and 5.0, a list and a tuple; not 1 and True."""
    return json.dumps(json.loads(json.dumps(value, default=str), parse_int=float), sort_keys=True)
