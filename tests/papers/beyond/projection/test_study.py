"""What notebook 14 computes, and what its figures take, at a tiny size."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from fedlib.papers.beyond.projection import figures, study

TINY = {
    "problems": ["poisson"], "seeds": [0, 1], "tuning": [1000], "levels": {"poisson": [2, 8]},
    "looks": {"poisson": [1, 4]}, "ridges": {"poisson": [1e-6, 1e-10]}, "unprojected": {"poisson": [1, 4]},
}  # fmt: skip


@pytest.fixture(scope="module")
def results() -> study.Results:
    study.check(TINY)
    return study.results(TINY, {name: task.run() for name, task in study.trainings(TINY).items()})


def test_every_way_stands_beside_sums(results):
    ways = results.ways["poisson"]
    assert list(ways) == list(figures.LOOKS)
    for way in ways.values():
        assert way.error.dims == ("round", "level", "seed") and 8 in way.error.level
        assert np.isfinite(way.error.sel(level=8)).all()
    sent = {label: float(way.bytes.sel(level=8).isel(round=-1)) for label, way in ways.items()}
    assert sent["FedAvg, as printed"] == 1000 * 4 * 901
    root, gradient = 16 * 22 - 16 * 15 // 2, 901 - 21 + 1  # a row for each of a client's points
    assert sent["sums"] == 4 * 8 * (root + gradient) and not sent["Adam, all data in one place"]
    assert results.tried["poisson"].chosen_ridge in (1e-6, 1e-10)


def test_figures_show_all_ways(results):
    for fig in (figures.race(results.ways), figures.against_level(results.ways)):
        assert [text.get_text() for text in fig.legends[0].get_texts()] == list(figures.LOOKS)
        plt.close(fig)
    fig = figures.ridges(results.tried)
    assert len(fig.axes[0].lines) == 3
    plt.close(fig)


@pytest.mark.fault("clear error")
def test_a_seed_that_chooses_is_not_shown():
    with pytest.raises(ValueError, match="seeds and tuning both have 1; expected other seeds to choose the ridge"):
        study.check(TINY | {"tuning": [1, 1000]})
