"""The piece of notebook 10 shows the clouds that are stored, and says how long the way is."""

import numpy as np
import pytest

from fedlib.numerics.metrics import in_percent
from fedlib.papers.feddro.transport import live, problem

from ....pages.node import evaluate

CLOUDS = "const data = M.unpack(given.data); return given.asked.map(([name, index]) => M.cloudAt(data, name, index));"
SAID = "return given.asked.map((chosen) => M.sentence(given.data, chosen));"


@pytest.fixture(scope="module")
def walks():
    return problem.walks(25, 3)


def test_clouds_in_the_browser_are_the_stored_ones(walks, tmp_path):
    asked = {("cloud", 1): walks.cloud[1]}
    for s, start in enumerate(problem.STARTS):
        here = walks.sel(start=start)
        for r in range(3):
            asked["xi", 3 * s + r] = here.xi[r]
            for k in (0, 1):
                asked["eta", 2 * (3 * s + r) + k] = here.eta[r, k]
    data = live.packed(walks)
    clouds = evaluate(live.Clouds._esm, CLOUDS, {"data": data, "asked": [*asked]}, tmp_path)
    for (name, index), cloud, stored in zip(asked, clouds, asked.values(), strict=True):
        np.testing.assert_allclose(cloud, stored.dropna("atom"), rtol=0, atol=data["step"], err_msg=f"{name} {index}")


def test_the_sentence_has_the_numbers_of_the_round(walks, tmp_path):
    data = live.packed(walks)
    (words,) = evaluate(live.Clouds._esm, SAID, {"data": data, "asked": [[1, 1]]}, tmp_path)
    here = walks.sel(start=problem.STARTS[1], round=2)
    assert words.startswith("Round 2: ") and f"{here.bound.item():.4f} long" in words
    assert in_percent(here.gap.item()) in words and f"distance {walks.distance.item():.4f}" in words
