"""The server in the middle of a round: it mixes what optimisers exchange besides the models."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from ..federated.exchange import exchange, matrices, needs_everyone
from ..federated.local import turn_of
from ..federated.states import split_state
from .exchanging import columns_of

Ask = Callable[[dict[str, dict]], dict[str, dict]]
"""Questions by site -> answers by site; {"error": text} of a site that fails, is silent, or is not there."""


def at_first(work, theta: Tensor, sent: Tensor) -> dict[str, Tensor]:
    """What the optimiser keeps with the models before round 0, rows [D, .] of what is sent of them."""
    whole = torch.zeros(len(theta), len(sent) + len(work.home), dtype=work.dtype)
    whole[:, sent] = theta
    _, shared = split_state(work.optimizer, work.optimizer.init(whole), work.reset_moments)
    return {name: v[:, columns_of(v, sent, work.home)] for name, v in shared.items()}


def talk(ask: Ask, questions: dict[str, dict], middle: Callable | None) -> tuple[dict, dict]:
    """Questions until the sites have answered with their models, or one has failed; and bytes {site: (down, up)}."""
    answers = ask(questions) if questions else {}
    sent = {name: [(size(q), size(answers[name]))] for name, q in questions.items()}
    while middle and all("mix" in answer for answer in answers.values()) and not any(map(unsound, answers.values())):
        asked = middle(answers)
        answers = ask(asked)
        for name, q in asked.items():
            sent[name].append((size(q), size(answers[name])))
    return answers, {name: tuple(map(sum, zip(*each, strict=True))) for name, each in sent.items()}


def unsound(answer: Mapping) -> bool:
    return not np.isfinite(answer["rows"]).all()


def added(some: tuple[int, int], more: tuple[int, int]) -> tuple[int, int]:
    return some[0] + more[0], some[1] + more[1]


def size(message: Mapping) -> int:
    """Bytes of a message's arrays: what the engine wraps around them is not counted."""
    return sum(value.nbytes for value in message.values() if isinstance(value, np.ndarray))


class Middle:
    """What the server makes of clients' rows in the middle of a round: answers of sites -> their next questions."""

    def __init__(self, work, fed, here: np.ndarray, r: int, questions: Mapping[str, Mapping]):
        matrix = matrices([fed], [here])
        if not here.all() and needs_everyone(matrix[0], here):
            raise ValueError(
                "this optimiser exchanges more than the models (control variates, moments) and clients are idle whose "
                "rows this mixing needs; on several machines take fedavg, or let all clients take part"
            )
        self.r, self.questions, self.own = r, questions, turn_of(work, [here], [False])
        self.dtype, self.K = work.dtype, len(here)
        self.by = {"mix": exchange(work, matrix, self.own)}
        self.by["mean"] = exchange(work, matrices([fed], [np.ones_like(here)]), self.own)

    def __call__(self, answers: Mapping[str, Mapping]) -> dict[str, dict]:
        some = next(iter(answers.values()))
        rows = torch.zeros(self.K, np.shape(some["rows"])[1], dtype=self.dtype)
        for name, answer in answers.items():
            rows[torch.as_tensor(self.questions[name]["clients"])] = torch.as_tensor(np.array(answer["rows"]))
        by = self.by[some["mix"]]
        new, asked = by.distinct(rows[self.own.clients]), {}
        for name in answers:
            models, which = torch.unique(
                by.source[torch.as_tensor(self.questions[name]["clients"])], return_inverse=True
            )
            asked[name] = {"do": "mixed", "round": self.r, "rows": new[models].numpy(), "which": which.numpy()}
        return asked
