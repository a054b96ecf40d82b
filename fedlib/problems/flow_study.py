"""A study of the inverse flow problem: what is trained as one stack, and what it finds.

A model is called by its kind and level, ("federated", 10): federations of two clients by the number of subdomains,
those with one client by the number of observations.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ..federated.federation import Federation, join
from ..federated.history import History
from ..federated.mixing import isolated
from ..federated.rounds import on
from ..federated.stack import predict
from ..models.jets import VALUE_ONLY
from .flow import TRUTH, navier_stokes_loss, navier_stokes_net, residual_points, slabs, wake_errors, wake_test
from .flow_times import TOLERANCES, reached, settled, thousands
from .wake import Wake

KINDS = ("federated", "centralised", "many", "summed")  # the order in which figures and tables name the models


GAINS = {"federated": 1.0, "summed": 2.0}  # of C; a sum of two clients' steps, see ``with_gain``


def with_gain(predict: Callable, gain: float | Tensor) -> Callable:
    """The model whose coefficients are C = gain c, where c is what the optimiser sees.

    Adam's steps do not change when a gradient is scaled, so this multiplies the learning rate of C by gain. With
    gain = K and one local step per round the mean of K clients' C is C + sum_k (C_k - C), which is what the authors'
    aliased C do.
    """

    def scaled(*inputs):
        answer, c = predict(*inputs)
        return answer, gain * c

    return scaled


def gained_loss(predict: Callable, batch: Mapping[str, Tensor]) -> Tensor:
    """``navier_stokes_loss`` of ONE client whose points all carry the gain of its C, batch["gain"] [n]."""
    return navier_stokes_loss(with_gain(predict, batch["w"] @ batch["gain"]), batch)


def gained_coefficients(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """C [2] of ONE model whose C has the gain test["gain"]: so little that every round can be recorded."""
    return {"C": with_gain(predict, test["gain"])(test["x"][:1], VALUE_ONLY)[1]}


def gained_errors(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``wake_errors`` of ONE model whose C has the gain test["gain"]."""
    return wake_errors(with_gain(predict, test["gain"]), test)


def federations(
    pools: Mapping[int, Mapping[str, Tensor]], n: int, levels: Sequence[int] = (), summed: Sequence[int] = (),
    kind: str = "centralised", **settings,
) -> tuple[dict[str, Tensor], dict[tuple, Federation]]:  # fmt: skip
    """What one stack trains: for each seed and level a federation of two clients, and one model of all observations.

    Args:
        pools: seed -> ``observations``, of which the first n are used. levels: subdomains in all. summed: those of the
            levels that are trained once more with C <- C + sum_k (C_k - C), see ``with_gain``.
        kind: what the model of all observations is called; its level is n. settings: of every ``Federation``.

    Returns:
        pool with the gain of C at every point, {(kind, level, seed): Federation}.
    """
    if alone := sorted(set(summed) - set(levels)):
        raise ValueError(f"summed = {summed!r}: {alone[0]} is compared with its mean; add it to levels = {levels}")
    pool, at = join({
        (name, s): {k: v[:n] for k, v in own.items()} | {"gain": torch.full((n,), gain)}
        for name, gain in GAINS.items() for s, own in pools.items()
    })  # fmt: skip
    cases = {}
    for s, own in pools.items():
        for level in levels:
            shards = slabs(own["x"][:n], level)
            for name in ("federated", "summed") if level in summed else ("federated",):
                cases[name, level, s] = Federation(
                    at((name, s), shards), name=f"{level} slabs, {name}", seed=s, **settings
                )
        everything = at(("federated", s), [np.arange(n)])
        cases[kind, n, s] = Federation(everything, mixing=isolated, name=kind, seed=s, **settings)
    return pool, cases


def experiment(
    wake: Wake, widths: Sequence[int], residual: Sequence[int], pool: Mapping, cases: Mapping, stride: int = 4,
    fields: bool = True,
) -> dict:  # fmt: skip
    """Arguments of ``train`` for ``federations``: net, loss, constants, evaluation on every stride-th grid point, ...

    Args:
        widths: of ``navier_stokes_net``. residual: arguments of ``residual_points``.
        fields: record pressure and errors beside C; without them only C, for long trainings with every round recorded.
    """
    gain = torch.tensor([GAINS.get(kind, 1.0) for kind, *_ in cases])
    return {
        "net": navier_stokes_net(widths), "loss": gained_loss, "pool": pool, "federations": cases,
        "parts": ("kind", "n", "seed"), "constants": {"points": residual_points(*residual)},
        "evaluate": gained_errors if fields else gained_coefficients,
        "test": wake_test(wake, len(cases), stride) | {"gain": gain},
    }  # fmt: skip


def curves(histories: Sequence[History], name: str) -> dict[tuple[str, int], np.ndarray]:
    """A metric during training: {(kind, level): [seeds, V, ...]} in the order of ``KINDS``; all clients hold the same.

    histories: with the keys of ``federations``, each model in one of them.
    """
    found = {}
    for history in histories:
        for kind, n, seed in history.rows:
            values = history.metric(name, kind=kind, n=n, seed=seed, client=0).values
            found.setdefault((kind, n), []).append(values)
    return {key: np.stack(found[key]) for key in sorted(found, key=lambda key: KINDS.index(key[0]))}


def final_fields(
    histories: Sequence[History], wake: Wake, widths: Sequence[int], stride: int = 4
) -> dict[tuple[str, int], dict[str, np.ndarray]]:
    """What the models answer after the last round on every stride-th grid point: (kind, level) -> name -> [seeds, ...].

    Names and units are those of ``wake_errors``. Models know no metrics, so it needs none to be recorded.
    """
    net, found = navier_stokes_net(widths), {}
    for history in histories:
        for kind, n, seed in history.rows:
            row = history.model(kind, n, seed)
            test = {name: v[0] for name, v in on(wake_test(wake, 1, stride), dtype=row.dtype).items()}
            test["gain"] = torch.tensor(GAINS.get(kind, 1.0), dtype=row.dtype)
            with torch.no_grad():
                said = gained_errors(lambda *x, row=row: predict(net, row, *x), test)
            found.setdefault((kind, n), []).append({name: v.numpy() for name, v in said.items()})
    ordered = sorted(found, key=lambda key: KINDS.index(key[0]))
    return {key: {name: np.stack([one[name] for one in found[key]]) for name in said} for key in ordered}


def final_errors(fields: Mapping[tuple, Mapping[str, np.ndarray]]) -> dict[tuple[str, int], np.ndarray]:
    """Errors (%) at the end of C1, C2, velocity and pressure, of ``final_fields``: {(kind, level): [seeds, 4]}."""
    return {m: np.c_[100 * np.abs(f["C"] / np.array(TRUTH) - 1), f["error_u"], f["error_p"]] for m, f in fields.items()}


def metrics(histories: Sequence[History], fields: Mapping[tuple, Mapping[str, np.ndarray]]) -> dict[str, object]:
    """What a result file keeps of every model: C and errors (%) at the end, when C came close, and 400 records of C.

    fields: of ``final_fields``. Times in thousands of rounds, [seeds][C1, C2][TOLERANCES], None for never.
    """
    rounds, C = histories[0].rounds, {f"{kind} {n}": c for (kind, n), c in curves(histories, "C").items()}
    named, some = {f"{kind} {n}": f for (kind, n), f in fields.items()}, max(1, len(rounds) // 400)
    thinned = {name: c[:, some - 1 :: some] for name, c in C.items()}

    return {
        "coefficients": {name: f["C"] for name, f in named.items()},
        "error_percent": {name: {"u": f["error_u"], "p": f["error_p"]} for name, f in named.items()},
        "reached_thousand": {name: thousands(reached(rounds, c, TOLERANCES)) for name, c in C.items()},
        "stays_thousand": {name: thousands(settled(rounds, c, TOLERANCES)) for name, c in C.items()},
        "recorded_every": rounds[0] * some,
        "C1_C2_every_tenth_record": {name: c[:, ::10].round(6) for name, c in thinned.items()},
    }
