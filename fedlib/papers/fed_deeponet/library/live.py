"""Notebook 03 live: pendulums of many stiffnesses, in closed form, while networks train, and as they are stored."""

import ipywidgets
import numpy as np
import xarray
from matplotlib.figure import Figure

from ....federated.history import History
from ....live import levels
from ....live.modules import Piece
from ....live.watched import Watched
from ....live.widgets import choice, slider, span
from ....notebook.style import COLORS
from ....numerics.spaces import grf
from ....streams import stream
from ....trainings.store import stored
from .. import live
from ..experiment import says
from ..figures import angle_figure, ask, pendulum_input
from ..live import SCALE, Angles, N
from ..physics import half_steps, pendulum_trajectories, with_stiffness
from ..trainings import last, measured
from . import study
from .figures import blind, blind_error, families
from .problem import HIGH, LOW, family
from .problem import library as learning


def library(spread: float = 0.5, stiffness: str = "told", clients: int = 5, K: int = 20, lr: float = 0.003) -> Watched:
    """Every client has pendulums of its own, of stiffnesses in [1 - spread, 1 + spread] in turn."""
    (pool, k), (u, x1, k_test) = live.triplets(SCALE, 1 - spread, 1 + spread), live.tests(30, 1 - spread, 1 + spread)
    hidden = stiffness == "hidden"
    pool = pool | {"u": with_stiffness(pool["u"], k, hidden)}
    u = with_stiffness(u, k_test, hidden)
    shards, most = np.array_split(np.arange(N), clients), int(x1[:3].abs().amax(1).argmax())
    some = [most, len(u) // 6 * 3 + most, len(u) - 3 + most]  # the strongest torque, k from least to largest
    shown = Angles(u[some], x1[some], "stiffness k that a client owns", [k[shard] for shard in shards])
    return live.learning(pool, shards, u, x1, shown, K, lr)


def show() -> None:
    """Clients with pendulums of their own; a network that is not told k has one answer for all."""
    spread = slider([0.0, 0.25, 0.5, 1.0], 0.5, "k = 1 ±", "How far the clients' stiffnesses lie apart.")
    stiffness = choice(["told", "hidden"], "told", "stiffness is", "Whether the network is told it.")
    live.show("03", library, spread=spread, stiffness=stiffness, clients=live.clients(), **live.steps_and_rate())


# in closed form

SECONDS = (0.5, 1.0, 2.0, 3.0, 5.0)
SPREADS = (0.1, 0.25, 0.5, 0.9)
POINTS, TORQUES, PENDULUMS = 100, 20, 11


def swings(T: float, spread: float) -> np.ndarray:
    """Angles [n, K, m] of n torques on [0, T], with stiffnesses from 1 - spread to 1 + spread."""
    longest = max(SECONDS)
    torques = grf(half_steps(POINTS) * T / longest, TORQUES, SCALE / longest, stream(0, "first look"))
    return family(torques, np.linspace(1 - spread, 1 + spread, PENDULUMS), T)


def answer_figure() -> Figure:
    """One torque and eleven pendulums after one second and after three."""
    return families({T: swings(T, 0.5)[0] for T in (1.0, 3.0)})


def explored(hidden: xarray.DataArray) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) as ``levels.explore`` takes them: the stiffest pendulum as truth, the softest, and one curve for
    all, as shares of the largest angle; hidden: errors (%) [level, seed] of trained networks that are not told k."""
    x = {(T, spread): swings(T, spread) for T in SECONDS for spread in SPREADS}
    models = {"softest": lambda x: x[..., 0, :], "one curve for all": blind}
    grid = len(SECONDS), len(SPREADS)
    shown = [family[0] / np.abs(family[0, -1]).max() for family in x.values()]
    coords = {"seconds": [*SECONDS], "± of k": [*SPREADS]}
    truth = np.reshape([family[-1] for family in shown], (*grid, -1))
    colors = [COLORS["light"], COLORS["other"]]
    curves = xarray.DataArray(
        np.reshape([[model(family) for model in models.values()] for family in shown], (*grid, 2, -1)),
        {**coords, "model": [*models], "x": np.linspace(0, 1, POINTS), "truth": ((*coords, "x"), truth),
         "color": ("model", colors)},
        (*coords, "model", "x"),
        attrs={"xlabel": "t / T", "ylabel": "angle, share of the largest"},
    )  # fmt: skip
    apart = [100 * np.linalg.norm(x[:, 0] - x[:, -1], axis=-1) / np.linalg.norm(x[:, -1], axis=-1) for x in x.values()]
    errors = np.full((*grid, 3, TORQUES), np.nan)
    errors[:, :, 0] = np.reshape(apart, (*grid, -1))
    errors[:, :, 1] = np.reshape([blind_error(family) for family in x.values()], (*grid, -1))
    for T, values in zip(hidden.level.values, hidden.transpose("level", "seed").values, strict=True):
        errors[SECONDS.index(T), SPREADS.index(0.5), 2, : len(values)] = values
    labels = {**coords, "model": [*models, "federated"], "seed": range(TORQUES)}
    return curves, xarray.DataArray(errors, labels, (*coords, "model", "seed"))


def explorer() -> Piece:
    """How far one curve for all is off, by seconds and spread of k; and what networks reach who are not told k."""
    hidden = last(measured(stored(study, ("library", "mixed, hidden"))))
    return levels.explore(*explored(hidden), {"seconds": 1.0, "± of k": 0.5})


# stored models


def guesses(
    informed: History, uninformed: History, T: float = 3.0, k: float = HIGH, sensors: int = 100, **torque
) -> tuple:
    """(t, u, truth, "told" or "hidden" -> angle), each [m], of a torque as ``pendulum_input`` takes it and a pendulum
    of stiffness k; of a formula t is the share of the time, t / T."""
    scale, experiment = torque.pop("length_scale", SCALE) / T, learning(sensors=sensors)
    exact = pendulum_trajectories(pendulum_input(sensors, length_scale=scale, **torque), k, T)
    angles = {}
    for name, history in {"told": informed, "hidden": uninformed}.items():
        theta = history.model("federated", T, history.labels("seed")[0])
        angles |= says(experiment, {name: theta}, with_stiffness(exact["u"], k, name == "hidden")[0])
    return np.linspace(0, T, sensors), exact["u"][0].numpy(), exact["x1"][0].numpy(), angles


def asked() -> ipywidgets.GridBox:
    """A stiffness and a torque of one's own, the true angle, and what both federations say."""
    informed, uninformed = (stored(study, ("library", f"mixed, {what}")) for what in ("told", "hidden"))
    alt = "left a torque over time, right the pendulum's angle, and what networks say who are told k and who are not"
    seconds, stiffness = informed.labels("level"), span(LOW, HIGH, 0.05)

    def draw(k: float, **values) -> Figure:
        title = f"the angle of the pendulum with k = {k:.2f}"
        return angle_figure(*guesses(informed, uninformed, k=k, **values), title)

    controls = {"T": slider(seconds, max(seconds), "seconds"), "k": slider(stiffness, stiffness[-1], "stiffness k")}
    return ask(draw, alt, **controls)
