"""All sites of a plan in this process, and an engine that asks one after the other."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..federated.history import History
from .messages import Ask
from .plan import Plan
from .site import Site


def sites_of(plan: Plan, folder: Path | None = None) -> dict[str, Site]:
    """All sites of a plan; each has loaded its own clients' points."""
    return {name: Site(plan, name, folder) for name in plan.clients}


def ask_in_turn(sites: Mapping[str, Site]) -> Ask:
    """An engine that asks one site after the other."""
    return lambda questions: {name: sites[name].answer(question) for name, question in questions.items()}


def difference(sites: Mapping[str, Site], history: History) -> float:
    """Largest difference of any parameter of any client, after both are trained."""
    theta = history.theta.numpy()
    return max(float(np.abs(site.final.numpy() - theta[site.clients]).max()) for site in sites.values())
