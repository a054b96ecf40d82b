"""Notebook 07 live: what each client knows, and that the picture is of the networks that are trained."""

import numpy as np

from fedlib.papers.fedsciml.operators import live


def test_inputs_are_of_each_clients_kind_and_outputs_are_antiderivatives():
    """At n = 1 client 2's are fast waves."""
    training = live.training(1)
    shown, x = training.more, np.linspace(0, 1, 100)
    for inputs in (shown.v, training.pool["u"]):
        first, second = inputs.diff(dim=1).abs().mean(1).reshape(2, -1).mean(1)
        assert second > 100 * first
    shown = live.training(3).more
    for v, s in zip(shown.v.numpy(), shown.s.numpy(), strict=True):
        expected = np.concatenate([[0], np.cumsum((v[1:] + v[:-1]) / 2 * np.diff(x))])
        np.testing.assert_allclose(s, expected, atol=3e-3)
