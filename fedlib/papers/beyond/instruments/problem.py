"""Laboratories measure one curve, each with an instrument of its own: an offset, a drift, a scale that may be off."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ....federated.experiment import Data, Experiment
from ....models.networks import mlp
from ....streams import stream

LABORATORIES, POINTS, NOISE, OFFSET, WAVES = 10, 400, 0.05, 0.5, 8
"""How many laboratories and points; noise, offsets and drifts, in units of the curve's st.dev.; the model's waves."""

LAYOUTS = "anywhere", "windows", "pieces"
"""Where a laboratory measures: at places drawn anywhere, in a window of three tenths, in two pieces of its own."""

WINDOW = 0.3


def curve(x: np.ndarray) -> np.ndarray:
    """What all measure, at x [n] in [0, 1]: a sum of three waves."""
    return np.sin(2 * np.pi * x) + 0.5 * np.cos(6 * np.pi * x) + 0.3 * np.sin(10 * np.pi * x)


def bent(x: np.ndarray) -> np.ndarray:
    """The same with a kink, which no wave has."""
    return curve(x) + 2 * np.abs(x - 0.37)


class Waves(nn.Module):
    """sum_j a_j sin(2 pi j x) + b_j cos(2 pi j x), linear in what is learnt; x [n, 1] -> [n, 1]."""

    def __init__(self, m: int):
        super().__init__()
        self.register_buffer("j", 2 * torch.pi * torch.arange(1, m + 1).double())
        self.out = nn.Linear(2 * m, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(torch.cat([(self.j * x).sin(), (self.j * x).cos()], 1).to(self.out.weight.dtype))


class Measured(nn.Module):
    """The common curve, and what a laboratory's instrument adds: an offset and a drift, ``instrument``, linear in x."""

    def __init__(self, common: nn.Module):
        super().__init__()
        self.common = common
        self.instrument = nn.Linear(1, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.common(x) + self.instrument(x.to(self.instrument.weight.dtype))


class Fault(NamedTuple):
    """What may be wrong. scale: of a ``laboratory``. noises: of each, in units of the others' noise. truth: what
    all measure."""

    scale: float = 1.0
    laboratory: int = 3
    noises: tuple[float, ...] = ()
    truth: Callable[[np.ndarray], np.ndarray] = curve


OWN = "instrument.weight", "instrument.bias"
"""What stays at a laboratory."""

SOUND = Fault()


def places(layout: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Where it is measured, x [POINTS], and by whom."""
    x, owner = rng.uniform(size=POINTS), np.arange(POINTS) % LABORATORIES
    if layout == "pieces":
        return x, (2 * LABORATORIES * x).astype(int) % LABORATORIES
    if layout == "windows":
        return ((owner + 0.5) / LABORATORIES + WINDOW * (x - 0.5)) % 1, owner
    return x, owner


def measurements(layout: str, seed: int, offset: float = OFFSET, fault: Fault = SOUND) -> Data:
    """A table of everybody's measurements x, y, and who owns which."""
    rng = stream(seed, f"instruments, {layout}")
    x, owner = places(layout, rng)
    size = curve(np.linspace(0, 1, 1000)).std()
    lines, noise = offset * size * rng.standard_normal((LABORATORIES, 2)), NOISE * size * rng.standard_normal(POINTS)
    scale, louder = np.ones(LABORATORIES), np.ones(LABORATORIES)
    scale[fault.laboratory] = fault.scale
    louder[: len(fault.noises)] = fault.noises
    y = scale[owner] * fault.truth(x) + lines[owner, 0] + lines[owner, 1] * (2 * x - 1) + louder[owner] * noise
    pool = {"x": torch.as_tensor(x[:, None]), "y": torch.as_tensor(y[:, None])}
    owners = [np.flatnonzero(owner == k) for k in range(LABORATORIES)]
    grid = np.linspace(0, 1, 501)
    line = np.linalg.qr(np.stack([np.ones_like(grid), grid], 1))[0]
    test = {"x": grid[:, None], "y": fault.truth(grid), "line": line}
    return Data(pool, owners, {name: torch.as_tensor(value) for name, value in test.items()})


def tables(data: Data) -> list[dict[str, np.ndarray]]:
    """x and y [n] of each laboratory."""
    pool = {name: data.pool[name].numpy()[:, 0] for name in "xy"}
    return [{name: values[shard] for name, values in pool.items()} for shard in data.owners]


def residuals(predict, batch):
    """At a laboratory's points [n, 1]."""
    return predict(batch["x"]) - batch["y"]


def evaluate(predict, test) -> dict[str, Tensor]:
    """Error (%) of one model, after the line is taken away that fits best: where everybody has an offset and a drift, a
    common line is nobody's."""
    u, truth, line = predict(test["x"])[:, 0], test["y"], test["line"]
    off, size = (v - line @ (line.T @ v) for v in (u - truth, truth))
    return {"error": 100 * off.norm() / size.norm()}


def instruments(
    model: str = "waves", personal: bool = True, waves: int = WAVES, offset: float = OFFSET, fault: Fault = SOUND
) -> Experiment:  # fmt: skip
    """The curve by ``model``, "waves" or "network" (as wide as 08's); personal: offsets and drifts stay at home."""
    fault = Fault(*fault)  # a stored training has it as a list
    net = Measured(Waves(waves) if model == "waves" else mlp((1, 50, 50, 1), nn.Tanh))
    return Experiment(
        "instruments", net, residuals, data=lambda level, seed: measurements(level, seed, offset, fault),
        evaluate=evaluate, rounds=1000, lr=1e-2, personal=OWN if personal else (),
    )  # fmt: skip
