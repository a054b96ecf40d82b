"""What the notebooks train, small: name -> a function that returns arguments of ``train``.

The first word is the notebook. Studies are called as there, and give away what they train
(``capture``); where a notebook calls ``train`` itself, its call is repeated here.
"""

from functools import cache, partial
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

from fedlib import Federation, Local, centralised, join
from fedlib.federated.experiment import KINDS, Experiment, federation, train_arguments, under
from fedlib.federated.mixing import equal, isolated, ring
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.partitions import deal
from fedlib.federated.rules import RULES, fedadam
from fedlib.federated.schedules import Drop
from fedlib.federated.sweep import sweep
from fedlib.live.watched import watched_experiment
from fedlib.machines.plan import Plan
from fedlib.machines.points import in_one_process
from fedlib.models.jets import Sine
from fedlib.models.networks import DeepONet, glorot_uniform
from fedlib.numerics import spaces
from fedlib.papers.beyond.drift import live as drift_live
from fedlib.papers.beyond.drift import problem as drift
from fedlib.papers.beyond.drift import study as drift_study
from fedlib.papers.beyond.instruments import problem as instruments
from fedlib.papers.beyond.leak import attack as leak
from fedlib.papers.beyond.leak import problem as leak_problem
from fedlib.papers.fed_deeponet import live as shared_live
from fedlib.papers.fed_deeponet import physics as pendulum
from fedlib.papers.fed_deeponet.library import live as library_live
from fedlib.papers.fed_deeponet.library import problem as pendulums
from fedlib.papers.fed_deeponet.library import study as library_study
from fedlib.papers.fed_deeponet.pendulum import live as dealt_live
from fedlib.papers.fed_deeponet.shards import live as skewed_live
from fedlib.papers.fed_deeponet.shards import problem as shards
from fedlib.papers.feddro.digits import live as digits_live
from fedlib.papers.feddro.digits import problem as digits
from fedlib.papers.feddro.digits import ways
from fedlib.papers.feddro.digits.handwriting import normalised
from fedlib.papers.fedsciml.flow import live as flow_live
from fedlib.papers.fedsciml.flow import problem as flow
from fedlib.papers.fedsciml.forward import problem as forward
from fedlib.papers.fedsciml.functions import problem as functions
from fedlib.papers.fedsciml.functions import weights
from fedlib.papers.fedsciml.operators import live as operators_live
from fedlib.papers.fedsciml.operators import problem as operators
from fedlib.papers.fedsciml.reaction import problem as reaction
from fedlib.papers.fedstnn import plane, sine
from fedlib.papers.fedstnn.as_coded import problem as as_coded
from fedlib.papers.fedstnn.curve import live as noisy_live
from fedlib.papers.fedstnn.curve import problem as noisy_curve
from fedlib.papers.fedstnn.experiment import evaluate as answers
from fedlib.papers.fedstnn.letters import live as letters_live
from fedlib.papers.fedstnn.letters import problem as letters
from fedlib.papers.fedstnn.letters.study import decay_of
from fedlib.papers.fedstnn.surface import problem as noisy_surface
from fedlib.streams import stream

from .capture import captured, of_live, with_paths

M, SCALE = 12, 0.2  # sensors and length scale of the pendulum's torques
STEPS, PASSES = Local(4, "steps", 8), Local(2, "epochs", 8)
ADAM = {"lr": 0.006, "decay": 0.7}
VARYING, HALF = partial(Federation, fraction=(0.1, 1.0)), partial(Federation, fraction=0.5)
FOUR, FIVE = Local(4), Local(5)


# 01 to 03: the pendulum


def on_pendulum(pool, federations, parts, test, local=STEPS, evaluate=pendulum.errors, m=M, **more) -> dict:
    """As notebooks 01 to 03 call ``train``."""
    return {
        "net": DeepONet((m, 14, 14), (1, 14, 14), domain=(0.0, 1.0)), "loss": pendulum.loss, "pool": pool,
        "federations": federations, "parts": parts, "local": local, "init": glorot_uniform,
        "constants": {"times": pendulum.times(M)}, "evaluate": evaluate, "test": test, **more,
    }  # fmt: skip


def dealt_out(settings: dict, seeds=(0,), make=Federation, **more) -> dict:
    """Notebook 01: name -> (C, settings of a federation), 53 triplets dealt to C clients."""
    pool, at = join({s: pendulum.pendulum_triplets(53, M, SCALE, stream(s, "train")) for s in seeds})
    tests = {s: pendulum.random_tests(2, M, SCALE, s) for s in seeds}
    federations = {
        (name, s): make(at(s, deal(53, C, stream(s, "deal", C))), seed=s, **of)
        for s in seeds
        for name, (C, of) in settings.items()
    }
    test = lambda key: pendulum.both_tests(tests[key[-1]], pendulum.unseen_tests(M))  # noqa: E731
    return on_pendulum(pool, federations, ("name", "seed"), test, **more)


def by_clients(**of) -> dict:
    """Table 1."""
    return {f"C={C}": (C, {"fraction": 0.75, **of}) for C in (4, 7)}


SHARES = {
    "alpha=0.25": (7, ADAM | {"fraction": 0.25}),
    "alpha=1.0": (7, ADAM),
    "varying": (7, ADAM | {"fraction": (0.1, 1.0)}),
    "alone": (7, ADAM | {"mixing": isolated}),
    "ring": (7, ADAM | {"mixing": ring}),
    "ring, some": (7, ADAM | {"mixing": ring, "fraction": 0.75}),
    "own starts": (7, ADAM | {"common_init": False}),
}


def small_loop() -> dict:
    """Notebook 01: the case that is compared with the plain loop."""
    federation = Federation(deal(23, 4, stream(0, "deal")), fraction=0.75, lr=0.01)
    return {
        "net": DeepONet((5, 8, 4), (1, 8, 4)), "loss": pendulum.loss, "federations": [federation],
        "pool": pendulum.pendulum_triplets(23, 5, 0.5, stream(0, "small")), "local": Local(2, "epochs", 4),
        "reset_moments": True,
    }  # fmt: skip


def tried(optimizer, lr: float) -> dict:
    """Notebook 01: a setting on validation data."""
    federations = {
        (0, C, 100): Federation(deal(40, C, stream(100, "deal", C)), fraction=0.75, lr=lr, decay=0.85, seed=100)
        for C in (1, 4)
    }
    test = pendulum.both_tests(pendulum.random_tests(2, M, SCALE, 100, use="validation"), pendulum.unseen_tests(M))
    return on_pendulum(
        pendulum.pendulum_triplets(40, M, SCALE, stream(100, "train")), federations, ("setting", "C", "seed"),
        lambda key: test, evaluate=pendulum.mean_errors, optimizer=optimizer(), reset_moments=True,
    )  # fmt: skip


def heterogeneous(settings: dict, make=VARYING, **more) -> dict:
    """Notebook 02: name -> (kind, level, settings)."""
    sizes = {"triplets": 60, "clients": 5, "tests": 2, "sensors": M}
    kinds = {
        "shards": shards.label_sorted(**sizes), "uneven": shards.label_sorted(**sizes, uneven=True),
        "fields": shards.two_fields(**sizes, deltas=[1.0]),
    }  # fmt: skip
    data = {name: kinds[kind].data(level, 0) for name, (kind, level, _) in settings.items()}
    pool, at = join({name: one.pool for name, one in data.items()})
    federations = {
        (name, 0): make(at(name, data[name].owners), seed=0, name=name, **of) for name, (_, _, of) in settings.items()
    }
    of_fields = pendulum.random_tests(2, M, SCALE + 1, 0), pendulum.random_tests(2, M, SCALE, 0, use="validation")
    sets = dict(zip(("second", "validation"), of_fields, strict=True))
    test = pendulum.both_tests(pendulum.random_tests(2, M, SCALE, 0), pendulum.unseen_tests(M), **sets)
    more = {"evaluate": pendulum.mean_errors} | more
    return on_pendulum(pool, federations, ("case", "seed"), lambda key: test, **more)


def levels(**of) -> dict:
    """Notebook 02: two levels of shards, uneven ones, two of fields."""
    chosen = ("shards", 1), ("shards", 2), ("uneven", 1), ("fields", 0.0), ("fields", 1.0)
    return {f"{kind} {level}": (kind, level, of) for kind, level in chosen}


def library(local=STEPS, make=HALF, use="test", **more) -> dict:
    """Notebook 03: stiffnesses mixed or a client's own, told or hidden."""
    sizes = {"clients": 6, "triplets": 60, "sensors": M, "length_scale": SCALE, "tests": 2, "draws": 2, "common": 2}
    cases = {tuple(case.split(", ")): arguments for case, arguments in library_study.CASES.items()}
    data = {case: pendulums.library(**arguments, **sizes, use=use).data(1.0, 0) for case, arguments in cases.items()}
    pool, at = join({(0, case): own.pool for case, own in data.items()})
    federations = {(case, 0): make(at((0, case), own.owners), seed=0, **ADAM) for case, own in data.items()}
    one = at((0, ("own", "told")), data["own", "told"].owners[:1])
    federations["isolated", 0] = Federation(one, mixing=isolated, seed=0, **ADAM)
    of_seeds = ("GRF u", "GRF x1", "unseen u", "unseen x1")

    def test(key):
        whole = data["own", "told"] if key[0] == "isolated" else data[key[0]]
        return {name: whole.test[name] for name in of_seeds}

    return on_pendulum(pool, federations, ("case", "seed"), test, local, m=M + 1, **more)


PENDULUM = {
    "01 Algorithm 2": lambda: dealt_out(by_clients(**ADAM) | SHARES, reset_moments=True),
    "01 Algorithm 2, two seeds": lambda: dealt_out({"C=4": (4, ADAM)}, (1, 2), reset_moments=True),
    "01 Algorithm 1": lambda: dealt_out(by_clients(lr=0.03), optimizer=sgd()),
    "01 passes": lambda: dealt_out(by_clients(lr=0.001), local=PASSES, reset_moments=True),
    "01 moments kept": lambda: dealt_out(by_clients(**ADAM)),
    "01 centralised": lambda: dealt_out({"centralised": (7, ADAM)}, make=centralised, local=STEPS._replace(updates=9)),
    "01 plain loop": small_loop,
    "01 search, Adam": lambda: tried(adam, 0.006),
    "01 search, SGD": lambda: tried(sgd, 0.03),
    "01 live": lambda: of_live(dealt_live.dealt(3, 1.0, 4)),
    "01 live, ring, some": lambda: of_live(dealt_live.dealt(4, 0.5, 4, mixing=ring)),
    "01 live, SGD, nobody": lambda: of_live(dealt_live.dealt(3, 1.0, 4, optimizer="SGD", mixing=isolated)),
    "02 Algorithm 2": lambda: heterogeneous(levels(**ADAM), reset_moments=True),
    "02 equal weights": lambda: heterogeneous({"uneven 1": ("uneven", 1, ADAM | {"mixing": equal})}),
    "02 Algorithm 1": lambda: heterogeneous(levels(lr=0.02), optimizer=sgd()),
    "02 moments kept": lambda: heterogeneous(levels(**ADAM), optimizer=adam()),
    "02 centralised": lambda: heterogeneous(levels(**ADAM), centralised),
    "02 live, sorted": lambda: of_live(skewed_live.skewed(shards_each=2, K=4)),
    "02 live, two fields": lambda: of_live(skewed_live.skewed("two fields", delta=1.0, K=4)),
    "03 library": lambda: library(reset_moments=True),
    "03 library, passes": lambda: library(PASSES, reset_moments=True),
    "03 validation": lambda: library(use="validation", reset_moments=True),
    "03 centralised": lambda: library(make=centralised),
    "03 live, told": lambda: of_live(library_live.library(K=4)),
    "03 live, hidden": lambda: of_live(library_live.library(stiffness="hidden", K=4)),
}


# 04: functions


def function(problem, chosen, f, axes, seeds=(0,), **more) -> dict:
    """A function at some levels, with few test points."""
    x = torch.cartesian_prod(*axes).reshape(-1, len(axes))
    few = {"x": x, "u": f(x)}
    with_few = problem._replace(data=lambda level, seed: problem.data(level, seed)._replace(test=few))
    return captured(lambda: sweep(with_few, chosen, seeds, rounds=3, **{"lr": 0.01} | more))


def on_line(chosen=(2, 10), clients=2, make=functions.gramacy_lee, **more) -> dict:
    """Gramacy & Lee's function."""
    of = {"clients": clients} if clients > 2 else {}
    return function(
        make(n=41, width=16, **of), chosen, functions.wave, [torch.linspace(-1, 1, 60, dtype=torch.float64)], **more
    )


def on_square(chosen, printed=False, **of) -> dict:
    """Schaffer's function."""
    axis, f = torch.linspace(0, 1, 7, dtype=torch.float64), partial(functions.rings, printed=printed)
    more = {"kinds": of.pop("kinds")} if "kinds" in of else {}
    return function(functions.schaffer(printed, n=49, width=16, **of), chosen, f, [axis, axis], **more)


def theorem() -> dict:
    """Gradient descent of a federation beside that on all points."""
    return captured(lambda: weights.theorem(functions.gramacy_lee, 40, [2, 20], [5], [3]))


def paths() -> dict:
    """Fig. 3: server, clients and the centralised model on their way."""
    return captured(lambda: weights.walks(functions.gramacy_lee, 40, 16, [2, 20], 3, 5, 0.01))


def live_line(clients: int, pieces: int, **more) -> dict:
    """The curve on a line as a watched training; pieces of each client."""
    line = functions.gramacy_lee(clients, width=16)
    return in_float32(of_live(watched_experiment(line, clients * pieces, 5, lr=0.003, **more)))


def in_float32(case: dict) -> dict:
    """The case with points that were rounded before its values were recorded."""
    return case | {"pool": {name: value.float() for name, value in case["pool"].items()}}


ALONE = {"kinds": ["federated"]}
FUNCTIONS = {
    "04 line": lambda: on_line(seeds=(0, 1)),
    "04 line, three clients": lambda: on_line([15], 3),
    "04 line, own starts": lambda: on_line(**ALONE, common_init=False),
    "04 line, moments reset": lambda: on_line(**ALONE, reset_moments=True),
    "04 line, E = 3": lambda: on_line(**ALONE, local=Local(3)),
    "04 line, SGD": lambda: on_line(**ALONE, make=functions.by_descent, lr=0.03),
    "04 square, slabs": lambda: on_square([2, 6]),
    "04 square, slabs, as printed": lambda: on_square([2], printed=True),
    "04 square, slabs, ReLU": lambda: on_square([2], activation=nn.ReLU),
    "04 square, blocks": lambda: on_square([3], method="xy"),
    "04 square, blocks, four clients": lambda: on_square([3], method="xy", clients=4, kinds=["federated", "isolated"]),
    "04 theorem": theorem,
    "04 paths": paths,
    "04 live": lambda: live_line(2, 5),
    "04 live, ring": lambda: live_line(4, 1, mixing=ring),
    "04 live, FedAdam": lambda: live_line(2, 5, server=fedadam(0.01)),
}


# 05 and 06: equations


def equation(problem, chosen, local=FOUR, **more) -> dict:
    """A forward problem at some levels."""
    return captured(lambda: sweep(problem, chosen, [0], rounds=3, local=local, **more))


def allen_cahn(clients: int, chosen, activation=nn.Tanh, share=True, **more) -> dict:
    """Small in its reference, too: what the paper has takes seconds."""
    problem = forward.allen_cahn(clients, 6, 4, 4 * share, 6 * share, 0.01, 1.0, activation)

    def data(level, seed):
        of = problem.data(level, seed)
        return of._replace(test={name: value[::199] for name, value in of.test.items()})

    return equation(problem._replace(data=data), chosen, **more)


def wake(n: int, levels, kinds=("federated", "centralised"), fields=True, **more) -> dict:
    """Notebook 06: the flow; its rate drops in round 1."""
    experiment = flow.flow(n, (12, 6, 4), (3, 10, 10, 3), stride=10, **more)
    coefficients = experiment.evaluate

    def evaluate(predict, test):
        answer = flow.velocity_and_pressure(predict, test)
        return coefficients(predict, test) | flow.field_errors(answer, test["u"]) | {"p": answer[:, 2]}

    experiment = experiment._replace(evaluate=evaluate) if fields else experiment
    drops = dict(lr=0.015, decay=Drop(1, 0.1), local=Local(2))
    return captured(lambda: sweep(experiment, levels, [0], kinds, **drops))


def rate(chosen, inside: int, ends: bool, alone=False, version="paper") -> dict:
    """Notebook 06b: the unknown reaction rate; u and k themselves stand beside their errors."""
    problem = reaction.reaction(inside, ends, version)

    def evaluate(predict, test):
        u, k = problem.answer(predict, test).unbind(1)
        return {"u": u, "k": k} | problem.evaluate(predict, test)

    kinds = ["isolated", "federated", "centralised"] if alone else ["federated", "centralised"]
    return captured(lambda: sweep(problem._replace(evaluate=evaluate), chosen, (0, 1), kinds, lr=0.002))


def gap() -> dict:
    """Notebook 05: rules at the finest level."""
    return equation(under(forward.poisson_in_halves(), "averaged moments", 0.0), [8], FIVE, kinds=["federated"])


EQUATIONS = {
    "05 Poisson": lambda: equation(forward.poisson(), [2, 8]),
    "05 Helmholtz": lambda: equation(forward.helmholtz(2 * np.pi, 6, 8), [2, 3]),
    "05 Allen-Cahn, two clients": lambda: allen_cahn(2, [2, 6]),
    "05 Allen-Cahn, points not shared, sine": lambda: allen_cahn(2, [2], Sine, share=False),
    "05 Allen-Cahn, three clients": lambda: allen_cahn(3, [3, 6]),
    "05 beam": lambda: equation(forward.euler_beam(10), [2, 10]),
    "05 averaged moments": gap,
    "05 live": lambda: of_live(watched_experiment(forward.poisson(), 4, 4, lr=0.003)),
    "06 flow": lambda: wake(40, [2, 6]),
    "06 flow, aliased": lambda: wake(40, [2], ["federated"], aliased=True),
    "06 flow, many": lambda: wake(60, [2], ["centralised"], fields=False),
    "06b reaction": lambda: rate([2, 8], 10, False, True),
    "06b reaction, with ends": lambda: rate([2], 8, True),
    "06b reaction, as coded": lambda: rate([2], 8, True, version="code"),
    "06 live": lambda: of_live(flow_live.training(2, 2)),
    "06 live, aliased": lambda: of_live(flow_live.training(2, 2, aliased=True)),
}


# 07: operators


def operator(name: str, chosen, kinds=tuple(KINDS), E=3, **more) -> dict:
    """Functions of different terms at the clients; errors on the points of the loss."""
    experiment = operators.federated_operator(name, 5, 3, (0, 50, 100), (0, 10, 100))
    pairs = operators.learn(name, (0, 50, 100), (0, 10, 100)).pairs(operators.draws("forward", 10, 3, 0, "test"))
    data = lambda n, seed: experiment.data(n, seed)._replace(test=pairs)  # noqa: E731
    few = experiment._replace(data=data, evaluate=operators.operator_error, lr=0.003, local=Local(E))
    return captured(lambda: sweep(few, chosen, [0], kinds, rounds=3, **more))


OPERATORS = {
    "07 antiderivative": lambda: operator("antiderivative", [2, 10]),
    "07 antiderivative, own starts": lambda: operator("antiderivative", [10], ["federated"], common_init=False),
    "07 antiderivative, E = 1": lambda: operator("antiderivative", [5, 6], ["federated"], E=1),
    "07 diffusion-reaction": lambda: operator("diffusion_reaction", [5]),
    "07 Burgers, two clients": lambda: operator("burgers_2", [2]),
    "07 Burgers, three clients": lambda: operator("burgers_3", [10]),
    "07 live": lambda: of_live(operators_live.training(3, 2)),
}


# 08 to 09: stochastic networks

COOLING = {"lr": 0.02, "decay": 0.75}
WORK = Local(3, "steps", 8)


def stochastic(rows: dict, local=WORK, evaluate=answers, constants=None) -> dict:
    """Notebook 08: key -> (experiment, level, kind, settings of its federation); seeds are the last of a key."""
    data = {key: experiment.data(level, key[-1]) for key, (experiment, level, *_) in rows.items()}
    pool, joined = join({key: one.pool for key, one in data.items()})
    experiment = next(iter(rows.values()))[0]
    federations = {
        key: federation(own, joined(key, data[key].owners), kind, key[-1], **{"fraction": 0.3, **settings})
        for key, (own, _, kind, settings) in rows.items()
    }
    case = train_arguments(experiment._replace(local=local)) | {"pool": pool, "federations": federations}
    case |= {"parts": ("name", "seed"), "init": experiment.init, "evaluate": evaluate}
    return with_paths(case | {"constants": constants or experiment.constants})


def on_curve(names=None, **arguments) -> dict:
    """5.1: federations of ten clients, one in each tenth of the interval; clients alone; two noises."""
    sizes = {"clients": 10, "tests": 8}
    shared, alone, pair = noisy_curve.shared(**sizes, **arguments), noisy_curve.some_alone(**sizes), (0.05, 0.15)
    rows = {(name, 0): (shared, name, "federated", COOLING) for name in ("IID 110", "non-IID 110", "non-IID 60")} | {
        (pair, 0): (noisy_curve.two_noises(**sizes), pair[0], "federated", COOLING),
        ("alone", 0): (alone, "non-IID 110", "isolated", COOLING),
        ("own starts", 0): (shared, "non-IID 110", "federated", COOLING | {"common_init": False}),
    }
    return stochastic({key: row for key, row in rows.items() if names is None or key[0] in names})


def in_one_place(score="energy score", variants=(0.05, 0.4, "x"), **arguments) -> dict:
    """One model on all points, for several noises."""
    experiment = noisy_curve.one_place(score, tests=8, **arguments)
    levels = {variant: noisy_curve.GROWING if variant == "x" else variant for variant in variants}
    rows = {(variant, 0): (experiment, level, "centralised", COOLING) for variant, level in levels.items()}
    return stochastic(rows, Local(3, "steps", 16))


def on_surface() -> dict:
    """5.2."""
    shared, alone = noisy_surface.shared(8), noisy_surface.shared(8, alone=True)
    rows = {
        ("federated", 0): (shared, 10, "federated", {"lr": 0.02, "decay": 0.8}),
        ("alone", 0): (alone, 10, "isolated", {"lr": 0.02, "decay": 0.8}),
        ("central", 0): (shared, 10, "centralised", {"lr": 0.02, "decay": 0.8}),
    }
    return stochastic(rows, constants=plane.probes(shared.net, 0.1, 3))


def searched() -> dict:
    """Rates on validation data; its scores need draws of torch and stay aside."""
    shared = noisy_curve.shared(clients=10)
    rows = {
        (f"C = 0.3, lr = {lr:g}, decay = 0.75, 3 steps", 100): (
            shared,
            "non-IID 110",
            "federated",
            {"lr": lr, "decay": 0.75},
        )
        for lr in (0.02, 0.04)
    }
    return stochastic(rows, evaluate=None)


def by_way(experiment, clients_alone=False) -> dict:
    """Notebook 08b, 5.1: three rounds at two noises."""
    kind = "isolated" if clients_alone else "federated"
    rows = {(sigma, 0): (experiment, sigma, kind, {}) for sigma in (0.1, 0.4)}
    return stochastic(rows, experiment.local, constants=sine.probes(experiment.net, 0.1, 8))


def by_way_2d(experiment) -> dict:
    """Notebook 08b, 5.2."""
    rows = {("federated", 0): (experiment, 0.1, "federated", {})}
    return stochastic(rows, experiment.local, constants=plane.probes(experiment.net, 0.1, 3))


def as_printed(case="curve", sizes=(10, 4, 8), lr=0.1) -> Experiment:
    """Notebook 08b, as printed."""
    return as_coded.printed(case, *sizes)._replace(lr=lr)


def exact(frozen: bool) -> dict:
    """Notebook 08b: one client with frozen or fresh paths."""
    experiment = as_coded.one_client(10, 4, 8, frozen=frozen)
    return by_way(experiment._replace(lr=1e-3), clients_alone=True)


def on_letters(rows: dict, ratio: float = 0.1) -> dict:
    """Notebook 09: six clients of a picture of 8 x 24 pixels; key -> (own pixels, kind, rate)."""
    experiment = letters.drawing(6, ratio, (8, 24))
    settings = {"decay": decay_of(0.01, 3), "fraction": 0.5}
    made = {key: (experiment, L, kind, settings | {"lr": lr}) for key, (L, kind, lr) in rows.items()}
    return stochastic(made, Local(4, "steps", 8), letters.scored)


def all_ways() -> dict:
    """Together, alone, in one place."""
    kinds = {"federation": "federated", "alone": "isolated", "central": "centralised"}
    return on_letters({(name, 0): (20, kind, 0.04) for name, kind in kinds.items()})


def settings_tried() -> dict:
    """Rates and their ends."""
    return on_letters({(4, 3, lr, 0.01, 5): (20, "federated", lr) for lr in (0.02, 0.04)}) | {
        "parts": ("steps", "rounds", "lr", "lr_end", "seed")
    }


STOCHASTIC = {
    "08 curve, energy score": on_curve,
    "08 curve, squared error": lambda: on_curve(["non-IID 110"], score="squared error"),
    "08 curve, printed gradient": lambda: on_curve(["non-IID 110"], gradient="smp_paper"),
    "08 all data, energy score": in_one_place,
    "08 all data, likelihood": lambda: in_one_place("likelihood", (0.05, 0.4)),
    "08 all data, squared error": lambda: in_one_place("squared error", (0.05, 0.4)),
    "08 all data, g of X": lambda: in_one_place(variants=("x",), diffusion="net"),
    "08 surface": on_surface,
    "08 search": searched,
    "08 live, energy score": lambda: of_live(noisy_live.training(E=3)),
    "08 live, likelihood": lambda: of_live(noisy_live.training("likelihood", E=3)),
    "08 live, squared error": lambda: of_live(noisy_live.training("squared error", paths=1, E=3)),
    "08b printed": lambda: by_way(as_printed()),
    "08b coded": lambda: by_way(as_coded.coded("curve", 10, 4, 8)),
    "08b proper": lambda: by_way(as_coded.mended("curve", 10, 4, 8)),
    "08b alone, frozen paths": lambda: exact(True),
    "08b alone, fresh paths": lambda: exact(False),
    "08b printed, surface": lambda: by_way_2d(as_printed("surface", (8, 3, 32), 0.03)),
    "08b coded, surface": lambda: by_way_2d(as_coded.coded("surface", 8, 3, 32)),
    "08b proper, surface": lambda: by_way_2d(as_coded.mended("surface", 8, 4, 8)),
    "09 letters": all_ways,
    "09 letters, pixels each": lambda: on_letters({(L, 0): (L, "federated", 0.04) for L in (10, 30)}, letters.RATIO),
    "09 letters, settings": settings_tried,
    "09 live": lambda: of_live(letters_live.training(30, 3, 3, 1.0, 3)),
    "09 live, some": lambda: of_live(letters_live.training(30, 3, 6, 0.5, 3)),
}


# 10b: shifted digits


@cache
def handwriting() -> dict:
    """scikit-learn's digits, each pixel twice in both directions: ``small_digits`` interpolates, in float32, and that
    differs by 1e-7 on machines without AVX2."""
    from sklearn.datasets import load_digits

    both = load_digits()
    x = np.pad(np.kron(both.images / 16, np.ones((2, 2))), ((0, 0), (6, 6), (6, 6))).reshape(-1, 784)
    x, y = torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(both.target).long()
    return normalised({"train": (x[:1250], y[:1250]), "test": (x[1250:], y[1250:])})


def shifted(way: str, **arguments) -> dict:
    """Notebook 10b: three clients with 30 digits train on what a way makes of them."""
    small = {"source": "small", "clients": 3, "per_client": 30, "atoms": 2, "barycenter_rounds": 3, "test_digits": 20}
    with patch.object(digits, "handwriting", lambda *names: handwriting()):
        experiment = digits.digits(way, **small | arguments)._replace(lr=0.05)
        return captured(lambda: sweep(experiment, [0.5], [0], ["federated"])) | {"evaluate": None}


def live_digits() -> dict:
    """Notebook 10b live."""
    with patch.object(digits_live, "handwriting", lambda *names: handwriting()):
        digits_live.carried.cache_clear()
        case = of_live(digits_live.training(2.0, atoms=2, rounds=3))
        digits_live.carried.cache_clear()
    return case


WEAK = (1.0, 0.1)
DIGITS = {
    **{f"10b {way}": partial(shifted, way) for way in ways.WAYS if way != ways.AFFINE},
    "10b label skew": lambda: shifted(ways.FEDAVG, partition="dirichlet", reading="levels"),
    "10b FedAvg, adversary": lambda: shifted(ways.FEDAVG, ascent=WEAK),
    "10b mapped, adversary": lambda: shifted(ways.MAPPED, ascent=WEAK),
    "10b live": live_digits,
}


# 11: rules against drift


def ruled(problem, level, rule: str, knobs=(), **more) -> dict:
    """A rule on a problem of ``drift``: all knobs of a server, the first of others."""
    central = rule == drift_study.CENTRAL
    of = RULES["FedAvg" if central else rule]
    knobs = knobs or (of.knobs if of.server else of.knobs[:1])
    over = {("lr", "knob"): {(0.001, knob): {"lr": 0.001, "server": of.server and of.server(knob)} for knob in knobs}}
    local, optimizer = problem.local._replace(updates=4), of.optimizer(knobs[0])
    kinds = ["centralised" if central else "federated"]
    return captured(lambda: sweep(problem, [level], [0], kinds, over=over, local=local, optimizer=optimizer, **more))


def uneven(rule: str) -> dict:
    """Two clients with p = 3/4 and 1/4."""
    return ruled(drift.uneven_line(40), 8, rule)


def some_of_five(rule: str) -> dict:
    """Mini-batches, and half of the clients in a round."""
    net = DeepONet((M, 14, 14), (1, 14, 14), domain=(0.0, 1.0))
    problem = drift.one_shard(60, 5, M)._replace(local=STEPS, net=net)
    return ruled(problem, 1, rule, fraction=0.5, knobs=RULES[rule].knobs[-1:])


def live_rule(rule: str) -> dict:
    """Notebook 11 live."""
    return in_float32(of_live(drift_live.training(rule, 10, 4, width=16)))


RULED = (*RULES, drift_study.CENTRAL)
DRIFT = {
    **{f"11 {rule}": partial(uneven, rule) for rule in RULED},
    **{f"11 {rule}, some": partial(some_of_five, rule) for rule in RULES},
    "11 square": lambda: ruled(drift.square(49, 16), 4, "FedAvg"),
    "11 Poisson": lambda: ruled(forward.poisson_in_halves(), 8, drift_study.REPAIR),
    "11 antiderivative": lambda: ruled(drift.antiderivative(5, 4), 2, "FedAvg"),
    "11 two fields": lambda: ruled(drift.two_fields(40, 4, M), 2.0, "SCAFFOLD"),
    **{f"11 live, {rule}": partial(live_rule, rule) for rule in drift_live.OFFERED[1:]},
}


# 12: laboratories


def laboratories(**settings) -> dict:
    """The experiment of all sites in one process."""
    experiment = leak_problem.laboratories(M, 10)._replace(**settings)
    return captured(
        lambda: in_one_process(Plan(experiment, lambda k: leak_problem.points(k, 8, M), [[0, 1], [2, 3], [4]]))
    )


def leaking(E: int, optimizer: str) -> dict:
    """One round of one client, whose update tells what it owns."""
    net, point = DeepONet((M, 10, 10), (1, 10, 10)), pendulum.pendulum_triplets(3, M, SCALE, stream(0, "site data", 0))
    return captured(lambda: leak.one_round(net, point, E, optimizer))


LABORATORIES = {
    "12 everybody": laboratories,
    "12 some": lambda: laboratories(fraction=0.5),
    "12 personal layer": lambda: laboratories(personal=["branch.0.weight", "branch.0.bias"]),
    "12 leak, SGD": lambda: leaking(1, "SGD"),
    "12 leak, Adam": lambda: leaking(5, "Adam"),
}


# 15: instruments


def measuring(model: str) -> dict:
    """Offsets and drifts that stay at home."""
    return captured(lambda: sweep(instruments.instruments(model), ["windows"], [0], ["federated"], rounds=3))


INSTRUMENTS = {f"15 {model}": partial(measuring, model) for model in ("waves", "network")}


def with_smooth_torques(case):
    """The case, its random torques without their weakest features, 1e-6 to 1e-3 of the strongest one.

    These belong to eigenvalues of 1e-12 to 1e-6, and their eigenvectors depend on LAPACK's threads and processor: by
    1e-9 of the torques, and so of everything that is trained on them.
    """
    with patch.object(spaces, "grf_basis", partial(spaces.grf_basis, cut=1e-6)):
        drawn = shared_live.triplets, shared_live.tests
        for function in drawn:
            function.cache_clear()
        args = case()
        for function in drawn:
            function.cache_clear()
    return args


ALL = PENDULUM | FUNCTIONS | EQUATIONS | OPERATORS | STOCHASTIC | DIGITS | DRIFT | LABORATORIES | INSTRUMENTS
CASES = {name: partial(with_smooth_torques, case) for name, case in ALL.items()}

# each kind of network, loss and optimiser about once, for a program takes half a second to five to compile
XLA = (
    "01 moments kept",
    "01 Algorithm 1",
    "04 line",
    "04 square, slabs, ReLU",
    "05 Poisson",
    "06 flow",
    "06b reaction",
    "07 Burgers, two clients",
    "08 all data, energy score",
    "08 all data, likelihood",
    "08b coded",
    "11 FedProx",
    "11 SCAFFOLD, some",
    "11 fresh correction + averaged moments",
    "11 Mime",
)
"""Compared with eager as they are. Left out are notebook 10 (``aten`` knows no convolution), the theorem (its optimiser
reads a number in every step), and the printed gradient of notebook 08 (an autograd function)."""

XLA_CALM = ("05 Helmholtz", "05 Allen-Cahn, two clients")
"""With 1e-2 in place of Adam's 1e-8. Some of their gradients are so small that they are rounding, and Adam divides them
by their own size: steps then differ by 2e-5 to 2e-4 of the way, and by less than 4e-6 with 1e-2."""
