"""Sums for the networks of notebook 05 themselves: Gauss-Newton, and the last layer after FedAvg."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated import sums
from ....federated.experiment import Data, Experiment, data_of
from ....federated.stack import draw_parameters
from ....federated.sweep import models_of
from ....models.features import last_layer
from ....numerics.tabulated import tabulated
from ....streams import torch_stream
from ....trainings.store import stored
from ...fedsciml.forward import study as forward
from .problem import EQUATIONS, error, start


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


def after_fedavg(name: str, levels: Sequence[int], seeds: Sequence[int]) -> xarray.Dataset:
    """One exact round for the last layer of notebook 05's federated models: error (%) before, after [level, seed]."""
    history, experiment = stored(forward, name), EQUATIONS[name]()

    def both(level: int, seed: int) -> dict:
        data = data_of(experiment, level)
        (model,) = models_of(history, "federated", level, seed)
        before = error(experiment, model.double(), data.test)
        return {"before": before, "after": error_of_head(experiment, data, model)}

    return tabulated(both, level=levels, seed=seeds)


def error_of_head(experiment: Experiment, data: Data, model: Tensor) -> float:
    """Error (%) of a network [P] whose last layer is solved for in one round."""
    net = experiment.net
    torch.nn.utils.vector_to_parameters(model.double(), net.double().parameters())
    head = experiment._replace(net=last_layer(net))
    return error(head, sums.one_round(head, data, start(head)).step, data.test)
