"""Verdicts on FedDRO's digits say what the arrays say, paired by seed."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.relations import judged
from fedlib.papers.feddro.digits import claims, study


def table(**ways) -> xarray.DataArray:
    """way -> values [level, seed] at |Lambda| = 0.5 and 5; Q: the barycenter's atoms."""
    labels = ["barycenter Q" if way == "Q" else way for way in ways]
    coords = {"way": labels, "level": [0.5, 5.0], "seed": [0, 1, 2]}
    return xarray.DataArray(np.array([*ways.values()], float), coords, ("way", "level", "seed"))


def over_rounds(early, late):
    return xarray.concat([early, late], xarray.DataArray([10, 100], dims="round", name="round"))


LOW, HIGH = [[80, 82, 81], [10, 20, 15]], [[83, 85, 84], [40, 52, 45]]
BETTER, WORSE = table(FedAvg=LOW, mapped=HIGH), table(FedAvg=HIGH, mapped=LOW)
LATER = over_rounds(BETTER, WORSE)
ON_Q = over_rounds(table(FedAvg=HIGH, Q=LOW), table(FedAvg=LOW, Q=HIGH).where(False))
"""Q's atoms are not trained as long as the clients' digits: the loss is that of the last round of both."""


@pytest.mark.parametrize(
    ("id", "results", "verdict"),
    [
        ("target.gain.grows", {"table": BETTER}, (True, "30.7 ± 1.2 points > 3 ± 0 points")),
        ("target.gain.grows", {"table": WORSE}, (False, "-30.7 ± 1.2 points ≤ -3 ± 0 points")),
        ("target.gain.grows", {"table": BETTER.isel(level=[0])}, None),
        ("target.speed", {"accuracy": LATER}, (True, "-16.8 ± 0.58 points < 16.8 ± 0.58 points")),
        ("target.speed", {"accuracy": over_rounds(WORSE, BETTER)}, (False, "16.8 ± 0.58 points ≥ -16.8 ± 0.58 points")),
        ("target.speed", {"accuracy": LATER[:1]}, None),
        ("loss", {"loss": ON_Q}, (True, "81, 15 < 84, 45.7")),
        ("loss", {"loss": over_rounds(*[table(FedAvg=LOW, Q=HIGH)] * 2)}, (False, "84, 45.7 not all < 81, 15")),
    ],
)
def test_claims_can_hold_and_fail(id, results, verdict):
    assert judged(claims.CLAIMS[f"feddro.{id}"], study.Results(**results)) == verdict


def test_table_1_has_a_value_for_each_seed():
    ours = claims.measured(study.Results(table=BETTER))
    assert ours["feddro.table1.feddro.5"]["values"].tolist() == HIGH[1] and len(ours) == 4
    assert claims.measured(study.Results()) == {}
