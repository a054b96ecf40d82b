"""Which measure orders the levels of a problem: W1 of what clients own, or B of their gradients?

A ladder is a problem at all levels that its own notebook has, with the errors that are stored there.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.experiment import Experiment, data_of
from ....federated.history import History
from ....federated.sweep import errors
from ....numerics.heterogeneity import debiased_w1
from ....trainings.store import stored
from ...fed_deeponet.shards import problem as shards
from ...fed_deeponet.shards import study as shards_study
from ...fedsciml.forward import problem as forward
from ...fedsciml.forward import study as forward_study
from ...fedsciml.functions import study as functions_study
from ...fedsciml.operators import problem as operators
from ...fedsciml.operators import study as operators_study
from . import problem
from .dissimilarity import dissimilarity, on_the_way


class Ladder(NamedTuple):
    """make: the experiment. errors: federated errors (%) [level, seed] of its notebook. apart: W1 of the clients at a
    level, by default the experiment's own distance."""

    make: Callable[[], Experiment]
    errors: Callable[[], xarray.DataArray]
    apart: Callable[[Experiment, Hashable], float] | None = None


def federated(history: History, **labels) -> xarray.DataArray:
    """Errors (%) of the federations after the last round [level, seed]."""
    return errors(history)[-1].sel(kind="federated", **labels).reset_coords(drop=True).transpose("level", "seed")


def of_operator() -> xarray.DataArray:
    """What notebook 07 has stored of the antiderivative, of an earlier run where it is not trained anew."""
    return federated(stored(operators_study, (operators_study.LINE, "levels", 50_000), earlier=True))


def functions_apart(experiment: Experiment, level: int, functions_each: int = 100) -> float:
    """W1 between the coefficients of the functions that two clients of the antiderivative own, without its bias."""
    return debiased_w1([operators.draws(kind, level, functions_each, 0) for kind in ("forward", "inverse")])


def fields_apart(experiment: Experiment, level: float) -> float:
    """W1 of the clients' samples (u, y, s) of the pendulum, as notebook 02 has it."""
    return shards.samples_apart(data_of(experiment, level), 0, 500)


LADDERS = {
    "Gramacy-Lee": Ladder(problem.line, lambda: federated(stored(functions_study, "line"))),
    "Schaffer": Ladder(
        lambda: problem.square(functions_study.EARLIER),
        lambda: federated(functions_study.earlier()["earlier", "slabs", "coded"]),
    ),
    "Poisson": Ladder(forward.poisson_in_halves, lambda: federated(stored(forward_study, "poisson"))),
    "Helmholtz": Ladder(problem.helmholtz, lambda: federated(stored(forward_study, "helmholtz"))),
    "Euler beam": Ladder(forward.euler_beam, lambda: federated(stored(forward_study, "beam"))),
    "antiderivative": Ladder(problem.antiderivative, of_operator, functions_apart),
    "pendulum, shards": Ladder(
        problem.one_shard,
        lambda: federated(stored(shards_study, "shards"), rate="falling"),
        lambda experiment, level: shards.targets_apart(data_of(experiment, level)),
    ),
    "pendulum, two fields": Ladder(
        lambda: problem.pendulums(shards.two_fields()),
        lambda: federated(stored(shards_study, "fields"), algorithm="Adam"),
        fields_apart,
    ),
}
"""Name -> its ladder; rates and numbers of steps are those of its notebook."""

MEASURES = ("W1", "B at the start", "B on the way")


def measured(ladders: Sequence[str], share: float, seed: int = 0) -> xarray.Dataset:
    """MEASURES of the clients at all levels of some ladders [ladder, i], and the "level" of each i; NaN after the last.

    On the way: at a model that was trained on all points of the finest level for a share of the steps, at the problem's
    own rate.
    """
    columns: dict[str, list] = {"level": [], **{name: [] for name in MEASURES}}
    for name in ladders:
        ladder, experiment = LADDERS[name], LADDERS[name].make()
        apart = ladder.apart or (lambda experiment, level: experiment.distance(data_of(experiment, level)))
        levels = ladder.errors().level.values.tolist()
        theta = on_the_way(experiment, levels[-1], seed, share)
        columns["level"].append(levels)
        columns["W1"].append([apart(experiment, level) for level in levels])
        columns["B at the start"].append([dissimilarity(experiment, level, seed) for level in levels])
        columns["B on the way"].append([dissimilarity(experiment, level, theta=theta) for level in levels])
    longest = max(map(len, columns["level"]))
    table = {
        name: [np.pad(np.array(row, float), (0, longest - len(row)), constant_values=np.nan) for row in rows]
        for name, rows in columns.items()
    }
    coords = {"ladder": [*ladders], "i": np.arange(longest)}
    return xarray.Dataset({name: (("ladder", "i"), rows) for name, rows in table.items()}, coords)


def with_errors(measured: xarray.Dataset) -> dict[str, xarray.Dataset]:
    """Ladder -> its table, as ``ranks`` takes it: what is measured, and the errors that its notebook has stored."""
    tables = {}
    for name in measured.ladder.values.tolist():
        row = measured.sel(ladder=name, drop=True).dropna("i")
        numbers = row[[*MEASURES]].to_dataarray("measure").assign_coords(i=row.level.values).rename(i="level")
        error, numbers = xarray.align(LADDERS[name].errors(), numbers, join="inner")
        tables[name] = xarray.Dataset({"error": error, "number": numbers})
    return tables
