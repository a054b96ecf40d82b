"""The check of the jets: derivatives with a closed form, and a gap that a wrong jet has."""

import pytest

from fedlib.models import jets
from fedlib.papers.fedsciml.forward import jet_check, problem


@pytest.mark.parametrize(("experiment", "channel"), [(problem.euler_beam(), "xxxx"), (problem.helmholtz(), "xx+yy")])
def test_jets_are_nested_derivatives_and_a_wrong_one_is_seen(experiment, channel, monkeypatch):
    assert jet_check.gap(experiment, channel) < 1e-7
    right = jets.jet
    monkeypatch.setattr(jets, "jet", lambda *given: {name: 1.01 * value for name, value in right(*given).items()})
    assert jet_check.gap(experiment, channel) > 1e-4
