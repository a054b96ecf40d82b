"""A site that sends nonsense spoils its own share only: it is named, and the others end with the model they would have.

Kinds of nonsense, each where it may come: in the roll call, in a round, in the middle of one, at its end.
"""

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from fedlib import Experiment, Local, under
from fedlib.machines.arriving import LETTERS, heard
from fedlib.machines.engines import ask_in_turn, sites_of
from fedlib.machines.plan import Plan
from fedlib.machines.server import federate
from fedlib.models.networks import mlp
from fedlib.trainings.settings import read_result

SHAPES = Path(__file__).with_name("shapes.py")
COLUMNS = {"x": {"a": "", "b": ""}, "y": {"c": ""}}


def points(client):
    x = np.random.default_rng(client).uniform(-1, 1, (10, 2))
    return {"x": torch.as_tensor(x), "y": torch.as_tensor(x[:, :1])}


def residuals(predict, batch):
    return predict(batch["x"]) - batch["y"]


def evaluate(predict, test):
    return {"error": residuals(predict, test).abs().mean()}


def three(rule: str = "FedAvg", net: torch.nn.Module | None = None) -> Plan:
    """Three sites; site-3 has two clients. 3 rounds."""
    net = net or mlp((2, 4, 1), torch.nn.Tanh)
    experiment = Experiment("three", net, residuals, evaluate=evaluate, rounds=3, local=Local(2), lr=0.01)
    return Plan(under(experiment, rule), points, ([0], [1], [2, 3]), columns=COLUMNS, test=points, backend="eager")


def lying(ask, do: str, lie):
    """An engine on which site-3 answers such questions in its own way; of those with a round, in round 1 and at the
    end."""

    def asking(questions):
        answers, question = ask(questions), questions.get("site-3", {"do": ""})
        if question["do"] == do and question.get("round", 1) in (1, 3) and "error" not in answers["site-3"]:
            answers["site-3"] = lie(answers["site-3"])
        return answers

    return asking


def played(do: str, lie, rule: str = "FedAvg", min_sites: int | None = 2):
    """Its rounds, and what was warned of."""
    said, plan = [], three(rule)
    ask = lying(ask_in_turn(sites_of(plan)), do, lie)
    return [*federate(plan, ask, min_sites=min_sites, warn=said.append)], said


@cache
def without_it(do: str, rule: str) -> torch.Tensor:
    """The model of the others where site-3 does not answer such a question."""
    return played(do, lambda answer: {"error": "it does not answer"}, rule)[0][-1].progress.state.theta


def put(**parts):
    """An answer with other parts: values, or functions of what was there."""
    return lambda a: dict(a) | {n.replace("_", "."): v(a.get(n)) if callable(v) else v for n, v in parts.items()}


def lacking(name):
    return lambda answer: {key: value for key, value in answer.items() if key != name}


def first_as(value):
    """The first number of an array as another one."""
    return lambda array: np.concatenate([[value], np.ravel(array)[1:]]).reshape(np.shape(array))


def earlier():
    """What it sent at first, for ever."""
    kept = []
    return lambda answer: kept.append(answer | {"round": 0}) or kept[0]


MOMENTS = np.ones((2, 2))
NONSENSE = {
    "nothing": ("hello", lambda a: {}),
    "no answer": ("hello", lambda a: None),
    "a layout that is no JSON": ("hello", put(layout="{")),
    "a layout that is a list": ("hello", put(layout="[1]")),
    "a layout of its own": ("hello", put(layout=json.dumps({"z": "numbers []"}))),
    "other clients": ("hello", put(clients=np.array([0, 1]))),
    "less than no point": ("hello", put(sizes=np.array([-5, 10]))),
    "parts of a point": ("hello", put(sizes=np.array([2.7, 10]))),
    "points for three clients": ("hello", put(sizes=np.array([3, 4, 5]))),
    "more points than a memory holds": ("hello", put(sizes=np.array([10**13, 10]))),
    "points as texts": ("hello", put(sizes=np.array(["3", "4"]))),
    "moments NaN": ("hello", put(moments_x=np.full((2, 2), np.nan))),
    "moments of another width": ("hello", put(moments_x=np.ones((2, 3)))),
    "squares below 0": ("hello", put(moments_x=np.array([[0, 0], [1.0, -1]]))),
    "means whose squares are inf": ("hello", put(moments_x=np.array([[1e200, 0], [1.0, 1]]))),
    "moments of what is no column": ("hello", put(moments_z=MOMENTS)),
    "no rows": ("round", lacking("rows")),
    "rows as texts": ("round", put(rows=lambda rows: np.full((2, 17), "1"))),
    "rows too narrow": ("round", lambda a: a | {"rows": a["rows"][:, 1:]}),
    "a row too many": ("round", lambda a: a | {"rows": np.ones((3, 17))}),
    "rows as one": ("round", lambda a: a | {"rows": a["rows"].ravel()}),
    "NaN": ("round", lambda a: a | {"rows": first_as(np.nan)(a["rows"])}),
    "beyond float32": ("round", lambda a: a | {"rows": first_as(1e300)(a["rows"].astype(float))}),
    "beyond its root": ("round", lambda a: a | {"rows": first_as(1e30)(a["rows"])}),
    "losses NaN": ("round", put(losses=np.array([np.nan, 1]))),
    "an error as text": ("round", lambda a: a | {"error.error": np.array(["x", "y"])}),
    "an error that a terminal obeys": ("round", lambda a: a | {"error.\x1b[2J": np.ones(2)}),
    "something shared in FedAvg": ("round", lambda a: a | {"shared.c": a["rows"]}),
    "a mixing in FedAvg": ("round", lambda a: {"mix": "mix", "rows": a["rows"], "round": a["round"]}),
    "an earlier round": ("round", earlier()),
    "no round": ("round", lacking("round")),
    "a list": ("round", lambda a: [1, 2]),
}
IN_THE_MIDDLE = {
    "middle rows too narrow": ("round", lambda a: a | {"rows": a["rows"][:, 1:]}),
    "middle rows of one number": ("round", lambda a: a | {"rows": a["rows"][:, :1]}),
    "middle rows to nobody": ("round", put(mix="matrix")),
    "middle rows to more": ("round", put(mix=lambda mix: ["mean"])),
    "models in the middle": ("round", lambda a: model_of(a)),
    "the middle again": ("mixed", lambda a: {"mix": "mean", "rows": a["rows"], "round": a["round"]}),
    "shared NaN": ("mixed", lambda a: a | {"shared.c": first_as(np.nan)(a["shared.c"])}),
    "shared of another name": ("mixed", lambda a: lacking("shared.c")(a) | {"shared.zz": a["shared.c"]}),
    "nothing shared": ("mixed", lacking("shared.c")),
}


def model_of(answer):
    return {"rows": answer["rows"], "losses": np.ones(2), "shared.c": answer["rows"], "round": answer["round"]}


@pytest.mark.fault("survived")
@pytest.mark.parametrize("name", [*NONSENSE, *IN_THE_MIDDLE])
def test_the_others_end_with_the_model_they_would_have_without_it(name):
    (do, lie), rule = (NONSENSE | IN_THE_MIDDLE)[name], "SCAFFOLD" if name in IN_THE_MIDDLE else "FedAvg"
    rounds, said = played(do, lie, rule)
    lost = [[*done.lost] for done in rounds]
    assert lost == [["site-3"]] * 3 if do == "hello" else lost == [[], ["site-3"], []]
    assert rounds[1].lost["site-3"].isprintable() and "site-1" not in " ".join(said) + " ".join(rounds[1].lost.values())
    assert torch.equal(rounds[-1].progress.state.theta, without_it(do, rule))


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("name", ["less than no point", "rows too narrow"])
def test_it_is_named_where_all_are_needed(name):
    do, lie = NONSENSE[name]
    with pytest.raises((ValueError, RuntimeError), match=r"^(round 1: )?site-3 (is refused|failed): .*(sent|expected)"):
        played(do, lie, min_sites=None)


@pytest.mark.fault("clear error")
def test_what_is_wrong_is_said_with_its_client():
    (done, *_), _ = played("hello", put(sizes=np.array([10, -5])))
    assert done.lost["site-3"] == "client 3 sent -5 in sizes, expected whole numbers from 1 to 100000000"


@pytest.mark.parametrize(
    "lie",
    [put(start="x"), lacking("start"), put(round=2), put(misfit=-1.0), lambda a: a | {"error.error": np.ones(5)}],
)
def test_nonsense_at_the_end_is_said_and_changes_nothing(lie):
    rounds, said = played("finish", lie)
    (sentence,) = said
    assert sentence.startswith("site-3 failed when it was sent its models: ")
    assert {*rounds[-1].final} == {"site-1", "site-2"}
    assert torch.equal(rounds[-1].progress.state.theta, played("finish", dict)[0][-1].progress.state.theta)


@pytest.mark.fault("survived")
def test_a_site_that_asks_for_ever_is_no_end_of_all():
    """Where it is alone in a round, nobody else shows what is usual."""
    plan = three("SCAFFOLD")._replace(sites=([0],))
    honest, asked = ask_in_turn(sites_of(plan)), []

    def ask(questions):
        if questions["site-1"]["do"] != "mixed":
            return honest(questions)
        asked.append(questions)
        assert len(asked) < 10
        return {"site-1": {"mix": "mix", "rows": np.ones((1, 17)), "round": 0}}

    with pytest.raises(RuntimeError, match="site-1 failed: it asks for more exchanges than the optimiser has"):
        next(federate(plan, ask))


def test_a_site_that_outweighs_all_others_is_named():
    rounds, said = played("hello", put(sizes=np.array([10**6, 10])))
    sentence = said[0]
    assert "site-3 says that it has 1000010 points, all others together 20" in sentence and not rounds[-1].lost


def test_a_site_that_was_lost_comes_back_with_as_many_points_only():
    plan, asked = three(), []
    honest = ask_in_turn(sites_of(plan))

    def ask(questions):
        answers = honest(questions)
        if questions.get("site-3", {}).get("round") == 0:
            answers["site-3"] = {"error": "it does not answer"}
        if [*questions] == ["site-3"] and questions["site-3"]["do"] == "hello" and not asked:
            asked.append(answers)
            answers["site-3"] = answers["site-3"] | {"sizes": np.array([11, 10])}
        return answers

    lost = [done.lost for done in federate(plan, ask, min_sites=2, warn=lambda text: None)]
    assert [[*names] for names in lost] == [["site-3"], ["site-3"], []]
    assert lost[1]["site-3"] == "its sizes is [11 10], expected [10 10]"


def test_a_text_of_a_site_is_one_line_that_no_terminal_obeys():
    text = "one\ntwo\x1b[2J" + "x" * 10**6
    answers = heard(lambda questions: {"site-1": {"error": text}}, {"site-1": {}}, None)
    (why,) = (answer["error"] for answer in answers.values())
    assert why.startswith("one two [2Jxx") and why.isprintable() and len(why) <= LETTERS


@pytest.mark.parametrize(
    ("cause", "kind"), [("float('Jane Doe 1961')", "ValueError"), ("torch.device('Jane Doe 1961')", "RuntimeError")]
)
def test_what_an_error_quotes_stays_in_the_sites_own_log(cause, kind, tmp_path, capsys):
    """Of what is no error of this library nobody knows whether a cell of a table stands in it."""
    path = tmp_path / "own.py"
    path.write_text(f"import torch\ndef residuals(predict, batch):\n    return {cause}\n")
    exec(compile(path.read_text(), str(path), "exec"), names := {})
    plan = three()
    plan = plan._replace(experiment=plan.experiment._replace(residuals=names["residuals"]), file=str(path))
    with pytest.raises(RuntimeError) as caught:
        next(federate(plan, ask_in_turn(sites_of(plan))))
    assert f"{kind} (own.py, line 3); what it says is in the site's own log" in str(caught.value)
    assert "Jane" not in str(caught.value)
    assert "Jane Doe 1961" in capsys.readouterr().err


LIES = """
import os
from fedlib.machines.site import Site
honest = getattr(Site, "honest", Site.answer)
def answer(self, question):
    its = honest(self, question)
    if self.name != "site-3" or question["do"] != "round" or question["round"] != 1 or not os.environ.get("FEDLIB_LIE"):
        return its
    return its | {"rows": np.full_like(its["rows"], 1e300)}
Site.honest, Site.answer = honest, answer
"""


@pytest.mark.parametrize("engine", ["local", "flare"])
def test_nonsense_by_the_command(engine, tmp_path):
    if not importlib.util.find_spec({"local": "fedlib", "flare": "nvflare"}[engine]):
        pytest.skip("NVIDIA FLARE is not here: pip install '.[flare]', see make engines")
    (own := tmp_path / "own.py").write_text(SHAPES.read_text() + LIES)
    command = ["simulate", str(own), "--engine", engine, "--min-sites", "2", "--folder", str(tmp_path / "results")]
    subprocess.run(
        [sys.executable, "-m", "fedlib", "federate", *command],
        check=True, env=os.environ | {"FEDLIB_LIE": "1"}, capture_output=True, timeout=300,
    )  # fmt: skip
    lost = read_result(tmp_path / "results/result.json")["metrics"]["lost"]
    assert [[*names] for names in lost] == [[], ["site-3"], [], []] and "sent 1e+300 in rows" in lost[1]["site-3"]
