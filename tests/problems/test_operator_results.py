"""What result files say, older ones too."""

import numpy as np

from fedlib.problems import operator_results as results

OLD = {
    "parameters": {"union_levels": {"antiderivative": [10, 1]}, "E_levels": [2, 10], "local_updates": 5,
                   "rounds": {"antiderivative": 40}},
    "metrics": {
        "levels": {"antiderivative": [1, 10]},
        "error_percent": {"antiderivative": {"federated": [[9, 1], [7, 2]], "isolated": np.ones((2, 2, 2)).tolist()}},
        "centralised_percent": {"antiderivative": [[5, 1], [6, 2]]},
        "weight_divergence": {"antiderivative": {"trunk, matrix 1": [[2, 1], [2, 1]]}},
        "local_updates_percent": {"100": [[3, 1]], "5": [[4, 2]]},
    },
}  # fmt: skip


def test_an_older_result():
    found = results.read(OLD)
    assert found.union == {"antiderivative": [1, 10]} and found.examples == {}
    assert found.errors["antiderivative"]["centralised"][10].tolist() == [1, 2]
    assert found.errors["antiderivative"]["federated"].shape == (2, 2)
    study = found.local["antiderivative"]
    assert list(study["percent"]) == [5, 100] and study["levels"] == [2, 10] and study["steps"] == 200
    assert results.read({}) == results.Found({}, {}, {}, {}, {})


def test_a_newer_result_without_centralised_models():
    new = {"metrics": OLD["metrics"] | {
        "centralised_percent": {}, "examples": {"antiderivative": {"6": {"functions": 3}}},
        "local_updates": {"diffusion_reaction": {"levels": [5], "steps": 9, "percent": {"10": [[1]], "2": [[3]]}}},
    }, "parameters": OLD["parameters"] | {"union_levels": {"antiderivative": []}}}  # fmt: skip
    found = results.read(new)
    assert found.errors["antiderivative"]["centralised"] == {} and list(found.examples["antiderivative"]) == [6]
    assert list(found.local) == ["diffusion_reaction"] and list(found.local["diffusion_reaction"]["percent"]) == [2, 10]


def test_studies_of_one_seed_take_over_what_the_paper_profile_has():
    """Only with the same levels and the same T, and never in place of a run of its own."""
    paper = results.read(OLD)
    study = {"levels": [1, 10], "steps": 200, "percent": {1: np.array([[8.0, 3]])}}
    joined = results.joined({"antiderivative": study}, paper)["antiderivative"]["percent"]
    assert list(joined) == [1, 5] and joined[5].tolist() == [[9, 1]]
    for other in ({"levels": [1, 5]}, {"steps": 100}):
        assert list(results.joined({"antiderivative": study | other}, paper)["antiderivative"]["percent"]) == [1]
    own = study | {"percent": {5: np.array([[7.0, 7]])}}
    assert results.joined({"antiderivative": own}, paper)["antiderivative"]["percent"][5].tolist() == [[7, 7]]
