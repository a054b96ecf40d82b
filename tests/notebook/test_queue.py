"""The queue of ``make paper DEVICE=...``, and what a device changes: nothing but the device."""

import json
import os

import pytest
import torch

from fedlib.__main__ import main
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.partitions import index_rule
from fedlib.federated.train import train
from fedlib.models.networks import mlp
from fedlib.notebook import queue
from fedlib.notebook.jobs import Outcome
from fedlib.notebook.outputs import REQUIRED


@pytest.fixture
def calls(monkeypatch):
    """What would run: (notebook, profile, jobs, environment)."""
    found = []

    def run(names, profile, jobs, notebooks, figures):
        seen = {name: os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE")}
        found.append((names[0], profile, jobs, seen))
        return [Outcome(names[0], figures, "failed" if "b" in names else "done", 1.0)]

    monkeypatch.setattr(queue, "run", run)
    for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE"):
        monkeypatch.delenv(name, raising=False)
    return found


@pytest.fixture
def project(tmp_path):
    """Notebooks a (paper, extra) and b (paper), of which a's have taken 100 s and 2 x 60 s."""
    (tmp_path / "parameters").mkdir()
    for name, profiles in {"a": ("paper", "extra"), "b": ("paper",)}.items():
        (tmp_path / f"{name}.ipynb").write_text("{}")
        for profile in ("quick", *profiles):
            (tmp_path / "parameters" / f"{name}.{profile}.yaml").write_text("{}")
    for profile, wall, own in (("paper", 100, {}), ("extra", 60, {"workers": 2})):
        folder = tmp_path / "figures" / "a" / profile
        folder.mkdir(parents=True)
        result = {key: {} for key in REQUIRED} | {"wall_s": wall, "parameters": own}
        (folder / "result.json").write_text(json.dumps(result))
    return {"notebooks": tmp_path, "figures": tmp_path / "figures"}


def test_the_heaviest_comes_last_and_the_unknown_after_it(project):
    assert queue.queue(**project) == [("a", "paper"), ("a", "extra"), ("b", "paper")]


def test_all_of_the_queue_runs_one_by_one_whatever_fails(project, calls):
    outcomes = queue.run_all("auto", **project)
    assert [call[:3] for call in calls] == [("a", "paper", 1), ("a", "extra", 1), ("b", "paper", 1)]
    assert [o.status for o in outcomes] == ["done", "done", "failed"]


def test_the_device_is_one_of_the_process_and_no_parameter(project, calls, monkeypatch):
    """A changed parameter would make a custom run of it, in a folder of its own."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    queue.run_all("cuda", **project)
    queue.run_all("cpu", **project)
    assert [call[3]["CUDA_VISIBLE_DEVICES"] for call in calls] == [None] * 3 + ["-1"] * 3
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_float32_is_no_tf32_unless_one_asks_for_it(monkeypatch):
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    assert queue.environment_of("auto")["NVIDIA_TF32_OVERRIDE"] == "0"
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    assert queue.environment_of("auto")["NVIDIA_TF32_OVERRIDE"] == "1"
    assert not torch.backends.cuda.matmul.allow_tf32


def test_a_device_that_is_not_there_is_an_error_before_anything_runs(calls, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["queue", "--device", "cuda"]) == 2
    assert "device = 'cuda', but torch finds no accelerator" in capsys.readouterr().err
    assert main(["queue", "--device", "tpu"]) == 2
    assert "expected one of auto, cpu, cuda" in capsys.readouterr().err
    assert not calls


def trained(device, backend):
    x = torch.linspace(-1, 1, 32)[:, None]
    pool, feds = {"x": x, "f": (3 * x[:, 0]).sin()}, [Federation(index_rule(32, 2, 2), seed=s) for s in (0, 1)]
    return train(
        mlp((1, 16, 16, 1), torch.nn.Tanh), lambda predict, b: (b["w"] * (predict(b["x"])[:, 0] - b["f"]) ** 2).sum(),
        pool, feds, rounds=20, local=Local(5), device=device, backend=backend,
    ).theta  # fmt: skip


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator")
@pytest.mark.parametrize("backend", ["auto", "eager"])
def test_an_accelerator_trains_the_same_models(backend):
    assert not torch.backends.cuda.matmul.allow_tf32
    expected = torch.as_tensor(trained("cpu", "eager"))
    torch.testing.assert_close(torch.as_tensor(trained("cuda", backend)).cpu(), expected, rtol=0, atol=2e-3)


def test_the_processor_does_that_too():
    """The test above, where it can run everywhere."""
    expected = torch.as_tensor(trained("cpu", "eager"))
    torch.testing.assert_close(torch.as_tensor(trained("cpu", "auto")), expected, rtol=0, atol=2e-3)
