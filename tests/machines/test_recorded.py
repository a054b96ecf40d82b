"""What a federation leaves behind is read like a notebook's result, whoever wrote it and however often it stopped."""

from pathlib import Path

import numpy as np

from fedlib.machines.engines import ask_in_turn, sites_of
from fedlib.machines.plan import load
from fedlib.machines.points import in_one_process
from fedlib.machines.recorded import play_out
from fedlib.trainings.settings import read_result

PATH = Path(__file__).with_name("shapes.py")


def test_a_result_is_a_notebooks_and_keeps_its_length_over_a_restart(tmp_path):
    folder = tmp_path / "custom" / "federate-shapes-local"
    plan, quiet = load(PATH), {"engine": "local", "show": lambda line: None}
    for rounds in (1, 3):
        play_out(plan, ask_in_turn(sites_of(plan, folder)), folder, rounds=rounds, **quiet)
    found = read_result(folder / "result.json")["metrics"]
    assert [len(found[name]) for name in ("losses", "lost", "seconds", "bytes")] == [3] * 4
    assert found["seconds"][0] is found["bytes"][0] is None and found["seconds"][1] > 0
    with np.load(folder / "models.npz") as models:
        theta = models["federation"][found["model_of_client"]]
    np.testing.assert_allclose(theta, in_one_process(load(PATH), 3).theta.numpy(), atol=1e-6)


def test_messages_are_counted(tmp_path):
    """Three sites: a roll call, the rounds, the end, each with a message down and one up."""
    play_out(load(PATH), ask_in_turn(sites_of(load(PATH))), tmp_path, rounds=2, engine="local", show=lambda line: None)
    metrics = read_result(tmp_path / "result.json")["metrics"]
    assert metrics["traffic"]["messages"] == 3 * 2 * (1 + 2 + 1)
    down, up = np.sum([[*of.values()] for of in metrics["bytes"]], (0, 1))
    assert metrics["traffic"]["down"] > down and metrics["traffic"]["up"] > up, "what roll call and end take"


def test_a_short_training_at_a_site_does_not_compile(monkeypatch):
    """It knows how many rounds there are, and so that four of them are too few."""
    monkeypatch.setattr("fedlib.federated.rounds.STEPS_TO_COMPILE", 100)
    assert {site.work.backend.name for site in sites_of(load(PATH)).values()} == {"eager"}
