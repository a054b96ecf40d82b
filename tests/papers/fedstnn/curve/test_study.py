"""What is computed of trainings of the noisy sine, against answers that are known by hand."""

import numpy as np
import pytest
import xarray
from scipy.stats import norm

from fedlib.notebook.claims import known_claims
from fedlib.papers.fedstnn.curve import claims, figures, study
from fedlib.papers.fedstnn.experiment import SCORES
from fedlib.papers.fedstnn.sine import curve, curve_grid, growing, region, some

X, SEEDS, K, SIGMA = curve_grid(200), [0, 1], 20, 0.1
RIGHT = 2 * norm.cdf(2) - 1


def answers(off=0.0, std=SIGMA, **axes):
    """A mean that is off everywhere, and a spread; [*axes, seed, x]."""
    axes |= {"seed": SEEDS, "x": X}
    shape = [len(values) for values in axes.values()]
    zero = xarray.DataArray(np.zeros(shape), axes, [*axes])
    mean, inside = zero + curve(X) + off, zero.isel(x=0, drop=True) + 0.9
    return xarray.Dataset({"mean": mean, "std": zero + std, "path": mean, "inside": inside})


@pytest.fixture
def results():
    """Everything as it should be, and the squared error without a spread."""
    levels = ["IID 110", "non-IID 110", "non-IID 60", "none outside"]
    shared, noises = answers(0.02, level=levels), answers(level=[0.05, 0.1])
    at_home = np.array([(low <= X) & (high > X) for low, high in (region(k, K) for k in some(K))])
    off = xarray.DataArray(np.where(at_home, 0.01, 0.4), dims=("client", "x"))
    alone = answers(0.0, client=some(K)).assign(mean=lambda data: data["mean"] + off)
    sigmas = xarray.DataArray([0.05, 0.4], dims="level")
    one_place = xarray.concat(
        [answers(level=[0.05, 0.4], std=s * sigmas) for s in (0.03, 1.0, 1.0)], xarray.Variable("score", [*SCORES])
    )
    varied = xarray.concat(
        [answers(std=growing(X) + off) for off in (0.02, 0.0)], xarray.Variable("diffusion", ["vector", "net"])
    )
    squared = answers(0.01, 0.01)
    squared["inside"] = squared["inside"] + 0.1
    return study.Results(
        shared, alone, noises, squared, answers(0.021), answers(0.06), one_place, varied, None,
        study.coverage(shared, K, SIGMA), study.coverage_alone(alone, K, SIGMA),
        study.coverage_of_noises(noises, SIGMA), {}, 16, SIGMA, K,
    )  # fmt: skip


def test_a_true_band_covers_95_percent_of_every_clients_observations():
    right = study.coverage(answers(level=["non-IID 110"]), K, SIGMA)
    assert right.dims == ("level", "seed", "client") and right.sizes["client"] == K
    np.testing.assert_allclose(right, RIGHT)


def test_a_mean_that_is_wrong_in_a_tenth_is_so_for_those_who_know_it():
    one = answers(level=["none outside"])
    low, high = region(5, K)
    one["mean"] = one["mean"] + xarray.where((low <= one.x) & (one.x < high), 1.0, 0.0)
    cover = study.coverage(one, K, SIGMA).isel(level=0, seed=0)
    assert (cover.sel(client=[5, 6]) < 0.05).all()
    np.testing.assert_allclose(cover.sel(client=[1, 2, 9, 20]), RIGHT)


def test_one_band_covers_quiet_clients_more_often(results):
    cover = results.coverage_noises.isel(seed=0)
    np.testing.assert_allclose(cover.sel(level=0.1), RIGHT)
    np.testing.assert_allclose(cover.sel(level=0.05), [2 * norm.cdf(4) - 1, 2 * norm.cdf(4 / 3) - 1])


def test_errors_at_home_elsewhere_and_on_the_whole(results):
    rmse = study.own_and_elsewhere(results.alone, K).isel(seed=0)
    np.testing.assert_allclose(rmse["own"], 0.01)
    np.testing.assert_allclose(rmse["elsewhere"], 0.4)
    np.testing.assert_allclose(rmse["whole"], (0.1 * 0.01**2 + 0.9 * 0.4**2) ** 0.5, rtol=0.01)
    assert ((results.coverage_alone > 0.8) & (results.coverage_alone < 0.9)).all(), "ten points lie elsewhere"


def test_claims_hold_where_they_should_and_are_known(results):
    verdicts = {id: claim(results) for id, claim in claims.CLAIMS.items()}
    assert {*verdicts} <= {*known_claims()}
    assert {id: verdict.holds for id, verdict in verdicts.items()} == {
        id: id != "fedstnn.target.51.squared" for id in claims.CLAIMS
    }
    assert all(claim(results._replace(shared=None)) is None for claim in claims.CLAIMS.values())


@pytest.mark.parametrize(
    ("worse", "id"),
    [
        ({"shared": answers(0.06, level=["non-IID 110", "non-IID 60"])}, "fedstnn.target.51.mean"),
        ({"shared": answers(0.02, 0.2, level=["non-IID 110", "non-IID 60"])}, "fedstnn.target.51.spread"),
        ({"shared": answers(0.02, 0.2, level=["non-IID 110", "non-IID 60"])}, "fedstnn.target.51.bandwidth"),
        ({"shared": answers(0.02, 0.05, level=["non-IID 110", "non-IID 60"])}, "fedstnn.target.51.band"),
        ({"alone": answers(0.05, client=some(K))}, "fedstnn.target.51.alone"),
        ({"alone": answers(0.05, client=some(K))}, "fedstnn.target.51.nobody"),
        ({"printed": answers(0.03)}, "fedstnn.target.index"),
    ],
)
def test_a_claim_can_fail(results, worse, id):
    assert not claims.CLAIMS[id](results._replace(**worse)).holds


def test_all_facts_hold_and_can_fail(results):
    assert all(claims.facts(results).values())
    silent = results._replace(
        squared=answers(0.01, 0.2), starts=answers(0.01), shared=answers(0.5, level=["non-IID 110"])
    )
    failed = [text for text, fact in claims.facts(silent).items() if not fact]
    assert len(failed) >= 4


def test_figures_show_what_is_given(results):
    left, right = figures.coverage(results).axes
    assert left.get_ylabel() == "covered of new observations"
    ticks = [label.get_text() for label in left.get_xticklabels()]
    assert ticks == ["0", "10", "IID"], "from clients that know one tenth to clients that are alike"
    medians = [line.get_ydata()[0] for line in left.lines if line.get_label() == "_median"]
    np.testing.assert_allclose(medians, [results.coverage.sel(level=level).median() for level in study.shares(results)])
    (noise,), (grows,) = figures.noise(results.one_place).axes, figures.noise_that_grows(results.growing).axes
    shown = {line.get_label(): line.get_ydata() for line in noise.lines}
    np.testing.assert_allclose(shown["energy score"], [1, 1])
    np.testing.assert_allclose(shown["squared error"], [0.03, 0.03])
    assert [label.get_text() for label in noise.get_xticklabels()] == ["0.05", "0.4"]
    np.testing.assert_allclose(
        {line.get_label(): line.get_ydata() for line in grows.lines}["g a network of X"], growing(X)
    )
    assert len(figures.bands(results).axes) == 4 and len(figures.alone(results).axes) == 5
    left, right = figures.answer(results.one_place, 0.4).axes
    assert "0.012" in left.get_title() and "0.4" in right.get_title()


def test_rows_of_tables(results):
    rows = study.coverage_rows(results)
    assert [row[0] for row in rows] == ["none outside", "non-IID 110", "IID 110"]
    one = study.noise_rows(results)["0.05, 0.15"]
    np.testing.assert_allclose(one["root of their mean square"], 0.0125**0.5)


def test_the_data_figure_has_observations_of_three_clients():
    left, right = figures.data_figure(K, SIGMA, 0).axes
    x, y = figures.observations(0, SIGMA)
    np.testing.assert_array_equal(left.lines[0].get_ydata(), y)
    clients = [line for line in right.lines if line.get_label().startswith("client")]
    assert [line.get_label() for line in clients] == ["client 1", "client 5", "client 16"]
    for line in clients:
        places = np.searchsorted(x, line.get_xdata())
        np.testing.assert_array_equal(line.get_ydata(), y[places])


def test_clouds_show_observations_and_one_prediction_at_each_point(results):
    x = curve_grid()
    pairs = {name: np.stack([[np.sin(x)], [np.cos(x)]]) for name in ("110", "alone")}
    fig = figures.clouds(results._replace(samples=pairs))
    assert [ax.get_title() for ax in fig.axes] == ["110 points a client", "client 16 alone"]
    assert [len(ax.patches) for ax in fig.axes] == [0, 1], "what the client knows is grey"
    dots = fig.axes[0].collections[0].get_offsets()
    assert len(dots) == 2 * len(x) and fig.axes[0].collections[0].get_rasterized()
