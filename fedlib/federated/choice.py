"""``backend="auto"``: the backend that is fastest for a training on this machine, measured once and remembered.

What was remembered decides, not the clock of the day: a training that is run again is computed in the same way.
"""

import hashlib
import json
import platform
import shutil
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pooch
import torch

from ..files import write_atomically
from .backends import BACKENDS, Ahead
from .batches import Segment

SPEEDS = Path(pooch.os_cache("fedlib")) / "speeds.json"  # seconds per step, by training and backend
FEW = 200  # steps that nobody measures
COMPILING = {"eager": 0, "xla": 3, "inductor": 20}  # s, with imports; tried where twice as much lies ahead


def backend_of(name: str, net, loss: Callable, optimizer, ahead: Ahead) -> Callable:
    """The run, see ``backends``, of a backend's name."""
    known = {"auto": auto, **BACKENDS}
    if name not in known:
        raise ValueError(f"backend = {name!r}: expected one of {', '.join(known)}")
    if name != "auto" and not is_here(name):
        needed = {"xla": "jax (pip install jax)", "inductor": "a C++ compiler, such as g++"}[name]
        raise ValueError(f"backend = {name!r} needs {needed}, which is not here; 'auto' takes what there is")
    return known[name](net, loss, optimizer, ahead)


def auto(net, loss: Callable, optimizer, ahead: Ahead) -> Callable:
    """A run that is chosen when the first segment shows the shapes."""
    chosen = None

    def run(theta, state, lr, pool, segment: Segment):
        nonlocal chosen
        if chosen is None:
            chosen = choose((net, loss, optimizer, ahead), (theta, state, lr, pool, segment))
        return chosen(theta, state, lr, pool, segment)

    return run


def choose(training: tuple, example: tuple) -> Callable:
    """The run of the backend that needs the shortest time for what lies ahead. example: a run's arguments."""
    theta, *_, segment = example
    steps = training[-1].rounds * training[-1].blocks * segment.steps
    if steps <= FEW or theta.device.type != "cpu":
        return BACKENDS["eager"](*training)
    key, runs = name_of(training, example), {}
    speeds = {name: s for name, s in remembered().get(key, {}).items() if is_here(name)}

    def compiling(name):
        return COMPILING[name] * (3 if training[-1].varied else 1)

    def total(name):
        return compiling(name) + steps * speeds[name]

    for name in filter(is_here, COMPILING):
        if name not in speeds and all(total(other) > 2 * compiling(name) for other in speeds):
            runs[name] = BACKENDS[name](*training)
            try:
                speeds[name] = seconds(runs[name], example)
            except NotImplementedError:  # an operation that aten.py does not know
                continue
    if runs:
        remember(key, speeds)
    best = min(speeds, key=total)
    return runs.get(best) or BACKENDS[best](*training)


def seconds(run: Callable, example: tuple) -> float:
    """Per step, without compilation; nothing of the example changes."""
    theta, state, lr, pool, segment = example
    few = min(segment.steps, 5)
    segment = segment._replace(steps=few, drawn={name: value[:few] for name, value in segment.drawn.items()})
    times = []
    while len(times) < 3 or (sum(times[1:]) < 0.1 and len(times) < 20):
        copies = theta.clone(), {name: value.clone() for name, value in state.items()}
        start = time.perf_counter()
        run(*copies, lr, pool, segment)
        times.append((time.perf_counter() - start) / few)
    return min(times[1:])  # the first one warms up and compiles


def is_here(name: str) -> bool:
    """Whether this machine has what the backend needs."""
    if name == "inductor":
        return any(map(shutil.which, ("g++", "clang++", "cl")))
    return name == "eager" or find_spec("jax") is not None


def name_of(training: tuple, example: tuple) -> str:
    """Of a training on this machine, as far as speed goes."""
    net, loss, optimizer, _ = training
    theta, state, _, pool, segment = example
    shapes = [(tuple(x.shape), x.dtype) for x in (theta, *state.values(), *pool.values(), *segment.fixed.values())]
    shapes += [(tuple(x.shape[1:]), x.dtype) for x in segment.drawn.values()]
    machine = platform.processor(), platform.node(), torch.__version__, torch.get_num_threads()
    said = repr((machine, repr(net), loss.__qualname__, optimizer.apply.__qualname__, shapes))
    return hashlib.sha256(said.encode()).hexdigest()[:20]


def remembered() -> dict:
    """All speeds that this machine has measured; none where the file is damaged."""
    try:
        return json.loads(SPEEDS.read_text())
    except (OSError, ValueError):
        return {}


def remember(key: str, speeds: dict) -> None:
    """For the next time. Other processes may write, too: the last one wins, and only speed can be lost."""
    SPEEDS.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(SPEEDS, json.dumps(remembered() | {key: speeds}, indent=1))
