"""Three rounds of a case, what of them is compared, and the text files that keep it.

Values are kept for every key of a stack, never for the stack as a whole: its rows may be grouped anew.
"""

import warnings
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import torch
import yaml

from fedlib import History, train

VALUES = Path(__file__).parent / "values"
ROUNDS, NEAR, FEW = 3, 1e-9, 8  # FEW: metrics with more numbers are kept as norm and directions
DISCONTINUOUS = {"accuracy", "commonest", "inside"}  # counts: the last digit of a model may change one


def trained(case: Mapping, dtype: torch.dtype = torch.float64, backend: str = "eager") -> History:
    """Three rounds of ``train`` with a case's arguments.

    In float64 the network is, too, and so is its start as it is drawn: torch's float32 draws, uniform ones as well as
    normal ones, differ by 1e-7 on machines without AVX2; float64 ones by 1e-16.
    """
    net = deepcopy(case["net"]).to(dtype)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # nothing is learnt in three rounds
        return train(**case | {"net": net}, rounds=ROUNDS, evaluate_every=ROUNDS, dtype=dtype, backend=backend)


@cache
def directions(P: int) -> np.ndarray:
    """Eight fixed random unit vectors [8, P]."""
    drawn = np.random.default_rng(0).standard_normal((8, P))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def fingerprint(name: str, vector: np.ndarray) -> dict[str, list[float]]:
    """Norm of a vector [P], and its length along eight directions relative to the norm."""
    norm = float(np.linalg.norm(vector))
    return {f"{name}, norm": [norm], f"{name}, directions": [*(directions(len(vector)) @ vector / (norm or 1.0))]}


def values_of(history: History) -> dict[str, dict[str, list[float]]]:
    """Key -> quantity -> numbers: of each distinct model of the key, the losses, the metrics after the last round."""
    return {text_of(key): dict(values_of_key(history, key, rows)) for key, rows in history.rows.items()}


def text_of(key) -> str:
    """A key as text, whatever the class of its tuple is called."""
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def values_of_key(history: History, key, rows: slice) -> Iterator[tuple[str, list[float]]]:
    """Quantity and numbers; of clients who hold the same model the first one is named."""
    models = history.models(*(key if isinstance(key, tuple) else (key,))).double().numpy()
    holders = [int((np.abs(models - model).max(1) < 1e-12).argmax()) for model in models]  # whatever computed the mean
    yield "who holds the same model", holders
    for r, losses in enumerate(history.losses[:, rows], 1):
        yield f"losses, round {r}", [*losses]
    for client in sorted(set(holders)):
        yield from fingerprint(f"theta, client {client}", models[client]).items()
        for metric in sorted(history.metrics.keys() - DISCONTINUOUS):
            value, name = history.metrics[metric][-1, rows][client].ravel(), f"{metric}, client {client}"
            yield from (fingerprint(name, value) if value.size > FEW else {name: [*value]}).items()


def differences(case: str, expected: Mapping, got: Mapping) -> list[str]:
    """What is not as expected, a line for each quantity."""
    lines = [f"{case}, {key}: {where}" for key, where in missing(expected, got)]
    for key in [key for key in expected if key in got]:
        lines += [f"{case}, {key}, {quantity}: {where}" for quantity, where in missing(expected[key], got[key])]
        for quantity in [quantity for quantity in expected[key] if quantity in got[key]]:
            one, other = (np.array(of[key][quantity], float) for of in (expected, got))
            if one.shape != other.shape or not np.allclose(other, one, **tolerance(quantity), equal_nan=True):
                lines.append(f"{case}, {key}, {quantity}: expected {text(one)}, got {text(other)}")
    return lines


def largest_deviation(expected: Mapping, got: Mapping) -> float:
    """Of any number that both have, as a share of its tolerance."""
    shares = [0.0]
    for key in expected.keys() & got.keys():
        for quantity in expected[key].keys() & got[key].keys():
            one, other = (np.array(of[key][quantity], float) for of in (expected, got))
            if one.shape == other.shape:
                allowed = NEAR * (1 if quantity.endswith("directions") else np.abs(one))
                shares.append(np.nanmax(np.where(one == other, 0, np.abs(other - one) / np.maximum(allowed, 1e-300))))
    return float(max(shares))


def tolerance(quantity: str) -> dict[str, float]:
    """Directions are relative to the norm; all else is compared relative to itself."""
    return {"rtol": 0, "atol": NEAR} if quantity.endswith("directions") else {"rtol": NEAR, "atol": 0}


def missing(expected: Mapping, got: Mapping) -> list[tuple[str, str]]:
    """Names that only one of both has."""
    return [(name, "expected, but missing") for name in expected if name not in got] + [
        (name, "got, but no value is stored") for name in got if name not in expected
    ]


def group_of(case: str) -> str:
    """The notebook that a case is from, "08b"."""
    return case.split()[0]


@cache
def read(group: str) -> dict[str, dict]:
    """Case -> key -> quantity -> numbers, of a notebook."""
    path = VALUES / f"{group}.yaml"
    stored = yaml.load(path.read_text(), yaml.CSafeLoader) if path.is_file() else {}
    return {
        case: {key: {name: [*map(float, str(line).split())] for name, line in of.items()} for key, of in keys.items()}
        for case, keys in stored.items()
    }


def write(group: str, values: Mapping[str, Mapping]) -> None:
    """A line for each quantity, so that two versions of the file can be compared."""
    lines = []
    for case, keys in values.items():
        lines.append(f'"{case}":')
        for key, quantities in keys.items():
            lines += [f'  "{key}":', *(f'    "{name}": {text(numbers)}' for name, numbers in quantities.items())]
    (VALUES / f"{group}.yaml").write_text("\n".join([*lines, ""]))
    read.cache_clear()


def text(numbers) -> str:
    """Seventeen digits: the same number when it is read."""
    return " ".join(f"{number:.17g}" for number in numbers)
