"""Models come back as they were kept, to the precision of float32."""

import numpy as np
import torch

from fedlib import Run
from fedlib.notebook import models


def test_models_come_back_by_their_keys(tmp_path):
    kept = {("federated", 2, 0): torch.randn(3, 7, dtype=torch.float64), "centralised": torch.ones(1, 7)}
    models.save(tmp_path, kept)
    found = models.load(tmp_path)
    assert list(found) == list(kept)
    for key, theta in kept.items():
        assert found[key].dtype == np.float32
        assert np.array_equal(found[key], theta.float().numpy())
    assert [p.name for p in tmp_path.iterdir()] == ["models.npz"]


def test_a_run_keeps_models_beside_its_result(tmp_path, monkeypatch):
    assert models.load(tmp_path) == {}
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path))
    run = Run("01_pendulum", "quick", {})
    run.keep_models({"C = 10": torch.zeros(1, 4)})
    assert models.load(run.folder)["C = 10"].shape == (1, 4)
