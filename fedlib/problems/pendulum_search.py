"""What Fed-DeepONet leaves open, tried on validation data: rates, decays, batch sizes, moments (Sections 4.1, 4.2)."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from ..federated.batches import Local
from ..federated.federation import Federation, join
from ..federated.optimizers import adam, sgd
from ..federated.partitions import deal
from ..federated.train import train
from ..files import ROOT
from ..models.networks import DeepONet, glorot_uniform
from ..papers.fed_deeponet import physics as pendulum
from ..streams import stream

GRID = ROOT / "data" / "pendulum_grid.json"
"""Made by tools/pendulum_grid.py."""

OPTIMIZERS = {"Adam": adam, "SGD": sgd}


@dataclass(frozen=True)
class Tried:
    """A setting and its mean error (%) on validation trajectories, [C][seed]; None where it diverged.

    lr decay^r is the rate in round r; updates: local steps in a round; clients: the C; seeds: of data, start and deal.
    """

    optimizer: str
    batch_size: int
    reset_moments: bool
    lr: float
    decay: float
    updates: int
    clients: list[int]
    seeds: list[int]
    error: list[list[float]] | None = None

    def mean(self, clients: Sequence[int] = ()) -> float:
        """Error (%): mean over seeds and C, or over these C only; infinite where it diverged."""
        if self.error is None:
            return float("inf")
        of = dict(zip(self.clients, self.error, strict=True))
        return float(np.mean([of[C] for C in clients or self.clients]))


def validation(n: int, m: int, length_scale: float, seed: int) -> dict[str, Tensor]:
    """n trajectories that are neither those of the training nor those of the test."""
    return pendulum.random_tests(n, m, length_scale, seed, use="validation")


def search(
    settings: Sequence[Tried],
    *,
    rounds: int = 20,
    fraction: float = 0.75,
    n: int = 10_000,
    m: int = 100,
    widths: Sequence[int] = (50, 50),
    length_scale: float = 0.2,
    n_test: int = 100,
    backend: str = "auto",
) -> list[Tried]:
    """Settings that differ in rate and decay only, with their errors after the last round; all are one stack.

    The paper's numbers are the defaults. C = 1 is a centralised model. The last error counts, not the best one.
    """
    first = settings[0]
    for name in ("optimizer", "batch_size", "reset_moments", "updates", "clients", "seeds"):
        if any(getattr(s, name) != getattr(first, name) for s in settings):
            raise ValueError(f"settings of one stack differ in {name}; give each value a search of its own")
    pool, at = join({s: pendulum.pendulum_triplets(n, m, length_scale, stream(s, "train")) for s in first.seeds})
    tests = {s: validation(n_test, m, length_scale, s) for s in first.seeds}
    unseen = pendulum.unseen_tests(m)
    federations = {
        (i, C, s): Federation(
            at(s, deal(n, C, stream(s, "deal", C))), fraction=fraction, lr=setting.lr, decay=setting.decay, seed=s
        )
        for i, setting in enumerate(settings)
        for C in first.clients
        for s in first.seeds
    }
    history = train(
        DeepONet((m, *widths), (1, *widths), domain=(0.0, 1.0)), pendulum.loss, pool, federations,
        parts=("setting", "C", "seed"), rounds=rounds, local=Local(first.updates, "steps", first.batch_size),
        optimizer=OPTIMIZERS[first.optimizer](), reset_moments=first.reset_moments, init=glorot_uniform,
        constants={"times": pendulum.times(m)}, evaluate=pendulum.mean_errors, evaluate_every=rounds,
        test=lambda key: pendulum.both_tests(tests[key[-1]], unseen), backend=backend,
    )  # fmt: skip
    found = history.last("GRF", client=0).transpose("setting", "C", "seed").values.astype(float).round(4)
    return [Tried(**asdict(s) | {"error": e.tolist()}) for s, e in zip(settings, found, strict=True)]


def save(tried: Iterable[Tried], path: Path = GRID) -> None:
    """A line per setting, so that two versions of the file can be compared."""
    path.write_text("[\n" + ",\n".join(json.dumps(asdict(t)) for t in tried) + "\n]\n")


def load(path: Path = GRID) -> list[Tried]:
    """All settings that were tried."""
    return [Tried(**fields) for fields in json.loads(path.read_text(encoding="utf-8"))]


def where(tried: Iterable[Tried], **chosen) -> list[Tried]:
    """Those with these values, e.g. optimizer="Adam", clients=[20]."""
    return [t for t in tried if all(getattr(t, name) == value for name, value in chosen.items())]


def best(tried: Iterable[Tried]) -> Tried:
    """The smallest mean error on validation data."""
    return min(tried, key=Tried.mean)


def rate(lr: float) -> str:
    """A learning rate in thousandths, 6e-3."""
    return f"{1000 * lr:g}e-3"


def by_rate(tried: Iterable[Tried], shown: Callable[[Tried], str]) -> list[list[str]]:
    """Rows of a table: a row per rate, a column per decay; the first row is the header. "-": not tried."""
    found = {(t.lr, t.decay): t for t in tried}
    lrs, decays = (sorted({key[j] for key in found}, reverse=bool(j)) for j in (0, 1))
    rows = [[rate(lr), *(shown(found[lr, d]) if (lr, d) in found else "-" for d in decays)] for lr in lrs]
    return [["rate", *(f"x {d:g} per round" for d in decays)], *rows]
