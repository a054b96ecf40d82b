"""What no parameter of a study tells alone is refused by its ``check``."""

import pytest

from fedlib.papers.studies import STUDIES

from .small import quick

REFUSED = [
    ("01_pendulum", {"n_triplets": 60, "clients": [61]}, "clients = 61: expected at most n_triplets = 60"),
    ("02_heterogeneity", {"n_triplets": 60, "clients": 4, "shards": [16]}, "shards = 16 for each of 4 .* = 60"),
    ("02_heterogeneity", {"n_triplets": 9, "clients": 4, "shards": [1]}, "n_triplets = 9: expected at least 10"),
    ("02_heterogeneity", {"fraction": [0.5, 0.1]}, "expected an interval"),
    ("03_pendulum_library", {"n_triplets": 40, "clients": 41}, "clients = 41: expected at most n_triplets = 40"),
    ("04_function_approximation", {"subdomains": [2, 500]}, "pieces 500, .*cannot fill"),
    ("05_pinn_forward", {"levels": {"poisson": [2, 3]}}, "Poisson, pieces 3.* 3 subdomains cannot be dealt"),
    ("05_pinn_forward", {"rounds": {"poison": 3}}, "'poison' is none of poisson"),
    ("05_pinn_forward", {"problems": ["allen_cahn_3"], "levels": {"allen_cahn_3": [4]}}, "use a multiple of 3"),
    ("06_flow", {"levels": [2, 3]}, "3 subdomains cannot be dealt"),
    ("06b_reaction", {"many_levels": [5]}, "pieces 5"),
    ("07_operator_learning", {"levels": {"antiderivative": [1]}}, "has no 'diffusion_reaction'"),
    ("07_operator_learning", {"levels": {"burgers_3": [5]}, "problems": ["burgers_3"]}, "even for the middle"),
]
"""Notebook, what is wrong of its settings, words of the message."""


@pytest.mark.parametrize(("notebook", "wrong", "message"), REFUSED)
def test_what_no_parameter_tells_alone_is_refused(notebook, wrong, message):
    with pytest.raises(ValueError, match=message):
        STUDIES[notebook].check(quick(STUDIES[notebook], **wrong))
