"""What is less than the paper has is named, and nothing else."""

from fedlib.problems.inverse_scale import PAPER, RESIDUAL, reduced


def whole():
    seeds = {name: range(of["seeds"]) for name, of in PAPER.items()}
    taken = {what: {name: of[what] for name, of in PAPER.items()} for what in ("levels", "rounds")}
    return {"seeds": seeds, "residual": list(RESIDUAL)} | taken


def test_the_papers_settings_and_more_are_not_reduced():
    assert reduced(whole(), list(PAPER)) == {}
    more = whole() | {"rounds": dict.fromkeys(PAPER, 10**6), "residual": [1000, 200, 100]}
    assert reduced(more, list(PAPER)) == {}
    assert reduced(whole(), []) == {}


def test_each_reduction_is_named_with_both_numbers():
    less = whole() | {"residual": [350, 100, 50], "seeds": {"navier_stokes": [0, 0], "reaction": range(9)}}
    less["levels"] = {"navier_stokes": [10, 2, 6], "reaction": PAPER["reaction"]["levels"]}
    found = reduced(less, list(PAPER), stop=5000)
    assert found == {
        "navier_stokes": {
            "seeds": "1 of 5", "levels": "2, 6, 10 of 2, 4, 6, 8, 10, 20", "rounds": "5000 of 40000",
            "residual points": "500 of 1000",
        }
    }  # fmt: skip
    assert reduced(less, ["reaction"]) == {}
