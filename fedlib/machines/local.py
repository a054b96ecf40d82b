"""Sites in this process: the federation without any network, for tests, notebooks and a first trial."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..federated.experiment import train_arguments
from ..federated.history import History
from ..federated.train import train
from .experiment import in_one_memory, load
from .server import Ask
from .site import Site


def sites_of(path: Path | str, folder: Path | None = None) -> dict[str, Site]:
    """All sites of an experiment; each has loaded its own clients' points."""
    return {name: Site(path, name, folder) for name in load(path).clients}


def ask_in_turn(sites: Mapping[str, Site]) -> Ask:
    """An engine that asks one site after the other."""
    return lambda questions: {name: sites[name].answer(asked) for name, asked in questions.items()}


def in_one_process(path: Path | str, rounds: int | None = None) -> History:
    """The same experiment through ``train``, one memory with all points: what a federation has to be equal to."""
    plan = load(path)
    pool, owners, _ = in_one_memory(plan)
    return train(
        **train_arguments(plan.experiment), pool=pool, federations=[plan.federation(owners)], init=plan.experiment.init,
        rounds=plan.experiment.rounds if rounds is None else rounds, dtype=plan.dtype, backend=plan.backend,
    )  # fmt: skip


def difference(sites: Mapping[str, Site], history: History) -> float:
    """Largest difference of any parameter of any client, after both are trained."""
    theta = history.theta.numpy()
    return max(float(np.abs(site.final.numpy() - theta[site.clients]).max()) for site in sites.values())
