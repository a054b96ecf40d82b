"""Verdicts on the claims of notebook 04, from records that are known by hand."""

import copy

import numpy as np
import pytest

from fedlib.notebook.claims import find
from fedlib.problems import function_claims
from fedlib.problems.function_claims import errors, judged, polynomial_error
from fedlib.problems.function_levels import K_ALL

LEVELS, W1 = [(2, 1), (2, 5), (2, 25)], [1.0, 0.2, 0.04]


def sweep(federated, client_1, client_2, central=0.005, levels=LEVELS, seeds=2):
    """A record of a sweep in which all seeds have the same errors."""
    each = {str(level): i for i, level in enumerate(levels)}
    return {
        "central": [central] * seeds,
        "federated": {level: [federated[i]] * seeds for level, i in each.items()},
        "isolated": {level: [[client_1[i], client_2[i]]] * seeds for level, i in each.items()},
    }


def blocks(by_K, gap):
    """Of K clients with 3 and 8 blocks per axis: errors by_K [K, 2]; each client is ``gap`` [K, 2] worse."""
    fed, alone = {}, {}
    for K, errors_of, worse in zip(K_ALL, by_K, gap, strict=True):
        for s, e, more in zip((3, 8), errors_of, worse, strict=True):
            fed[f"({K}, {s})"], alone[f"({K}, {s})"] = [e], [[e + more] + [9.0] * (K - 1)]
    return {"central": [0.01], "federated": fed, "isolated": alone}


@pytest.fixture
def record():
    """All of it as the paper says."""
    fine = sweep([0.09, 0.02, 0.008], [0.5, 0.1, 0.009], [0.4, 0.2, 0.0095])
    drift = {f"layer {i}": np.outer([1, 1.1], W1) for i in (1, 2)}
    rising = [[0.01, 0.009], [0.02, 0.01], [0.03, 0.02], [0.04, 0.03]]
    return {
        "error": {name: copy.deepcopy(fine) for name in ("1D", "x", "x, printed")} | {"xy": blocks(rising, rising)},
        "w1": {"1D": W1, "x": W1, "xy": {str(K): [0.1 * K, 0.04 * K] for K in K_ALL}},
        "weight_divergence": {"1D": drift, "x": copy.deepcopy(drift)},
        "what_if": {"as above": [[0.1, 0.01]], "E = 3": [[0.001, 0.001]], "SGD, lr 1": [[0.2, 0.2]]},
        "theorem": np.array([[[0.1, 0.2, 1.0]]]),
        "apart": {"2": [1, 2, 3], "100": [0.1, 0.2, 0.3]},
        "elsewhere": {
            "1D": [[0.02, 1.5], [0.03, 0.9]],
            "x, 2 slabs": [[0.1, 0.8], [0.1, 0.7]],
            "x, 50 slabs": [[0.1, 0.2], [0.1, 0.2]],
        },
    }  # fmt: skip


def test_everything_as_the_paper_says(record):
    found = judged(record)
    false = {"target.q16", "target.function.coarsest", "q6.trend", "target.q6.ratio"}
    assert {id for id, (holds, _) in found.items() if not holds} == false
    assert found["q6.trend"] == (None, "three levels are needed")
    assert found["target.function.coarsest"][1] == "ratio 4.4"
    assert found["q6.gap"][1] == "K = 2: 0.010, 0.009; K = 3: 0.020, 0.010; K = 4: 0.030, 0.020; K = 5: 0.040, 0.030"
    assert found["target.q6.ratio"][1].startswith("K = 2: 2.000, 2.000; ")
    for id in found:
        assert find(f"fedsciml.{id}").target == ("target." in id)


def hidden(record, *path, value):
    """The record with another value at a path."""
    other = copy.deepcopy(record)
    *way, last = path
    at = other
    for key in way:
        at = at[key]
    at[last] = value
    return judged(other)


@pytest.mark.parametrize(
    ("ids", "path", "value"),
    [
        ({"fig2a", "q2.line", "q4.line"}, ("w1", "1D"), [1.0, 0.04, 0.2]),
        ({"fig2d.trend"}, ("w1", "xy", "5"), [0.5, 0.55]),
        ({"fig2d.clients"}, ("w1", "xy", "5"), [0.35, 0.1]),
        ({"q1.line"}, ("error", "1D", "federated", "(2, 5)"), [0.15, 0.15]),  # client 1 has 0.1
        ({"q1.square", "q2.square"}, ("error", "x", "federated", "(2, 5)"), [0.3, 0.3]),
        ({"fig4c.wave"}, ("error", "1D", "federated", "(2, 1)"), [0.15, 0.15]),  # the polynomial alone has 0.21
        ({"q3.function.alone"}, ("error", "1D", "isolated", "(2, 25)"), [[0.01, 0.03]] * 2),
        ({"fig5.fall"}, ("error", "x, printed", "federated", "(2, 1)"), [0.07, 0.07]),
        ({"q4.square"}, ("weight_divergence", "x", "layer 2"), np.array([[1, 2, 3], [1, 2, 3]])),
        ({"fig3.apart"}, ("apart", "100"), [3, 2, 1]),
        ({"fig4c.alone"}, ("elsewhere", "1D"), [[0.02, 1.5], [0.3, 0.9]]),
        ({"fig4c.alone"}, ("elsewhere", "1D"), [[0.02, 1.5], [0.03, 0.2]]),
        ({"fig5.missing.coarse"}, ("elsewhere", "x, 2 slabs"), [[0.1, 0.8], [0.1, 0.07]]),
        ({"fig5.missing.fine"}, ("elsewhere", "x, 50 slabs"), [[0.1, 0.08], [0.1, 0.7]]),
        ({"q6.two-five", "target.q6.order"}, ("error", "xy", "federated", "(2, 3)"), [0.05]),
        ({"q6.alone", "q6.gap"}, ("error", "xy", "isolated", "(2, 8)"), [[0.5, 0.9]]),
        ({"target.q6.order"}, ("error", "xy", "federated", "(3, 3)"), [0.031]),
        ({"q17"}, ("what_if", "SGD, lr 1"), [[0.2, 0.005]]),
        ({"q18"}, ("theorem",), np.array([[[0.1, 1.2, 1.0]]])),
    ],
)
def test_each_claim_looks_at_its_own_numbers(record, ids, path, value):
    before, after = judged(record), hidden(record, *path, value=value)
    broken = {id for id in before if before[id][0] and after[id][0] is False}
    assert ids <= broken
    assert broken <= ids | {"fig5.better", "q2.line", "q2.square", "q6.gap", "target.q6.order", "fig5.fall"}


def test_levels_beyond_the_paper_do_not_enter_a_verdict(record):
    """The authors' code has 100 pieces for each client, the paper 50."""
    record["error"]["1D"] = sweep(
        [0.09, 0.02, 0.9], [0.5, 0.1, 0.009], [0.4, 0.2, 0.012], levels=[(2, 1), (2, 50), (2, 100)]
    )
    found = judged(record)
    assert found["q3.function"] == (False, "4.00 x at 100 subdomains") and found["q1.line"][0]
    assert found["q1.line"][1].startswith("1D: 2 of 2 levels")


def test_what_was_not_recorded_is_not_run(record):
    """An older result, and the panels profile."""
    for name in ("apart", "elsewhere"):
        del record[name]
    del record["error"]["xy"], record["w1"]["xy"], record["what_if"]["SGD, lr 1"]
    found = judged(record)
    none = {id for id, (holds, _) in found.items() if holds is None}
    assert none == {
        "fig2d.trend", "fig2d.clients", "fig3.apart", "fig4c.alone", "fig5.missing.coarse", "fig5.missing.fine", "q17",
        "q6.two-five", "q6.alone", "q6.gap", "q6.trend", "target.q6.order", "target.q6.ratio",
    }  # fmt: skip


def test_without_two_halves_nothing_is_said_of_them(record):
    levels = [(2, 3), (2, 5), (2, 7)]
    record["error"]["1D"] = sweep([0.09, 0.02, 0.008], [0.5, 0.1, 0.009], [0.4, 0.2, 0.012], levels=levels)
    found = judged(record)
    assert {found[id][0] for id in ("fig4c.better", "fig4c.wave", "target.function.coarsest")} == {None}


def test_errors_of_a_record():
    of = errors(sweep([0.3, 0.2, 0.1], [1, 2, 3], [4, 5, 0.5]), 2)
    assert (of.parts, of.subdomains) == ([1, 5, 25], [2, 10, 50])
    assert (of.federated.shape, of.alone.shape, of.central.shape) == ((2, 3), (2, 3, 2), (2,))
    assert of.best.tolist() == [1, 2, 0.5]
    assert of.some([True, False, True]).alone[0].tolist() == [[1, 4], [3, 0.5]]


def test_between_counts_the_levels_that_the_claim_holds_at():
    of = errors(sweep([0.3, 0.1, 0.5], [0.4] * 3, [0.4] * 3, central=0.2), 2)
    assert of.between() == (1, 3)  # the second is better than centralised, the third worse than alone


def test_the_polynomial_alone_has_a_fifth():
    """Against numbers that need no autograd: the wave's norm over the function's, by the trapezoidal rule."""
    z = np.linspace(-1, 1, 100_001)
    wave, f = np.sin(10 * np.pi * z) / (2 * z + 3), (z + 0.5) ** 4 - np.sin(10 * np.pi * z) / (2 * z + 3)
    expected = np.sqrt(np.trapezoid(wave**2, z) / np.trapezoid(f**2, z))
    assert polynomial_error() == pytest.approx(expected, rel=0.01)


def test_listed():
    assert function_claims.listed([[1, 2.25]] * 4, 1) == "; ".join(f"K = {K}: 1.0, 2.2" for K in K_ALL)


def test_percent_of_the_best_client_on_average():
    record = {
        "central": [0.01, 0.02],
        "federated": {"(2, 5)": [0.1, 0.3]},
        "isolated": {"(2, 5)": [[0.1, 0.4], [0.9, 0.4]]},
    }
    row = function_claims.in_percent(record, (2, 5))
    assert list(row) == ["federated", "best client alone", "centralised"]
    for values, expected in zip(row.values(), ([10, 30], [40, 40], [1, 2]), strict=True):
        np.testing.assert_allclose(values, expected)
