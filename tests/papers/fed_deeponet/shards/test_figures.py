"""Every figure of notebook 02 from what is stored: finite, legible, and of the numbers that the text gives."""

import re
from pathlib import Path

import pytest

from fedlib.notebook.run import Run
from fedlib.papers.fed_deeponet import physics
from fedlib.papers.fed_deeponet.shards import claims, figures, study


@pytest.fixture(scope="module")
def lesson():
    return Run(study)


@pytest.fixture(scope="module")
def results(lesson):
    return lesson.results()


def test_the_judged_curve_is_drawn_and_lies_above_sgds_at_one_shard(results):
    for ax, test in zip(figures.fig5(results).axes, ("GRF", "unseen"), strict=True):
        lines = {line.get_label(): dict(zip(*line.get_data(), strict=True)) for line in ax.get_lines()}
        for curve in study.CURVES[:3]:
            expected = results.shards.sel(curve=curve, test=test, level=1).mean("seed")
            assert lines[curve][1] == pytest.approx(expected.item())
        falling, constant, plain = (lines[curve] for curve in study.CURVES[:3])
        assert constant[1] > plain[1], "as the verdict says"
        assert test == "unseen" or all(falling[level] < plain[level] for level in falling), "as the text says"
        assert ax.get_xticklabels()[0].get_text() == "1", "the level of the claim has a tick"


def test_rows_say_means_and_what_diverged_is_left_out(results):
    rows = figures.error_rows(results.shards)
    adam = results.shards.sel(curve=study.CURVES[0], test="GRF", level=1)
    assert rows[0][:2] == ["1", f"{adam.mean():.1f} ± {adam.std(ddof=1):.1f}"]
    table = figures.rate_rows(results.rates)
    high = [(row[0], row[2]) for row in table if row[1] == study.SGD and float(row[2]) >= 30]
    assert high == [("1", "30")], "at two shards SGD diverges there for one seed of three, at 0.1 for all"
    first = table[0]
    assert (first[0], first[1], first[2]) == ("1", study.ADAM, "3"), "half of the rate that notebook 01 chose"
    assert figures.setting_rows(results.moments)[0][0] == "1" and len(figures.setting_rows(results.weights)[0]) == 3
    assert figures.settings_of(results.passes_shards) == [study.ADAM, study.SGD]


def test_the_papers_readme_says_what_is_stored(results):
    text = Path(physics.__file__).with_name("README.md").read_text()
    falling, constant, plain = study.CURVES[:3]
    at_one = [(curve, test, 1) for curve in (falling, constant, plain) for test in ("GRF", "unseen")]
    cells = [*at_one, (falling, "GRF", 2), (falling, "GRF", 20), (falling, "unseen", 20)]
    for curve, test, level in cells:
        assert figures.cell(results.shards.sel(curve=curve, test=test, level=level)) in text, (curve, test, level)
    best = claims.CLAIMS["fed-deeponet.target.shards.rates"](results).why
    assert "the best rate of each: {} and {}".format(*re.findall(r"[\d.]+(?= %)", best)) in text
    adam = results.fields.sel(curve=falling).mean("seed").sel(level=slice(0.5, None))
    like, unseen = (adam.sel(test=test) for test in ("GRF", "unseen"))
    assert f"{like[0]:.1f} to {like[-1]:.1f} on the first field" in text
    assert f"from {unseen[0]:.1f} to {unseen[-1]:.1f}, at worst {unseen.max():.1f}" in text
