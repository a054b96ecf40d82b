"""Rows of notebook 02, and the paper's README, say what is stored."""

from pathlib import Path

import pytest

from fedlib.notebook.run import Run
from fedlib.papers.fed_deeponet import physics
from fedlib.papers.fed_deeponet.shards import figures, study


@pytest.fixture(scope="module")
def results():
    return Run(study).results()


def test_the_papers_readme_says_what_is_stored(results):
    text = Path(physics.__file__).with_name("README.md").read_text()
    falling, constant, plain = study.CURVES[:3]
    at_one = [(curve, test, 1) for curve in (falling, constant, plain) for test in ("GRF", "unseen")]
    cells = [*at_one, (falling, "GRF", 2), (falling, "GRF", 20), (falling, "unseen", 20)]
    for curve, test, level in cells:
        assert figures.cell(results.shards.sel(curve=curve, test=test, level=level)) in text, (curve, test, level)
    adam = results.fields.sel(curve=falling).mean("seed").sel(level=slice(0.5, None))
    like, unseen = (adam.sel(test=test) for test in ("GRF", "unseen"))
    assert f"{like[0]:.1f} to {like[-1]:.1f} on the first field" in text
    assert f"from {unseen[0]:.1f} to {unseen[-1]:.1f}, at worst {unseen.max():.1f}" in text
