"""Claims are functions of arrays: each holds on arrays made as the paper says, and falls with its number."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray

from fedlib.notebook.claims import find
from fedlib.papers.fedsciml.functions import claims

W1 = [1.0, 0.2, 0.02]
ALONE = ["client 1 alone", "client 2 alone"]


def errors(federated, first, second, central=0.5, levels=(2, 10, 100), kinds=ALONE):
    """Errors (%) [kind, level, seed] that two seeds share."""
    values = np.array([first, second, federated, [central] * len(levels)], float)[:, :, None] + np.zeros(2)
    coords = {"kind": [*kinds, "federated", "centralised"], "level": [*levels], "seed": [0, 1]}
    coords["distance"] = "level", W1[: len(levels)]
    return xarray.DataArray(values, coords, ["kind", "level", "seed"])


def blocks(federated, worse):
    """With 3, 5 and 8 blocks per axis; the best client is worse by so much."""
    fed = np.array(federated, float)
    coords = {"kind": ["best client alone", "federated"], "level": [3, 5, 8], "distance": ("level", [0.3, 0.2, 0.1])}
    values = np.array([fed + worse, fed])[:, :, None] + np.zeros(2)
    return xarray.DataArray(values, coords | {"seed": [0, 1]}, ["kind", "level", "seed"])


def solved(levels, home, other):
    """Two clients of a line: what each is off by at home and elsewhere, of a truth that is 1."""
    x = np.linspace(-1, 1, 40)[:, None]
    models, clouds = {}, {}
    for n in levels:
        owner = (np.arange(40) * n // 40) % 2
        clouds[n] = [x[owner == k] for k in (0, 1)]
        models[n] = {f"isolated client {k + 1}": 1 + np.where(owner == k, home, other[k]) for k in (0, 1)}
    return SimpleNamespace(x=x, truth=np.ones(40), clouds=clouds, models=models)


def everything():
    """All of it as the paper says."""
    fine = errors([9.0, 2.0, 0.8], [50, 10, 0.9], [40, 20, 0.95])
    layers = xarray.DataArray(
        np.multiply.outer([1, 1.1], np.outer(W1, [1, 2])), {"level": [2, 10, 100], "distance": ("level", W1)},
        ["seed", "level", "matrix"], name="d",
    ).assign_coords(matrix=[1, 2])  # fmt: skip
    walks = xarray.Dataset(
        {"distance": (("level", "round"), [[1, 2, 3], [0.1, 0.2, 0.3]])}, {"level": [2, 100], "round": [1, 5, 9]}
    )
    theorem = xarray.Dataset({"distance": (("E", "level"), [[0.1, 0.2]]), "bound": ("E", [1.0])})
    one = {"level": [2, 10], "seed": [0]}
    tried = {
        name: xarray.DataArray([[a], [b]], one, ["level", "seed"])
        for name, (a, b) in {"as above": (10.0, 1.0), "E = 3": (0.1, 0.1), "SGD, rate 1": (20.0, 20.0)}.items()
    }
    return {
        "errors": {"line": fine, "slabs/coded": fine.copy(), "slabs/printed": fine.copy()}
        | {
            f"blocks/{K} clients": blocks(K * np.array([1.2, 1.1, 1]), K * np.array([3, 2, 1])) for K in claims.CLIENTS
        },
        "divergences": {"line": layers, "slabs/coded": layers.copy()},
        "solutions": {"line": solved([2, 100], 0.02, (1.5, 0.9))}
        | {name: solved([2, 50], 0.1, (0.8, 0.7)) for name in claims.SQUARE},
        "walks": walks, "theorem": theorem, "what_if": tried,
    }  # fmt: skip


@pytest.fixture(scope="module")
def before():
    return claims.judged(**everything())


def test_everything_as_the_paper_says(before):
    false = {"target.q16", "target.function.coarsest", "target.q6.ratio"}
    assert {id for id, (holds, _) in before.items() if not holds} == {f"fedsciml.{id}" for id in false}
    assert before["fedsciml.target.function.coarsest"][1] == "ratio 4.4"
    assert before["fedsciml.q6.gap"][1].startswith("K = 2: 6.00, 4.00, 2.00; ")
    for id in before:
        assert find(id).target == ("target." in id)


def level(name, kind, at, value):
    def change(of):
        array = of["errors"][name].copy()
        array.loc[{"kind": kind, "level": at}] = value
        of["errors"][name] = array

    return change


def put(group, name, value):
    def change(of):
        of[group] = {**of[group], name: value} if isinstance(of[group], dict) else value

    return change


FALLING = xarray.Dataset(
    {"distance": (("level", "round"), [[1, 2, 3], [3, 2, 1]])}, {"level": [2, 100], "round": [1, 5, 9]}
)
ABOVE = xarray.Dataset({"distance": (("E", "level"), [[0.1, 1.2]]), "bound": ("E", [1.0])})
RISING = xarray.DataArray(
    np.multiply.outer([1, 1], np.outer([1, 2, 3], [1, 1])),
    {"level": [2, 10, 100], "distance": ("level", W1), "matrix": [1, 2]}, ["seed", "level", "matrix"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("ids", "change"),
    [
        ({"q1.line"}, level("line", "federated", 10, 15.0)),  # client 1 has 10
        ({"q2.line"}, level("line", "federated", 10, 0.1)),
        ({"q1.square", "q2.square"}, level("slabs/coded", "federated", 10, 30.0)),
        ({"fig4c.wave"}, level("line", "federated", 2, 15.0)),  # the polynomial alone has 20.9
        ({"q3.function"}, level("line", "federated", 100, 1.2)),
        ({"q3.function.alone"}, level("line", "client 2 alone", 100, 3.0)),
        ({"fig4c.better"}, level("line", "federated", 2, 45.0)),
        ({"fig5.better"}, level("slabs/printed", "federated", 100, 0.92)),
        ({"q4.line"}, put("divergences", "line", RISING)),
        ({"q4.square"}, put("divergences", "slabs/coded", RISING)),
        ({"fig3.apart"}, put("walks", "", FALLING)),
        ({"q18"}, put("theorem", "", ABOVE)),
        ({"fig4c.alone"}, put("solutions", "line", solved([2, 100], 0.2, (1.5, 0.9)))),
        ({"fig4c.alone"}, put("solutions", "line", solved([2, 100], 0.02, (1.5, 0.2)))),
        ({"fig5.missing.coarse", "fig5.missing.fine"}, put("solutions", "slabs/coded", solved([2, 50], 0.1, (0.8, 0)))),
        ({"q6.two-five", "target.q6.order"}, level("blocks/2 clients", "federated", 3, 9.0)),
        ({"q6.alone", "q6.gap"}, level("blocks/2 clients", "best client alone", 8, 50.0)),
        ({"q17"}, lambda of: of["what_if"].update({"SGD, rate 1": of["what_if"]["as above"] / 2})),
    ],
)  # fmt: skip
def test_each_claim_looks_at_its_own_numbers(before, ids, change):
    of = everything()
    change(of)
    after = claims.judged(**of)
    broken = {id.removeprefix("fedsciml.") for id in before if before[id][0] and after[id][0] is False}
    assert ids <= broken
    with_it = {"q1.line", "q2.line", "q1.square", "q2.square", "fig5.better", "q6.gap", "q6.trend"}
    assert broken <= ids | with_it | {"target.q6.order", "fig4c.better", "fig4c.wave"}


def test_levels_beyond_the_paper_do_not_enter_a_verdict():
    """The authors' code has 200 subdomains, the paper 100."""
    of = everything()
    of["errors"]["line"] = errors([9, 2, 90], [50, 10, 0.9], [40, 20, 1.2], levels=(2, 100, 200))
    of["divergences"] = {}
    verdicts = claims.judged(**of)
    assert verdicts["fedsciml.q3.function"] == (False, "4.00 x at 100 subdomains")
    assert verdicts["fedsciml.q1.line"] == (True, "line: 2 of 2 levels")
    assert verdicts["fedsciml.q2.line"][0] is None, "three levels are needed"


def test_an_earlier_run_counts_until_there_is_a_newer_one():
    of = everything()["errors"]
    old = {name + claims.EARLIER: of[name] for name in claims.SQUARE}
    assert [*claims.newest(old, claims.SQUARE)] == [*old]
    assert [*claims.newest(old | of, claims.SQUARE)] == [*claims.SQUARE]
    assert claims.newest({"slabs/coded": of["slabs/coded"]}, claims.SQUARE) == {}
    numbers = claims.numbers(of)
    assert numbers["fedsciml.schaffer2.coarsest"].tolist() == [0.09, 0.09]
    assert numbers["fedsciml.schaffer2-printed.finest"].tolist() == [0.008, 0.008]
    assert numbers["fedsciml.w1.smallest"] == [0.02]


def test_what_was_not_trained_is_not_judged():
    verdicts = claims.judged({}, {}, {}, None, None, {})
    assert {id for id, (holds, _) in verdicts.items() if holds is None} == {
        "fedsciml.fig3.apart", "fedsciml.q17", "fedsciml.q18",
    }  # fmt: skip
    assert not any("q1" in id.split(".")[1:] for id in verdicts)


@pytest.mark.parametrize("panel", [panel for panel in claims.PANELS if panel.claims], ids=lambda panel: panel.paper)
def test_panels_name_claims_of_this_room(before, panel):
    assert set(panel.claims) <= set(before)
