import os
import sys
import time
from collections import Counter
from io import BytesIO
from itertools import cycle

import ipywidgets
import numpy as np
import pytest
import torch
from matplotlib import rc_context
from torch.utils._python_dispatch import TorchDispatchMode

from fedlib.federated import rounds
from fedlib.federated.history import History
from fedlib.federated.stack import stack
from fedlib.files import ROOT
from fedlib.live import widgets
from fedlib.models.networks import CartesianDeepONet, glorot_normal, mlp
from fedlib.notebook import pages, style
from fedlib.streams import stream

from .chromium import browser  # noqa: F401, a fixture

if (ROOT.parent / "shared/data").is_dir():  # data sets beside the repository, as the Makefile names them
    os.environ.setdefault("FEDLIB_DATA", str(ROOT.parent / "shared/data"))


rounds.STEPS_TO_COMPILE = 10**9  # tests compute eagerly where they do not name a backend


@pytest.hookimpl(tryfirst=True)  # before xdist looks at groups
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xdist_group(item.path.parent.relative_to(ROOT).as_posix()))
        for mark in item.iter_markers("fault"):
            item.user_properties.append(("fault", mark.args[0]))


def pytest_runtest_teardown(item, nextitem):
    """A folder's tests share what the library keeps in memory, those of another one do not: a worker stays small."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        for name, module in [*sys.modules.items()]:
            if name.startswith("fedlib"):
                for value in vars(module).values():
                    if callable(getattr(value, "cache_clear", None)):
                        value.cache_clear()
        if "jax" in sys.modules:
            sys.modules["jax"].clear_caches()


def pytest_terminal_summary(terminalreporter, config):
    """`make faults`: every fault with its outcome, and how many there are of each; a failed test is a loss."""
    if config.option.markexpr != "fault":
        return
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, ()) if r.when == "call"]
    outcomes = {
        r.nodeid.split("::")[1].split("@tests")[0]: dict(r.user_properties)["fault"] if r.passed else "LOST"
        for r in reports
    }
    for name, outcome in sorted(outcomes.items()):
        terminalreporter.write_line(f"{outcome:12} {name.removeprefix('test_').replace('_', ' ')}")
    count = Counter(outcomes.values())
    words = ", ".join(f"{count[outcome]} {outcome}" for outcome in ("survived", "clear error", "LOST"))
    terminalreporter.write_line(f"{len(outcomes)} faults: {words}")


@pytest.fixture(autouse=True)
def look():
    """Figures look as in the notebooks, and no test leaves a style behind."""
    with rc_context():
        style.use("page")
        yield


@pytest.fixture
def problem():
    """A small ragged regression problem in float64: net, loss, pool, shards of 5, 12 and 9 points."""
    rng = stream(7, "test problem")
    x = rng.uniform(-1, 1, (26, 2))
    pool = {"x": torch.as_tensor(x), "y": torch.as_tensor(np.sin(3 * x[:, 0]) + x[:, 1] ** 2)}
    shards = [np.arange(0, 5), np.arange(5, 17), np.arange(17, 26)]
    return mlp((2, 7, 1), torch.nn.Tanh).double(), squared_error, pool, shards


def squared_error(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()


def recorded(rows, parts, rounds, metrics, losses=None, theta=None):
    """A history as if it had been trained: metrics [V, M, ...], losses [R, M] (0 by default), theta [M, P]."""
    M = len(next(iter(metrics.values()))[0])
    losses = np.zeros((rounds[-1], M)) if losses is None else losses
    return History(rows, parts, losses, theta, torch.arange(M), rounds=rounds, metrics=metrics)


@pytest.fixture
def page(monkeypatch):
    """What a call shows: a list of (data, metadata), filled by everything that goes through ``pages``."""
    shown = []
    monkeypatch.setattr(pages, "display", lambda data, metadata=None, **_: shown.append((data, metadata)))
    return shown


YARDSTICK_S = 0.09
"""CPU time of ``yardstick`` up to which the limit is 70 ms; it is 0.15 to 0.2 s on a slow core."""


def yardstick():
    """A plain figure of fixed cost: how fast is matplotlib on this machine at this moment?"""
    fig, axes = style.panels(1, 2)
    for ax in axes[0]:
        ax.plot(np.linspace(0, 1, 1000), label="line")
        ax.set(xlabel="x", ylabel="y", title="yardstick")
        ax.legend()
    fig.savefig(BytesIO(), format="png", dpi=80)


def cpu_seconds(function):
    """Of this process, for one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def slowness():
    """By how much a core of this machine is slower, just now, than one that a limit in seconds was made for; >= 1."""
    yardstick()  # what is slow only once
    return max(1.0, min(cpu_seconds(yardstick) for _ in range(5)) / YARDSTICK_S)


def assert_redraws_fast(draw, seconds=0.07):
    """``draw`` takes less CPU time than the limit, which grows on a machine that is slow, or busy with other things.

    70 ms leave 130 of the 200 that a slider has in the browser to the way of the message and of the picture.
    """
    draw(), yardstick()  # what is slow only once
    best, stick = np.min([(cpu_seconds(draw), cpu_seconds(yardstick)) for _ in range(5)], 0)  # taking turns
    limit = seconds * max(1.0, stick / YARDSTICK_S)
    assert best < limit, f"{best:.3f} s of CPU time for a redraw, limit {limit:.3f}; yardstick {stick:.3f} s"


def every_move(box):
    """A function that moves the controls of an explorer in turn, one step each time it is called."""
    controls = [c for c in box.children if hasattr(c, "disabled")]
    turn = cycle(c for c in controls if choices(c))

    def move():
        control = next(turn)
        options = choices(control)
        control.value = options[(options.index(control.value) + 1) % len(options) if control.value in options else 0]

    return move


def choices(control):
    """Some values of a control."""
    if isinstance(control, widgets.Control):
        return control.values if len(control.values) > 1 else []
    if isinstance(control, ipywidgets.SelectionSlider):
        return [o[1] if isinstance(o, tuple) else o for o in control.options] if len(control.options) > 1 else []
    if isinstance(control, (ipywidgets.IntSlider, ipywidgets.FloatSlider)):
        middle = control.min + control.step * ((control.max - control.min) // (2 * control.step))
        return [v for v in (middle, middle + control.step) if v <= control.max]
    return []


@pytest.fixture
def deeponet():
    net = CartesianDeepONet((100, 12, 8), (1, 12, 8)).double()
    torch.nn.utils.vector_to_parameters(stack(net, [(3,)], glorot_normal)[0], net.parameters())
    torch.nn.init.constant_(net.bias, 0.3)
    return net


def pairwise(net, u, y):
    """Every pair (function, point) as a row of its own, layer by layer."""
    n, P = len(u), len(y)
    b, t = u.repeat_interleave(P, 0), y.repeat(n, 1)
    for i, (x, layers) in enumerate(((b, net.branch), (t, net.trunk))):
        linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
        for layer in linear:
            x = x @ layer.weight.T + layer.bias
            if i == 1 or layer is not linear[-1]:  # the trunk ends with an activation, the branch does not
                x = torch.relu(x)
        b, t = (x, t) if i == 0 else (b, x)
    return ((b * t).sum(1) + net.bias).reshape(n, P)


class CountOps(TorchDispatchMode):
    """n: operations that torch dispatches, whatever else the machine does."""

    def __init__(self):
        super().__init__()
        self.n = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.n += 1
        return func(*args, **(kwargs or {}))
