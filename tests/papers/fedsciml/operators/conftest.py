"""A study of all operators, hardly trained."""

from fedlib.papers.fedsciml.operators import study

from ...small import fixtures

SMALL = {
    "seeds": [3, 1], "jump_seeds": [0],
    "levels": {"antiderivative": [10, 6, 5], "diffusion_reaction": [10], "burgers_2": [10, 2], "burgers_3": [2]},
    "central_levels": {"antiderivative": [10, 5], "diffusion_reaction": [10]},
    "functions": {"antiderivative": 6, "diffusion_reaction": 2, "burgers_2": 2, "burgers_3": 2},
    "test_functions": {"antiderivative": 4, "diffusion_reaction": 2, "burgers_2": 2, "burgers_3": 2},
    "steps": {"antiderivative": 8, "diffusion_reaction": 2, "burgers_2": 2, "burgers_3": 2},
    "example_steps": {"burgers_2": 4},
    "local_updates": 2, "E_values": {"antiderivative": [4, 1, 2]}, "E_levels": {"antiderivative": [6, 5]},
    "E_seeds": {"antiderivative": [1]},
    "diffusion_reaction_every": [50, 100], "burgers_every": 50, "burgers_times": [0, 10, 100], "evaluations": 2,
}  # fmt: skip

p, histories, results = fixtures(study, SMALL)
