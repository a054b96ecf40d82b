"""Verdicts on FedDRO's digits say what the arrays say, paired by seed."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.claims import find
from fedlib.papers.feddro.digits import claims, study


def table(**ways) -> xarray.DataArray:
    """way -> values [level, seed] at |Lambda| = 0.5 and 5."""
    names = {"means": "class means", "affine": "affine maps", "Q": "barycenter Q"}
    labels = [names.get(way, way) for way in ways]
    coords = {"way": labels, "level": [0.5, 5.0], "seed": [0, 1, 2]}
    return xarray.DataArray(np.array([*ways.values()], float), coords, ("way", "level", "seed"))


LOW, HIGH = [[80, 82, 81], [10, 20, 15]], [[83, 85, 84], [40, 52, 45]]


def test_the_gain_counts_beyond_the_spread_and_grows():
    results = study.Results(table=table(FedAvg=LOW, mapped=HIGH))
    assert claims.CLAIMS["feddro.target.gain.table"](results) == (True, "3.0 ± 0.0, 30.7 ± 1.2")
    assert claims.CLAIMS["feddro.target.gain.grows"](results).holds
    within = study.Results(table=table(FedAvg=[[80, 82, 81], [10, 20, 15]], mapped=[[83, 81, 81], [40, 52, 45]]))
    assert claims.CLAIMS["feddro.target.gain.table"](within) == (False, "0.7 ± 2.1, 30.7 ± 1.2")
    worse = study.Results(table=table(FedAvg=HIGH, mapped=LOW))
    assert not claims.CLAIMS["feddro.target.gain.table"](worse).holds
    assert not claims.CLAIMS["feddro.target.gain.grows"](worse).holds


def over_rounds(early, late):
    return xarray.concat([early, late], xarray.DataArray([10, 100], dims="round", name="round"))


def test_whether_the_gain_survives_and_whether_it_was_speed():
    early, late = table(FedAvg=LOW, mapped=HIGH), table(FedAvg=HIGH, mapped=LOW)
    lost = study.Results(accuracy=over_rounds(early, late))
    assert claims.CLAIMS["feddro.target.gain.late"](lost).holds is False
    assert claims.CLAIMS["feddro.target.speed"](lost) == (True, "16.8, -16.8")
    kept = study.Results(accuracy=over_rounds(late, early))
    assert claims.CLAIMS["feddro.target.gain.late"](kept).holds is True
    assert claims.CLAIMS["feddro.target.speed"](kept).holds is False
    once = study.Results(accuracy=over_rounds(early, late).isel(round=[0]))
    assert claims.CLAIMS["feddro.target.gain.late"](once) is None


def test_what_is_transport_and_what_moments_lose():
    apart = study.Results(table=table(means=LOW, mapped=HIGH, affine=HIGH))
    assert claims.CLAIMS["feddro.target.transport"](apart).holds is True
    assert claims.CLAIMS["feddro.target.moments"](apart).holds is False, "nothing is lost, and nothing scatters"
    better = study.Results(table=table(mapped=LOW, affine=HIGH))
    assert claims.CLAIMS["feddro.target.moments"](better).holds is True
    single = apart._replace(table=apart.table.isel(seed=[0]))
    assert claims.CLAIMS["feddro.target.transport"](single) == (None, "one seed")


def test_the_loss_on_the_barycenter_in_the_last_round_that_both_have():
    both = over_rounds(table(FedAvg=HIGH, Q=LOW), table(FedAvg=LOW, Q=HIGH).where(False))
    assert claims.CLAIMS["feddro.loss"](study.Results(loss=both)).holds is True
    other = over_rounds(table(FedAvg=LOW, Q=HIGH), table(FedAvg=LOW, Q=HIGH))
    assert claims.CLAIMS["feddro.loss"](study.Results(loss=other)).holds is False


def test_the_ascent_is_judged_on_clean_digits_and_on_the_worst_shift():
    values = table(FedAvg=LOW, mapped=HIGH).assign_coords(way=["mapped", "mapped + ascent"])
    shifted = xarray.concat([values, -values], xarray.DataArray(["clean", "fresh"], dims="view", name="view"))
    results = study.Results(shifted=shifted)
    assert claims.CLAIMS["feddro.target.ascent.clean"](results).holds is True
    assert claims.CLAIMS["feddro.target.ascent.worst"](results).holds is False


@pytest.mark.parametrize("id", claims.CLAIMS)
def test_what_was_not_trained_has_no_verdict(id):
    assert find(id).paper == "feddro"
    assert claims.CLAIMS[id](study.Results()) is None


def test_panels_name_every_claim():
    assert sorted(id for panel in claims.PANELS for id in panel.claims) == sorted(claims.CLAIMS)
