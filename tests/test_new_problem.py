"""The design's own test: a new problem is one file of at most 40 lines, and everything takes it as it is."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from fedlib.federated.batches import Local
from fedlib.federated.experiment import train_arguments, under
from fedlib.federated.rules import RULES
from fedlib.federated.sweep import best, errors, grid, sweep
from fedlib.files import ROOT
from fedlib.live.stage import live
from fedlib.machines.engines import ask_in_turn, difference, sites_of
from fedlib.machines.plan import load
from fedlib.machines.points import in_one_process
from fedlib.machines.server import federate
from fedlib.notebook.pictures import curves

from .new_problem import LEVEL, oscillator

FILE = Path(__file__).with_name("new_problem.py")
EXACT = {"dtype": torch.float64, "backend": "eager"}


def test_it_is_one_short_file_and_no_other_knows_it():
    assert len(FILE.read_text().splitlines()) <= 40
    assert not re.search(r"fedlib\.(papers|problems|plots)", FILE.read_text())
    code = [path.read_text() for path in (ROOT / "fedlib").rglob("*.py")]
    assert len(code) > 100 and not any("oscillator" in text for text in code)


def test_its_exact_solution_has_no_loss():
    data, loss = oscillator().data(LEVEL, 0), train_arguments(oscillator())["loss"]

    def perfect(x, value_only=False):
        return {"": torch.cat([x.sin(), x.cos()], 1), "x": torch.cat([x.cos(), -x.sin()], 1)}

    batch = data.pool | {"w": torch.full((30,), 1 / 30), "start": torch.zeros(1, 1)}
    assert loss(perfect, batch).item() < 1e-14


def test_it_is_swept_and_drawn():
    history = sweep(oscillator(), [2, LEVEL], [0, 1], evaluations=4)
    error = errors(history)
    last = error[-1].mean("seed")
    for level in (2, LEVEL):
        at = {kind: last.sel(kind=kind, level=level).item() for kind in error.kind.values}
        assert at["centralised"] < at["federated"] < at["isolated"]
    assert curves({"oscillator": error}).axes[0].get_title() == "oscillator"


def test_it_is_watched_live():
    made = live(oscillator(), level=[2, LEVEL], E=[5, 20], rule=["FedAvg", "SCAFFOLD"])
    assert made.picture.value.startswith(b"\x89PNG") and "local step 5 of 5: clients apart" in made.picture.alt
    before = made.picture.value
    made.player.step()
    made.player.thread.join()
    assert "round 1, averaged" in made.picture.alt and made.picture.value != before
    level, E, rule = made.box.children[2].children
    E.value, level.value, rule.value = 20, LEVEL, "SCAFFOLD"
    assert "round 1, after local step 20 of 20" in made.picture.alt
    made.player.stop()


@pytest.mark.parametrize("rule", RULES)
def test_it_goes_under_every_rule_against_drift(rule):
    histories = [
        sweep(under(oscillator(), rule, knob), [LEVEL], [0], ["federated"], rounds=40, lr=0.003)
        for knob in RULES[rule].knobs
    ]
    assert min(errors(history)[-1].item() for history in histories) < 100
    if rule == "fresh correction + averaged moments":  # with one local step in a round it is centralised training
        how = dict(rounds=20, local=Local(1), **EXACT)
        both = sweep(under(oscillator(), rule), [LEVEL], [0], ["federated", "centralised"], **how)
        torch.testing.assert_close(both.model("federated", LEVEL, 0), both.model("centralised", LEVEL, 0))


def test_its_settings_are_chosen_on_validation_points():
    history = grid(oscillator(), {"lr": [1e-4, 3e-3, 1e-2]}, LEVEL, [0, 1], rounds=100)
    validation = errors(history, "validation error")[-1].mean(("kind", "level", "seed"))
    assert best(history)["lr"] == validation.idxmin("lr").item() != 1e-4


def test_it_is_federated_on_the_local_carrier():
    plan = load(FILE)
    sites = sites_of(plan)
    played = [*federate(plan, ask_in_turn(sites), rounds=3)]
    assert len(played) == 3 and np.isfinite(played[-1].losses).all()
    assert difference(sites, in_one_process(plan, rounds=3)) < 1e-6


NAMES = "Experiment, Data, sweep, grid, best, under, pinn"


def test_what_a_problem_needs_is_at_hand_and_loads_nothing_before_it_is_asked_for():
    code = f"""if True:
        import sys
        import fedlib
        assert not {{"torch", "matplotlib", "IPython", "jax", "xarray"}} & {{*sys.modules}}
        from fedlib import {NAMES}
        from fedlib.live import live
        assert all(map(callable, ({NAMES}, live)))
    """
    subprocess.run([sys.executable, "-c", code], check=True)
