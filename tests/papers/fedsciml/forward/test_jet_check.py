"""The check of the jets: derivatives with a closed form, and a gap that a wrong jet has."""

import pytest
import torch

from fedlib.models import jets
from fedlib.papers.fedsciml.forward import jet_check, problem


def test_nested_derivatives_of_a_product():
    x = torch.rand(5, 2, dtype=torch.float64, requires_grad=True)
    u = x[:, 0] ** 3 * x[:, 1] ** 2
    torch.testing.assert_close(jet_check.nested(u, x, (0, 0, 1)), 12 * x[:, 0] * x[:, 1])


@pytest.mark.parametrize(("experiment", "channel"), [(problem.euler_beam(), "xxxx"), (problem.helmholtz(), "xx+yy")])
def test_jets_are_nested_derivatives_and_a_wrong_one_is_seen(experiment, channel, monkeypatch):
    assert jet_check.gap(experiment, channel) < 1e-7
    right = jets.jet
    monkeypatch.setattr(jets, "jet", lambda *given: {name: 1.01 * value for name, value in right(*given).items()})
    assert jet_check.gap(experiment, channel) > 1e-4
