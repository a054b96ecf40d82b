"""What notebook 08 trains of the sine (FedStNN, Section 5.1), and what its figures and claims take."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.batches import Local
from ....federated.history import History
from ....trainings.calls import Call
from ..experiment import BATCH, SCORES, TRIED, TRIED_ON, beside, covered, judged, rms, sample, with_truth
from ..network import SNN
from ..sine import SHARINGS, TESTED, N, answered, curve, curve_grid, growing, inputs, observed, owners, region, some
from .problem import GROWING, one_place, shared, some_alone, two_noises

MAIN, SIXTY = "non-IID 110", "non-IID 60"
"""Of SHARINGS: 110 points for each client, most of them in its tenth; 60."""

NAME = "curve"
IN_ONE_PLACE = 128  # points of a step where all data are in one place
LR, DECAY = 0.02, 0.75  # of Adam, and its factor in each round; the paper does not say
PATHS = {"tests": 100}  # at a point, for means and spreads
DIFFUSIONS = {"one g per block and neuron": "vector", "g a network of X": "net"}


def trainings(p: Mapping) -> dict[Hashable, Call]:
    """("curve", ...): federations by who owns what, clients alone, clients of two noises, and what is compared with
    MAIN; ("noise", score) and ("growing", diffusion): all points in one place.
    """
    seeds, sizes, changes = p["seeds"], sizes_of(p), changes_of(p)
    central = {name: value for name, value in changes.items() if name != "fraction"}
    central["local"] = changes["local"]._replace(batch_size=IN_ONE_PLACE)

    def together(make, levels: Sequence, more: Mapping = {}, **changed) -> Call:
        return Call(make, sizes | PATHS | more, levels, seeds, ["federated"], changes=changes | changed)

    def in_one_place(levels: Sequence, **arguments) -> Call:
        first = {"centralised": seeds[:1]}
        return Call(one_place, PATHS | arguments, levels, seeds, ["centralised"], changes=central, models=first)

    calls = {
        (NAME, "shared"): together(shared, [*SHARINGS]),
        (NAME, "alone"): Call(some_alone, sizes | PATHS, [MAIN], seeds, ["isolated"], changes=changes),
        (NAME, "two noises"): together(two_noises, p["quiet_sigmas"]),
        (NAME, "squared error"): together(shared, [MAIN], {"score": "squared error"}),
        (NAME, "printed gradient"): together(shared, [MAIN], {"gradient": "smp_paper"}),
        (NAME, "own starts"): together(shared, [MAIN], common_init=False),
    }
    calls |= {("noise", score): in_one_place(p["sigmas"], score=score) for score in SCORES}
    calls |= {("growing", diffusion): in_one_place([GROWING], diffusion=diffusion) for diffusion in DIFFUSIONS.values()}
    return calls


def search(p: Mapping) -> Call:
    """Rates that were tried on validation data."""
    arguments = sizes_of(p) | PATHS | {"scores": True}
    return Call(shared, arguments, [MAIN], TRIED_ON, ["federated"], {"lr": TRIED[0]}, changes_of(p), models={})


def sizes_of(p: Mapping) -> dict:
    """Arguments of federations."""
    return {"clients": p["clients"], "sigma": p["sigma"]}


def changes_of(p: Mapping) -> dict:
    """How federations train."""
    local = Local(p["local_updates"], "steps", BATCH)
    return {"rounds": p["rounds"], "lr": LR, "decay": DECAY, "fraction": p["fraction"], "local": local}


class Results(NamedTuple):
    """What figures and claims take; None: nothing of it is trained.

    Datasets of ``Answers`` at TESTED points: shared [level, seed, x], a level is one of SHARINGS; alone [seed, client,
    x]; noises [level, seed, x], a level is the quieter sigma; squared, printed, starts [seed, x], of MAIN; one_place
    [score, level, seed, x], a level is sigma; growing [diffusion, seed, x]. tried: of ``scored`` [seed, lr]. samples:
    "110", "60", "alone" -> see there. sigma, clients: of the run.
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
    samples: dict[str, np.ndarray]
    sigma: float
    clients: int


def shown(clients: int) -> int:
    """The client alone of which a picture is drawn: 76 of 100."""
    return 3 * clients // 4 + 1


def results(p: Mapping, histories: Mapping[Hashable, History]) -> Results:
    """The labelled arrays of what is trained."""
    clients, sigma = p["clients"], p["sigma"]
    together, by_itself = (histories.get((NAME, name)) for name in ("shared", "alone"))

    def federated(name: str, **labels) -> xarray.Dataset | None:
        return answered(histories.get((NAME, name)), kind="federated", client=0, **labels)

    def in_one_place(axis: str, file: str, labels: Mapping[str, str], **chosen) -> xarray.Dataset | None:
        chosen |= {"kind": "centralised", "client": 0}
        return beside(axis, {words: answered(histories.get((file, name)), **chosen) for words, name in labels.items()})

    alone = answered(by_itself, kind="isolated", level=MAIN)
    drawn = {
        "110": samples(together, sigma, "federated", MAIN),
        "60": samples(together, sigma, "federated", SIXTY),
        "alone": samples(by_itself, sigma, "isolated", MAIN, some(clients).index(shown(clients))),
    }
    return Results(
        federated("shared"),
        None if alone is None else alone.assign_coords(client=some(clients)),
        federated("two noises"),
        *(federated(name, level=MAIN) for name in ("squared error", "printed gradient", "own starts")),
        in_one_place("score", "noise", dict(zip(SCORES, SCORES, strict=True))),
        in_one_place("diffusion", "growing", DIFFUSIONS, level=GROWING),
        tried(histories.get(("search", NAME))),
        {name: pair for name, pair in drawn.items() if pair is not None},
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


def coverage_of_noises(noises: xarray.Dataset, sigma: float) -> xarray.DataArray:
    """The same for either half of the clients, whose points lie anywhere [kind, level, seed]."""
    noises = noises.transpose("level", "seed", ...)
    quiet = noises.level.values[:, None, None]
    values = [coverages(noises, s).mean(-1) for s in (quiet, 2 * sigma - quiet)]
    coords = {"kind": ["the quiet half", "the loud half"], "level": noises.level, "seed": noises.seed}
    return xarray.DataArray(values, coords, ("kind", "level", "seed"))


def own_and_elsewhere(alone: xarray.Dataset, clients: int) -> xarray.Dataset:
    """RMSE [seed, client] of clients alone in the tenth that each knows ("own"), "elsewhere", and on the "whole"."""
    bounds = np.array([region(k, clients) for k in alone.client.values.tolist()])
    square = (alone["mean"] - xarray.DataArray(curve(alone.x.values), dims="x")) ** 2
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


# what stands in tables and pictures


def quality(results: Results, answers: xarray.Dataset) -> xarray.Dataset:
    """RMSE, std, coverage, in band [..., seed]."""
    return judged(answers, curve(answers.x.values), results.sigma)


def models(results: Results) -> dict[str, xarray.Dataset]:
    """Title -> ``Answers`` [seed, x] of what is compared in the run's table."""
    rows = {f"{level}, energy": results.shared.sel(level=level) for level in results.shared.level.values[:3]}
    rows[f"{MAIN}, squared error"] = results.squared
    if results.one_place is not None and results.sigma in results.one_place.level:
        rows["all data in one place, energy"] = results.one_place.sel(score="energy score", level=results.sigma)
    rows |= {"the printed index": results.printed, "own starts": results.starts}
    return {name: answers for name, answers in rows.items() if answers is not None}


def spreads(one_place: xarray.Dataset) -> xarray.DataArray:
    """Learnt spread of models that see all points [score, level, seed]."""
    return (one_place["std"] ** 2).mean("x") ** 0.5


def spreads_over_noise(one_place: xarray.Dataset) -> xarray.DataArray:
    """The same divided by the noise, which it should follow, for a picture."""
    std = spreads(one_place)
    ratio = (std / std.level).assign_attrs(long_name=r"learnt spread / $\sigma$").rename("the same noise everywhere")
    return with_truth(ratio.assign_coords(level=std.level.assign_attrs(long_name=r"$\sigma$ of the data")), "score", 1)


def spreads_that_grow(varied: xarray.Dataset) -> xarray.DataArray:
    """Spread [diffusion, seed, x] beside a noise that grows with x, for a picture; varied: ``growing`` of Results."""
    attrs = {"long_name": "spread of the answers", "scale": "linear"}
    std = varied["std"].assign_attrs(attrs).rename("a noise that grows with x")
    return with_truth(std, "diffusion", growing(std.x))


def coverages_of_clients(results: Results) -> dict[str, xarray.DataArray]:
    """Panel -> coverage [kind, level, seed]: of each client, by its points outside of the own tenth; of two noises."""
    places = {str(pair.outside): name for name, pair in SHARINGS.items() if pair and sum(pair) == 110}
    places["IID"] = "IID 110"
    each = coverage(results.shared, results.clients, results.sigma).sel(level=[*places.values()])
    each = each.stack(each=("seed", "client")).drop_vars(["each", "seed", "client"]).rename(each="seed")
    each = each.expand_dims(kind=["each client"]).assign_coords(level=[*places], seed=np.arange(each.sizes["seed"]))
    noises = coverage_of_noises(results.noises, results.sigma)
    panels = {
        "other places": (each, "points outside of the own tenth, of 110"),
        "other noises": (noises, rf"$\sigma$ of the quiet half; the mean is {results.sigma:g}"),
    }
    attrs, made = {"long_name": "covered of new measurements", "scale": "linear"}, {}
    for name, (values, words) in panels.items():
        values = values.assign_coords(level=values.level.assign_attrs(long_name=words)).assign_attrs(attrs)
        made[name] = with_truth(values, "kind", NOMINAL)
    return made


NOMINAL = 0.9545
"""What a band of two st.dev. covers of a normal law."""


def noise_rows(results: Results) -> dict[str, dict]:
    """Row "0.05, 0.15" -> the learnt std [seed], two means of both noises, and what is covered of either's."""
    rows, covers = {}, coverage_of_noises(results.noises, results.sigma)
    for quiet in results.noises.level.values.tolist():
        loud, cover = 2 * results.sigma - quiet, covers.sel(level=quiet)
        rows[f"{quiet:g}, {loud:g}"] = {
            "learnt std": rms(results.noises["std"].sel(level=quiet).transpose("seed", "x").values),
            "mean of the sigmas": results.sigma,
            "root of their mean square": rms(np.array([quiet, loud])),
            "covered, quiet": cover.sel(kind="the quiet half").values,
            "covered, loud": cover.sel(kind="the loud half").values,
        }
    return rows
