"""The search of settings: what is tried, by which observations it is judged, and what wins."""

import numpy as np
import pytest
import torch

from fedlib.models.stochastic import SNN
from fedlib.problems import noisy_search
from fedlib.problems.noisy_search import Config

TRIED = [Config(0.5, 0.02, 0.9, 2), Config(0.5, 0.01, 0.9, 3), Config(0.5, 0.02, 0.8, 2)]


def test_all_combinations_are_tried_once():
    tried = noisy_search.configs([0.1], [0.01, 0.02, 0.01], [0.9], [200, 400])
    assert tried == [Config(0.1, lr, 0.9, steps) for lr in (0.01, 0.02) for steps in (200, 400)]
    assert str(tried[1]) == "C = 0.1, lr = 0.01, decay = 0.9, 400 steps"
    assert noisy_search.configs([0.1], [], [0.9], [200]) == []


def test_fresh_observations_have_the_datas_noise():
    f = torch.linspace(0, 1, 20_000)[:, None]
    known = {"x_test": f, "f_test": f, "w_test": f, "sigma": torch.tensor(0.3)}
    test = noisy_search.fresh(known, every=2)
    assert {len(test[name]) for name in ("x_test", "f_test", "w_test", "y_test")} == {10_000}
    residual = test["y_test"] - f[::2, 0]
    assert residual.std().item() == pytest.approx(0.3, rel=0.03) and abs(residual.mean()) < 0.01


def test_the_score_of_the_true_law_is_the_smallest():
    """CRPS of N(0, sigma^2) against itself is sigma / sqrt(pi); too wide, too thin and shifted laws are worse."""
    e = torch.randn(4000, 50, generator=torch.Generator().manual_seed(0))
    zero = torch.zeros(4000, 1)
    known = {"x_test": zero, "f_test": zero, "w_test": e, "sigma": torch.tensor(0.1)}
    test = noisy_search.fresh(known)
    laws = {"true": (0, 0.1), "wide": (0, 0.2), "thin": (0, 0.05), "shifted": (0.1, 0.1)}
    of = {name: noisy_search.scored(lambda x, w, m=m, s=s: m + s * w, test) for name, (m, s) in laws.items()}
    assert min(of, key=lambda name: of[name]["energy score"]) == "true"
    assert of["true"]["energy score"].item() == pytest.approx(0.1 / np.pi**0.5, rel=0.05)
    assert of["shifted"]["RMSE"].item() == pytest.approx(0.1, rel=0.02)
    assert of["wide"]["std"].item() == pytest.approx(0.2, rel=0.02)


@pytest.mark.parametrize(
    ("section", "net", "clients"), [("on_surface", SNN(2, 3, 5), 4), ("on_curve", SNN(1, 3, 5), 10)]
)
def test_every_config_has_a_value_for_each_validation_seed(section, net, clients):
    found = getattr(noisy_search, section)(net, TRIED, clients, 0.1, [100, 101], rounds=1, batch_size=4)
    assert list(found) == TRIED
    for row in found.values():
        assert set(row) == {"energy score", "RMSE", "std"} and {v.shape for v in row.values()} == {(2,)}
    scores = [row["energy score"].mean() for row in found.values()]
    assert noisy_search.best(found) == TRIED[np.argmin(scores)]
    assert scores[0] == pytest.approx(scores[2])  # the decay does not act in the first round
    assert scores[0] != pytest.approx(scores[1])
