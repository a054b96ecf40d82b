"""Tables of drift say what there is not."""

import numpy as np

from fedlib.papers.beyond.drift import figures

from .results import by_rule


def test_errors_in_few_letters():
    errors = {"line_20": by_rule(FedAvg=[1, 3], centralised=[0.01, 0.02]), "poisson_8": by_rule(FedAvg=[20_000, 1])}
    _, rows = figures.error_rows(errors)
    assert rows == [["wave, 20 pieces", "2.0 ± 1.4", "0.015 ± 0.007"], ["Poisson, 8 pieces", "1 of 2 above 1000", "-"]]
    assert figures.in_short(by_rule(a=[np.nan, 1]).sel(rule="a")) == "diverged"
