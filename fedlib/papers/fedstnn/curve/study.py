"""What notebook 08 trains of the sine (FedStNN, Section 5.1), and what its figures and claims take."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.batches import Local
from ....federated.history import History
from ....trainings.calls import Call
from ..experiment import BATCH, SCORES, TRIED, TRIED_ON, beside, covered, rms, sample
from ..network import SNN
from ..sine import SHARINGS, TESTED, N, answered, curve, curve_grid, inputs, observed, owners, region, some
from .problem import GROWING, one_place, shared, some_alone, two_noises

MAIN, SIXTY, RANDOM = "non-IID 110", "non-IID 60", "IID 110"
"""Of SHARINGS: 110 points for each client, most of them in its tenth; 60; 110 from anywhere."""

NAME = "curve"
IN_ONE_PLACE = 128  # points of a step where all data are in one place


def trainings(p: Mapping) -> dict[Hashable, Call]:
    """("curve", ...): federations by who owns what, clients alone, clients of two noises, and what is compared with
    MAIN; ("noise", score) and ("growing", diffusion): all points in one place.
    """
    seeds, sizes, tests, changes = p["seeds"], sizes_of(p), {"tests": p["test_paths"]}, changes_of(p)
    central = {name: value for name, value in changes.items() if name != "fraction"}
    central["local"] = changes["local"]._replace(batch_size=IN_ONE_PLACE)

    def together(make, levels: Sequence, more: Mapping = {}, **changed) -> Call:
        return Call(make, sizes | tests | more, levels, seeds, ["federated"], changes=changes | changed)

    def in_one_place(levels: Sequence, **arguments) -> Call:
        first = {"centralised": seeds[:1]}
        return Call(one_place, tests | arguments, levels, seeds, ["centralised"], changes=central, models=first)

    calls = {
        (NAME, "shared"): together(shared, p["sharings"]),
        (NAME, "alone"): Call(some_alone, sizes | tests, [MAIN], seeds, ["isolated"], changes=changes),
        (NAME, "two noises"): together(two_noises, p["quiet_sigmas"]),
        (NAME, "squared error"): together(shared, [MAIN], {"score": "squared error"}),
        (NAME, "printed gradient"): together(shared, [MAIN], {"gradient": "smp_paper"}),
        (NAME, "own starts"): together(shared, [MAIN], common_init=False),
    }
    calls |= {("noise", score): in_one_place(p["sigmas"], score=score) for score in SCORES}
    calls |= {("growing", diffusion): in_one_place([GROWING], diffusion=diffusion) for diffusion in ("vector", "net")}
    return calls


def search(p: Mapping) -> Call:
    """Rates that were tried on validation data."""
    arguments = sizes_of(p) | {"tests": p["test_paths"], "scores": True}
    return Call(shared, arguments, [MAIN], TRIED_ON, ["federated"], {"lr": TRIED[0]}, changes_of(p), models={})


def sizes_of(p: Mapping) -> dict:
    """Arguments of federations."""
    return {"clients": p["clients"], "sigma": p["sigma"]}


def changes_of(p: Mapping) -> dict:
    """How federations train."""
    steps = {"local": Local(p["local_updates"], "steps", BATCH)}
    return {name: p[name] for name in ("rounds", "lr", "decay", "fraction")} | steps


class Results(NamedTuple):
    """What figures and claims take; None: nothing of it is trained.

    Datasets of ``Answers`` at TESTED points: shared [level, seed, x], a level is one of SHARINGS; alone [seed, client,
    x]; noises [level, seed, x], a level is the quieter sigma; squared, printed, starts [seed, x], of MAIN; one_place
    [score, level, seed, x], a level is sigma; growing [diffusion, seed, x]. tried: of ``scored`` [seed, lr].
    coverage [level, seed, client], coverage_alone [seed, client], coverage_noises [kind, level, seed]: see there.
    samples: "110", "60", "alone" -> see there; alone is client ``shown``. sigma, clients: of the run.
    """

    shared: xarray.Dataset | None
    alone: xarray.Dataset | None
    noises: xarray.Dataset | None
    squared: xarray.Dataset | None
    printed: xarray.Dataset | None
    starts: xarray.Dataset | None
    one_place: xarray.Dataset | None
    growing: xarray.Dataset | None
    tried: xarray.Dataset | None
    coverage: xarray.DataArray | None
    coverage_alone: xarray.DataArray | None
    coverage_noises: xarray.DataArray | None
    samples: dict[str, np.ndarray]
    shown: int
    sigma: float
    clients: int


def results(p: Mapping, histories: Mapping[Hashable, History]) -> Results:
    """The labelled arrays of what is trained."""
    clients, sigma = p["clients"], p["sigma"]
    together, by_itself = (histories.get((NAME, name)) for name in ("shared", "alone"))

    def federated(name: str, **labels) -> xarray.Dataset | None:
        return answered(histories.get((NAME, name)), kind="federated", client=0, **labels)

    def in_one_place(axis: str, file: str, labels: Sequence[str], **chosen) -> xarray.Dataset | None:
        chosen |= {"kind": "centralised", "client": 0}
        return beside(axis, {label: answered(histories.get((file, label)), **chosen) for label in labels})

    alone = answered(by_itself, kind="isolated", level=MAIN)
    alone = None if alone is None else alone.assign_coords(client=some(clients))
    shown = 3 * clients // 4 + 1
    drawn = {
        "110": samples(together, sigma, "federated", MAIN),
        "60": samples(together, sigma, "federated", SIXTY),
        "alone": samples(by_itself, sigma, "isolated", MAIN, some(clients).index(shown)),
    }
    shares, noises = federated("shared"), federated("two noises")
    return Results(
        shares,
        alone,
        noises,
        *(federated(name, level=MAIN) for name in ("squared error", "printed gradient", "own starts")),
        in_one_place("score", "noise", [*SCORES]),
        in_one_place("diffusion", "growing", ("vector", "net"), level=GROWING),
        tried(histories.get(("search", NAME))),
        None if shares is None else coverage(shares, clients, sigma),
        None if alone is None else coverage_alone(alone, clients, sigma),
        None if noises is None else coverage_of_noises(noises, sigma),
        {name: pair for name, pair in drawn.items() if pair is not None},
        shown,
        sigma,
        clients,
    )


def tried(history: History | None) -> xarray.Dataset | None:
    """Energy score, RMSE and std of the rates that were tried [level, seed, lr]."""
    if history is None:
        return None
    names = ("energy score", "RMSE", "std")
    return xarray.Dataset({name: history.last(name, kind="federated", client=0) for name in names}).drop_attrs()


# does the band cover new observations for every client?


def coverages(answers: xarray.Dataset, sigma: float | np.ndarray) -> np.ndarray:
    """``covered`` at the tested points, of the shape of the answers, of which x is the last axis."""
    mean, std = (answers[name].transpose(..., "x").values for name in ("mean", "std"))
    return covered(mean, std, curve(answers.x.values), sigma)


def over_points(cover: np.ndarray, shard: np.ndarray) -> float:
    """Mean of coverages [x] over the points of a shard, at the tested point next to each of them."""
    return float(cover[np.rint(shard * TESTED / N).astype(int) % TESTED].mean())


def coverage(answers: xarray.Dataset, clients: int, sigma: float) -> xarray.DataArray:
    """Probability that a new observation at a client's own points lies within the federation's band, mean +- 2 std
    [level, seed, client]; a level is one of SHARINGS."""
    answers = answers.transpose("level", "seed", ...)
    levels, seeds, cover = answers.level.values.tolist(), answers.seed.values.tolist(), coverages(answers, sigma)
    values = [
        [[over_points(cover[i, j], shard) for shard in owners(level, clients, seed)] for j, seed in enumerate(seeds)]
        for i, level in enumerate(levels)
    ]
    coords = {"level": levels, "seed": seeds, "client": 1 + np.arange(clients)}
    return xarray.DataArray(values, coords, ("level", "seed", "client"))


def coverage_alone(alone: xarray.Dataset, clients: int, sigma: float) -> xarray.DataArray:
    """The same of the band that each of some clients has alone [seed, client]."""
    alone = alone.transpose("seed", "client", ...)
    cover, seeds, numbers = coverages(alone, sigma), alone.seed.values.tolist(), alone.client.values.tolist()
    shards = {seed: owners(MAIN, clients, seed) for seed in seeds}
    values = [
        [over_points(cover[i, j], shards[seed][k - 1]) for j, k in enumerate(numbers)] for i, seed in enumerate(seeds)
    ]
    return xarray.DataArray(values, {"seed": seeds, "client": numbers}, ("seed", "client"))


def coverage_of_noises(noises: xarray.Dataset, sigma: float) -> xarray.DataArray:
    """The same for the clients of either noise, whose points lie anywhere [level, seed, kind], "quiet" or "loud"."""
    noises = noises.transpose("level", "seed", ...)
    quiet = noises.level.values[:, None, None]
    values = [coverages(noises, s).mean(-1) for s in (quiet, 2 * sigma - quiet)]
    coords = {"kind": ["quiet", "loud"], "level": noises.level, "seed": noises.seed}
    return xarray.DataArray(values, coords, ("kind", "level", "seed"))


def own_and_elsewhere(alone: xarray.Dataset, clients: int) -> xarray.Dataset:
    """RMSE [seed, client] of clients alone in the tenth that each knows ("own"), "elsewhere", and on the "whole"."""
    square = (alone["mean"] - xarray.DataArray(curve(alone.x.values), dims="x")) ** 2
    bounds = np.array([region(k, clients) for k in alone.client.values.tolist()])
    low, high = (xarray.DataArray(values, {"client": alone.client}, ("client",)) for values in bounds.T)
    home = (low <= alone.x) & (alone.x < high)
    masks = {"own": home, "elsewhere": ~home, "whole": home | ~home}
    return xarray.Dataset({name: square.where(mask).mean("x") ** 0.5 for name, mask in masks.items()})


# one path at each of all points


def samples(history: History | None, sigma: float, kind: str, level: str, client: int = 0) -> np.ndarray | None:
    """One path of a row's model at each of all N points, and what is observed there [2, seed, N]."""
    if history is None or level not in history.labels("level"):
        return None
    net, x, pairs = SNN(1, 8, 16), inputs(curve_grid()), []
    for seed in history.labels("seed"):
        path = sample(net, history.model(kind, level, seed, client=client), x)
        pairs.append((path, observed(seed, sigma)["y"].numpy()))
    return np.stack(pairs, 1)


# tables


def models(results: Results) -> dict[str, xarray.Dataset]:
    """Title -> ``Answers`` [seed, x] of what is compared in the run's table."""
    rows = {f"{level}, energy": results.shared.sel(level=level) for level in results.shared.level.values[:3]}
    rows[f"{MAIN}, squared error"] = results.squared
    if results.one_place is not None and results.sigma in results.one_place.level:
        rows["all data in one place, energy"] = results.one_place.sel(score="energy score", level=results.sigma)
    return {name: answers for name, answers in rows.items() if answers is not None}


def shares(results: Results) -> list[str]:
    """Those levels with 110 points a client, from clients that know their own tenth only to clients that are alike."""
    ranked = {
        level: 1e9 if SHARINGS[level] is None else SHARINGS[level].outside
        for level in results.coverage.level.values.tolist()
        if SHARINGS[level] is None or sum(SHARINGS[level]) == 110
    }
    return sorted(ranked, key=ranked.get)


def coverage_rows(results: Results) -> list[list]:
    """Rows: who owns what, the median client, the worst one (mean over seeds), how many of all are below 93 %."""
    rows = []
    for level in shares(results):
        values = results.coverage.sel(level=level)
        worst, low = values.min("client").mean("seed").item(), (values < 0.93).mean().item()
        rows.append([level, f"{values.median().item():.1%}", f"{worst:.1%}", f"{low:.0%}"])
    return rows


def noise_rows(results: Results) -> Mapping[str, dict]:
    """Row "0.05, 0.15" -> the learnt std [seed], two means of both noises, and what is covered of either's."""
    rows = {}
    for quiet in results.noises.level.values.tolist():
        loud = 2 * results.sigma - quiet
        cover = results.coverage_noises.sel(level=quiet)
        rows[f"{quiet:g}, {loud:g}"] = {
            "learnt std": rms(results.noises["std"].sel(level=quiet).transpose("seed", "x").values),
            "mean of the sigmas": results.sigma,
            "root of their mean square": rms(np.array([quiet, loud])),
            "covered, quiet": cover.sel(kind="quiet").values,
            "covered, loud": cover.sel(kind="loud").values,
        }
    return rows
