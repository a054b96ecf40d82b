"""The server of a federation, whatever engine carries its questions to the sites.

It knows the experiment, how many points each client has, and the models that the clients send: never a point. It plays
the rounds of ``federated.rounds``; of each of them the sites do the local work.
"""

import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.batches import participants
from ..federated.checkpoints import opened
from ..federated.checks import ROUNDS_TO_LEARN, check_federation, check_work
from ..federated.exchange import Exchange, exchange, matrices, needs_everyone
from ..federated.experiment import train_arguments
from ..federated.local import Turn, Work
from ..federated.rounds import arranged, beginning, needs_wire, one_round, prepared
from ..federated.stack import parameter_count
from ..federated.states import State, split_state
from ..files import replacing
from ..refusals import check_counts
from .arriving import Check, errors, heard, layout, numbers, one_of, same
from .messages import ERROR, MOMENTS, SCALE, SHARED, Ask, part, size
from .middle import columns
from .plan import Plan, check, named
from .points import unlike
from .scaling import Moments, agreed, far
from .site import columns_sent

POINTS = 10**8  # of a client, at most: more are in no memory
FALLS = 0.05  # share by which a loss has to fall in a tenth of the rounds, so that one is told
OUTWEIGHS = 100.0  # a site with so many times the points of all others is named


class Progress(NamedTuple):
    """What a server writes down after a round. state: of ``rounds``, but for what stays at the clients. after: the last
    round that counted of each site, -1 at first. past: of each round (losses [K], NaN for who did not take part;
    {site: why it failed})."""

    state: State
    after: dict[str, int]
    past: list[tuple[list[float], dict[str, str]]]


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
    sites: dict[str, dict[str, float]]
    final: dict[str, dict[str, float]]
    scale: dict[str, np.ndarray]
    progress: Progress


def federate(
    plan: Plan, ask: Ask, *, rounds: int | None = None, min_sites: int | None = None, checkpoint: Path | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> Iterator[Played]:  # fmt: skip
    """Play the rounds of an experiment, one for each ``next``; at the end all sites get their models.

    Args:
        ask: the engine. rounds: other than the experiment's. checkpoint: a file that is written after every round; a
            server that finds its own goes on from there.
        min_sites: with at least so many of them a round goes on without a site that fails, with renormalised weights;
            the site is asked again in the next one. None: any failure ends the training.
        warn: is told, before the first round, of a site whose columns are far from the others'; after the last round,
            that nothing was learnt, or that more rounds would help.

    Raises:
        RuntimeError: a site failed; names round, site and why. ValueError: a site is refused, the checkpoint, or a
            number.
    """
    check_numbers(plan, rounds, min_sites)
    rounds, server = plan.experiment.rounds if rounds is None else rounds, Server(plan, ask, min_sites, warn)
    server.progress = stored_progress(checkpoint, plan.identity) or server.progress
    if server.progress.state.round >= rounds:
        server.finish()
    while server.progress.state.round < rounds:
        began = time.monotonic()
        done = server.round()
        if checkpoint:
            with replacing(Path(checkpoint)) as partial:
                torch.save({"identity": dict(plan.identity), "progress": plain(server.progress)}, partial)
        seconds = time.monotonic() - began
        final = server.finish() if server.progress.state.round == rounds else {}
        yield done._replace(seconds=seconds, final=final)


class RollCall:
    """Who is there: every site answers once, with the same experiment, its clients and their sizes.

    sizes [K]: points of each client, 0 where nobody knows. layout: of what points are made at most clients. lost:
    {site: why} of those who are not there, or are refused; min_sites may begin without them. moments: site -> tensor ->
    of its columns, and scale, on which the sites agree by them.

    Raises:
        RuntimeError: sites did not join. ValueError: sites are refused.
    """

    def __init__(self, plan: Plan, ask: Ask, min_sites: int | None):
        check(plan)
        self.plan, self.ask, self.sizes, count = plan, ask, np.zeros(sum(map(len, plan.sites)), int), Counter()
        answers = self.hello(plan.clients)
        present = {name: answer for name, answer in answers.items() if "error" not in answer}
        for name, answer in present.items():
            self.sizes[plan.clients[name]] = answer["sizes"]
            count[answer["layout"]] += len(answer["clients"])
        self.layout = json.loads(count.most_common(1)[0][0]) if present else {}
        odd = self.odd(present)
        self.lost = {name: answer["error"] for name, answer in answers.items() if "error" in answer} | odd
        if self.lost and (min_sites is None or len(answers) - len(self.lost) < min_sites):
            missing = [name for name in self.lost if name not in odd and "refused" not in answers[name]]
            sentences = [
                f"{name} {'did not join' if name in missing else 'is refused'}: {why}"
                for name, why in self.lost.items()
            ]
            raise (RuntimeError if missing else ValueError)("; ".join(sentences))
        self.moments = {
            site: {n: Moments(float(np.sum(answer["sizes"])), *m) for n, m in part(answer, MOMENTS).items()}
            for site, answer in present.items()
            if site not in odd
        }
        self.scale = agreed(self.moments)
        self.scale_sent = {SCALE + name: value for name, value in self.scale.items()}

    def hello(self, names: Iterable[str]) -> dict[str, dict]:
        """What sites say of themselves; see ``arriving.heard``."""
        return heard(self.ask, {name: {"do": "hello"} for name in names}, self.checks)

    def checks(self, name: str, answer: Mapping) -> dict[str, Check]:
        """Of what a site says of itself: another time it has as many points as at first."""
        clients, tables = self.plan.clients[name], self.plan.columns
        sizes = self.sizes[clients]
        counts = same(sizes) if sizes.all() else numbers(len(clients), dtype=int, low=1, high=POINTS, clients=clients)
        of_hash = "its {name} has hash {value}, the server's {mine}"
        low, high = [[-1e100], [0]], [[1e100], [1e200]]  # of mean and squares; that of all is finite, too
        return {
            **{what: same(mine, of_hash) for what, mine in self.plan.identity.items()},
            **{"clients": same(np.array(clients)), "sizes": counts, "layout": layout},
            **{MOMENTS + n: numbers(2, len(table), low=low, high=high) for n, table in tables.items()},
        }

    def odd(self, answers: Mapping[str, Mapping]) -> dict[str, str]:
        """Of these sites, {site: of what} whose points are made of something else than at most clients."""
        reasons = {name: unlike(json.loads(answer["layout"]), self.layout) for name, answer in answers.items()}
        clients = self.plan.clients
        return {name: f"points({clients[name][0]}) has {why}, as most clients" for name, why in reasons.items() if why}

    def far(self) -> Iterator[str]:
        """Sentences on sites whose columns, or numbers of points, are far from the others'."""
        for name, clients in self.plan.clients.items():
            n, others = self.sizes[clients].sum(), self.sizes.sum() - self.sizes[clients].sum()
            if n > OUTWEIGHS * others > 0:
                yield (
                    f"{name} says that it has {n} points, all others together {others}: the model is nearly its own; "
                    "is that so? If not, let sites weigh equally (mixing=equal)"
                )
        for name, table in self.plan.columns.items():
            yield from far({site: moments[name] for site, moments in self.moments.items()}, named(table))


class Failed(Exception):
    """Sites that failed in a round: {site: why}."""


class Server:
    """Who asks the sites for a round's local work, and mixes what they send."""

    def __init__(self, plan: Plan, ask: Ask, min_sites: int | None, warn: Callable[[str], None]):
        self.plan, self.ask, self.min_sites, self.warn = plan, ask, min_sites, warn
        self.roll = RollCall(plan, ask, min_sites)
        self.lost = self.roll.lost
        for sentence in self.roll.far():
            warn(sentence)
        sizes = np.maximum(self.roll.sizes, 1)  # of whom nobody knows: they take no part
        self.fed = plan.federation(np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1]))
        check_federation(self.fed, sizes.sum())
        work_args = {**train_arguments(plan.experiment), "pool": {}, "dtype": plan.dtype}
        check_work(**work_args)
        self.work = prepared(**work_args, federations=[self.fed], backend="eager")
        self.sent = columns_sent(self.work)
        one = torch.zeros(1, parameter_count(self.work.net), dtype=self.work.dtype)
        self.state_of_one = self.work.optimizer.init(one)  # of which the sites send some
        self.site_of = {k: name for name, clients in plan.clients.items() for k in clients}
        state = beginning(self.work, plan.experiment.init)
        _, shared = split_state(self.work.optimizer, state.optimizer, self.work.reset_moments)
        self.progress = Progress(state._replace(optimizer=shared), dict.fromkeys(plan.clients, -1), [])

    @property
    def exchanges(self) -> bool:
        """Whether clients exchange something in the middle of a round, so that one who fails changes all."""
        return needs_wire(self.work.optimizer)

    def round(self) -> Played:
        """The next round, of the sites that are there, played anew as often as one of them fails in it."""
        self.call_back()
        state, after, past = self.progress
        r, K = state.round, len(self.roll.sizes)
        present = participants(self.fed.seed, r, K, self.fed.fraction)
        present &= [self.site_of[k] not in self.lost for k in range(K)]
        self.answers, self.bytes, done, lr = {}, {}, None, torch.zeros(1)
        while present.any() and done is None:
            turn, mixed, served = arranged(self.work, [present])
            self.mixing = self.matrices_of(present, turn, mixed) if self.exchanges else {}
            try:
                done = one_round(self.work, state, turn, mixed, served, lr, self.local)
            except Failed as error:
                (failed,) = error.args
                self.lost |= failed
                if self.min_sites is None or len(self.plan.clients) - len(self.lost) < self.min_sites:
                    reasons = "; ".join(f"{name} failed: {why}" for name, why in failed.items())
                    raise RuntimeError(f"round {r}: {reasons}") from None
                for name in failed:
                    present[self.plan.clients[name]] = False
        state = done.state if done else state._replace(round=r + 1)
        losses = done.losses if done else np.full(K, np.nan)
        after = after | dict.fromkeys(self.answers, r)
        self.progress = Progress(state, after, [*past, (losses.tolist(), dict(self.lost))])
        sites = {name: {"loss": float(np.mean(a["losses"]))} | errors_in(a) for name, a in self.answers.items()}
        return Played(r, losses, dict(self.lost), self.bytes, 0.0, sites, {}, self.roll.scale, self.progress)

    def call_back(self) -> None:
        """Sites that were lost are asked whether they are there again, but for those that were never counted: they come
        back when the training is started again."""
        counted = [name for name in self.lost if self.roll.sizes[self.plan.clients[name]].all()]
        if counted:
            answers = self.roll.hello(counted)
            failed = {name: answer["error"] for name, answer in answers.items() if "error" in answer}
            odd = self.roll.odd({name: answer for name, answer in answers.items() if name not in failed})
            self.lost = {name: why for name, why in self.lost.items() if name not in counted} | failed | odd

    def local(self, work: Work, turn: Turn, r: int, x: Tensor, kept: Mapping[str, Tensor], lr, wire) -> np.ndarray:
        """``rounds.site_round``, done by the sites: their models in place in x [n, P], what goes with them in kept.

        Raises:
            Failed: some of them did not; what the others have sent is not asked again, unless it depends on all.
        """
        present = {}
        for k in np.sort(turn.numbers).tolist():
            present.setdefault(self.site_of[k], []).append(k)
        questions = {name: self.question(name, clients) for name, clients in present.items()}
        if self.exchanges:
            everyone = len(turn.numbers) == len(self.roll.sizes)
            questions, self.answers = {name: q | {"everyone": everyone} for name, q in questions.items()}, {}
        self.talk({name: question for name, question in questions.items() if name not in self.answers}, present, turn)
        failed = {name: answer["error"] for name, answer in self.answers.items() if "error" in answer}
        if failed:
            self.answers = {name: answer for name, answer in self.answers.items() if name not in failed}
            raise Failed(failed)
        row, losses = {k: i for i, k in enumerate(turn.clients.tolist())}, np.empty(len(turn.numbers))
        for name, clients in present.items():
            rows, answer = [row[k] for k in clients], self.answers[name]
            losses[rows] = answer["losses"]
            for v, new in ((x, answer["rows"]), *((kept[n], new) for n, new in part(answer, SHARED).items())):
                which = columns(v, self.sent, work.home)
                v[torch.as_tensor(rows)[:, None], which] = torch.as_tensor(np.array(new), dtype=work.dtype)
        return losses

    def question(self, name: str, clients: Sequence[int], do: str = "round") -> dict:
        """What a site needs for the work of these clients: every distinct model once."""
        state, after, _ = self.progress
        models, which = torch.unique(state.source[torch.as_tensor(clients)], return_inverse=True)
        question = {"do": do, "round": state.round, "after": after[name], "clients": np.array(clients)}
        question |= {"rows": state.theta[models][:, self.sent].numpy(), "which": which.numpy()}
        for kept, v in state.optimizer.items() if do == "round" else ():
            question[SHARED + kept] = v[models][:, columns(v, self.sent, self.work.home)].numpy()
        return question | self.roll.scale_sent

    def talk(self, questions: dict[str, dict], present: Mapping[str, Sequence[int]], turn: Turn) -> None:
        """Questions until these sites have answered with their models, or one has failed; counts their bytes."""
        left = len(self.state_of_one) + 2 if self.exchanges else 0
        while questions:
            answers = heard(self.ask, questions, lambda name, answer: self.checks(present[name], answer))
            for name, question in questions.items():
                down, up = self.bytes.get(name, (0, 0))
                self.bytes[name] = down + size(question), up + size(answers[name])
            if not any("error" in answer for answer in answers.values()):
                answers |= {name: {"error": why} for name, why in self.odd(answers, present, left).items()}
            self.answers |= answers
            questions, left = self.mixed(answers, turn) if all("mix" in a for a in answers.values()) else {}, left - 1

    def checks(self, clients: Sequence[int], answer: Mapping) -> dict[str, Check]:
        """Of a site's answer with the models of its clients, or from the middle of a round."""
        n, dtype = len(clients), torch.empty(0, dtype=self.work.dtype).numpy().dtype
        most = np.finfo(dtype).max ** 0.5  # whose squares a server's moments can hold
        rows = partial(numbers, n, dtype=dtype, low=-most, high=most, clients=clients)
        checks = {"round": same(self.progress.state.round)}
        sent = {name: columns(v, self.sent, self.work.home) for name, v in self.state_of_one.items()}
        if self.exchanges and "mix" in answer:
            widths = {len(self.sent), *map(len, sent.values())}
            return checks | {"mix": one_of([*self.mixing]), "rows": rows(widths)}
        shared = {SHARED + name: rows(len(sent[name])) for name in self.progress.state.optimizer}
        checks |= {"rows": rows(len(self.sent)), "losses": numbers(n, clients=clients)} | shared
        return checks | (errors(answer, n) if self.plan.test else {})

    def odd(self, answers: Mapping[str, Mapping], present: Mapping[str, Sequence[int]], left: int) -> dict[str, str]:
        """Of sites that answered in a round, {site: what} of those that do another thing than those of most clients."""
        does = {name: (a.get("mix"), np.shape(a["rows"])[1]) for name, a in answers.items()}
        count = Counter()
        for name, what in does.items():
            count[what] += len(present[name])
        most = count.most_common(1)[0][0]
        if most[0] and not left:  # and for ever
            return dict.fromkeys(answers, "it asks for more exchanges than the optimiser has")
        words = {what: f"rows of {what[1]} numbers to {what[0]}" if what[0] else "models" for what in count}
        return {name: f"it sent {words[what]}, most sites {words[most]}" for name, what in does.items() if what != most}

    def mixed(self, answers: Mapping[str, Mapping], turn: Turn) -> dict[str, dict]:
        """What the server makes of clients' rows in the middle of a round: the sites' next questions."""
        first = next(iter(answers.values()))
        rows = torch.zeros(len(self.roll.sizes), np.shape(first["rows"])[1], dtype=self.work.dtype)
        present = {name: np.intersect1d(self.plan.clients[name], turn.numbers) for name in answers}
        for name, answer in answers.items():
            rows[torch.as_tensor(present[name])] = torch.as_tensor(np.array(answer["rows"]))
        mixing, r = self.mixing[first["mix"]], self.progress.state.round
        new, questions = mixing.distinct(rows[turn.clients]), {}
        for name, clients in present.items():
            models, which = torch.unique(mixing.source[torch.as_tensor(clients)], return_inverse=True)
            questions[name] = {"do": "mixed", "round": r, "rows": new[models].numpy(), "which": which.numpy()}
        return questions

    def matrices_of(self, present: np.ndarray, turn: Turn, mixed: Exchange) -> dict[str, Exchange]:
        """What a site may ask for in the middle: the round's own exchange, and that of a round with everybody."""
        if not present.all() and needs_everyone(matrices([self.fed], [present])[0], present):
            raise ValueError(
                "this optimiser exchanges more than the models (control variates, moments) and clients are idle whose "
                "rows this mixing needs; on several machines take fedavg, or let all clients take part"
            )
        return {"mix": mixed, "mean": exchange(self.work, matrices([self.fed], [np.ones_like(present)]), turn)}

    def finish(self) -> dict[str, dict[str, float]]:
        """All sites get their models, and say how far off these are: {site: errors}; warns if nothing was learnt."""
        questions = {name: self.question(name, its, "finish") for name, its in self.plan.clients.items()}
        answers = heard(self.ask, questions, self.last_checks)
        for name, answer in answers.items():
            if "error" in answer and name not in self.lost:
                self.warn(f"{name} failed when it was sent its models: {answer['error']}")
        answers = {name: answer for name, answer in answers.items() if "error" not in answer}
        for sentence in (*self.nothing_learnt(answers), *self.still_falling()) if self.progress.past else ():
            self.warn(sentence)
        return {name: errors_in(answer) for name, answer in answers.items()}

    def last_checks(self, name: str, answer: Mapping) -> dict[str, Check]:
        """Of what a site says of its models after the last round."""
        about = {"round": same(self.progress.state.round), "start": numbers(nan=True)}
        about |= {"misfit": numbers(low=0, nan=True)} if self.plan.columns else {}
        return about | (errors(answer, len(self.plan.clients[name])) if self.plan.test else {})

    def still_falling(self) -> Iterator[str]:
        """Where the last tenth of the rounds has a mean loss that is lower than that of the tenth before by FALLS."""
        past = self.progress.past
        tenth = max(1, len(past) // 10)
        before, last = past[-2 * tenth : -tenth], past[-tenth:]
        losses = [np.ma.masked_invalid([loss for loss, _ in rounds]).mean() for rounds in (before, last)]
        if tenth >= 10 and (fall := 1 - losses[1] / losses[0]) > FALLS:
            yield (
                f"{self.plan.experiment.name}: the loss still falls, by {100 * fall:.0f} % over the last {tenth} "
                "rounds; the same command with more --rounds goes on from here"
            )

    def nothing_learnt(self, answers: Mapping[str, Mapping]) -> Iterator[str]:
        """As of ``checks.warn_if_nothing_learnt``; where columns have a scale, that the mean would do better."""
        name, sizes, past, clients = self.plan.experiment.name, self.roll.sizes, self.progress.past, self.plan.clients
        losses, start = np.array(past[-1][0]), np.full(len(sizes), np.nan)
        for site, answer in answers.items():
            start[clients[site]] = answer["start"]
        both = np.isfinite(start) & np.isfinite(losses)
        if len(past) >= ROUNDS_TO_LEARN and both.any() and (end := losses[both].mean()) > (begin := start[both].mean()):
            yield f"{name}: the mean loss went from {begin:.3g} to {end:.3g}; lower lr"
        counted = [site for site, answer in answers.items() if "misfit" in answer and sizes[clients[site]].all()]
        n = {site: float(sizes[clients[site]].sum()) for site in counted}
        if n and (share := sum(answers[site]["misfit"] for site in n) / sum(n.values())) >= 1:
            worst = max(n, key=lambda site: answers[site]["misfit"] / n[site])
            yield (
                f"{name}: nothing was learnt: the model's mean square error is {share:.3g} of that of the mean of all, "
                f"worst at {worst}; train longer (rounds, local steps), or look at lr and at the loss"
            )


def check_numbers(plan: Plan, rounds: int | None, min_sites: int | None) -> None:
    """ValueError where rounds or min_sites cannot be meant."""
    if rounds is not None:
        check_counts(rounds=rounds)
    if min_sites is not None and not (type(min_sites) is int and 1 <= min_sites <= len(plan.sites)):
        raise ValueError(f"min_sites = {min_sites!r}: expected a whole number from 1 to {len(plan.sites)}, the sites")


def errors_in(answer: Mapping) -> dict[str, float]:
    """Mean over a site's clients of each error that it sent, of those that hold something back."""
    measured = {name: values[~np.isnan(values)] for name, values in part(answer, ERROR).items()}
    return {name: float(values.mean()) for name, values in measured.items() if len(values)}


def plain(progress: Progress) -> tuple:
    """Of tuples, lists, dictionaries and tensors only, which a file may hold."""
    return (tuple(progress.state), *progress[1:])


def stored_progress(checkpoint: Path | None, identity: Mapping) -> Progress | None:
    """Where the server stood, if there is a checkpoint; ValueError where it is another experiment's."""
    if checkpoint is None or not Path(checkpoint).exists():
        return None
    kept = opened(Path(checkpoint))
    if kept.get("identity") != dict(identity):
        raise ValueError(f"{checkpoint} is of another experiment or other code; remove it to start anew")
    state, *rest = kept["progress"]
    return Progress(State(*state), *rest)
