"""Stored trainings can be made again, on this machine, too: of each file a row of two settings.

Each notebook begins one of them again while it runs; this is the stage "replay", and ``make replay``
(FEDLIB_REPLAY=all) takes all rows and what took long to compute.
"""

import json
import os
from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import pytest
import xarray

from fedlib.federated.sweep import Row
from fedlib.papers.studies import STUDIES
from fedlib.trainings import store
from fedlib.trainings.again import deviations
from fedlib.trainings.calls import NEAR, Call, Computed, Tolerance, arguments_of, read
from fedlib.trainings.files import Stored, abouts

from .replaying import call_of, replay

WHOLE = os.environ.get("FEDLIB_REPLAY") == "all"
QUICK_S = 5  # what is computed again in every run of the tests
ROUND_S = 1  # a round of a row that is trained again in every run
STEP_S = 0.002  # of a local step, which no compiler makes shorter here
FILES = [(study, file) for name, study in STUDIES.items() for file in sorted(store.folder_of(name).glob("*.nc"))]
CASES = [pytest.param(study, file, id=f"{study.NOTEBOOK}-{file.stem}") for study, file in FILES]


def sample(file: str, rows: Sequence[str], n: int = 2) -> list[str]:
    """The same rows on every day and machine, and mostly the same ones when others come: chosen by their names."""
    return sorted(rows, key=lambda row: sha256(f"{file}, {row}".encode()).digest())[:n]


def near_of(study, stack: Stored) -> float:
    """How nearly the losses of a stack come out the same, as its call says; calls of old arguments say nothing."""
    calls = [call for call in store.calls_of(study).values() if isinstance(call, Call)]
    same = [call.near for call in calls if arguments_of(call.make, call.arguments) == stack.settings["arguments"]]
    return max(same, default=NEAR)


def seconds(stack: Stored) -> float:
    """How long a round of a row takes: as it took when it was stored, but without a compiler."""
    took = stack.about["cpu_seconds"] / len(stack.history.rows) / len(stack.history.losses)
    return max(took, STEP_S * call_of(stack.settings).experiment().local.updates)


@pytest.mark.parametrize("study, file", CASES)
def test_a_stored_training_can_be_made_again(study, file, record_property):
    computed = {
        store.file_of(file.parent, name): call
        for name, call in store.calls_of(study).items()
        if isinstance(call, Computed)
    }
    if file in computed and all("converted" not in about for about in abouts(file)):
        if not WHOLE and sum(about["cpu_seconds"] for about in abouts(file)) > QUICK_S:
            pytest.skip("takes long to compute; make replay does")
        call = computed[file]
        stored, _, _, why = call.read(file)
        assert stored is not None, why
        shares = deviations(stored, call.run(), call.tolerances)
        record_property("moved, computed", max(shares.values()))
        assert not {name: share for name, share in shares.items() if not share <= 1}
        return
    stacks = [stack for stack in read(file) if "converted" not in stack.about]
    if not stacks:
        pytest.skip("converted from an older result, which kept no losses")
    stacks = [stack for stack in stacks if WHOLE or seconds(stack) < ROUND_S]
    if not stacks:
        pytest.skip("a round takes long to train; make replay does")
    rows = {
        json.dumps([stack.settings, row]): (stack, Row(*row[:3]))
        for stack in stacks
        for row in stack.history.rows
        if row not in stack.history.diverged
    }
    settings = [*{json.dumps(stack.settings): None for stack in stacks}]
    for one in settings if WHOLE else sample(file.stem, settings):
        names = [name for name in rows if name.startswith(f"[{one}")]
        chosen = [rows[name] for name in (names if WHOLE else sample(file.stem, names, 1))]
        for stack in stacks:
            if some := [row for where, row in chosen if where is stack]:
                moved = replay(stack, some, near_of(study, stack))
                record_property("moved, first rounds", moved)
                assert moved < 1, f"{file.name}: {stack.settings}"


def test_there_are_stored_trainings():
    assert {study.NOTEBOOK for study, _ in FILES} == {*STUDIES}


def numbers(values: Sequence[float], names: str = "abc") -> xarray.Dataset:
    return xarray.Dataset({"x": ("i", np.array(values, float))}, {"i": [*names]}, {"best": names[0]})


@pytest.mark.parametrize(
    "again, tolerance, share",
    [
        ([1, 2, 3], Tolerance(), 0),
        ([1, 2.0001, 3], Tolerance(), 0.5),
        ([1, 2.001, 3], Tolerance(), 5),
        ([1, 2.001, 3], Tolerance(relative=1e-2), 0.05),
        ([1, 2, 4], Tolerance(relative=0, absolute=2), 0.5),
        ([1, 2, 9], Tolerance(first={"i": 2}), 0),
        ([1, 0, 9], Tolerance(absolute=np.inf), 0),
        ([1, np.nan, 3], Tolerance(relative=1), np.inf),
        ([1, np.inf, 3], Tolerance(relative=1), np.inf),
    ],
)
def test_what_was_computed_is_compared_as_it_says(again, tolerance, share):
    (deviation,) = deviations(numbers([1, 2, 3]), numbers(again), {"x": tolerance}).values()
    assert deviation == pytest.approx(share, rel=1e-3)


def test_another_choice_or_another_axis_is_no_small_thing():
    stored = numbers([1, 2, 3])
    lists = [stored.assign_attrs(points=points) for points in ([1, 2], np.array([1, 2]), np.array([1, 3]))]
    assert deviations(lists[1], lists[0]) == {"x": 0}
    with pytest.raises(ValueError, match="points"):
        deviations(lists[2], lists[0])
    axes = [stored.assign_coords(i=[1.0, 2.0, last]) for last in (3.0, 3.0 + 4e-16, 3.001)]
    assert deviations(axes[1], axes[0]) == {"x": 0}, "another CPU's last digit"
    with pytest.raises(ValueError, match="coordinates"):
        deviations(axes[2], axes[0])
    with pytest.raises(ValueError, match="best"):
        deviations(stored, numbers([1, 2, 3]).assign_attrs(best="b"))
    with pytest.raises(ValueError, match="coordinates"):
        deviations(stored, numbers([1, 2, 3], "abd"))
