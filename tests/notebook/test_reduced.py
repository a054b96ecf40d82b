"""What a run has less of than the paper."""

import pytest
import yaml

from fedlib.notebook.profiles import NOTEBOOKS, check_parameters, profile_parameters
from fedlib.notebook.reduced import (
    DERIVED,
    paper_settings,
    parts_of,
    reduced,
    share,
    still_reduced,
    times_longer,
    told,
    value_of,
)
from fedlib.problems.operators import choose

FLOW = {
    "problems": ["navier_stokes"], "seeds": {"navier_stokes": [0, 1, 2, 3, 4]}, "rounds": {"navier_stokes": 40_000},
    "levels": {"navier_stokes": [2, 4, 6, 8, 10, 20]}, "residual": [700, 200, 100], "observations": 700, "many": 7000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "paper", "part"),
    [(3, 6, 0.5), (9, 6, 1), ([0, 1], 4, 0.5), ([1, 2, 9], [1, 2, 3, 4], 0.5), ("tanh", ["tanh", "sine"], 0.5),
     (None, 3, 0), (None, [3], 0), ([], 3, 0), ("tanh", "sine", 0), ([1, 1], 2, 0.5)],
)  # fmt: skip
def test_the_share_of_a_setting(ours, paper, part):
    assert share(ours, paper) == part


def test_a_run_with_the_papers_settings_is_not_reduced():
    assert reduced("06_pinn_inverse", FLOW) == {}


def test_what_is_less_stands_beside_the_papers_value():
    less = FLOW | {"seeds": {"navier_stokes": [0]}, "stop": 3000}
    assert reduced("06_pinn_inverse", less) == {
        "flow": {"seeds.navier_stokes": {"ours": [0], "paper": 5}, "stop": {"ours": 3000, "paper": 40_000}}
    }


def test_only_what_runs_counts_and_a_notebook_of_ones_own_has_no_paper():
    assert "reaction" not in reduced("06_pinn_inverse", FLOW)
    assert reduced("mine", {"rounds": 3}) == {}


def test_products_of_parameters():
    p = {"allen_cahn_lines": 80, "allen_cahn_times": 50, "diffusion_reaction_every": [5, 10], "seeds": [0]}
    assert DERIVED["allen_cahn_points"](p) == 4000
    assert DERIVED["diffusion_reaction_points"](p) == 21 * 11
    assert DERIVED["burgers_points"]({"burgers_every": 1, "burgers_times": list(range(101))}) == 10_201


@pytest.mark.parametrize("burgers", [(5, [0, 1, 100]), (20, [0, 50, 75, 100])])
def test_points_of_the_loss_are_those_of_the_operators(burgers):
    every, times = burgers
    given = {"diffusion_reaction_every": [50, 25], "burgers_every": every, "burgers_times": times}
    grids = [range(0, 101, d) for d in (50, 25, every)]
    problems = choose(["diffusion_reaction", "burgers_2"], grids[:2], (grids[2], times))
    for setting, name in (("diffusion_reaction_points", "diffusion_reaction"), ("burgers_points", "burgers_2")):
        assert DERIVED[setting](given) == len(problems[name].points)


def test_the_local_steps_of_the_run_itself_are_compared_too():
    given = {"E_values": {"antiderivative": [1, 20]}, "local_updates": 5}
    assert value_of("E_values.antiderivative", given) == [1, 5, 20]
    assert value_of("E_values.diffusion_reaction", given) is None


def test_in_words():
    less = FLOW | {"seeds": {"navier_stokes": [0]}, "levels": {"navier_stokes": [10, 2, 6]}, "stop": 3000}
    assert told("06_pinn_inverse", less) == {
        "flow": "seeds.navier_stokes 1 of 5; levels.navier_stokes 10, 2, 6 of 2, 4, 6, 8, 10, 20; stop 3000 of 40000"
    }


def test_the_missing_part_costs_its_share_of_the_wall_time():
    less = FLOW | {"seeds": {"navier_stokes": [0]}, "levels": {"navier_stokes": [2, 6, 10]}}
    assert times_longer(reduced("06_pinn_inverse", less)["flow"]) == 10
    run = {"notebook": "06_pinn_inverse", "profile": "paper", "wall_s": 7200, "parameters": less}
    (line,) = still_reduced([run])
    assert "seeds.navier_stokes 1 of 5" in line and "[18 core-hours more]" in line  # 2 h x 10, and 2 h are spent
    assert "[36 core-hours more]" in still_reduced([run | {"parameters": less | {"workers": 2}}])[0]


def settings():
    return [(notebook, part) for notebook, parts in paper_settings().items() for part in parts]


@pytest.mark.parametrize(("notebook", "part"), settings(), ids=lambda v: v if isinstance(v, str) else v["part"])
def test_every_setting_of_the_file_is_one_of_its_notebook(notebook, part):
    path = NOTEBOOKS / f"{notebook}.ipynb"
    known = check_parameters(path, profile_parameters(path, "quick"))
    assert part["where"]
    for name in part["wants"]:
        head, _, entry = name.partition(".")
        assert name in DERIVED or head in known or (head == "steps" and entry), name
    if "problem" in part:
        assert part["problem"] in known["problems"] and part in parts_of(notebook, known)


def test_the_full_run_of_every_notebook_is_in_the_file():
    text = yaml.safe_dump(paper_settings())
    names = {p.stem for p in NOTEBOOKS.glob("*.ipynb")}
    ours = {"11_client_drift", "12_real_federation", "13_one_round"}  # beyond the papers
    assert names - ours <= set(paper_settings()) | ours and "allen_cahn" in text
