"""The training in the page is the engine's: same points, same gradients, same rounds, in float64."""

from base64 import b64decode

import numpy as np
import pytest
import torch
from torch import nn

from fedlib import Federation, Local, train
from fedlib.federated.experiment import train_arguments
from fedlib.federated.mixing import fedavg, isolated
from fedlib.federated.partitions import index_rule
from fedlib.federated.stack import stack
from fedlib.live.training import Training
from fedlib.models.networks import glorot_uniform, mlp
from fedlib.numerics.metrics import in_percent, relative_l2
from fedlib.pages import pieces
from fedlib.papers.fedsciml.functions import problem

from .node import evaluate

MODULE = Training._esm
WIDTHS, N, K, E, ROUNDS, RATE = (1, 9, 7, 1), 26, 3, 4, 15, 0.01

RUN = """
    const { x, f, shards, widths, theta, rate, E, rounds, averaging } = given;
    const fed = M.federation({ x, f, shards, widths, theta: Float64Array.from(theta), rate, averaging });
    for (let r = 0; r < rounds; r++) {
        for (let e = 0; e < E; e++) M.localStep(fed);
        M.exchange(fed);
    }
    return { clients: fed.clients.map((own) => own.theta), server: fed.server, round: fed.round };
"""


@pytest.mark.parametrize("averaging", [True, False])
@pytest.mark.parametrize("pieces_each", [1, 3])
def test_rounds_are_the_engines(averaging, pieces_each, tmp_path):
    """26 points over 3 clients are ragged: 10, 8, 8 (one piece: 9, 9, 8)."""
    line = problem.gramacy_lee(K, N)
    pool = line.data(K, 0).pool
    shards = index_rule(N, K, pieces_each)
    net = mlp(WIDTHS, nn.Tanh).double()
    fed = Federation(shards, mixing=fedavg if averaging else isolated, lr=RATE)
    how = dict(local=Local(E), init=glorot_uniform, dtype=torch.float64, backend="eager")
    theirs = train(net, train_arguments(line)["loss"], pool, [fed], rounds=ROUNDS, **how)
    start = stack(net, [(0,)], glorot_uniform)[0]  # where seed 0 begins

    given = {
        "x": pool["x"][:, 0].tolist(), "f": pool["f"].tolist(), "shards": [own.tolist() for own in shards],
        "widths": WIDTHS, "theta": start.tolist(), "rate": RATE, "E": E, "rounds": ROUNDS, "averaging": averaging,
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
