"""Diffusion and reaction with an unknown rate k(x) (FedSciML, Section 5.6).

The unknown function is a second network, trained and averaged with the first. Only the observations are divided among
the clients: every client knows the same residual points, so they belong to the loss and not to the pool.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ..federated.federation import Federation
from ..federated.history import History
from ..federated.mixing import isolated
from ..federated.partitions import index_rule, per_client
from ..federated.rounds import on
from ..federated.stack import as_dict, predict
from ..models.jets import VALUE_ONLY, Jet, JetNet, closed, function_jet, product, product_rule
from ..models.networks import mlp
from ..numerics.heterogeneity import weight_divergence
from ..numerics.metrics import percent, relative_l2
from ..numerics.solutions import DIFFUSION, reaction_rate, source, steady_reaction

KINDS = ("isolated", "federated", "centralised")


class Pair(nn.Module):
    """Two separate networks: N_u with its jet, and k."""

    def __init__(self, widths: Sequence[int] = (1, 20, 20, 20, 1)):
        super().__init__()
        self.u, self.k = JetNet(mlp(widths, nn.Tanh), "x", ("xx",)), mlp(widths, nn.Tanh)

    def forward(self, x: Tensor, value_only: bool = False) -> tuple[Jet | Tensor, Tensor]:
        """x [n, 1] -> (jet of N_u or its value, k [n])."""
        return self.u(x, value_only), self.k(x)[:, 0]


def vanishing(x: Tensor) -> Tensor:
    """b(x) = tanh(x) tanh(1 - x), x [n, 1] -> [n]: u = b N_u is zero at both ends."""
    return (x.tanh() * (1 - x).tanh())[:, 0]


RULES = {name: product_rule(name) for name in closed(("xx",))}


def reaction_constants(points: np.ndarray) -> dict[str, Tensor]:
    """What all clients know at the residual points [n, 1]: the points, the source f, and the jet of b."""
    x = torch.as_tensor(points)
    b = function_jet(vanishing, x, ("xx",), "x")
    return {"points": x, "f": source(x)[:, 0]} | {f"b{name}": values for name, values in b.items()}


def reaction_residual(predict: Callable, at: Mapping[str, Tensor]) -> Tensor:
    """0.01 u'' - k u - f of ONE model at ``reaction_constants``, [n]."""
    N, k = predict(at["points"])
    u = product({name: at[f"b{name}"] for name in RULES}, {name: v[:, 0] for name, v in N.items()}, RULES)
    return DIFFUSION * u["xx"] - k * u[""] - at["f"]


def reaction_loss(predict: Callable, batch: Mapping[str, Tensor]) -> Tensor:
    """The loss of ONE client: mean squared residual at the points that all clients share (``reaction_constants``), and
    mean square of u at the client's own observations.
    """
    x = batch["x"]
    observed = vanishing(x) * predict(x, VALUE_ONLY)[0][:, 0]
    return (reaction_residual(predict, batch) ** 2).mean() + (batch["w"] * (observed - batch["u"]) ** 2).sum()


def reaction_data(levels: Sequence[int], n: int = 24, version: str = "paper", clients: int = 2):
    """n equispaced observations of u, both ends included -> (pool {x, u}, {level: one index array per client})."""
    x = np.linspace(0, 1, n)
    pool = {"x": torch.as_tensor(x)[:, None], "u": torch.as_tensor(steady_reaction(x, version))}
    return pool, {level: index_rule(n, clients, per_client(level, clients)) for level in levels}


def reaction_points(interior: int = 8, ends: bool = True) -> np.ndarray:
    """The residual points that every client has, equispaced: i / (interior + 1) inside, and the two ends [n, 1]."""
    points = np.linspace(0, 1, interior + 2)[:, None]
    return points if ends else points[1:-1]


def reaction_test(copies: int, version: str = "paper", n: int = 1001) -> dict[str, Tensor]:
    """Test fields for ``evaluate``: x [F, n, 1], u and k [F, n]."""
    x = np.linspace(0, 1, n)
    known = {"x": x[:, None], "u": steady_reaction(x, version), "k": reaction_rate(x, version)}
    return {name: torch.as_tensor(v).expand(copies, *v.shape) for name, v in known.items()}


def reaction_errors(predict, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of ONE model: u [n], k [n] and their relative L2 errors (%), relative to the truth."""
    N, k = predict(test["x"], VALUE_ONLY)
    u = vanishing(test["x"]) * N[:, 0]
    return {
        "u": u, "k": k, "error_u": 100 * relative_l2(u, test["u"]), "error_k": 100 * relative_l2(k, test["k"]),
    }  # fmt: skip


def federations(
    shards: Mapping[int, Sequence[np.ndarray]], points: int, seeds: Sequence[int], alone: bool = True, **settings
) -> dict:
    """{(kind, level, seed): Federation}: at each level the federation and its clients alone, and one model of all.

    Args:
        shards: level -> index array of each client. points: number of observations. alone: train clients alone, too.
        settings: of every ``Federation``.
    """
    cases = {}
    for s in seeds:
        for n, own in shards.items():
            cases["federated", n, s] = Federation(own, name=f"{n} pieces", seed=s, **settings)
            if alone:
                cases["isolated", n, s] = Federation(own, mixing=isolated, name=f"{n} pieces alone", seed=s, **settings)
        everything = [np.arange(points)]
        cases["centralised", None, s] = Federation(everything, mixing=isolated, name="centralised", seed=s, **settings)
    return cases


def experiment(
    pool: Mapping[str, Tensor], cases: Mapping, interior: int, version: str = "paper", ends: bool = True
) -> dict:
    """Arguments of ``train`` for ``federations`` with these ``reaction_points``: net, loss, constants, ..."""
    return {
        "net": Pair(), "loss": reaction_loss, "pool": pool, "federations": cases, "parts": ("kind", "n", "seed"),
        "constants": reaction_constants(reaction_points(interior, ends)), "evaluate": reaction_errors,
        "test": reaction_test(len(cases), version),
    }  # fmt: skip


def final_errors(history: History) -> dict[str, dict[str, np.ndarray]]:
    """Errors (%) at the end of ``federations``, mean over isolated clients: kind -> "u", "k" -> [seeds, levels].

    The centralised model is the same at every level. Kinds that were not trained are left out.
    """
    found, trained = {}, history.labels("kind")
    for kind in [kind for kind in KINDS if kind in trained]:
        of = {name: history.last(f"error_{name}", kind=kind).mean("client") for name in "uk"}
        found[kind] = {name: e.transpose("seed", ...).values for name, e in of.items()}
    central, shape = found["centralised"], found["federated"]["u"].shape
    return found | {"centralised": {name: np.broadcast_to(e[:, None], shape) for name, e in central.items()}}


def divergence(history: History) -> dict[str, np.ndarray]:
    """Relative weight divergence of the federations from the centralised models: "u", "k" -> [seeds, levels, matrices].

    history: of ``federations``.
    """
    levels, rows = [n for n in history.labels("n") if n is not None], []
    for s in history.labels("seed"):
        central = as_dict(Pair(), history.model("centralised", None, s))
        apart = [weight_divergence(as_dict(Pair(), history.model("federated", n, s)), central) for n in levels]
        rows.append([[float(v) for v in d.values()] for d in apart])
    matrices = list(apart[0])
    return {name: np.array(rows)[..., [m[0] == name for m in matrices]] for name in "uk"}


def weak(u: np.ndarray) -> np.ndarray:
    """Where |u| is below 20 % of its peak [n]: there the data say little about k, which enters as k u only."""
    return np.abs(u) < 0.2 * np.abs(u).max()


def k_errors(history: History, truth: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Relative L2 error (%) of the centralised k where |u| is large and where it is small, mean over seeds.

    truth: {"u" [n], "k" [n]} at the points of ``reaction_test``.
    """
    found = history.last("k", kind="centralised", client=0).values
    where = {"u large": ~weak(truth["u"]), "u small": weak(truth["u"])}
    return {size: float(np.mean([percent(k[at], truth["k"][at]) for k in found])) for size, at in where.items()}


def share_of_ends(history: History, interior: int) -> list[float]:
    """Share of the two ends in the squared residual of the centralised models at ``reaction_points``, one per seed."""
    known, shares = on(reaction_constants(reaction_points(interior))), []
    for s in history.labels("seed"):
        row = history.model("centralised", None, s)
        r = reaction_residual(lambda x, row=row: predict(Pair(), row, x), known).numpy() ** 2
        shares.append(float((r[0] + r[-1]) / r.sum()))
    return shares
