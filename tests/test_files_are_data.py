"""A file is data: no reader runs code, unpickles, or looks up a name that a file gives. Each is given files that try.

What arrives from a site is looked at in tests/machines/test_arriving.py; docs/security.md says what is believed.
"""

import ast
import json
import os
import zipfile
from io import BytesIO

import numpy as np
import pytest
import torch
import yaml

from fedlib.federated import checkpoints
from fedlib.files import ROOT, unpacked
from fedlib.machines import server
from fedlib.machines.engines import sites_of
from fedlib.machines.model import ABOUT, read_model, write_model
from fedlib.machines.plan import Plan
from fedlib.models.networks import mlp
from fedlib.trainings import files
from fedlib.trainings.calls import read
from fedlib.trainings.store import stored_sweep

from .new_problem import oscillator

OWN_CODE = {
    ("fedlib/__init__.py", "import_module"): "names of WHERE, in this file",
    ("fedlib/live/__init__.py", "import_module"): "names of __all__, in this file",
    ("fedlib/machines/plan.py", "importlib.import_module"): "what one's own experiment imports beside it",
    ("fedlib/machines/plan.py", "importlib.util.spec_from_file_location"): "one's own experiment, which is code",
    ("fedlib/federated/xla/recording.py", "exec"): "the graph that torch made of one's own loss",
    ("fedlib/papers/fedsciml/flow/wake.py", "loadmat"): "numbers of a file whose hash is known",
}
"""Every call that could run, or look up, what something says that is read: where, and whose words these are."""

PLAIN = "exec", "eval", "compile", "__import__"
RISKY = "import_module", "spec_from_file_location", "loadmat", "run_path", "run_module", "locate"


def calls():
    """(file, function in words, keywords) of every call in fedlib."""
    for path in sorted((ROOT / "fedlib").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                yield str(path.relative_to(ROOT)), ast.unparse(node.func), keywords


def test_nothing_else_in_the_library_could_run_what_it_reads():
    risky = {(path, name) for path, name, _ in calls() if name in PLAIN or name.split(".")[-1] in RISKY}
    assert risky == {*OWN_CODE}
    for path, name, keywords in calls():
        where = f"{path}: {name}({keywords})"
        assert name != "torch.load" or keywords.get("weights_only") == "True", where
        assert name != "np.load" or keywords.get("allow_pickle") == "False", where
        assert name not in ("torch.export.load", "torch.jit.load", "yaml.load", "yaml.unsafe_load"), where
        assert name.split(".")[0] not in ("pickle", "joblib", "dill", "cloudpickle", "shelve", "marshal"), where


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


@pytest.fixture
def ran(tmp_path):
    """A folder that is there only if some code of a file was run."""
    yield tmp_path / "ran"
    assert not (tmp_path / "ran").exists(), "a reader ran what was in its file"


def pickled(payload) -> bytes:
    torch.save(payload, content := BytesIO())
    return content.getvalue()


# stored trainings


EVIL = {"function": "os.mkdir", "arguments": {"path": {"text": "PLACE"}}}


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("name", ["over", "experiment", "arguments", "changes", "resolved"])
def test_settings_of_a_stored_training_are_only_compared(name, ran, tmp_path):
    """A label, a function, an argument that is a call: the row is another one, and is trained anew beside it."""
    path, changes = tmp_path / "sent.nc", {"rounds": 1}
    stored_sweep(path, oscillator, [2], [0], ["isolated"], **changes)
    (stack,) = read(path)
    evil = json.loads(json.dumps(EVIL).replace("PLACE", str(ran)))
    part = {"experiment": evil, "resolved": stack.settings["resolved"] | {"optimizer": evil}}
    settings = stack.settings | {name: part.get(name, {"x": evil})}
    files.write(path, [stack._replace(settings=settings)])
    stored_sweep(path, oscillator, [2], [0], ["isolated"], **changes)
    assert len(read(path)) == 2


# models


COLUMNS = {"x": {"a": ""}, "y": {"b": ""}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The parts of a model.pt2, name -> content."""
    path, net = tmp_path_factory.mktemp("whole") / "model.pt2", mlp((1, 4, 1), torch.nn.Tanh)
    write_model(path, net, torch.zeros(13), COLUMNS, {name: np.ones((2, 1)) for name in COLUMNS})
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture
def model(whole, tmp_path):
    """The parts, and what writes a file of others."""
    parts = dict(whole)

    def write(changed):
        with zipfile.ZipFile(tmp_path / "model.pt2", "w") as file:
            for name, content in (parts | changed).items():
                file.writestr(name, content)
        return tmp_path / "model.pt2"

    return parts, write


def test_a_model_with_pickled_parts_is_read_without_them(ran, model):
    """torch.export.load unpickles sample inputs where it cannot read them otherwise, and some constants always."""
    parts, write = model
    path = write({name: pickled((Payload(ran),)) for name in parts if "data/" in name})
    assert read_model(path)(np.array([[2.0]])).tolist() == [[1.0]]


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "target",
    ["os.mkdir", "", "getattr", "aten.from_file.default", "aten.__class__.mro", "aten.tanh.__call__",
     "aten.tanh.default.__init__", "prims.convert_element_type.default"],
)  # fmt: skip
def test_a_model_calls_core_operators_only(target, ran, model):
    parts, write = model
    (name,) = (name for name in parts if name.endswith(ABOUT))
    about = json.loads(parts[name])
    about["steps"][0][1:] = [target, [str(ran)], {}]
    with pytest.raises(ValueError, match="is no core operator of PyTorch, and nothing else is called"):
        read_model(write({name: json.dumps(about)}))


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "change",
    [
        lambda about: about | {"steps": []},
        lambda about: about | {"steps": about["steps"][:-1]},
        lambda about: about | {"scale": {}},
        lambda about: about | {"columns": {"x": {"a": ""}, "y": {"b": "", "c": ""}}},
        lambda about: about | {"tensors": {name: t | {"dtype": "load"} for name, t in about["tensors"].items()}},
        lambda about: [about],
    ],
)
def test_a_damaged_model_is_said(change, model):
    parts, write = model
    (name,) = (name for name in parts if name.endswith(ABOUT))
    path = write({name: json.dumps(change(json.loads(parts[name])))})
    with pytest.raises(ValueError, match=r"cannot be read as a model .*; expected model.pt2 as federate leaves it"):
        read_model(path)


def test_a_network_of_many_operators_is_the_same_when_read(tmp_path):
    """Sizes, several results of an operator, constants, what no seed draws."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.first, self.last = torch.nn.LayerNorm(4), torch.nn.Linear(1, 4), torch.nn.Linear(4, 1)
            self.register_buffer("held", torch.arange(4.0), persistent=False)
            self.drop, self.constant = torch.nn.Dropout(), torch.tensor([2.0])

        def forward(self, x):
            h = self.drop(torch.nn.functional.gelu(self.norm(self.first(x)))) + self.held * self.constant
            a, b = torch.cat([h, 2 * h], 1).reshape(-1, 2, 4).sum(1).split(2, 1)
            return self.last(torch.cat([a.sin() + torch.ones(x.shape[0], 1), b**2], 1))

    net, rows = Net(), np.linspace(-1, 1, 50)[:, None]
    row = torch.linspace(-1, 1, sum(p.numel() for p in net.parameters()))
    write_model(tmp_path / "model.pt2", net, row, COLUMNS, {name: np.array([[1.0], [2.0]]) for name in COLUMNS})
    trusted = torch.export.load(str(tmp_path / "model.pt2")).module()
    expected = trusted(torch.as_tensor(rows)).detach()
    np.testing.assert_allclose(read_model(tmp_path / "model.pt2")(rows), expected, rtol=1e-6)


# checkpoints, states of server and sites, messages, parameters


def points(client):
    return {"x": torch.ones(2, 1)}


def opened_site(path):
    plan = Plan(oscillator(), points, ([0],), identity={"code": "1"})
    path.rename(path.with_name("site-1.pt"))
    sites_of(plan, path.parent)


READERS = {
    "checkpoint of a training": lambda path: checkpoints.opened(path),
    "checkpoint of a server": lambda path: server.stored_progress(path, {}),
    "state of a site": opened_site,
    "message": lambda path: unpacked(path.read_bytes()),
    "parameters": lambda path: yaml.safe_load(path.read_text()),
}


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("reader", READERS)
def test_a_pickle_is_refused_by_every_reader(reader, ran, tmp_path):
    path = tmp_path / "sent"
    if reader == "message":
        np.savez(content := BytesIO(), rows=np.array([Payload(ran)], object))
        path.write_bytes(content.getvalue())
    elif reader == "parameters":
        path.write_text(f"rounds: !!python/object/apply:os.mkdir [{ran}]")
    else:
        path.write_bytes(pickled({"key": Payload(ran)}))
    with pytest.raises((ValueError, yaml.YAMLError)):
        READERS[reader](path)
