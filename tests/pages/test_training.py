"""The training in the page is the engine's: same points, same gradients, same rounds, in float64."""

from base64 import b64decode

import numpy as np
import pytest
import torch

from fedlib import Federation, Local, train
from fedlib.federated.experiment import train_arguments
from fedlib.federated.mixing import fedavg, isolated
from fedlib.federated.partitions import index_rule
from fedlib.federated.stack import stack
from fedlib.live.training import Training
from fedlib.models.networks import glorot_uniform
from fedlib.numerics.metrics import in_percent, relative_l2
from fedlib.pages import pieces
from fedlib.papers.fedsciml.forward.problem import poisson, poisson_equation
from fedlib.papers.fedsciml.functions import problem

from .node import evaluate

MODULE = Training._esm
N, K, E, ROUNDS, RATE = 26, 3, 4, 15, 0.01

RUN = """
    const { problem, x, shards, widths, theta, rate, E, rounds, averaging } = given;
    const known = M[problem](Float64Array.from(x));
    const fed = M.federation({ known, shards, widths, theta: Float64Array.from(theta), rate, averaging });
    for (let r = 0; r < rounds; r++) {
        for (let e = 0; e < E; e++) M.localStep(fed);
        M.exchange(fed);
    }
    return { clients: fed.clients.map((own) => own.theta), server: fed.server, round: fed.round };
"""


@pytest.mark.parametrize("averaging", [True, False])
@pytest.mark.parametrize("pieces_each", [1, 3])
@pytest.mark.parametrize(
    ("name", "line", "width"), [("values", problem.gramacy_lee(K, N, 8), 8), ("poisson", poisson(N), 20)]
)
def test_rounds_are_the_engines(name, line, width, averaging, pieces_each, tmp_path):
    """26 points over 3 clients are ragged: 10, 8, 8 (one piece: 9, 9, 8). Poisson's network is seen with u''."""
    pool = line.data(6, 0).pool
    shards = index_rule(N, K, pieces_each)
    net = line.net.double()
    fed = Federation(shards, mixing=fedavg if averaging else isolated, lr=RATE)
    how = dict(local=Local(E), init=glorot_uniform, dtype=torch.float64, backend="eager")
    theirs = train(net, train_arguments(line)["loss"], pool, [fed], rounds=ROUNDS, **how)
    start = stack(net, [(0,)], glorot_uniform)[0]  # where seed 0 begins

    given = {
        "problem": name, "x": pool["x"][:, 0].tolist(), "shards": [own.tolist() for own in shards],
        "widths": [1, width, width, width, 1], "theta": start.tolist(),
        "rate": RATE, "E": E, "rounds": ROUNDS, "averaging": averaging,
    }  # fmt: skip
    ours = evaluate(MODULE, RUN, given, tmp_path)
    want = theirs.models(0).numpy()
    assert np.abs(want - start.numpy()).max() > 0.1  # they did learn something
    np.testing.assert_allclose(ours["clients"], want, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours["server"], np.average(want, 0, fed.p), rtol=0, atol=1e-12)
    assert ours["round"] == ROUNDS


@pytest.mark.parametrize(("n", "clients", "pieces_each"), [(100, 2, 1), (100, 3, 16), (26, 3, 3), (7, 3, 2)])
def test_the_partition_is_the_papers(n, clients, pieces_each, tmp_path):
    ours = evaluate(MODULE, "return M.indexRule(...given)", [n, clients, pieces_each], tmp_path)
    assert ours == [own.tolist() for own in index_rule(n, clients, pieces_each)]


def test_function_points_and_error_are_notebook_04s(tmp_path):
    test = problem.gramacy_lee(n=31).data(2, 0).pool
    body = """
        const x = M.linspace(-1, 1, 31), f = x.map(M.gramacyLee);
        return { x, f, e: M.relativeError(f.map((value) => 1.5 * value + 0.1), f) };
    """
    ours = evaluate(MODULE, body, None, tmp_path)
    np.testing.assert_allclose(ours["x"], test["x"][:, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(ours["f"], test["f"], rtol=0, atol=1e-13)
    want = relative_l2(1.5 * test["f"] + 0.1, test["f"])
    np.testing.assert_allclose(ours["e"], want, rtol=1e-12)


def test_the_equation_is_notebook_05s(tmp_path):
    """Its answer, residuals and error at the page's 100 points, of a network that is as it began."""
    line = poisson(100)  # in float64, which the test points of the notebook are not
    pool, net = line.data(2, 0).pool, line.net.double()
    start = stack(net, [(0,)], glorot_uniform)[0]
    torch.nn.utils.vector_to_parameters(start, net.parameters())
    body = """
        const { seen, widths, truth, answer } = M.PROBLEMS.Poisson, theta = Float64Array.from(given);
        const N = M.predict(theta, widths, seen.x, 2), u = answer(N, seen), exact = seen.x.map(truth);
        return { u, exact, residuals: M.residuals(N, seen), error: 100 * M.relativeError(u, exact) };
    """
    ours, exact = evaluate(MODULE, body, start.tolist(), tmp_path), poisson_equation().solution(pool["x"])
    with torch.no_grad():
        theirs = {"u": line.answer(net, pool), "exact": exact, "residuals": line.residuals(net, pool)[:, 0]}
    theirs["error"] = 100 * relative_l2(theirs["u"], exact)
    for name, want in theirs.items():
        np.testing.assert_allclose(ours[name], want, rtol=0, atol=1e-12, err_msg=name)


def test_errors_are_told_as_in_the_notebooks(tmp_path):
    errors = [3.43e4, 1_234_567.0, 999.9, 99.6, 66.1, 9.96, 1, 0.2949, 0.1, 1e-4, 0.99e-4, 0]
    told = evaluate(MODULE, "return given.map(M.inPercent)", errors, tmp_path)
    assert told == [in_percent(e) for e in errors]
    assert evaluate(MODULE, "return M.inPercent(NaN)", None, tmp_path) == in_percent(float("nan"))


def test_the_clients_of_the_page_part_and_meet_again(tmp_path):
    body = """
        const run = M.begin({ K: 2, pieces: 2, E: 5, rate: 0.01, averaging: true }), [a, b] = run.fed.clients;
        const gap = () => Math.max(...a.theta.map((value, i) => Math.abs(value - b.theta[i])));
        const gaps = [gap()];
        while (!M.advance(run));
        gaps.push(gap());
        M.snap(run);
        return [...gaps, gap()];
    """
    before, apart, after = evaluate(MODULE, body, None, tmp_path)
    assert before == after == 0 < apart


def test_a_static_page_holds_the_module_itself():
    html = pieces.fragment("one", Training._esm, {"text": "</script>"})
    assert html.count("</script>") == 1
    assert "http" not in html.split("base64,")[0]
    assert "export default { render }" in b64decode(html.split("base64,")[1].split('"')[0]).decode()
    assert Training()._esm == MODULE  # and JupyterLab gets the same
