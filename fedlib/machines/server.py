"""The server of a federation, whatever engine carries its questions to the sites.

It knows the experiment, how many points each client has, and the models that the clients send: never a point.
"""

import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.batches import participants
from ..federated.checks import ROUNDS_TO_LEARN, check_federation, check_work
from ..federated.exchange import exchange, matrices, needs_everyone, served_by
from ..federated.experiment import train_arguments
from ..federated.local import turn_of
from ..federated.rounds import needs_wire, prepared, server_step
from ..files import replacing
from .experiment import Plan, identity, load, named, unlike
from .middle import Ask, Middle, added, at_first, talk
from .scaling import Moments, agreed, far
from .site import ERROR, MOMENTS, SCALE, SHARED, columns_sent, first_models


class Standing(NamedTuple):
    """Between two rounds. theta [D, P'], source [K]: the distinct models, and which of them each client has.

    server: what the server rule keeps. after: the last round that counted of each site, -1 at first.
    past: for each round (losses [K], NaN for who did not take part; {site: why it failed}).
    shared: what the clients' optimiser keeps with the models, rows [D, .].
    """

    round: int
    theta: Tensor
    source: Tensor
    server: list[dict[str, Tensor]]
    after: dict[str, int]
    past: list[tuple[list[float], dict[str, str]]]
    shared: dict[str, Tensor]


class Played(NamedTuple):
    """A round that was played: losses [K], {site: why} of who failed, bytes {site: (down, up)}, seconds.

    sites: {site: {"loss": mean of its clients, error: of the models with which it began the round}}. final: after the
    last round {site: errors}. scale: of the tables' columns, see ``scaling``.
    """

    number: int
    losses: np.ndarray
    lost: dict[str, str]
    sent: dict[str, tuple[int, int]]
    seconds: float
    standing: Standing
    sites: dict[str, dict[str, float]]
    final: dict[str, dict[str, float]]
    scale: dict[str, np.ndarray]


def federate(
    path: Path | str, ask: Ask, *, rounds: int | None = None, min_sites: int | None = None,
    checkpoint: Path | None = None, warn: Callable[[str], None] = warnings.warn,
) -> Iterator[Played]:  # fmt: skip
    """Play the rounds of an experiment, one for each ``next``; at the end all sites get their models.

    Args:
        ask: the engine. rounds: other than the experiment's. checkpoint: a file that is written after every round; a
            server that finds its own goes on from there.
        min_sites: with at least so many of them a round goes on without a site that fails, with renormalised weights;
            the site is asked again in the next one. None: any failure ends the training.
        warn: is told, before the first round, of a site whose columns are far from the others'; after the last round,
            that nothing was learnt.

    Raises:
        RuntimeError: a site failed; names round, site and why. ValueError: a site is refused, the checkpoint, or a
            number.
    """
    plan, same = load(path), identity(path)
    experiment, clients = plan.experiment, plan.clients
    check_numbers(clients, rounds, min_sites)
    rounds = experiment.rounds if rounds is None else rounds
    where = {k: name for name, there in clients.items() for k in there}
    there = ask({name: {"do": "hello"} for name in clients})
    welcome(there, clients, same, min_sites)
    if missing := [name for name in clients if "error" in there[name]]:
        raise RuntimeError(f"{missing[0]} did not join: {there[missing[0]]['error']}; the first roll call needs all")
    sizes = np.empty(len(where), int)
    for answer in there.values():
        sizes[np.asarray(answer["clients"])] = answer["sizes"]
    lost, layout = odd_ones(there, clients), usual_layout(there)
    if lost and (min_sites is None or len(clients) - len(lost) < min_sites):
        raise ValueError("; ".join(f"{name} is refused: {why}" for name, why in lost.items()))
    moments = moments_in({name: answer for name, answer in there.items() if name not in lost}, plan)
    scale = agreed(moments)
    for name, table in plan.columns.items():
        for sentence in far({site: of_site[name] for site, of_site in moments.items()}, named(table)):
            warn(sentence)
    fed = plan.federation(np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1]))
    check_federation(fed, sizes.sum())
    work_args = {**train_arguments(experiment), "pool": {}, "dtype": plan.dtype}
    check_work(**work_args)
    work = prepared(**work_args, federations=[fed], backend="eager")
    sent = columns_sent(experiment, work.home)
    first = first_models(experiment, fed, [0] if fed.common_init else range(len(where)))[:, sent].to(work.dtype)
    now = Standing(
        0, first, work.sources((len(first),)), [], dict.fromkeys(clients, -1), [], at_first(work, first, sent)
    )
    now = standing_of(checkpoint, same) or now
    alone = not needs_wire(work.optimizer)  # nothing of other clients is in what a client sends

    def farewell() -> dict[str, dict]:
        asked = {name: question(now, now.round, name, np.array(its), scale, "finish") for name, its in clients.items()}
        return ask(asked)

    if now.round >= rounds:
        farewell()
    for r in range(now.round, rounds):
        began = time.monotonic()
        if lost:
            back = ask({name: {"do": "hello"} for name in lost})
            welcome(back, {name: clients[name] for name in lost}, same, min_sites)
            lost = {name: answer["error"] for name, answer in back.items() if "error" in answer}
            lost |= odd_ones({name: answer for name, answer in back.items() if name not in lost}, clients, layout)
        here = participants(fed.seed, r, len(where), fed.fraction)
        here &= [where[k] not in lost for k in range(len(where))]
        failed, bytes_of = {"": ""}, {}
        while failed:  # a round with exchanges in its middle is played anew without who failed
            questions = {
                name: question(now, r, name, np.array([k for k in its if here[k]]), scale)
                | ({} if alone else {"everyone": bool(here.all())})
                for name, its in clients.items()
                if here[its].any()
            }
            mixed_of = Middle(work, fed, here, r, questions) if questions and not alone else None
            answers, moved = talk(ask, questions, mixed_of)
            bytes_of |= {name: added(b, bytes_of.get(name, (0, 0))) for name, b in moved.items()}
            failed = {name: why for name, q in questions.items() if (why := trouble(answers[name], q, len(sent)))}
            lost |= failed
            if failed and (min_sites is None or len(clients) - len(lost) < min_sites):
                raise RuntimeError(f"round {r}: " + "; ".join(f"{name} failed: {why}" for name, why in failed.items()))
            for name in failed:
                here[clients[name]] = False
            if alone:
                break
        losses = np.full(len(where), np.nan)
        theta, source, server, shared = now.theta, now.source, now.server, now.shared
        if here.any():
            matrix = matrices([fed], [here])
            turn = turn_of(work, [here], [needs_everyone(matrix[0], here)])
            mixed, served = exchange(work, matrix, turn), served_by(work, matrix)
            rows = theta[source]
            there = {name: v[source] for name, v in shared.items()}
            for name in questions.keys() - failed.keys():
                who = questions[name]["clients"]
                rows[torch.as_tensor(who)] = torch.as_tensor(np.array(answers[name]["rows"]), dtype=work.dtype)
                losses[who] = answers[name]["losses"]
                for kept, v in there.items():
                    v[torch.as_tensor(who)] = torch.as_tensor(np.array(answers[name][SHARED + kept]), dtype=work.dtype)
            before = [theta[source[which]] for *_, which in served]
            server = server or [rule.init(models) for (rule, *_), models in zip(served, before, strict=True)]
            theta, source = server_step(mixed, rows[turn.clients], served, before, server), mixed.source
            D = len(theta)
            shared = {
                k: v.new_zeros(D, v.shape[1]).index_copy_(0, mixed.spread, v[turn.clients]) for k, v in there.items()
            }
        after = now.after | {name: r for name in questions if name not in failed}
        now = Standing(r + 1, theta, source, server, after, [*now.past, (losses.tolist(), dict(lost))], shared)
        if checkpoint:
            with replacing(Path(checkpoint)) as partial:
                torch.save({"identity": same, "standing": tuple(now)}, partial)
        good = {name: answers[name] for name in questions if name not in failed}
        sites = {name: {"loss": float(np.mean(answer["losses"]))} | errors_in(answer) for name, answer in good.items()}
        final, seconds = {}, time.monotonic() - began
        if r + 1 == rounds:
            ended = farewell()
            final = {name: errors_in(answer) for name, answer in ended.items() if "error" not in answer}
            for sentence in nothing_learnt(experiment.name, ended, sizes, clients, now.past):
                warn(sentence)
        yield Played(r, losses, dict(lost), bytes_of, seconds, now, sites, final, scale)


def check_numbers(clients: Mapping[str, Sequence[int]], rounds: int | None, min_sites: int | None) -> None:
    """ValueError where rounds or min_sites cannot be meant."""
    if rounds is not None and not (type(rounds) is int and rounds >= 1):
        raise ValueError(f"rounds = {rounds!r}: expected a whole number >= 1")
    if min_sites is not None and not (type(min_sites) is int and 1 <= min_sites <= len(clients)):
        raise ValueError(f"min_sites = {min_sites!r}: expected a whole number from 1 to {len(clients)}, the sites")


def question(now: Standing, r: int, name: str, who: np.ndarray, scale: Mapping, do: str = "round") -> dict:
    """What a site needs for the work of clients ``who`` [n]: every distinct model once."""
    models, which = torch.unique(now.source[torch.as_tensor(who)], return_inverse=True)
    rows = now.theta[models].numpy()
    shared = {SHARED + kept: v[models].numpy() for kept, v in now.shared.items() if do == "round"}
    asked = {"do": do, "round": r, "after": now.after[name], "clients": who, "rows": rows, "which": which.numpy()}
    return asked | shared | {SCALE + name: of_name for name, of_name in scale.items()}


def errors_in(answer: Mapping) -> dict[str, float]:
    """Mean over a site's clients of each error that it sent, of those that hold something back."""
    names = [name for name in answer if name.startswith(ERROR)]
    return {name.removeprefix(ERROR): float(np.nanmean(answer[name])) for name in names}


def usual_layout(answers: Mapping[str, Mapping]) -> dict[str, str]:
    """Of what points are made at most clients."""
    count = Counter()
    for answer in answers.values():
        count[answer["layout"]] += len(answer["clients"])
    return json.loads(count.most_common(1)[0][0])


def odd_ones(
    answers: Mapping[str, Mapping], clients: Mapping[str, Sequence[int]], layout: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Sites whose points are made of something else than at most clients: {site: of what}."""
    layout = layout or usual_layout(answers)
    unequal = {name: unlike(json.loads(answer["layout"]), layout) for name, answer in answers.items()}
    return {name: f"points({clients[name][0]}) has {why}, as most clients" for name, why in unequal.items() if why}


def moments_in(answers: Mapping[str, Mapping], plan: Plan) -> dict[str, dict[str, Moments]]:
    """What sites tell of their columns: site -> tensor -> moments."""
    return {
        site: {name: Moments(float(np.sum(answer["sizes"])), *answer[MOMENTS + name]) for name in plan.columns}
        for site, answer in answers.items()
    }


def nothing_learnt(
    name: str, ended: Mapping[str, Mapping], sizes: np.ndarray, clients: Mapping[str, Sequence[int]], past: Sequence
) -> list[str]:
    """Sentences, as of ``checks.warn_if_nothing_learnt``; where columns have a scale, that the mean would do better.

    ended: what the sites have answered at the end.
    """
    ended = {site: answer for site, answer in ended.items() if "error" not in answer}
    losses, start, sentences = np.array(past[-1][0]), np.full(len(sizes), np.nan), []
    for site, answer in ended.items():
        start[clients[site]] = answer["start"]
    both = np.isfinite(start) & np.isfinite(losses)
    if len(past) >= ROUNDS_TO_LEARN and both.any() and (end := losses[both].mean()) > (begin := start[both].mean()):
        sentences.append(f"{name}: the mean loss went from {begin:.3g} to {end:.3g}; lower lr")
    n = {site: float(sizes[clients[site]].sum()) for site, answer in ended.items() if "misfit" in answer}
    if n and (share := sum(ended[site]["misfit"] for site in n) / sum(n.values())) >= 1:
        worst = max(n, key=lambda site: ended[site]["misfit"] / n[site])
        sentences.append(
            f"{name}: nothing was learnt: the model's mean square error is {share:.3g} of that of the mean of all, "
            f"worst at {worst}; train longer (rounds, local steps), or look at lr and at the loss"
        )
    return sentences


def welcome(answers: Mapping[str, Mapping], clients: Mapping, same: Mapping, min_sites: int | None) -> None:
    """ValueError that names a site with another experiment, other code or other clients."""
    for name, answer in answers.items():
        if "error" in answer:
            continue
        for what, mine in same.items():
            if answer[what] != mine:
                raise ValueError(f"{name} is refused: its {what} has hash {answer[what]}, the server's {mine}")
        if [*map(int, answer["clients"])] != clients[name]:
            raise ValueError(f"{name} is refused: it has clients {answer['clients']}, expected {clients[name]}")


def trouble(answer: Mapping, asked: Mapping, columns: int) -> str:
    """Why an answer cannot be averaged; empty if it can."""
    if "error" in answer:
        return answer["error"]
    if "mix" in answer:  # another site failed; or this one
        bad = ~np.isfinite(answer["rows"]).all(1)
        return f"client {asked['clients'][bad.argmax()]} sent numbers that are not finite" if bad.any() else ""
    rows, losses = np.asarray(answer["rows"]), np.asarray(answer["losses"])
    if rows.shape != (len(asked["clients"]), columns) or losses.shape != rows.shape[:1]:
        return f"it sent models {rows.shape}, expected {(len(asked['clients']), columns)}"
    bad = ~(np.isfinite(rows).all(1) & np.isfinite(losses))
    return f"client {asked['clients'][bad.argmax()]} sent numbers that are not finite" if bad.any() else ""


def standing_of(checkpoint: Path | None, same: Mapping) -> Standing | None:
    """Where the server stood, if there is a checkpoint; ValueError where it is another experiment's."""
    if checkpoint is None or not Path(checkpoint).exists():
        return None
    try:
        kept = torch.load(checkpoint, weights_only=True)
    except Exception as error:  # torch raises half a dozen types for a damaged file
        raise ValueError(f"{checkpoint} cannot be read as a checkpoint; remove it to start anew") from error
    if kept["identity"] != dict(same):
        raise ValueError(f"{checkpoint} is of another experiment or other code; remove it to start anew")
    return Standing(*kept["standing"])
