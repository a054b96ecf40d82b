"""Notebook 13's claims on made-up results: each can hold and fail, and says nothing where nothing is there."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.relations import judged
from fedlib.papers.beyond.one_round import claims
from fedlib.papers.beyond.one_round.study import Results
from fedlib.papers.beyond.one_round.table import TITLES
from fedlib.papers.beyond.ways import Place, Way

NOTHING = Results({}, [], {}, {}, *7 * [None])


def error(values, *dims: str) -> xarray.DataArray:
    values = np.array(values, float)
    return xarray.DataArray(values, {dim: np.arange(n) for dim, n in zip(dims, values.shape, strict=True)}, dims)


def levels(ratio: float) -> Results:
    once = {"poisson": [[1e-6, 1e-6], [1e-6, 1e-6]], "helmholtz": [[2e-5, 2e-5], [2e-5, ratio * 2e-5]]}
    tables = {name: xarray.Dataset({"error": error(values, "level", "seed")}) for name, values in once.items()}
    return NOTHING._replace(once=tables)


def rule(name: str, least: float) -> Results:
    """Sums at 1e-5 %, the best rule at 1 % and at ``least`` %, at two of three levels."""
    sums = error([[[1e-5] * 3] * 3], "round", "level", "seed")
    best = error([[[90.0] * 3] * 2, [[1.0] * 3, [least, least, 0.0]]], "round", "level", "seed")
    return NOTHING._replace(ways={name: {"best rule": Way(best, best), "one round of sums": Way(sums, sums)}})


def pendulum(ours: float) -> Results:
    rows = {"FedAvg, best rate": [1.0, 0.9], "all data in one place": [0.2, 0.3], "one round of sums": [0.06, ours]}
    return NOTHING._replace(places=[Place(TITLES["pendulum"], way, np.array(e), 1, 0.0) for way, e in rows.items()])


def leak(sums: str, worst: float) -> Results:
    off = xarray.DataArray(
        [[[9.0, 9.0], [1e-9, worst]], [[9.0, 9.0], [9.0, 9.0]]],
        {"sums": [sums, "another"], "m": [4, 12], "seed": [0, 1]}, ["sums", "m", "seed"],
    )  # fmt: skip
    return NOTHING._replace(leak=xarray.Dataset({"off": off}))


def noise(least: float) -> Results:
    """Errors of 1 and 20 %, where an attack finds so much and nothing; another one finds less."""
    found = error([[[least, 0.9], [0.0, 0.0]], [[0.1, 0.1], [0.0, 0.0]]], "attack", "noise", "seed")
    table = {"found": found, "error": error([[1.0, 1.0], [20.0, 20.0]], "noise", "seed")}
    return NOTHING._replace(noise=xarray.Dataset(table))


def crowd(largest: float) -> Results:
    values = xarray.DataArray([[[9.0, 9.0]], [[0.3, largest]]], dims=("points", "epsilon", "seed"))
    return NOTHING._replace(private=xarray.Dataset({"error": values}, {"points": [32, 100_000], "epsilon": [10]}))


def coefficient(ours: float) -> Results:
    """Medians: ours at the worst level, the network's 3 %."""
    k = xarray.DataArray([[[1.0, ours, 9.0], [0.0, 0.0, 0.0]]], dims=("points", "level", "seed"))
    network = xarray.DataArray([[[2.0, 3.0, 4.0]]], {"kind": ["centralised"]}, ["kind", "level", "seed"])
    table = xarray.Dataset({"error_k": k}, {"points": ["10 inner"]})
    return NOTHING._replace(coefficient=table, networks_of_k=xarray.Dataset({"error": network}))


CASES = {
    "fedsciml.target.sums.levels": (levels(1.005), levels(1.02), ("1.02", "1.01")),
    "fedsciml.target.sums.poisson": (rule("poisson", 1e-2), rule("poisson", 1e-4), ("0.001, 0.001", "1, 0.0001 %")),
    "fedsciml.target.sums.helmholtz": (
        rule("helmholtz", 1e-2),
        rule("helmholtz", 1e-4),
        ("0.001, 0.001", "1, 0.0001 %"),
    ),
    "fed-deeponet.target.sums.linear": (pendulum(0.07), pendulum(0.25), ("0.25", "0.2")),
    "fedsciml.target.sums.client": (
        leak("one client", 1e-7),
        leak("one client", 1e-5),
        ("1e-05", "1e-06"),
    ),
    "fedsciml.target.sums.noise": (noise(0.3), noise(0.05), ("0.475", "0.5")),
    "fedsciml.target.sums.crowd": (crowd(0.4), crowd(2.0), ("2", "1")),
    "fedsciml.target.sums.coefficient": (coefficient(2.0), coefficient(3.5), ("3.5", "3 ± 1 %")),
    "fedsciml.target.sums.total": (leak("total", 1e-4), leak("total", 1e-2), ("0.01", "0.001")),
}


@pytest.mark.parametrize("id", claims.CLAIMS)
def test_a_claim_can_hold_and_fail(id):
    good, bad, numbers = CASES[id]
    assert judged(claims.CLAIMS[id], good).holds is True
    verdict = judged(claims.CLAIMS[id], bad)
    assert verdict.holds is False and all(number in verdict.why for number in numbers), verdict.why


@pytest.mark.parametrize("id", claims.CLAIMS)
def test_a_claim_says_nothing_where_nothing_was_computed(id):
    assert judged(claims.CLAIMS[id], NOTHING) is None


def test_few_sines_and_other_levels_say_nothing_either():
    small = NOTHING._replace(leak=leak("total", 1e-4).leak.isel(m=[0]))
    large = NOTHING._replace(noise=noise(0.3).noise.isel(noise=[1]))
    few = NOTHING._replace(private=crowd(0.4).private.isel(points=[0]))
    ways = rule("poisson", 1e-2).ways["poisson"]
    apart = {label: way._replace(error=way.error.assign_coords(level=way.error.level + 10 * i))
             for i, (label, way) in enumerate(ways.items())}  # fmt: skip
    for id, results in (
        ("noise", large), ("crowd", few), ("total", small), ("poisson", NOTHING._replace(ways={"poisson": apart})),
    ):  # fmt: skip
        assert judged(claims.CLAIMS[f"fedsciml.target.sums.{id}"], results) is None
