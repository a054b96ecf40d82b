"""The results of notebook 01 are labelled arrays of what is trained."""

from functools import partial

import numpy as np
import pytest
import torch

from fedlib.federated.experiment import data_of
from fedlib.federated.solved import answer
from fedlib.federated.sweep import best
from fedlib.notebook.verdicts import paper_numbers
from fedlib.papers.fed_deeponet import physics
from fedlib.papers.fed_deeponet.pendulum import claims, live, problem, study
from fedlib.trainings.store import made, stored

from ...small import quick

SMALL = {
    "n_triplets": 60, "n_test": 3, "n_common": 4, "sensors": 6, "rounds": 2, "local_updates": 2, "clients": [2, 20],
    "fractions": [0.25, 0.75, 1.0], "seeds": [0, 1],
}  # fmt: skip
parameters = partial(quick, study, **SMALL)


@pytest.fixture(scope="module")
def trained():
    p = parameters()
    return p, made(study.trainings(p), backend="eager")


def test_every_training_is_in_the_results(trained):
    p, histories = trained
    results = study.results(p, histories)
    assert results.shares.share.values.tolist() == [0.25, 0.75, 1.0, study.VARIES]
    fixed = results.shares.isel(share=1).squeeze("level")
    np.testing.assert_array_equal(fixed.error, results.clients.error.sel(level=20))
    names = study.by_name(results)
    measured = {id: numbers["values"] for id, numbers in claims.measured(results).items()}
    assert {*measured} <= {*paper_numbers()} and all(values.shape == (2,) for values in measured.values())
    np.testing.assert_array_equal(measured["fed-deeponet.table1.C20"], names["C=20"])
    np.testing.assert_array_equal(measured["fed-deeponet.fig3.1"], names["alpha=1.0"])
    ours = results.conventions.error.sel(time="[-1, 1]", init="Glorot").isel(round=-1).squeeze()
    np.testing.assert_allclose(ours, names["alpha=1.0"], rtol=1e-5, err_msg="our conventions are those of Table 2")


def test_who_is_alone_is_client_1_of_the_federation(trained):
    sizes = {name: problem_of(60, 3, 4, 6) for name, problem_of in (("all", problem.dealt), ("one", problem.one_alone))}
    data = {name: data_of(experiment, 20, 1) for name, experiment in sizes.items()}
    (one,) = data["one"].owners
    np.testing.assert_array_equal(one, data["all"].owners[0])
    assert sorted(np.concatenate(data["all"].owners)) == [*range(60)] and len(data["all"].owners) == 20


def test_what_is_chosen_by_is_neither_trained_on_nor_tested_on():
    history = stored(study, "grid")
    assert best(history, "validation error") == {name: study.PAPER[name] for name in ("lr", "decay")}
    data = data_of(problem.chosen_by(30, 4, 6), 2, 0)
    chosen = data.validation["GRF u"]
    for others in (data.test["GRF u"], data.pool["u"]):
        assert (chosen[:, None] - others[None]).abs().amax(-1).min() > 1e-3


def test_the_slider_shows_the_first_seeds_models_and_all_seeds_errors(trained):
    _, histories = trained
    curves, errors = live.explored(*(histories[name] for name in ("clients", "alone", "centralised")), 6)
    u = torch.tensor(curves.x.values)  # t sin(2 pi t) at the sensors
    torque = (u * torch.sin(2 * torch.pi * u))[None]
    theta = histories["clients"].model("federated", 20, 0)
    points = {"GRF u": torque, "times": physics.times(6)}
    said = answer(problem.dealt(sensors=6), theta, points)[0]
    np.testing.assert_allclose(curves.sel(clients=20, model="federated"), said, atol=1e-6)
    for model in curves.model.values:
        off = 100 * np.linalg.norm(curves.sel(model=model, clients=2) - curves.truth) / np.linalg.norm(curves.truth)
        assert errors.sel(model=model, clients=2, seed=0).item() == pytest.approx(off, rel=1e-3)
