"""A study of the inverse flow problem: what is trained as one stack, and how long until the coefficients are found.

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
from .flow import TRUTH, navier_stokes_loss, navier_stokes_net, residual_points, slabs, wake_errors, wake_test
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
    wake: Wake, widths: Sequence[int], residual: Sequence[int], pool: Mapping, cases: Mapping, stride: int = 4
) -> dict:
    """Arguments of ``train`` for ``federations``: net, loss, constants, evaluation on every stride-th grid point, ...

    Args:
        widths: of ``navier_stokes_net``. residual: arguments of ``residual_points``.
    """
    gain = torch.tensor([GAINS.get(kind, 1.0) for kind, *_ in cases])
    return {
        "net": navier_stokes_net(widths), "loss": gained_loss, "pool": pool, "federations": cases,
        "parts": ("kind", "n", "seed"), "constants": {"points": residual_points(*residual)}, "evaluate": gained_errors,
        "test": wake_test(wake, len(cases), stride) | {"gain": gain},
    }  # fmt: skip


def curves(histories: Sequence[History], name: str) -> dict[tuple[str, int], np.ndarray]:
    """A metric during training: {(kind, level): [seeds, V, ...]} in the order of ``KINDS``; all clients hold the same.

    histories: with the keys of ``federations``, each model in one of them.
    """
    found = {}
    for history in histories:
        for kind, n, seed in history.rows:
            values = history.of(name, kind=kind, n=n, seed=seed, client=0).values
            found.setdefault((kind, n), []).append(values)
    return {key: np.stack(found[key]) for key in sorted(found, key=lambda key: KINDS.index(key[0]))}


def final_errors(histories: Sequence[History]) -> dict[tuple[str, int], np.ndarray]:
    """Errors (%) at the end of C1, C2, velocity and pressure: {(kind, level): [seeds, 4]}."""
    C, u, p = (curves(histories, name) for name in ("C", "error_u", "error_p"))
    return {m: np.c_[100 * np.abs(C[m][:, -1] / np.array(TRUTH) - 1), u[m][:, -1], p[m][:, -1]] for m in C}


def metrics(histories: Sequence[History]) -> dict[str, object]:
    """What a result file keeps: C and the errors (%) at the end, and C during training, of every model."""
    C, *errors = (
        {f"{kind} {n}": v for (kind, n), v in curves(histories, m).items()} for m in ("C", "error_u", "error_p")
    )
    return {
        "coefficients": {name: c[:, -1] for name, c in C.items()},
        "error_percent": {name: {m: e[name][:, -1] for m, e in zip("up", errors, strict=True)} for name in C},
        "recorded_every": histories[0].rounds[0],
        "C1_C2_every_tenth_record": {name: c[:, ::10].round(6) for name, c in C.items()},
    }


def settled(rounds: Sequence[int], C: np.ndarray, tolerances: Sequence[float]) -> np.ndarray:
    """First recorded round from which on C stays within each tolerance (%) of the truth, or inf (FedSciML, Table 2).

    Args:
        rounds [V]; C [..., V, 2]; tolerances [T].

    Returns:
        [..., 2, T].
    """
    outside = 100 * np.abs(C / np.array(TRUTH) - 1)[..., None] > np.array(tolerances)
    last = len(rounds) - 1 - np.argmax(outside[..., ::-1, :, :], -3)  # where it was outside last
    first = np.where(outside.any(-3), last + 1, 0)
    return np.append(np.asarray(rounds, float), np.inf)[first]
