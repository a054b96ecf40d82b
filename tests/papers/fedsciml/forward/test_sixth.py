"""A sixth equation is one file: a function, a line in the table, and everything that knows the five knows it, too."""

from importlib import reload

import numpy as np
import pytest
import torch

from fedlib.federated.experiment import KINDS, Experiment
from fedlib.federated.partitions import index_rule, per_client
from fedlib.federated.pinn import Equation, as_points, pinn
from fedlib.notebook import pictures, rules
from fedlib.notebook.claims import find
from fedlib.papers.fedsciml.forward import claims, study
from fedlib.trainings.store import histories_of, made

from ...small import quick

EPS = 0.1


def exact(x):
    """x, but for a layer of width EPS before x = 1."""
    return x[:, 0] - torch.expm1(x[:, 0] / EPS) / np.expm1(1 / EPS)


def advection(n: int = 16) -> Experiment:
    """-EPS u'' + u' = 1 on [0, 1], u(0) = u(1) = 0."""
    x = as_points(np.linspace(0, 1, n)[:, None], "x")
    equation = Equation(
        operator=lambda u: u["x"] - EPS * u["xx"],
        f=lambda x: 1 + 0 * x[:, 0],
        g=lambda x: 0 * x[:, 0],
        b=lambda x: x[:, 0] * (1 - x[:, 0]),
        solution=exact,
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
    reload(claims)
    yield quick(study) | {"problems": ["advection"], "lr": 0.01}
    monkeypatch.undo()
    reload(claims)


def test_a_sixth_equation_is_swept_stored_drawn_and_judged(p, tmp_path, capsys):
    rules.check(p, **study.RULES)
    study.check(p)
    calls = study.trainings(p)
    assert [*calls] == ["advection"] and calls["advection"].levels == [2, 4, 8]
    calls["advection"].fill(tmp_path / "advection.nc", backend="eager")
    trained = made(calls, backend="eager")
    before = (tmp_path / "advection.nc").read_bytes()
    histories = histories_of(calls, tmp_path)
    assert not capsys.readouterr().out and (tmp_path / "advection.nc").read_bytes() == before
    assert {*histories["advection"].rows} == {(kind, n, 0) for kind in KINDS for n in (2, 4, 8)}

    results = study.results(p, histories)
    errors = results.errors["advection"]
    assert errors.identical(study.results(p, trained).errors["advection"])
    assert errors.distance.values == pytest.approx([8 / 15, 4 / 15, 2 / 15])
    assert errors[-1].sel(kind="centralised").max() < 0.2 * errors[0].sel(kind="centralised").min()
    assert not results.gap, "rules against drift are tried on Poisson's equation"

    (drawn, _) = pictures.error_against_level(results.errors).axes
    assert drawn.get_title() == "Advection-diffusion"
    lines = {line.get_label(): line.get_ydata() for line in drawn.lines}
    np.testing.assert_allclose(lines["federated"], results.last["advection"].sel(kind="federated", seed=0))
    assert pictures.solution(results.solutions["advection"], 4).axes

    verdicts = {id: verdict for id, claim in claims.CLAIMS.items() if (verdict := claim(results)) is not None}
    assert [*verdicts] == [f"fedsciml.target.{q}/advection" for q in ("q1", "q2", "q3.federated", "q3.isolated")]
    assert all(find(id).text.startswith("advection") and find(id).target for id in verdicts)
    assert {type(verdict.holds) for verdict in verdicts.values()} == {bool, type(None)}, "three levels tell no trend"
