"""A study of two levels, hardly trained."""

from fedlib.papers.fedsciml.reaction import study

from ...small import fixtures

SMALL = {
    "levels": [8, 2], "seeds": [3, 1], "many_levels": [2], "many_seeds": [1, 0, 5], "rounds": 3, "local_updates": 2,
    "inside": [4], "with_ends": [3], "lr": 0.01,
}  # fmt: skip

p, histories, results = fixtures(study, SMALL)
