"""Speed and memory of the engine against a plain PyTorch loop over clients, in one run on one thread."""

import contextlib
import io
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Mapping
from unittest.mock import patch

import torch

from ..federated.batches import Local
from ..federated.federation import Federation
from ..federated.partitions import deal
from ..federated.reference import fedavg_adam
from ..federated.train import train
from ..models.networks import DeepONet
from ..problems.pendulum import pendulum_triplets
from ..runs.jobs import kernel_environment
from ..runs.results import environment
from ..streams import stream

N, M_SENSORS, BATCH, STEPS = 10_000, 100, 64, 100


def squared_error(predict, batch):
    """(1/n) sum (G(u)(y) - s)^2."""
    return (batch["w"] * (predict(batch["u"], batch["y"]) - batch["s"]) ** 2).sum()


def setting(K: int):
    """The pendulum DeepONet with K clients: net, pool, federation."""
    pool = {k: v.float() for k, v in pendulum_triplets(N, M_SENSORS, 0.2, stream(0, "train")).items()}
    return DeepONet((M_SENSORS, 50, 50), (1, 50, 50)), pool, Federation(deal(N, K, stream(0, "deal")))


def ways(K: int, compiled: bool = True) -> dict:
    """The same round of FedAvg-Adam (STEPS local steps of BATCH points), done in each way."""
    net, pool, fed = setting(K)

    def engine(backend):
        return lambda: train(
            net, squared_error, pool, [fed], rounds=1, local=Local(STEPS, "steps", BATCH), backend=backend
        )

    plain = lambda: fedavg_adam(net, squared_error, pool, fed, rounds=1, local=Local(STEPS, batch_size=BATCH))  # noqa: E731
    return {"plain": plain, "eager": engine("eager")} | ({"compiled": engine("inductor")} if compiled else {})


def best_ms(ways: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """Best wall time of each way in ms on one thread; the ways take turns, after one go each to warm up and compile."""
    torch.set_num_threads(1)
    for way in ways.values():
        way()
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(repetitions):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best


def per_round(ways: Mapping[str, Callable[[], object]], rounds: int, repetitions: int) -> dict:
    """Each way, which runs ``rounds`` rounds, in ms per round; ratios to DeepXDE or, without it, to the first way."""
    best = {name: ms / rounds for name, ms in best_ms(ways, repetitions).items()}
    slow = "DeepXDE" if "DeepXDE" in best else next(iter(best))
    return {
        "ms_per_round": {name: round(ms, 2) for name, ms in best.items()},
        "ratio": {f"{slow} / {name}": round(best[slow] / best[name], 2) for name in best if name != slow},
    }


def time_ways(K: int, repetitions: int) -> dict:
    """Each way in ms per local step of all K clients."""
    ms = {name: best / STEPS for name, best in best_ms(ways(K), repetitions).items()}
    ratio = {f"plain / {name}": round(ms["plain"] / ms[name], 2) for name in ("eager", "compiled")}
    return {"clients": K, "ms_per_step": {k: round(v, 3) for k, v in ms.items()}} | ratio


def peak_memory(K: int) -> dict:
    """Peak resident memory (GiB) of a process that runs one eager round with K clients."""
    torch.set_num_threads(1)
    ways(K, compiled=False)["eager"]()
    return {"clients": K, "peak_GiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3)}


def in_own_process(function, *arguments):
    """A fresh process with one thread: no other measurement's compiled code, memory or warm cache."""
    settings = kernel_environment() | {"OMP_NUM_THREADS": "1"}
    with patch.dict(os.environ, settings), multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def deepxde_rounds(models, rounds: int, E: int) -> None:
    """FedAvg as FedSciML's authors run it: ``train`` of every client's DeepXDE model, then the mean of all weights."""
    for _ in range(rounds):
        for model in models:
            model.train(iterations=E, display_every=10**9, verbose=0)
        states = [model.net.state_dict() for model in models]
        mean = {name: sum(s[name] for s in states) / len(states) for name in states[0]}
        for model in models:
            model.net.load_state_dict(mean)


def deepxde_federation(models, rounds: int, E: int) -> Callable[[], torch.Tensor]:
    """``deepxde_rounds`` as a way to time; it returns the federated weights [P]."""

    def run():
        deepxde_rounds(models, rounds, E)
        return torch.nn.utils.parameters_to_vector(models[0].net.parameters()).detach()

    return run


def import_deepxde():
    """DeepXDE (optional extra ``deepxde``) with its PyTorch backend; it announces itself on stderr."""
    os.environ.setdefault("DDE_BACKEND", "pytorch")
    with contextlib.redirect_stderr(io.StringIO()):
        import deepxde
    return deepxde


def one_thread(task: str) -> dict:
    """What was timed, and on what; the fresh processes that do the timing have one thread."""
    info = environment()
    info["hardware"]["threads"] = 1
    return info | {"task": task}


def bench(quick: bool = False) -> dict:
    """All measurements, with the hardware they were made on."""
    repetitions = 2 if quick else 5
    speed = [in_own_process(time_ways, K, repetitions) for K in ((2, 20) if quick else (2, 20, 100))]
    task = f"DeepONet {M_SENSORS}-50-50 / 1-50-50, one round of {STEPS} Adam steps, batch {BATCH}, float32"
    return one_thread(task) | {"speed": speed, "memory": in_own_process(peak_memory, 1000)}
