"""Three ways to train FedStNN, as experiments: as the paper prints it, as its authors coded it, and mended.

What each of them changes stands in its function. Items of the second are read from the authors' notebooks.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ....federated.batches import Local
from ....federated.experiment import Data, Experiment
from ....federated.optimizers import Optimizer, adam, remembered, sgd
from ....streams import stream
from .. import plane, sine
from ..experiment import evaluate, learning
from ..network import SNN, init_snn
from ..scores import local_loss, squared_error
from .coded import MOMENTUM, Coded, coded_error, is_statistic

POINTS = "non-IID 60"
"""Of ``sine.SHARINGS``: the authors' saved notebook has 50 + 10 points for each client."""


class Case(NamedTuple):
    """A section of the paper. widths: d, L, H of its network. As coded: domain, what inputs in [-1, 1] stand for, and
    pairing, the costates of its gradient. data: (clients, points outside) -> data of an experiment, whose level is the
    data's sigma. outside: a client's points elsewhere, as printed and as coded. probes: (net, sigma, paths)."""

    widths: tuple[int, int, int]
    domain: tuple[float, float]
    pairing: str
    data: Callable[[int, int], Callable[[float, int], Data]]
    outside: tuple[int, int]
    probes: Callable


def on_curve(clients: int, outside: int) -> Callable[[float, int], Data]:
    """Section 5.1. A client's noise is drawn for the client, as coded: two of them see different y at the same x.

    outside: that of POINTS; 0: one client alone, with 110 points from anywhere.
    """

    def data(sigma: float, seed: int) -> Data:
        parts = [*sine.owners(POINTS, clients, seed), sine.owners("IID 110", clients, seed)[0]]
        x = sine.curve_grid()[np.concatenate(parts)]
        e = stream(seed, "noise of the clients").standard_normal(len(x))
        ends = np.cumsum([0, *map(len, parts)])
        owners = [np.arange(a, b) for a, b in pairwise(ends)]
        pool = {"x": sine.inputs(x), "y": torch.as_tensor(sine.curve(x) + sigma * e)}
        return Data(pool, owners[:-1] if outside else owners[-1:], {"sigma": torch.tensor(sigma)}, partition=False)

    return data


def on_surface(clients: int, outside: int) -> Callable[[float, int], Data]:
    """Section 5.2."""

    def data(sigma: float, seed: int) -> Data:
        y = torch.as_tensor(plane.observations(seed, sigma))
        pool, owners = {"x": torch.as_tensor(plane.surface_grid()), "y": y}, plane.owners(clients, outside, seed)
        return Data(pool, owners, {"sigma": torch.tensor(sigma)}, partition=False)

    return data


CASES = {
    "curve": Case((1, 8, 16), (0, 2 * np.pi), "coded 1D", on_curve, (10, 10), sine.probes),
    "surface": Case((2, 16, 32), (-1, 1), "coded 2D", on_surface, (10, 20), plane.probes),
}


def printed(case: str, clients: int, steps: int, batch: int, tests: int = 100, choice: bool = False) -> Experiment:
    """SGD, one fresh path for every point and step, a diffusion g(u_n), the squared error (Sections 3 and 4).

    The gradient is the exact one: the printed index of Z trains no differently (notebook 08). The rate is not printed.
    """
    net, local = SNN(*CASES[case].widths), Local(steps, "steps", batch)
    settings = {"loss": local_loss(squared_error), "init": init_snn, "noise": net.noise(1), "optimizer": sgd()}
    data = CASES[case].data(clients, CASES[case].outside[0])
    return Experiment("as printed", net, data=data, local=local, **settings, **judged(case, net, tests, choice))


def coded(
    case: str, clients: int, steps: int, batch: int, tests: int = 100, frozen: bool = True, pairing: str | None = None
) -> Experiment:
    """Frozen paths, Adam with weight decay, g a normalised network of the state, costates of wrong blocks, the squared
    error. Not as coded: fresh paths, where frozen is False, and another pairing of ``coded.PAIRINGS``."""
    widths, domain, usual, data, (_, outside), _ = CASES[case]
    net = Coded(*widths, gradient=pairing or usual, domain=domain)
    return as_authors("as coded", case, net, data(clients, outside), Local(steps, "steps", batch, True, frozen), tests)


def one_client(clients: int, steps: int, batch: int, tests: int = 100, frozen: bool = True) -> Experiment:
    """One client who talks to nobody, with the network as coded, but the exact gradient and scaled inputs."""
    net, local = Coded(*CASES["curve"].widths, gradient="exact"), Local(steps, "steps", batch, True, frozen)
    return as_authors("one client", "curve", net, on_curve(clients, 0), local, tests)


def as_authors(name: str, case: str, net: Coded, data: Callable, local: Local, tests: int) -> Experiment:
    """What ``coded`` and ``one_client`` share."""
    settings = {"loss": coded_error, "noise": net.noise(1), "lr": 1e-4, "reset_moments": True}
    settings |= {"optimizer": decaying(*CASES[case].widths)} | judged(case, net, tests)
    return Experiment(name, net, data=data, local=local, **settings)


def mended(case: str, clients: int, steps: int, batch: int, tests: int = 100) -> Experiment:
    """Fresh paths, the exact gradient, the energy score of two paths, Adam with a rate that falls over the rounds: what
    notebook 08 trains."""
    net, local = SNN(*CASES[case].widths), Local(steps, "steps", batch)
    data = CASES[case].data(clients, CASES[case].outside[0])
    return learning("mended", net, "energy score", data, local=local, **judged(case, net, tests))


WAYS = {"as printed": printed, "as coded": coded, "mended": mended}


@remembered
def decaying(d: int, L: int, H: int, weight_decay: float = 1e-8) -> Optimizer:
    """torch's Adam with weight decay (in the gradient) on ``Coded(d, L, H)``, and torch's update of running statistics.

    These have no gradient of their own, see ``Coded.error``.
    """
    inner, statistic = adam(), is_statistic(Coded(d, L, H))

    def apply(theta, g, state, lr):
        on = statistic.to(theta.device)
        inner.apply(theta, torch.where(on, 0.0, g + weight_decay * theta), state, lr)
        theta.sub_(torch.where(on, MOMENTUM * g, 0.0))

    return inner._replace(apply=apply)


# how they are judged


def judged(case: str, net: SNN | Coded, tests: int, choice: bool = False) -> dict:
    """Fields of an experiment: answers on the curve; on the surface, which has too many points to keep them, and for a
    choice: ``path_error``. tests: paths at a point."""
    constants = {name: value for name, value in CASES[case].probes(net, 0.0, tests).items() if name != "sigma"}
    answers = case == "curve" and not choice
    return {"level": "noise", "constants": constants, "evaluate": evaluate if answers else path_error}


def path_error(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of ONE model: mean square of a path against f. With sigma^2, it is the squared error on new observations."""
    std, mean = torch.std_mean(predict(test["x_test"], test["w_test"]), -1)
    return {"a path against f": ((mean - test["f_test"][:, 0]) ** 2 + std**2).mean()}
