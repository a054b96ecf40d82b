"""Beyond the papers: their problems solved by adding sums (``federated.sums``) instead of averaging models.

Models are linear in what is learnt: random sines, products of sines and polynomials, principal inputs. How many, and
how fast they swing, is chosen by generalised cross-validation: from the sums that the clients send anyhow.
"""

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise, product

import numpy as np
import torch
import xarray
from scipy.special import ndtr
from torch import Tensor

from ....federated import sums
from ....federated.experiment import Data, Experiment, data_of, halved, under
from ....federated.partitions import deal, focused
from ....federated.pinn import Equation, pinn
from ....federated.stack import draw_parameters
from ....federated.sweep import models_of
from ....models.features import LinearOperator, Products, last_layer, polynomials, random_sines, sines
from ....models.jets import VALUE_ONLY
from ....notebook import rules
from ....notebook.run import Run
from ....numerics.metrics import percent, relative_l2
from ....numerics.solutions import pendulum
from ....numerics.solvers import hermite
from ....numerics.spaces import gaussian_kernel, grf
from ....numerics.tabulated import tabulated
from ....streams import stream, torch_stream
from ....trainings.store import TIMED, Call, Computed, Tolerance
from ...fedsciml.forward import problem as forward
from .attack import independent_products, points_behind

NOTEBOOK = "13_one_round"

EQUATIONS = {"poisson": forward.poisson, "helmholtz": forward.helmholtz}
"""Linear differential equations of notebook 05."""

DERIVATIVES = {"poisson": ("xx",), "helmholtz": ("xx+yy",)}

RULES = {"poisson": "fresh correction + averaged moments", "helmholtz": "SCAFFOLD"}
"""The rule with the smallest error in notebook 11, on 8 subdomains and on 4 x 4 blocks."""

LEVELS = {"poisson": forward.LEVELS["poisson"], "helmholtz": forward.LEVELS["helmholtz"]}


# linear equations: one round


def under_rule(name: str, rule: str) -> Experiment:
    """An equation with a rule against client drift; every second test point is for choosing its rate."""
    return under(halved(EQUATIONS[name]()), rule)


def with_sines(name: str, m: int, scale: float, seed: int) -> Experiment:
    """An equation with m random sines in the place of its network."""
    experiment = EQUATIONS[name]()
    rng = stream(seed, "features", m)
    return experiment._replace(net=random_sines(m, scale, experiment.coordinates, DERIVATIVES[name], rng))


def start(experiment: Experiment) -> Tensor:
    """Zeros [P] in float64: where a linear model begins does not matter."""
    return torch.zeros(sum(p.numel() for p in experiment.net.parameters()), dtype=torch.float64)


def answers(experiment: Experiment, theta: Tensor, test: Mapping[str, Tensor]) -> np.ndarray:
    """What a model says at the test points of an equation, in float64."""
    at = {name: value.double() for name, value in test.items()}
    with torch.no_grad():
        return experiment.answer(sums.predicting(experiment, theta), at).numpy()


def error(experiment: Experiment, theta: Tensor, test: Mapping[str, Tensor]) -> float:
    """Relative L2 error (%)."""
    return percent(answers(experiment, theta, test), test["u"].double().numpy())


def in_one_round(
    name: str, levels: Sequence[int], seeds: Sequence[int], features: Sequence[int], scales: Sequence[float]
) -> xarray.Dataset:
    """An equation at all levels, each with one message of every client.

    gcv, error_of_all [m, scale, seed]: of all features that were tried, at the first level. m, scale: attributes, those
    with the least median of gcv. error (%), bytes that a client sends, seconds [level, seed]: with them.
    """

    def one_try(m: int, scale: float, seed: int) -> dict:
        experiment = with_sines(name, m, scale, seed)
        data = data_of(experiment, levels[0])
        solution = sums.one_round(experiment, data, start(experiment))
        return {"gcv": solution.gcv, "error_of_all": error(experiment, solution.step, data.test)}

    tried = tabulated(one_try, m=features, scale=scales, seed=seeds)
    i, j = np.unravel_index(np.median(tried.gcv, -1).argmin(), tried.gcv.shape[:2])

    def once(level: int, seed: int) -> dict:
        experiment = with_sines(name, features[i], scales[j], seed)
        solution, costs = timed_round(experiment, data := data_of(experiment, level))
        return {"error": error(experiment, solution.step, data.test), **costs}

    chosen = {"chosen_m": int(features[i]), "chosen_scale": float(scales[j])}
    return tried.merge(tabulated(once, level=levels, seed=seeds)).assign_attrs(chosen)


def timed_round(experiment: Experiment, data: Data) -> tuple[sums.Solution, dict]:
    """What one round of sums gives, with the bytes that a client sends, a mean, and the CPU's seconds."""
    began = time.process_time()
    messages = [sums.statistics(experiment, points, start(experiment)) for points in sums.parts(data)]
    solution = sums.solve(sums.added(messages))
    seconds = time.process_time() - began
    return solution, {"bytes": np.mean([message.bytes for message in messages]), "seconds": seconds}


def bytes_of_all(name: str, level: int, tried: xarray.Dataset) -> float:
    """What a client sends of all features that were tried [m, scale], a mean over clients: cross-validation compares
    the sums of all of them."""
    owners = data_of(EQUATIONS[name](), level).owners
    sizes = tried.m.values + 2  # columns: of m sines, of the constant, and r
    roots = [torch.empty(min(len(shard), m), m, dtype=torch.float64, device="meta") for shard in owners for m in sizes]
    return tried.sizes["scale"] * sum(sums.Sums(root, 0.0, True).bytes for root in roots) / len(owners)


# networks: Gauss-Newton, and the last layer after FedAvg


def by_gauss_newton(name: str, levels: Sequence[int], seeds: Sequence[int], rounds: int) -> xarray.Dataset:
    """The network of notebook 05 itself, by Levenberg-Marquardt; error (%) and bytes so far of a client, all
    [round, level, seed]."""
    experiment = EQUATIONS[name]()

    def iterated(level: int, seed: int) -> dict:
        theta = draw_parameters(experiment.net, experiment.init, torch_stream(seed, "init")).double()
        data = data_of(experiment, level)
        iterates = sums.gauss_newton(experiment, data, theta, rounds)
        errors = [error(experiment, model, data.test) for model in iterates.theta]
        ended = (0, rounds - len(errors))  # what has converged stays, and nobody sends more
        sent = np.array(iterates.bytes) / len(data.owners)
        both = {"error": errors, "bytes": sent}
        return {what: ("round", np.pad(values, ended, "edge")) for what, values in both.items()}

    table = tabulated(iterated, level=levels, seed=seeds).assign_coords(round=1 + np.arange(rounds))
    return table.transpose("round", "level", "seed")


def after_fedavg(name: str, levels: Sequence[int], seeds: Sequence[int]) -> xarray.Dataset:
    """One exact round for the last layer of notebook 05's federated models: error (%) before, after [level, seed]."""
    from ... import stored  # it imports all rooms

    history, experiment = stored(forward.NOTEBOOK, name), EQUATIONS[name]()

    def both(level: int, seed: int) -> dict:
        data = data_of(experiment, level)
        (model,) = models_of(history, "federated", level, seed)
        before = error(experiment, model.double(), data.test)
        return {"before": before, "after": error_of_head(experiment, data, model)}

    return tabulated(both, level=levels, seed=seeds)


def error_of_head(experiment: Experiment, data: Data, model: Tensor) -> float:
    """Error (%) of a network [P] whose last layer is solved for in one round."""
    net = experiment.net
    torch.nn.utils.vector_to_parameters(model.double(), net.double().parameters())
    head = experiment._replace(net=last_layer(net))
    return error(head, sums.one_round(head, data, start(head)).step, data.test)


# Allen-Cahn: Gauss-Newton in windows of time


def window(lines: int, times: int, level: int, a: float, b: float, waves: int, degree: int, before: Tensor):
    """Allen-Cahn's equation for a <= t < b, from what is known at t = a: (experiment, data).

    u = g + (t - a) N with N = sum c_jk sin(j pi (x + 1) / 2) T_k(t), so that u = -1 at both ends; g = x^2 cos(pi x) +
    before . sin.
    """
    whole = forward.allen_cahn(2, lines, times, 5 * lines, 10 * lines)
    data = data_of(whole, level)
    end = 1.0 if b < 1 else 2.0  # the last window has its end, too
    inside = lambda x: ((x[:, 1] > a - 1e-9) & (x[:, 1] < end * b - 1e-9)).numpy()  # noqa: E731
    there, in_test = inside(data.pool["x"]), inside(data.test["x"].double())
    place = np.cumsum(there) - 1
    owners = [place[shard[there[shard]]] for shard in data.owners]
    _, of_x = sines(waves, -1.0, 1.0)
    equation = Equation(
        operator=lambda u: u["t"] - 1e-3 * u["xx"] + 5.0 * (u[""] ** 3 - u[""]),
        f=lambda x: 0 * x[:, 0],
        g=lambda x: x[:, 0] ** 2 * (torch.pi * x[:, 0]).cos() + of_x(x[:, 0], 0) @ before,
        b=lambda x: x[:, 1] - a,
        solution=lambda x: torch.zeros_like(x[:, 0]),
        derivatives=["t", "xx"],
    )
    experiment = pinn(
        "Allen-Cahn", equation, (2, 1, 1), "xt",
        points=lambda level: (data.pool["x"][there], owners), test=data.test["x"][in_test].double().numpy(), rounds=1,
    )  # fmt: skip
    net = Products({"x": sines(waves, -1.0, 1.0), "t": polynomials(degree, a, b)}, ("t", "xx"))
    truth = {"u": data.test["u"][in_test]}
    dealt = experiment.data(level, 0)
    return experiment._replace(net=net), dealt._replace(test=dict(dealt.test) | truth, partition=False)


def allen_cahn_in_windows(
    lines: int, times: int, windows: int, waves: Sequence[int], degrees: Sequence[int], level: int = 2, most: int = 20
) -> xarray.Dataset:
    """Allen-Cahn's equation by Gauss-Newton in windows of time, each from where the last one ended.

    error (%), gcv, rounds in all, bytes that a client sends, seconds [waves, degree]: of all features that were tried.
    gcv: n r^T r / (n - P)^2 at the end, its mean over windows; infinite where there are as many features as points.
    """

    def marched(waves: int, degree: int) -> dict:
        before, began = torch.zeros(waves, dtype=torch.float64), time.process_time()
        score, rounds, size, answer, truth = [], 0.0, 0.0, [], []
        for a, b in pairwise(np.linspace(0, 1, windows + 1).tolist()):
            experiment, data = window(lines, times, level, a, b, waves, degree, before)
            iterates = sums.gauss_newton(experiment, data, start(experiment), most, damping=1e-8, least=1e-3)
            theta, n = iterates.theta[-1], len(data.pool["x"])
            score.append(n * iterates.loss[-1] / (n - len(theta)) ** 2 if n > len(theta) else np.inf)
            rounds, size = rounds + len(iterates.loss), size + iterates.bytes[-1] / len(data.owners)
            answer.append(answers(experiment, theta, data.test))
            truth.append(data.test["u"].double().numpy())
            before = before + (b - a) * theta.reshape(waves, degree).sum(1)  # T_k(b) = 1
        e = percent(np.concatenate(answer), np.concatenate(truth))
        seconds = time.process_time() - began
        return {"error": e, "gcv": np.mean(score), "rounds": rounds, "bytes": size, "seconds": seconds}

    return tabulated(marched, waves=waves, degree=degrees)


# the pendulum's operator: a linear map


GRID = np.linspace(0, 1, 397)  # half steps of the solver, four between two of the 100 sensors, as in notebook 01


def trajectories(u: np.ndarray) -> dict[str, Tensor]:
    """Torques on GRID -> u, x1 [n, 100], both at the sensors."""
    return {"u": torch.as_tensor(u[:, ::4].copy()), "x1": torch.as_tensor(pendulum(u)[:, ::2, 0].copy())}


def linear_pendulum(inputs: int, degree: int, triplets: int) -> Experiment:
    """The operator torque -> angle as a linear map of principal inputs: the public kernel's eigenvectors.

    The data of notebook 01; as there, 100 test trajectories of the same kernel, and three inputs unlike them. A level
    is the number of clients.
    """
    t = GRID[::4]
    lam, V = np.linalg.eigh(gaussian_kernel(t, t, 0.2))
    basis = (V / np.sqrt(np.maximum(lam, 1e-14)))[:, ::-1][:, :inputs]

    def residuals(predict, batch):
        return (predict(batch["u"], batch["y"]) - batch["s"])[:, None]

    def data(level, seed: int) -> Data:
        rng = stream(seed, "train")
        u, y = grf(GRID, triplets, 0.2, rng), rng.uniform(size=triplets)
        x = pendulum(u)
        s = hermite(GRID[::2], x[..., 0], x[..., 1], y)
        pool = {name: torch.as_tensor(v) for name, v in (("u", u[:, ::4].copy()), ("y", y[:, None]), ("s", s))}
        like = trajectories(grf(GRID, 100, 0.2, stream(seed, "test")))
        unlike = trajectories(np.stack([GRID, np.sin(np.pi * GRID), GRID * np.sin(2 * np.pi * GRID)]))
        tests = like | {f"unseen {name}": value for name, value in unlike.items()}
        owners = deal(triplets, level, stream(seed, "deal", level))
        return Data(pool, owners, tests | {"times": torch.as_tensor(t[:, None])})

    def evaluate(predict, test):
        """Means over the trajectories (%)."""
        both = {"error": "", "unseen": "unseen "}
        answer = lambda which: predict(test[f"{which}u"][:, None], test["times"])  # noqa: E731
        return {name: 100 * relative_l2(answer(of), test[f"{of}x1"]).mean() for name, of in both.items()}

    net = LinearOperator(basis.copy(), degree)
    return Experiment("pendulum", net, residuals, data=data, evaluate=evaluate, level="clients")


def pendulum_in_one_round(
    seeds: Sequence[int], triplets: int, inputs: Sequence[int], degrees: Sequence[int], clients: int = 20
) -> xarray.Dataset:
    """The pendulum's operator; gcv, error, unseen (%), bytes, seconds [inputs, degree, seed] of all that were tried."""

    def once(inputs: int, degree: int, seed: int) -> dict:
        experiment = linear_pendulum(inputs, degree, triplets)
        solution, costs = timed_round(experiment, data := data_of(experiment, clients, seed))
        with torch.no_grad():
            errors = experiment.evaluate(sums.predicting(experiment, solution.step), data.test)
        return {"gcv": solution.gcv, **{name: float(e) for name, e in errors.items()}, **costs}

    return tabulated(once, inputs=inputs, degree=degrees, seed=seeds)


# error bars


def noisy(m: int, scale: float, clients: int, seed: int, sigma: float = 0.1) -> Experiment:
    """The noisy curve of notebook 08 with random sines; a client knows a tenth of it, and ten points elsewhere."""

    def residuals(predict, batch):
        return predict(batch["x"], VALUE_ONLY) - batch["y"][:, None]

    def data(level, seed: int) -> Data:
        x = 2 * np.pi * np.arange(10_000) / 10_000
        y = np.sin(x) + sigma * stream(seed, "noise of the data").standard_normal(len(x))
        tenths = np.split(np.arange(len(x)), 10)
        owners = focused(tenths, len(x), clients, 100, 10, stream(seed, "non-iid", 100))
        used, owners = np.unique(np.concatenate(owners), return_inverse=True)
        pool = {"x": torch.as_tensor(x[used, None]), "y": torch.as_tensor(y[used])}
        return Data(pool, np.split(owners, clients), partition=False)

    net = random_sines(m, scale, "x", (), stream(seed, "features", m))
    return Experiment("noisy curve", net, residuals, data=data)


def error_bars(
    seeds: Sequence[int], clients: int, features: Sequence[int], scales: Sequence[float], sigma: float = 0.1
) -> xarray.Dataset:
    """Mean and spread of the noisy curve from the same sums [seed, x], and what they cover.

    coverage [seed, client]: the probability that a new observation lies within mean +- 2 st.dev. on the tenth that a
    client knows (nominal 0.954). rmse, noise [seed]. inside [seed]: the share of the curve within its own band.
    """
    grid = [(m, scale) for m in features for scale in scales]
    solve = lambda of, seed: sums.one_round(of, of.data(None, seed), start(of))  # noqa: E731
    tried = [np.median([solve(noisy(*case, clients, seed), seed).gcv for seed in seeds]) for case in grid]
    m, scale = grid[int(np.argmin(tried))]
    x = 2 * np.pi * np.arange(500) / 500
    places, f = torch.as_tensor(x[:, None]), np.sin(x)
    tenth = (10 * np.arange(clients)) // clients

    def bars(seed: int) -> dict:
        experiment = noisy(m, scale, clients, seed)
        solution = solve(experiment, seed)
        rows = sums.rows(experiment, {"x": places, "y": torch.zeros(len(x)).double()}, start(experiment))[:, :-1]
        mean, spread = (rows @ solution.step).numpy(), solution.spread(rows).numpy()
        off, std = mean - f, (solution.noise**2 + spread**2) ** 0.5
        covered = ndtr((off + 2 * std) / sigma) - ndtr((off - 2 * std) / sigma)
        return {
            "mean": ("x", mean), "spread": ("x", spread), "noise": solution.noise,
            "coverage": ("client", covered.reshape(10, -1).mean(1)[tenth]), "inside": np.mean(np.abs(off) < 2 * spread),
            "rmse": np.sqrt(np.mean(off**2)),
        }  # fmt: skip

    chosen = {"chosen_m": int(m), "chosen_scale": float(scale)}
    return tabulated(bars, seed=seeds).assign_coords(x=x).assign_attrs(chosen)


# what sums tell


def poisson_at(x: Tensor) -> Mapping[str, Tensor]:
    """Poisson's equation at any points [T, 1]; f does not matter to J."""
    poisson = Equation(
        operator=lambda u: -u["xx"], f=lambda x: 0 * x[:, 0], g=lambda x: x[:, 0],
        b=lambda x: x[:, 0].tanh() * (torch.pi - x[:, 0]).tanh(), solution=lambda x: x[:, 0], derivatives=["xx"],
    )  # fmt: skip
    points = lambda level: (x, [np.arange(len(x))])  # noqa: E731
    return pinn("", poisson, (1, 1), "x", points, test=x.numpy()).data(2, 0).pool


def points_of_sums(
    features: Sequence[int], seeds: Sequence[int], scale: float = 6.0, level: int = 8, size: int = 501
) -> xarray.Dataset:
    """How far the server's guess of the points is off, that it makes of Poisson's sums (``attack``), for m sines.

    off, middle [sums, m, seed]: the largest and the median distance of a point from where it is guessed to be; of the
    sums of "one client", of the "total", and of a "total, random": as many points at random places.
    error (%) of the solution, products: independent ones of the features [m, seed]. size: of the attack's grid.
    """
    grid, data = np.linspace(0, np.pi, size), data_of(forward.poisson(), level)
    x = data.pool["x"][:, 0].double().numpy()

    def attacked(m: int, seed: int) -> dict:
        experiment = with_sines("poisson", m, scale, seed)
        zero = start(experiment)

        def curve(x: np.ndarray) -> np.ndarray:
            return sums.rows(experiment, poisson_at(torch.as_tensor(x)[:, None]), zero)[:, :-1].numpy()

        off = []
        for points in (x[data.owners[0]], x, stream(seed, "random points").uniform(0, np.pi, len(x))):
            J = curve(np.sort(points))
            off.append(np.abs(points_behind(J.T @ J, len(J), curve, grid) - np.sort(points)))
        solution = sums.one_round(experiment, data, zero)
        return {
            "off": ("sums", [distance.max() for distance in off]), "middle": ("sums", [*map(np.median, off)]),
            "error": error(experiment, solution.step, data.test), "products": independent_products(curve, grid),
        }  # fmt: skip

    table = tabulated(attacked, m=features, seed=seeds).transpose("sums", "m", "seed")
    table = table.assign_coords(sums=["one client", "total", "total, random"])
    return table.assign_attrs(points=[len(data.owners[0]), len(x), len(x)])


# whoever owns what


def random_owners(data: Data, rng: np.random.Generator) -> Data:
    """The same points with up to eight clients, ragged, some of them without any."""
    n, K = len(next(iter(data.pool.values()))), rng.integers(1, 9)
    owner = rng.choice(K, n, p=rng.dirichlet(np.full(K, 0.3)))
    return data._replace(owners=[np.flatnonzero(owner == k) for k in range(K)])


def linear_problems(features: Mapping[str, Sequence], triplets: int) -> dict[str, tuple[Experiment, Data]]:
    """Name -> (experiment, data) of what one round solves; features: (m, scale) of an equation's sines."""
    cases = {name: with_sines(name, m, scale, 0) for name, (m, scale) in features.items()}
    cases["pendulum"] = linear_pendulum(8, 10, triplets)
    cases["noisy curve"] = noisy(20, 1.0, 100, 0)
    levels = {"poisson": 8, "helmholtz": 4, "pendulum": 20, "noisy curve": None}
    return {name: (of, of.data(levels[name], 0)) for name, of in cases.items()}


def whoever_owns_what(number: int, features: Mapping[str, Sequence], triplets: int = 2000) -> xarray.Dataset:
    """How far the answers of one round are from the centralised ones, relative to their norm [problem, partition]."""
    cases = linear_problems(features, triplets)

    def gaps(problem: str) -> dict:
        experiment, data = cases[problem]
        everything = sums.rows(experiment, data.pool, start(experiment))
        J, whole = everything[:, :-1], data._replace(owners=[np.arange(len(everything))])
        centralised = sums.one_round(experiment, whole, start(experiment))
        truth, rng = J @ centralised.step, stream(0, "partitions", [*cases].index(problem))
        dealt = (random_owners(data, rng) for _ in range(number))
        steps = [sums.one_round(experiment, owned, start(experiment), centralised.ridge).step for owned in dealt]
        return {"gap": ("partition", [float((J @ step - truth).norm() / truth.norm()) for step in steps])}

    return tabulated(gaps, problem=[*cases])


def begin(namespace: Mapping) -> Run:
    """The run of notebook 13, with parameters that are known to make sense; namespace: its globals().

    Raises:
        ValueError: what was given, and what was expected; a level that an equation's points do not allow, too.
    """
    run = Run.begin(
        NOTEBOOK, namespace, problems=rules.one_of(*EQUATIONS),
        levels=rules.whole(2), rates=rules.positive(),
    )  # fmt: skip
    p = run.parameters
    rules.check_tables(p, p["problems"], [*EQUATIONS], "levels", "sines")
    for name in p["problems"]:
        for level in p["levels"][name]:
            data_of(EQUATIONS[name](), level)
    return run


RIDGES = {**dict.fromkeys(("gcv", "error_of_all", "error"), Tolerance(relative=0.2)), "seconds": TIMED}
"""The least ridge is what rounding leaves of the largest singular value: where it is chosen, so are its errors."""

NEWTON = {"error": Tolerance(relative=1e-2, first={"round": 8})}
"""A step of a network that falls or rises by rounding changes the damping, and all that comes after it."""

WINDOWS = {"rounds": Tolerance(absolute=3), "bytes": Tolerance(relative=0.1), "seconds": TIMED}
"""Ten windows, each of which ends where the fall is below a share."""

LEAK = {
    **dict.fromkeys(("off", "middle"), Tolerance(absolute=np.inf)),
    "error": RIDGES["error"],
    "products": Tolerance(absolute=2),
}
"""Points are found to rounding, or may be anywhere; the claims of the room say which must be found."""

GAPS = {"gap": Tolerance(relative=0, absolute=1e-9)}
"""What is left of equal things by rounding alone."""


def trainings(p: Mapping) -> dict[str, Call | Computed]:
    """What notebook 13 trains ("rules_...", FedAvg and a rule at several rates) and computes (all the others).

    Of Helmholtz' equation notebooks 05 and 11 have the trainings.
    """
    calls, seeds, equations = {}, p["seeds"], p["problems"]
    for name in equations:
        levels = p["levels"][name]
        for rule, lr in product(("FedAvg", RULES[name]), p["rates"].get(name, ())):
            changes = {"rounds": p["rounds"][name], "lr": lr, "evaluations": min(20, p["rounds"][name])}
            call = Call(under_rule, {"name": name, "rule": rule}, levels, seeds, ("federated",), changes)
            calls[f"rules_{name}/{rule}, {lr:g}"] = call
        of = {"name": name, "levels": levels, "seeds": seeds}
        calls[f"one_round_{name}"] = Computed(in_one_round, of | p["sines"][name], tolerances=RIDGES)
        calls[f"heads_{name}"] = Computed(after_fedavg, of)
        if name in p["newton"]:
            calls[f"newton_{name}"] = Computed(by_gauss_newton, {"name": name} | p["newton"][name], tolerances=NEWTON)
    calls["allen_cahn"] = Computed(allen_cahn_in_windows, p["allen_cahn"], numerics=2, tolerances=WINDOWS)
    of_pendulum = {"seeds": seeds} | p["pendulum"]
    calls["pendulum"] = Computed(pendulum_in_one_round, of_pendulum, tolerances={"seconds": TIMED})
    calls["error_bars"] = Computed(error_bars, {"seeds": seeds} | p["curve"])
    calls["leak"] = Computed(points_of_sums, p["leak"], tolerances=LEAK)
    calls["partitions"] = Computed(whoever_owns_what, p["partitions"], tolerances=GAPS)
    return calls
