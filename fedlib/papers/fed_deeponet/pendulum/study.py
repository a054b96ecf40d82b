"""What notebook 01 trains, and what its figures and claims take (Fed-DeepONet, Sections 4.1 and 4.2).

``python -m fedlib train 01_pendulum --only clients`` trains what is not stored of Table 1.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
import xarray

from ....federated import sweep
from ....federated.batches import Local
from ....federated.history import History
from ....federated.optimizers import sgd
from ....models.networks import fan_in_uniform, glorot_uniform
from ....notebook import rules
from ....trainings.calls import Call
from ....trainings.settings import paper
from ....trainings.store import Name
from ..trainings import BATCH, check_pairs, measured, one_place, pairs
from .problem import chosen_by, dealt, one_alone

NOTEBOOK = "01_pendulum"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "shares"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
IN_SHORT = True
"""Its rounds have hundreds of steps, see ``trainings.store.calls_of``."""

TWENTY = 20
"""Clients of Table 2 and of all figures."""

PRINTED = (10, 20, 40, 50)
"""Clients of Table 1."""

VARIES = "varies"
"""Label of a share of the clients that is drawn anew in each round, from [0.1, 1]."""

STARTS = {"Glorot": glorot_uniform, "torch": fan_in_uniform}
TIMES = {"[-1, 1]": True, "[0, 1]": False}
"""Fig. 4's conventions, of which the paper says nothing: the start, and the times that the trunk sees."""

RULES = {
    "passes": rules.whole(),
    "n_triplets": rules.whole(20),
    "n_test": rules.whole(2),
    "n_common": rules.whole(2),
    "sensors": rules.whole(2),
    "fractions": rules.share(),
    "tried_clients": rules.whole(),
    **dict.fromkeys(("sgd_seeds", "validation_seeds"), rules.whole(0)),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a client would have no triplet, or a tried setting is no pair of a rate and its fall."""
    if (most := max(*p["clients"], *p["tried_clients"])) > p["n_triplets"]:
        raise ValueError(f"clients = {most}: expected at most n_triplets = {p['n_triplets']}, one for each client")
    check_pairs(p["tried"])


def twenty(p: Mapping) -> int:
    """C of Table 2 and of the figures: TWENTY where there are so many, else the first of the numbers of clients."""
    return TWENTY if TWENTY in p["clients"] else p["clients"][0]


def trainings(p: Mapping) -> dict[Name, Call]:
    """Tables 1 and 2, who is alone, Algorithm 1, one model with all triplets, our departure, Fig. 4 under four
    conventions, and the settings that were tried on validation data."""
    K, C = p["local_updates"], twenty(p)
    data = {"triplets": p["n_triplets"], "tests": p["n_test"], "common": p["n_common"], "sensors": p["sensors"]}
    data |= {"length_scale": p["length_scale"]}
    shared = {"rounds": p["rounds"], "local": Local(K, "steps", BATCH), "evaluations": p["evaluations"]}
    adam = shared | {"lr": p["lr"], "decay": p["decay"], "reset_moments": p["reset_moments"]}
    seeds, some, together = p["seeds"], {"fraction": p["fraction"]}, ["federated"]
    first = {"federated": seeds[:1], "isolated": seeds[:1], "centralised": seeds[:1]}

    calls = {
        "clients": Call(dealt, data, p["clients"], seeds, together, changes=adam | some, models=first),
        "alone": Call(one_alone, data, p["clients"], seeds, ["isolated"], changes=adam, models=first),
    }
    shares = {a: {"fraction": a} for a in p["fractions"] if a != p["fraction"]} | {VARIES: {"fraction": (0.1, 1.0)}}
    calls["shares"] = Call(dealt, data, [C], seeds, together, {"share": shares}, adam, models=first)
    calls["algorithm 1"] = Call(
        dealt,
        data,
        [C],
        p["sgd_seeds"],
        together,
        {"lr": p["lrs_sgd"]},
        shared | some | {"optimizer": sgd()},
        models={},
    )
    work = one_place(p, C, p["fraction"])
    kept = shared | {"reset_moments": False}  # nothing is synchronised
    calls["centralised"] = Call(dealt, data, [C], seeds, ["centralised"], {"work": work}, kept, models=first)
    departure = adam | some | {"local": Local(p["passes"], "epochs", BATCH), "lr": 0.001, "decay": 1.0}
    printed = [C for C in p["clients"] if C in PRINTED] or p["clients"]
    calls["passes"] = Call(dealt, data, printed, seeds[:1], together, changes=departure, models={})
    for time, scaled in TIMES.items():
        arguments = data | {"scale_time": scaled}
        calls["conventions", time] = Call(dealt, arguments, [C], seeds, together, {"init": STARTS}, adam, models=first)
    return calls | tried(p, {name: data[name] for name in ("triplets", "tests", "sensors", "length_scale")}, shared)


def tried(p: Mapping, data: Mapping, shared: Mapping) -> dict[Name, Call]:
    """What the paper leaves open, on validation trajectories and with seeds of their own.

    ("grid", "near"): pairs (rate, its factor from round to round) for several C. Where ``tried_widely``, further ones
    with one seed: batches and moments with twenty clients, Algorithm 1, and one model with all triplets.
    """
    seeds, kinds = p["validation_seeds"], ["federated"]
    shared, some = shared | {"evaluations": 1}, {"fraction": p["fraction"]}

    def call(levels, seeds, kinds, over, **more) -> Call:
        return Call(chosen_by, data, levels, seeds, kinds, over, shared | more, models={})

    rate = ("lr", "decay")
    near = call(p["tried_clients"], seeds, kinds, {rate: pairs(p["tried"])}, reset_moments=p["reset_moments"], **some)
    calls = {("grid", "near"): near}
    if p["tried_widely"]:
        K, one, C = p["local_updates"], [min(seeds) - 1], [twenty(p)]
        lrs, decays = (1e-3, 2e-3, 4e-3, 8e-3, 16e-3), (1.0, 0.9, 0.8, 0.7)
        wide = {
            (batch, moments, lr, decay): {
                "local": Local(K, "steps", batch), "reset_moments": moments == "anew", "lr": lr, "decay": decay
            }
            for (batch, moments), pairs_tried in {
                (64, "anew"): product(lrs, decays),
                (128, "anew"): product(lrs, decays),
                (64, "kept"): [*product((5e-4, *lrs[:3]), decays[:3]), (8e-3, 1.0), (8e-3, 0.9)],
                (256, "anew"): [(8e-3, 0.8), (4e-3, 0.9)],
            }.items()
            for lr, decay in pairs_tried
        }  # fmt: skip
        calls["grid", "wide"] = call(C, one, kinds, {("batch", "moments", "lr", "decay"): wide}, **some)
        plain = pairs([(0.01, 1.0), (0.03, 1.0), (0.1, 1.0), (0.2, 1.0), (0.1, 0.9)])
        calls["grid", "Algorithm 1"] = call(C, one, kinds, {rate: plain}, optimizer=sgd(), **some)
        steps, kept = pairs(product(lrs[:4], decays)), {"reset_moments": False}
        calls["grid", "same steps"] = call(C, one, ["centralised"], {rate: steps}, **kept)
        passes = pairs(product(lrs[:3], (0.9, 0.8)))
        work = one_place(p, *C, p["fraction"])["same passes"]["local"]
        calls["grid", "same passes"] = call(C, one, ["centralised"], {rate: passes}, local=work, **kept)
    return calls


class Results(NamedTuple):
    """What figures and claims take, of what is trained; what is not is empty.

    Datasets with error, common and spread (%) [round, level, seed, ...]: the mean over each seed's own test
    trajectories, the mean over those that all seeds have, and the st.dev. over the former; unseen [..., i] of the three
    unseen torques; loss (rad^2) [loss_round, level, seed, ...], the mean over clients. level is C. shares has an axis
    share, algorithm_1 lr, centralised work, conventions time and init. grid: name -> validation error [level, seed,
    lr, decay, ...] after training.
    """

    clients: xarray.Dataset
    alone: xarray.Dataset
    shares: xarray.Dataset
    algorithm_1: xarray.Dataset
    centralised: xarray.Dataset
    passes: xarray.Dataset
    conventions: xarray.Dataset
    grid: dict[str, xarray.DataArray]


def results(p: Mapping, histories: Mapping[Name, History]) -> Results:
    """The labelled arrays; Table 2 has the share of Table 1, too, which is trained there."""
    every = results_of(histories)
    if every.clients and every.shares and twenty(p) in every.clients.level and p["fraction"] in p["fractions"]:
        fixed = every.clients.sel(level=[twenty(p)]).expand_dims(share=[p["fraction"]])
        shares = joined([fixed, every.shares], "share").sortby(lambda data: data.share.astype(str))
        every = every._replace(shares=shares)
    return every


def results_of(histories: Mapping[Name, History]) -> Results:
    """Of each training what it measured."""
    arrays = {name: with_loss(history) for name, history in histories.items() if name[0] != "grid"}
    names = "clients", "alone", "shares", "algorithm 1", "centralised", "passes"
    conventions = [arrays[name].expand_dims(time=[name[1]]) for name in arrays if name[0] == "conventions"]
    grid = {name[1]: validation(history) for name, history in histories.items() if name[0] == "grid"}
    return Results(*(arrays.get(name, xarray.Dataset()) for name in names), joined(conventions, "time"), grid)


def validation(history: History) -> xarray.DataArray:
    """Error (%) on validation trajectories after training [level, seed, *settings]."""
    return sweep.errors(history, "validation error").isel(round=-1, kind=0, drop=True)


def comparable(p: Mapping, results: Results) -> dict[str, xarray.DataArray]:
    """Id of data/paper_numbers.yaml -> our values [seed] (%). Figs. 3 and 4 are those of the largest share."""
    errors, spreads, unseen = (by_name(results, metric) for metric in ("error", "spread", "unseen"))
    names = {f"table1.C{C}": f"C={C}" for C in p["clients"] if C in PRINTED}
    names |= {f"table2.a{100 * a:g}": f"alpha={a}" for a in p["fractions"]} | {"varying": "varying"}
    largest = f"alpha={max(p['fractions'])}"
    values = {id: errors[name] for id, name in names.items() if name in errors}
    values |= {f"{id}.sd": spreads[name] for id, name in names.items() if name in errors}
    if largest in errors:
        values |= {id: errors[largest] for id in ("exp2.mean", "fig3.1", "fig3.2", "fig3.3")}
        values |= {f"fig4.{name}": unseen[largest].isel(i=i) for i, name in enumerate(("t", "sin", "tsin"))}
    return {f"fed-deeponet.{id}": of_seeds for id, of_seeds in values.items()}


def by_name(results: Results, metric: str = "error") -> dict[str, xarray.DataArray]:
    """Every model of Tables 1 and 2 and those beside them: name -> a metric after the last round [seed, ...]."""

    def rows(data: xarray.Dataset, axis: str, name: Callable) -> dict[str, xarray.DataArray]:
        if not data:
            return {}
        values = data[metric].isel(round=-1, drop=True)
        values = values if axis == "level" else values.squeeze("level", drop=True)
        return {name(label): values.isel({axis: i}, drop=True) for i, label in enumerate(values[axis].values.tolist())}

    clients = rows(results.clients, "level", lambda C: f"C={C}")
    shares = rows(results.shares, "share", lambda a: "varying" if a == VARIES else f"alpha={a}")
    alone = rows(results.alone, "level", lambda C: f"alone, C={C}")
    central = rows(results.centralised, "work", lambda work: f"centralised, {work}")
    return clients | shares | alone | central | rows(results.passes, "level", lambda C: f"C={C}, epochs")


def metrics(results: Results) -> dict[str, dict[str, list]]:
    """What a result file keeps: name of ``by_name`` -> values [seed] (%)."""
    names = {
        "error": "mean_error",
        "spread": "sd_over_trajectories",
        "common": "common_error",
        "unseen": "unseen_error",
    }
    return {
        f"{name}_percent": {
            label: values.transpose("seed", ...).values.tolist() for label, values in by_name(results, metric).items()
        }
        for metric, name in names.items()
    }


def joined(parts: list[xarray.Dataset], axis: str) -> xarray.Dataset:
    """Datasets along an axis; none for none. Labels that are numbers and texts stay what they are."""
    if not parts:
        return xarray.Dataset()
    labels = np.array([label for part in parts for label in part[axis].values.tolist()], object)
    whole = xarray.concat([part.drop_vars(axis) for part in parts], axis)
    return whole.assign_coords({axis: labels})


def with_loss(history: History) -> xarray.Dataset:
    """What ``Results`` says of a training of one kind."""
    loss = history.metric("loss").mean("client").squeeze("kind", drop=True).rename(round="loss_round")
    return measured(history).assign(loss=loss.drop_attrs())
