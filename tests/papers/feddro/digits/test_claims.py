"""Verdicts on FedDRO's digits say what the arrays say, paired by seed."""

import numpy as np
import pytest
import xarray

from fedlib.papers.feddro.digits import claims, study


def table(**ways) -> xarray.DataArray:
    """way -> values [level, seed] at |Lambda| = 0.5 and 5."""
    names = {"means": "class means", "affine": "affine maps", "Q": "barycenter Q"}
    labels = [names.get(way, way) for way in ways]
    coords = {"way": labels, "level": [0.5, 5.0], "seed": [0, 1, 2]}
    return xarray.DataArray(np.array([*ways.values()], float), coords, ("way", "level", "seed"))


LOW, HIGH = [[80, 82, 81], [10, 20, 15]], [[83, 85, 84], [40, 52, 45]]
WITHIN = [[83, 81, 81], [40, 52, 45]]


def over_rounds(early, late):
    return xarray.concat([early, late], xarray.DataArray([10, 100], dims="round", name="round"))


def ascents(clean, ascended):
    """Of mapped digits without and with the ascent: so read clean, and the other way round under fresh shifts."""
    ways = {"way": ["mapped", "mapped + ascent"]}
    views = [table(FedAvg=a, mapped=b).assign_coords(ways) for a, b in ((clean, ascended), (ascended, clean))]
    return xarray.concat(views, xarray.DataArray(["clean", "fresh"], dims="view", name="view"))


BETTER, WORSE = table(FedAvg=LOW, mapped=HIGH), table(FedAvg=HIGH, mapped=LOW)
LATER = over_rounds(BETTER, WORSE)
ON_Q = over_rounds(table(FedAvg=HIGH, Q=LOW), table(FedAvg=LOW, Q=HIGH).where(False))
ALL = table(means=LOW, mapped=HIGH, affine=HIGH)


@pytest.mark.parametrize(
    ("id", "results", "verdict"),
    [
        ("target.gain.table", {"table": BETTER}, (True, "3.0 ± 0.0, 30.7 ± 1.2")),
        ("target.gain.table", {"table": table(FedAvg=LOW, mapped=WITHIN)}, (False, "0.7 ± 2.1, 30.7 ± 1.2")),
        ("target.gain.table", {"table": BETTER.isel(seed=[0])}, (None, "one seed")),
        ("target.gain.grows", {"table": BETTER}, (True, "")),
        ("target.gain.grows", {"table": WORSE}, (False, "")),
        ("target.gain.late", {"accuracy": LATER}, (False, "-3.0 ± 0.0, -30.7 ± 1.2")),
        ("target.gain.late", {"accuracy": LATER[::-1]}, (True, "3.0 ± 0.0, 30.7 ± 1.2")),
        ("target.gain.late", {"accuracy": LATER[:1]}, None),
        ("target.speed", {"accuracy": LATER}, (True, "16.8, -16.8")),
        ("target.speed", {"accuracy": LATER[::-1]}, (False, "-16.8, 16.8")),
        ("target.transport", {"table": ALL}, (True, "3.0 ± 0.0, 30.7 ± 1.2")),
        ("target.transport", {"table": table(means=HIGH, mapped=HIGH)}, (False, "0.0 ± 0.0, 0.0 ± 0.0")),
        ("target.moments", {"table": ALL}, (False, "0.0 ± 0.0, 0.0 ± 0.0")),
        ("target.moments", {"table": table(mapped=LOW, affine=HIGH)}, (True, "3.0 ± 0.0, 30.7 ± 1.2")),
        ("loss", {"loss": ON_Q}, (True, "-3.0 ± 0.0, -30.7 ± 1.2")),
        ("loss", {"loss": over_rounds(*[table(FedAvg=LOW, Q=HIGH)] * 2)}, (False, "3.0 ± 0.0, 30.7 ± 1.2")),
        ("target.ascent.clean", {"shifted": ascents(LOW, HIGH)}, (True, "3.0 ± 0.0, 30.7 ± 1.2")),
        ("target.ascent.worst", {"shifted": ascents(LOW, HIGH)}, (False, "-3.0 ± 0.0, -30.7 ± 1.2")),
    ],
)
def test_claims_can_hold_and_fail(id, results, verdict):
    """Moments lose nothing where both are alike and nothing scatters; the loss is that of the last round of both."""
    found = claims.CLAIMS[f"feddro.{id}"](study.Results(**results))
    assert (found if verdict is None else (found.holds, found.why)) == verdict


@pytest.mark.parametrize("claim", claims.CLAIMS.values())
def test_what_was_not_trained_has_no_verdict(claim):
    assert claim(study.Results()) is None
