"""What a run has left in its folder: a result, and every other file with size and checksum."""

import json
from hashlib import sha256
from pathlib import Path

REQUIRED = {"notebook", "profile", "parameters", "environment", "wall_s", "metrics", "measured"}


def read_result(path: Path) -> dict:
    """A result file, or a ValueError that says what is wrong with it."""
    hint = f"remove {path.parent} and run the notebook again"
    try:
        result = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is truncated or damaged ({error}); {hint}") from None
    missing = REQUIRED - set(result) if isinstance(result, dict) else REQUIRED
    if missing:
        raise ValueError(f"{path} is no result file: {', '.join(sorted(missing))} missing; {hint}")
    return result


def core_seconds(result: dict) -> float:
    """What the trainings that it read took; else wall time of a run, with what came before it was resumed, times the
    processes that it trained in."""
    wall = result["wall_s"] + result.get("trained_before_s", 0)
    return result.get("core_s") or wall * max(result["parameters"].get(name) or 1 for name in ("workers", "processes"))


def inventory(folder: Path) -> dict[str, list]:
    """Every file of a run but its result: name -> [bytes, SHA-256]."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "result.json")
    return {str(p.relative_to(folder)): [p.stat().st_size, sha256(p.read_bytes()).hexdigest()] for p in files}


def is_done(target: Path, stamp: str) -> bool:
    """Trust only the stamp that ``execute`` writes after success, and only while every output is there and whole.

    The executed notebook may be missing: git keeps it of no profile.
    """
    try:
        result, there = read_result(target / "result.json"), inventory(target)
        whole = [
            there.get(name) == kept or (name.endswith(".ipynb") and name not in there)
            for name, kept in result["outputs"].items()
        ]
        return result["stamp"] == stamp and all(whole)
    except (OSError, ValueError, KeyError):
        return False
