"""Numbers that do not move: what every training of the notebooks gave before, and XLA beside eager."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedlib.federated.optimizers import adam, sgd

from .cases import CASES, XLA, XLA_CALM
from .runner import VALUES, differences, group_of, largest_deviation, read, trained, values_of


@pytest.mark.parametrize("name", CASES)
def test_numbers_have_not_moved(name, record_property):
    stored = read(group_of(name))
    assert name in stored, f"{name}: no values are stored; python -m tests.golden.record"
    values = values_of(trained(CASES[name]()))
    record_property("moved, golden", largest_deviation(stored[name], values))
    changed = differences(name, stored[name], values)
    assert not changed, "\n".join(changed)


def test_every_value_has_a_case():
    stored = [name for path in VALUES.glob("*.yaml") for name in read(path.stem)]
    assert not {*stored} - {*CASES}


@pytest.mark.parametrize("name", [*XLA, *XLA_CALM])
def test_xla_goes_where_eager_goes(name, record_property):
    """In float32, to 1e-5 of the way that each client's model has gone from its start, and of the losses.

    A likelihood passes through 0, where it has no digits of its own: there the size of the losses counts.
    """
    pytest.importorskip("jax", reason="XLA needs jax")
    case = first_federation(CASES[name]()) | ({"optimizer": adam(eps=1e-2)} if name in XLA_CALM else {})
    eager, xla = (trained(case, torch.float32, backend) for backend in ("eager", "xla"))
    size = np.nanmax(np.abs(eager.losses))
    np.testing.assert_allclose(xla.losses, eager.losses, rtol=1e-5, atol=1e-6 * size, err_msg=name)
    apart, way = ((eager.theta - other).norm(dim=1) for other in (xla.theta, standing_still(case)))
    share = (apart[way > 0] / way[way > 0]).max()
    record_property("moved, XLA", float(share) / 1e-5)
    assert way.max() > 0 and (apart <= 1e-5 * way).all(), f"{name}: {share:.1e} of the way"


def first_federation(case: dict) -> dict:
    """The case with one federation, and without errors: XLA takes as long as the shapes are many."""
    federations = case["federations"]
    first = federations[:1] if isinstance(federations, list) else dict([*federations.items()][:1])
    return {name: value for name, value in case.items() if name not in ("evaluate", "test", "twins")} | {
        "federations": first
    }


def standing_still(case: dict) -> torch.Tensor:
    """Where the models [M, P] started: three rounds of gradient descent that leave them there, mixed as often."""
    federations = case["federations"]
    named = dict(enumerate(federations)) if isinstance(federations, list) else federations
    slow = {key: replace(federation, lr=1e-30, decay=1.0) for key, federation in named.items()}
    return trained(case | {"federations": slow, "optimizer": sgd()}, torch.float32).theta
