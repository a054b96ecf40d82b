"""Claims are functions of arrays: each holds on an array that is made so, and fails on one that is not."""

from importlib import reload

import numpy as np
import pytest
import xarray

from fedlib.federated.experiment import KINDS
from fedlib.notebook.claims import known_claims
from fedlib.papers.fedsciml.forward import claims, problem

LEVELS = {"level": [6, 8, 32], "distance": ("level", [0.9, 0.4, 0.1])}
FOUR = {"level": [6, 8, 16, 32], "distance": ("level", [0.9, 0.4, 0.2, 0.1])}


def errors(federated, isolated=(9, 9, 9), centralised=(1, 1, 1), spread=0.1):
    """Two seeds, ``spread`` below and above."""
    isolated, centralised = (of[:1] * (len(federated) - len(of)) + tuple(of) for of in (isolated, centralised))
    values = np.array([federated, isolated, centralised], float)[:, :, None] + [-spread, spread]
    coords = (FOUR if len(federated) == 4 else LEVELS) | {"kind": [*KINDS], "seed": [0, 1]}
    return xarray.DataArray(values, coords, ["kind", "level", "seed"])


def divergences(*layers):
    """[matrix][level], the same for two seeds."""
    coords = FOUR if len(layers[0]) == 4 else LEVELS
    return xarray.DataArray(np.array([layers, layers], float), coords, ["seed", "matrix", "level"])


def test_between():
    assert claims.between(errors([5, 4, 3]), None) == (True, "3 of 3 levels")
    assert claims.between(errors([10, 4, 3]), None) == (False, "2 of 3 levels")
    assert claims.between(errors([5, 4, 0.5]), None) == (False, "2 of 3 levels")
    assert claims.between(errors([9.1, 4, 3]), None)[0], "within a st.dev. of the isolated clients"


def test_errors_that_fall_with_the_distance():
    assert claims.falls_with_distance(errors([5, 4, 3, 2]), None)[0] is True
    assert claims.falls_with_distance(errors([2, 3, 4, 5]), None)[0] is False
    assert claims.falls_with_distance(errors([5, 4, 3]), None)[0] is None, "three levels are in order by chance"


def test_agreement_at_the_finest_level():
    assert claims.agrees("federated")(errors([5, 4, 1.9]), None) == (True, "ratio 1.90")
    assert claims.agrees("federated")(errors([1, 1, 2.1]), None) == (False, "ratio 2.10")
    assert claims.agrees("isolated")(errors([1, 1, 1], isolated=(9, 9, 1.5)), None)[0]


def test_help_at_every_level():
    assert claims.helps(errors([5, 4, 3]), None) == (True, "3 of 3 levels")
    assert claims.helps(errors([5, 4, 9.5]), None) == (False, "2 of 3 levels")


def test_layers_that_diverge():
    rise, fall = [4, 3, 2, 1], [1, 2, 3, 4]
    assert claims.all_layers_diverge(None, divergences(rise, rise, rise, rise))[0] is True
    assert claims.all_layers_diverge(None, divergences(rise, rise, rise, fall))[0] is False
    assert claims.inner_layers_diverge(None, divergences(fall, rise, rise, fall))[0] is True
    assert claims.inner_layers_diverge(None, divergences(rise, rise, fall, rise))[0] is False
    steep = [40, 30, 20, 10]
    assert claims.second_diverges_faster(None, divergences(rise, steep, rise, rise))[0] is True
    assert claims.second_diverges_faster(None, divergences(rise, rise, steep, rise))[0] is False
    one = divergences(rise, rise, rise, rise).isel(level=[0])
    assert claims.all_layers_diverge(None, one)[0] is None is claims.second_diverges_faster(None, one)[0]


def test_every_claim_is_known_and_judged_where_its_problem_was_trained():
    assert set(claims.CLAIMS) <= set(known_claims())
    of = {name: errors([5, 4, 3]) for name in ("poisson", "helmholtz", "allen_cahn_2")}
    spread = {name: divergences(*[[3, 2, 1]] * 4) for name in of}
    verdicts = claims.judged(of, spread)
    assert set(verdicts) == {id for id, (name, _) in claims.CLAIMS.items() if name in of}
    assert verdicts["fedsciml.q1.poisson"] == (True, "3 of 3 levels")


def test_verdicts_rest_on_the_papers_levels():
    assert claims.printed("poisson", [2, 4, 6, 8, 32]) == [6, 8, 32]
    assert claims.printed("poisson", [4]) == []
    assert claims.printed("helmholtz", [2, 4]) == [2, 4]
    only_code = errors([5, 4, 3]).isel(level=[0]).assign_coords(level=[4])
    assert not claims.judged({"poisson": only_code}, {"poisson": None})


@pytest.mark.parametrize("panel", [panel for panel in claims.PANELS if panel.claims], ids=lambda panel: panel.paper)
def test_panels_name_claims_of_this_room(panel):
    assert set(panel.claims) <= set(claims.CLAIMS)


def test_an_equation_of_one_s_own_has_no_claim_of_the_paper_s(monkeypatch):
    monkeypatch.setitem(problem.LEVELS, "mine", (2, 4))
    assert not {id for id in reload(claims).CLAIMS if id not in known_claims()}
    mine = {"mine": errors([5, 4, 3])}
    assert claims.judged(mine, {"mine": divergences([3, 2, 1])}) == {}
