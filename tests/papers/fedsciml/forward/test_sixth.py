"""A sixth equation is one file: a function, a line in the table, and everything that knows the five knows it, too."""

import numpy as np
import pytest
import torch

from fedlib.federated.experiment import Experiment
from fedlib.federated.partitions import index_rule, per_client
from fedlib.federated.pinn import Equation, as_points, pinn
from fedlib.notebook import rules
from fedlib.notebook.relations import judged
from fedlib.papers.fedsciml.forward import claims, study
from fedlib.trainings.store import made

from ...small import quick

EPS = 0.1


def advection(n: int = 16) -> Experiment:
    """-EPS u'' + u' = 1 on [0, 1], u(0) = u(1) = 0: x, but for a layer of width EPS before x = 1."""
    x = as_points(np.linspace(0, 1, n)[:, None], "x")
    equation = Equation(
        operator=lambda u: u["x"] - EPS * u["xx"],
        f=lambda x: 1 + 0 * x[:, 0],
        g=lambda x: 0 * x[:, 0],
        b=lambda x: x[:, 0] * (1 - x[:, 0]),
        solution=lambda x: x[:, 0] - torch.expm1(x[:, 0] / EPS) / np.expm1(1 / EPS),
        derivatives=["x", "xx"],
    )
    return pinn(
        "Advection-diffusion", equation, (1, 10, 10, 1), "x",
        points=lambda level: (x, index_rule(n, 2, per_client(level, 2))), test=np.linspace(0, 1, 50)[:, None],
    )  # fmt: skip


@pytest.fixture
def p(monkeypatch):
    """The notebook's parameters, where they choose it; the two lines below are what its line in the table brings."""
    monkeypatch.setitem(study.STUDIES, "advection", study.Studied(advection, (2, 4, 8), 200))
    monkeypatch.setitem(study.RULES, "problems", rules.one_of(*study.STUDIES))
    return quick(study) | {"problems": ["advection"], "lr": 0.01}


def test_a_sixth_equation_is_swept_and_no_claim_speaks_of_it(p):
    rules.check(p, **study.RULES)
    study.check(p)
    results = study.results(p, made(study.trainings(p), backend="eager"))
    errors = results.errors["advection"]
    assert errors.distance.values == pytest.approx([8 / 15, 4 / 15, 2 / 15])
    assert errors[-1].sel(kind="centralised").max() < 0.2 * errors[0].sel(kind="centralised").min()
    assert all(judged(claim, results) is None for claim in claims.CLAIMS.values())
