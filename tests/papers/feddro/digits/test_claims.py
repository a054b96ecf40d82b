"""What FedDRO's readings say: changes with their spread, and distances to Table 1."""

import numpy as np
import pytest
import xarray

from fedlib.problems import dro_findings as f

WAYS = {"FedAvg": 10, "mapped": 30, "barycenter Q": 5, "class means": 25, "affine maps": 28, "FedAvg + ascent": 11}
WAYS |= {"mapped + ascent": 33, "mapped + strong ascent": 20, "mapped, Q from client 1's samples": 36}


@pytest.fixture
def of():
    """Accuracies that are those of WAYS, for two levels and seeds; the maps lose 8 a round of their curve."""
    at = {"level": [0.5, 2.0], "seed": [0, 1], "way": list(WAYS)}
    flat = xarray.DataArray(np.tile(np.array(list(WAYS.values()), float), (2, 2, 1)), at, list(at))
    rounds = xarray.DataArray([1.0, 2.0, 3.0], {"round": [1, 2, 3]}, ["round"])
    drop = xarray.DataArray([8.0 * way.startswith("mapped") for way in WAYS], {"way": list(WAYS)}, ["way"])
    shift = xarray.DataArray([2.0, 0.0, 4.0], {"shift": [1, 2, 3]}, ["shift"])
    return {"clean": flat, "accuracy": flat - drop * rounds, "loss": flat / 10 + 0 * rounds, "fresh": 2 * flat + shift,
            "own": (flat + shift).rename(shift="client")}  # fmt: skip


def test_gains_are_differences_seed_by_seed(of):
    found = f.gains(of, 1)
    expected = {
        "maps": 20,
        "transport": 5,
        "moments": -2,
        "ascent": 3,
        "fresh": 6,
        "early": 12,
        "late": -4,
        "loss": -0.5,
    }
    assert {name: values.values.tolist() for name, values in found.items()} == {
        name: [[pytest.approx(v)] * 2] * 2 for name, v in expected.items()
    }


def change(*rows):
    return xarray.DataArray(np.array(rows, float), {"level": [0.5, 2.0][: len(rows)]}, ("level", "seed"))


def test_a_gain_counts_above_the_spread_of_the_seeds():
    """Means 2 and 3: st.dev. 1 and 2.8 let them count, one of 4.2 does not; one seed has no spread."""
    assert f.beyond(change([1, 2, 3], [2, 3, 4])) is True
    assert f.beyond(change([1, 3], [0, 6])) is False
    assert f.beyond(change([2], [3])) is None
    assert f.within(change([-1, 1], [0, 2])) is True
    assert f.within(change([-3, -2], [0, 2])) is False
    assert f.within(change([2])) is None
    assert f.words(change([1, 3], [2, 2])) == "2.0 ± 1.4, 2.0 ± 0.0"


PRINTED = {"FedAvg": {0.5: 20.0, 2.0: 9.0}, "theirs": {0.5: 40.0, 2.0: 30.0}}


def test_distance_is_the_mean_over_the_cells_of_the_table(of):
    """|10 - 20|, |10 - 9|, |30 - 40|, |30 - 30|; what is not printed does not count."""
    assert f.distance(of["clean"], PRINTED, "mapped") == pytest.approx(21 / 4)
    assert f.distance(of["clean"].sel(level=[2.0]), PRINTED, "mapped") == pytest.approx(1 / 2)
    assert np.isnan(f.distance(of["clean"], {"FedAvg": {}, "theirs": {}}, "mapped"))


def test_the_nearest_reading_comes_first(of):
    far, near = of["clean"] + 30, of["clean"] + 3
    both = xarray.concat([far, near], xarray.DataArray(["far", "near"], dims="partition", name="partition"))
    rows = f.table_of_readings(both, PRINTED)
    assert rows[0] == ["near", "13.0 / 33.0", "13.0 / 33.0", "5.2"]
    assert [row[0] for row in rows] == ["near", "far"]


def test_findings_are_changes_of_what_their_words_say(of):
    long = of["accuracy"].sel(round=[1, 2])
    two = xarray.concat([of["clean"], 2 * of["clean"]], xarray.DataArray(["iid", "dirichlet"], dims="partition"))
    two = two.assign_coords(partition=["iid", "dirichlet"])
    found = {name: float(v.isel(level=0).mean()) for name, v in f.findings(of | {"long": long}, two).items()}
    assert found == pytest.approx(
        {
            "gain of the maps on FedAvg": 20,
            "of it: class means, without any transport": 15,
            "maps less class means": 5,
            "affine maps less maps": -2,
            "barycenter Q less maps": -25,
            "ascent: change of FedAvg": 1,
            "ascent: change of maps": 3,
            "strong ascent: change of maps (one seed)": -10,
            "Q from client 1's samples: change of maps (one seed)": 6,
            "ascent: change of the worst fresh shift, maps": 6,
            "FedAvg, own shifts": 12,
            "mapped, own shifts": 32,
            "FedAvg, worst fresh shift": 20,
            "mapped, worst fresh shift": 60,
            "gain of the maps, Dirichlet labels (one seed)": 40,
            "gain of the maps after 2 rounds (one seed, part of the digits)": 4,
        }
    )
    assert not any("Dirichlet" in name or "rounds" in name for name in f.findings(of, two.sel(partition=["iid"])))
