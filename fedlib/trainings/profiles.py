"""A notebook's parameters and its profiles: what is known, what a run changed, and what that run is called."""

import ast
import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import shorten

import yaml

from ..files import ROOT

NOTEBOOKS, FIGURES = ROOT / "notebooks", ROOT / "figures"


def folder_of(notebook: str, profile: str, figures: Path = FIGURES) -> Path:
    """Where the pictures and results of a run are, and the trainings of the paper profile."""
    return figures / notebook / profile


REQUIRED = {"notebook", "profile", "parameters", "environment", "wall_s", "metrics", "measured"}


def read_result(path: Path) -> dict:
    """A result file, or a ValueError that says what is wrong with it."""
    hint = f"remove {path.parent} and run the notebook again"
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is truncated or damaged ({error}); {hint}") from None
    missing = REQUIRED - set(result) if isinstance(result, dict) else REQUIRED
    if missing:
        raise ValueError(f"{path} is no result file: {', '.join(sorted(missing))} missing; {hint}")
    return result


def committed(notebook: str, profile: str = "paper") -> dict:
    """The committed result of a notebook's paper profile (or another one); empty where there is none."""
    path = folder_of(notebook, profile) / "result.json"
    return read_result(path) if path.exists() else {}


def core_seconds(result: Mapping) -> float:
    """What the trainings that a result reads took; else the wall time of its run times the processes that trained."""
    wall = result["wall_s"] + result.get("trained_before_s", 0)
    counts = (result["parameters"].get(name) or 1 for name in ("workers", "processes"))  # parameters of older results
    return result.get("core_s") or wall * max(counts)


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


def check_parameters(notebook: Path, overrides: Mapping) -> dict:
    """All parameters of a run: defaults overridden by ``overrides``; unknown or ill-typed ones are refused.

    papermill itself only warns about an unknown name and runs with the default.
    """
    parameters = parameters_of(notebook)
    for name, value in overrides.items():
        if name not in parameters:
            near = difflib.get_close_matches(name, parameters, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(parameters)}"
            raise ValueError(f"{notebook.stem} has no parameter {name!r}; {hint}")
        hint = parameters[name][0]
        if not has_type(value, hint):
            fix = f"; did you mean {name}={[value]}?" if has_type([value], hint) else ""
            raise ValueError(f"{notebook.stem}: {name} = {value!r}; expected {hint}{fix}")
    return {name: default for name, (_, default) in parameters.items()} | dict(overrides)


def parameter_file(notebook: Path, profile: str) -> Path:
    return notebook.parent / "parameters" / f"{notebook.stem}.{profile}.yaml"


def profiles_of(notebook: Path) -> list[str]:
    """Names of a notebook's profiles: "quick", then those with a file of their own."""
    return ["quick", *sorted(p.name.split(".")[1] for p in notebook.parent.glob(f"parameters/{notebook.stem}.*.yaml"))]


def profile_parameters(notebook: Path, profile: str) -> dict:
    """What a profile changes: notebooks/parameters/<notebook>.<profile>.yaml; "quick" is the cell as it stands."""
    if profile not in profiles_of(notebook):
        raise ValueError(f"{notebook.stem} has no profile {profile!r}; known: {', '.join(profiles_of(notebook))}")
    if profile == "quick":
        return {}
    return (yaml.safe_load(parameter_file(notebook, profile).read_text(encoding="utf-8")) or {}) | {"profile": profile}


def defaults_of(notebook: Path) -> dict:
    """What the quick profile says: the parameters cell of the file, or (a notebook of one's own) nothing."""
    with suppress(OSError, ValueError):
        return {name: value for name, (_, value) in parameters_of(notebook).items() if name != "profile"}
    return {}


def named(notebook: str, profile: str, parameters: Mapping, notebooks: Path = NOTEBOOKS) -> tuple[str, str]:
    """(label, folder below figures/) of a run: its profile's, or a custom run's own if a parameter was changed.

    ("quick profile", "01_pendulum/quick") or ("custom: rounds=5", "01_pendulum/custom-<hash of what was changed>").

    Args:
        parameters: those of the run; compared with what the profile says about them. 5 and 5.0 are the same.
        notebooks: where the notebook and its profiles are, else the current folder. One that is in neither, or has
            no parameters cell, has nothing to compare with.

    Raises:
        ValueError: the notebook has no such profile.
    """
    path = notebooks / f"{notebook}.ipynb"
    if not path.exists():  # one's own, beside which its kernel runs
        path = Path(path.name)
    if not (defaults := defaults_of(path)):
        return f"{profile} profile", f"{notebook}/{profile}"
    expected = defaults | profile_parameters(path, profile)
    changed = {
        name: value
        for name, value in parameters.items()
        if name != "profile" and (name not in expected or _canonical(value) != _canonical(expected[name]))
    }
    if not changed:
        return f"{profile} profile", f"{notebook}/{profile}"
    what = _canonical([profile, {name: _canonical(value) for name, value in changed.items()}])
    text = shorten(", ".join(f"{n}={shorten(str(v), 40, placeholder=' ...')}" for n, v in changed.items()), 120)
    base = "" if profile == "quick" else f" ({profile} profile)"
    return f"custom{base}: {text}", f"{notebook}/custom-{hashlib.sha256(what.encode()).hexdigest()[:8]}"


def _canonical(value) -> str:
    """The same text for values that are the same to a notebook: 5 and 5.0, a list and a tuple; not 1 and True."""
    return json.dumps(json.loads(json.dumps(value, default=str), parse_int=float), sort_keys=True)
