"""One round of sums (``federated.sums``) on several machines: a roll call, then one message of each site."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.sums import Solution, Sums, added, solve
from .experiment import identity, load
from .middle import Ask, size
from .scaling import agreed
from .server import moments_in, odd_ones, welcome
from .site import SCALE


class Added(NamedTuple):
    """What came of it: the solution, at which theta + step is the model; bytes {site: (down, up)}; the
    scale of the tables' columns, see ``scaling``."""

    solution: Solution
    sent: dict[str, tuple[int, int]]
    scale: dict[str, np.ndarray]


def one_round(path: Path | str, ask: Ask, theta: Tensor, ridge: float | None = None, root: bool = True) -> Added:
    """The centralised solution of an experiment module with residuals, for whatever clients and sites.

    ask: the engine. theta [P]: where the residuals are linearised. A point that several clients have counts as often;
    give it weights "w" there.

    Raises:
        RuntimeError: a site failed; the sums of the others are not those of all. ValueError: a site is refused.
    """
    plan, form = load(path), "roots" if root else "sums"
    roll = answered(ask, {name: {"do": "hello"} for name in plan.clients})
    welcome(roll, plan.clients, identity(path), None)
    if odd := odd_ones(roll, plan.clients):
        raise ValueError("; ".join(f"{name} is refused: {why}" for name, why in odd.items()))
    scale = agreed(moments_in(roll, plan))
    question = {"do": "sums", "theta": theta.numpy(), "form": form} | {SCALE + name: v for name, v in scale.items()}
    questions = dict.fromkeys(plan.clients, question)
    answers = answered(ask, questions)
    matrices = {name: torch.as_tensor(np.array(answer["matrix"])) for name, answer in answers.items()}
    total = added(Sums(matrices[name], float(answers[name]["n"]), root) for name in plan.clients)
    sent = {name: (size(questions[name]), size(answers[name])) for name in plan.clients}
    return Added(solve(total, ridge), sent, scale)


def answered(ask: Ask, questions: dict[str, dict]) -> dict[str, dict]:
    """The answers of all sites; RuntimeError that names one that failed, and why."""
    answers = ask(questions)
    for name, answer in answers.items():
        if "error" in answer:
            raise RuntimeError(f"{name} failed: {answer['error']}; without it the sums are not those of all")
    return answers
