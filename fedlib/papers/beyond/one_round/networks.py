"""Sums for the networks of notebook 05 themselves: Gauss-Newton."""

from collections.abc import Sequence

import numpy as np
import xarray

from ....federated import sums
from ....federated.experiment import data_of
from ....federated.stack import draw_parameters
from ....numerics.tabulated import tabulated
from ....streams import torch_stream
from .problem import EQUATIONS, error


def by_gauss_newton(name: str, levels: Sequence[int], seeds: Sequence[int], rounds: int) -> xarray.Dataset:
    """The network of notebook 05 itself, by Levenberg-Marquardt; error (%) and bytes so far of a client, all
    [round, level, seed]."""
    experiment = EQUATIONS[name]()

    def iterated(level: int, seed: int) -> dict:
        theta = draw_parameters(experiment.net, experiment.init, torch_stream(seed, "init")).double()
        data = data_of(experiment, level)
        iterates = sums.gauss_newton(experiment, data, theta, rounds)
        errors = [error(experiment, model, data.test) for model in iterates.theta]
        ended = (0, rounds - len(errors))  # what has converged stays, and nobody sends more
        sent = np.array(iterates.bytes) / len(data.owners)
        both = {"error": errors, "bytes": sent}
        return {what: ("round", np.pad(values, ended, "edge")) for what, values in both.items()}

    table = tabulated(iterated, level=levels, seed=seeds).assign_coords(round=1 + np.arange(rounds))
    return table.transpose("round", "level", "seed")
