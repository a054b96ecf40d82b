"""FedSciML, Sections 5.2 to 5.4: differential equations A[u] = f, solved together by clients who each know f in places.

An equation is a function of a dozen lines that returns an ``Experiment``. To add one, write it below, and name it in
``makers`` and LEVELS.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import torch
from torch import nn

from ....federated.batches import Local
from ....federated.experiment import Experiment, data_of, halved, under
from ....federated.history import History
from ....federated.partitions import halton, hammersley, index_rule, owned, per_client
from ....federated.pinn import Equation, as_points, pinn
from ....federated.rules import RULES
from ....federated.sweep import errors
from ....models.jets import Sine
from ....notebook import rules
from ....notebook.run import Run
from ....numerics.solutions import allen_cahn_reference
from ....trainings.store import Call

NOTEBOOK = "05_pinn_forward"

LEVELS = {
    "poisson": (2, 4, 6, 8, 10, 16, 32),
    "helmholtz": (2, 4, 6, 10, 12, 24),
    "allen_cahn_2": (2, 4, 6, 8, 10, 20, 32, 40),
    "allen_cahn_3": (3, 6, 9, 12, 15, 18, 30, 60),
    "beam": (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 50),
}
"""Figs. 7 to 9: the number of subdomains, from clients that differ most to clients that hardly differ."""

CLOSED_FORM = {"poisson": lambda n: np.pi / n, "allen_cahn_2": lambda n: 2 / n, "beam": lambda n: 1 / n}
"""W1 of two clients who own n intervals of a line in turn: its length over n."""

ONLY_CODE = {"poisson": (2, 4)}
"""Levels that the authors' code has and the paper does not: no verdict on the paper rests on them."""


def distances(experiment: Experiment, levels: Sequence[int]) -> dict[int, float]:
    """W1 of the clients' own points at some levels, the coarsest partition first; ValueError if one does not fit."""
    return {level: experiment.distance(data_of(experiment, level)) for level in sorted(set(levels))}


def tensor_grid(*axes: np.ndarray) -> np.ndarray:
    """Tensor grid of one-dimensional axes as points [n, d], the first axis slowest."""
    return np.stack([c.ravel() for c in np.meshgrid(*axes, indexing="ij")], 1)


def poisson(n: int = 32) -> Experiment:
    """-u'' = sum_{i <= 4} i sin(i x) + 8 sin(8 x) on [0, pi], u(0) = 0, u(pi) = pi (FedSciML, Section 5.2)."""
    x = as_points(np.linspace(0, np.pi, n)[:, None], "x")
    equation = Equation(
        operator=lambda u: -u["xx"],
        f=lambda x: sum(i * (i * x[:, 0]).sin() for i in (1, 2, 3, 4, 8)),
        g=lambda x: x[:, 0],
        b=lambda x: x[:, 0].tanh() * (torch.pi - x[:, 0]).tanh(),
        solution=lambda x: x[:, 0] + sum((i * x[:, 0]).sin() / i for i in (1, 2, 3, 4, 8)),
        derivatives=["xx"],
    )
    return pinn(
        "Poisson", equation, (1, 20, 20, 20, 1), "x",
        points=lambda level: (x, index_rule(n, 2, per_client(level, 2))),
        test=np.linspace(0, np.pi, 100)[:, None], rounds=1000,
    )  # fmt: skip


def helmholtz(k0: float = 4 * np.pi, side: int = 24, boundary: int = 96) -> Experiment:
    """-Laplace(u) - k0^2 u = k0^2 sin(k0 x) sin(k0 y) on [0, 1]^2, zero on the boundary (FedSciML, Section 5.3).

    A level is the number s of blocks per axis, each with floor(side / s)^2 Hammersley points of its own. boundary: how
    many points of the boundary all clients share, equispaced; the authors draw 96 there by Hammersley.
    """
    if boundary % 4:
        raise ValueError(f"{boundary} shared boundary points: expected a multiple of 4, as many on each side")

    def points(s):
        if not 2 <= s <= side:
            raise ValueError(f"{s} blocks per axis: expected 2 to {side}, so that every block has a point")
        local = hammersley((side // s) ** 2)
        i, j = tensor_grid(np.arange(s), np.arange(s)).T
        owner = np.repeat((i + j) % 2, len(local))
        if s % 2:  # the authors split the last block of an odd board into its lower and upper half
            owner[-len(local) :] = np.arange(len(local)) >= len(local) // 2
        x = ((np.stack([i, j], 1)[:, None] + local) / s).reshape(-1, 2)
        return torch.as_tensor(x), owned(owner, 2)

    def solution(x):  # not by prod(1), for whose derivative torch loads its compiler
        return (k0 * x[:, 0]).sin() * (k0 * x[:, 1]).sin()

    along = np.linspace(0, 1, boundary // 4, endpoint=False)
    frame = np.concatenate([[(z, 0), (1, z), (1 - z, 1), (0, 1 - z)] for z in along]) if boundary else None
    inner = np.arange(1, 61) / 61
    equation = Equation(
        operator=lambda u: -u["xx+yy"] - k0**2 * u[""],
        f=lambda x: k0**2 * solution(x),
        g=lambda x: 0 * x[:, 0],
        b=lambda x: x[:, 0] * (1 - x[:, 0]) * x[:, 1] * (1 - x[:, 1]),
        solution=solution,
        derivatives=["xx+yy"],
    )
    return pinn(
        "Helmholtz", equation, (2, 64, 64, 64, 1), "xy", activation=Sine,
        points=points, shared=frame, cut=2, level="blocks per axis", test=tensor_grid(inner, inner), rounds=2000,
    )  # fmt: skip


def allen_cahn(
    clients: int = 2, lines: int = 80, times: int = 100, boundary: int = 400, initial: int = 800,
    d: float = 1e-3, k: float = 5.0, activation: Callable[[], nn.Module] = nn.Tanh,
) -> Experiment:  # fmt: skip
    """u_t = d u_xx + k (u - u^3), u(x, 0) = x^2 cos(pi x), u(+-1, t) = -1, x in [-1, 1], t in [0, 1].

    (FedSciML, Section 5.4.) Two clients: ``lines`` x-lines with ``times`` equispaced times each, and shared points on
    the boundary and the initial line. Three: lines x times points in all, Hammersley in each x-slab, nothing shared.
    activation: tanh in the authors' code, sine in the paper's Table 4.
    """
    tensor = as_points(tensor_grid(np.linspace(-1, 1, lines), np.linspace(0, 1, times)), "xt")

    def slabs(level):
        m = lines * times // level
        per_client(level, clients)
        local = np.stack([halton(m)[:, 0], np.arange(m) / m], 1)
        x = np.concatenate([[2 * i / level - 1, 0] + [2 / level, 1] * local for i in range(level)])
        return as_points(x, "xt"), owned(np.repeat(np.arange(level) % clients, m), clients)

    def line_pieces(level):
        of_lines = index_rule(lines, 2, per_client(level, 2))
        return tensor, [(times * s[:, None] + np.arange(times)).ravel() for s in of_lines]

    t = 1 - np.arange(boundary // 2) / max(1, boundary // 2)  # t = 0 belongs to the initial line
    sides, start = tensor_grid(np.array([-1.0, 1.0]), t), tensor_grid(np.linspace(-1, 1, initial), np.zeros(1))
    two = clients == 2
    equation = Equation(
        operator=lambda u: u["t"] - d * u["xx"] + k * (u[""] ** 3 - u[""]),
        f=lambda x: 0 * x[:, 0],
        g=lambda x: x[:, 0] ** 2 * (torch.pi * x[:, 0]).cos(),
        b=lambda x: x[:, 1] * (1 - x[:, 0] ** 2),
        solution=lambda x: allen_cahn_reference(x, d, k),
        derivatives=["t", "xx"],
    )
    return pinn(
        f"Allen-Cahn, {clients} clients", equation, (2, 64, 64, 64, 1), "xt", activation=activation,
        points=line_pieces if two else slabs, shared=np.concatenate([sides, start]) if two else None,
        test=tensor_grid(np.linspace(-1, 1, 201), np.linspace(0, 1, 101)), rounds=10_000,
    )  # fmt: skip


def euler_beam(n: int = 50, share: bool = True) -> Experiment:
    """u'''' = -1 on [0, 1], clamped u(0) = u'(0) = 0 by x^2 N, free u''(1) = u'''(1) = 0 as soft conditions.

    (The authors' journal code; its points are not published, here n equispaced inner ones. share: both ends, too.)
    """
    x = as_points(np.arange(1, n + 1)[:, None] / (n + 1), "x")
    equation = Equation(
        operator=lambda u: u["xxxx"],
        f=lambda x: -torch.ones_like(x[:, 0]),
        g=lambda x: 0 * x[:, 0],
        b=lambda x: x[:, 0] ** 2,
        solution=lambda x: (-(x**4) / 24 + x**3 / 6 - x**2 / 4)[:, 0],
        derivatives=["xxxx"],
    )
    return pinn(
        "Euler beam", equation, (1, 20, 20, 20, 1), "x",
        points=lambda level: (x, index_rule(n, 2, per_client(level, 2))),
        ends=np.array([[1.0]]), end_terms=lambda u: torch.stack([u["xx"], u["xxx"]]),
        shared=np.array([[0.0], [1.0]]) if share else None, test=np.arange(1, 101)[:, None] / 101, rounds=1000,
    )  # fmt: skip


def makers(p: Mapping) -> dict[str, tuple[Callable[..., Experiment], dict]]:
    """Name -> (function, its arguments) of those of the five that a notebook's parameters name.

    Their settings begin with their names, k0 is in units of pi; without share_points nobody shares any.
    """
    share = p["share_points"]
    allen_cahn_settings = {name: p[f"allen_cahn_{name}"] for name in ("lines", "times", "d", "k")}
    allen_cahn_settings |= {name: share * p[f"allen_cahn_{name}"] for name in ("boundary", "initial")}
    allen_cahn_settings["activation"] = {"tanh": nn.Tanh, "sine": Sine}[p["allen_cahn_activation"]]
    helmholtz_settings = {"side": p["helmholtz_side"], "boundary": share * p["helmholtz_boundary"]}
    known = {
        "poisson": (poisson, {}),
        "helmholtz": (helmholtz, {"k0": np.pi * p["helmholtz_k0"], **helmholtz_settings}),
        "allen_cahn_2": (allen_cahn, {"clients": 2, **allen_cahn_settings}),
        "allen_cahn_3": (allen_cahn, {"clients": 3, **allen_cahn_settings}),
        "beam": (euler_beam, {"share": share}),
    }
    return {name: known[name] for name in p["problems"]}


def begin(namespace: Mapping) -> Run:
    """The run of notebook 05, with parameters that are known to make sense; namespace: its globals().

    Raises:
        ValueError: what was given, and what was expected; a level that a problem's points do not allow, too.
    """
    run = Run.begin(
        NOTEBOOK,
        namespace,
        problems=rules.one_of(*LEVELS),
        allen_cahn_activation=rules.one_of("tanh", "sine"),
        gap_rules=rules.one_of(*RULES),
        **dict.fromkeys(("poisson_seeds", "allen_cahn_seeds"), rules.whole(0)),
        **dict.fromkeys(("allen_cahn_boundary", "allen_cahn_initial", "helmholtz_boundary"), rules.whole(0)),
        **dict.fromkeys(("levels", "helmholtz_side", "allen_cahn_lines", "allen_cahn_times"), rules.whole(2)),
        **dict.fromkeys(("gap_level", "gap_E"), rules.whole()),
        **dict.fromkeys(("helmholtz_k0", "allen_cahn_d", "allen_cahn_k"), rules.positive()),
    )
    p = run.parameters
    rules.check_tables(p, p["problems"], [*LEVELS], "levels", "rounds")
    for name, (make, arguments) in makers(p).items():
        distances(make(**arguments), [*p["levels"][name], *[p["gap_level"]] * (name == "poisson")])
    return run


def trainings(p: Mapping) -> dict[str, Call]:
    """What notebook 05 trains: each problem at its levels, and "gap/...", rules against drift on Poisson's equation."""
    calls, common = {}, {"lr": p["lr"], "evaluations": p["evaluations"]}
    for name, (make, arguments) in makers(p).items():
        apart = name.startswith("allen_cahn")  # half an hour each
        seeds = p["allen_cahn_seeds" if apart else "poisson_seeds" if name == "poisson" else "seeds"]
        changes = {"rounds": p["rounds"][name], "local": Local(p["local_updates"]), **common}
        calls[name] = Call(make, arguments, [*dict.fromkeys(p["levels"][name])], seeds, changes=changes, apart=apart)
    if "poisson" in calls:
        for rule, E in product(p["gap_rules"], p["gap_E"]):
            changes = {"rounds": max(1, round(5 * p["rounds"]["poisson"] / E)), "local": Local(E), "lr": p["lr"]}
            for knob in RULES[rule].knobs:
                given = {"rule": rule, "knob": knob}
                call = Call(poisson_under, given, [p["gap_level"]], p["seeds"], ("federated",), changes)
                calls[f"gap/{rule}, E = {E}, knob {knob:g}"] = call
    return calls


def poisson_under(rule: str, knob: float) -> Experiment:
    """Poisson's equation with a rule of RULES; every second test point is for choosing its knob."""
    return under(halved(poisson()), rule, knob)


def gap(histories: Mapping[str, History]) -> dict[str, dict]:
    """Why a federation stays behind where its clients are alike: rules at equal numbers of steps.

    A rule with a knob of its own takes the one with the smallest error on every second test point; errors are those on
    the others.

    Args:
        histories: of ``trainings``; those named "gap/...".

    Returns:
        "rule, E = ..." -> "error_percent" [S], "megabytes" that all clients send up in all (float32), "E", "rule".
    """
    results, least = {}, {}
    for name, history in histories.items():
        if not name.startswith("gap/"):
            continue
        rule, E, _ = name.removeprefix("gap/").split(", ")
        validation = errors(history, "validation error")[-1].mean().item()
        if validation < least.get((rule, E), float("inf")):
            least[rule, E] = validation
            sent = RULES[rule].optimizer(RULES[rule].knobs[0]).sent * history.theta.shape[1]
            results[f"{rule}, {E}"] = {
                "error_percent": errors(history)[-1].values.ravel(),
                "megabytes": 4e-6 * 2 * sent * len(history.losses),
                "E": int(E.removeprefix("E = ")),
                "rule": rule,
            }
    return results
