"""A site: a machine with many clients, trained as one stack; it answers the server's questions.

Of a client's model, personal parameters never leave the site; its points neither, nor what its optimiser keeps, but for
what a rule shares.
"""

import io
import json
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from traceback import extract_tb
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.checkpoints import opened
from ..federated.checks import check_work
from ..federated.experiment import train_arguments
from ..federated.federation import digest
from ..federated.local import Work, turn_of
from ..federated.rounds import needs_wire, on, prepared, site_round
from ..federated.stack import parameter_count, predict, stack
from ..federated.states import split_state
from ..federated.sums import predicting
from ..files import ROOT, replacing, write_atomically
from .messages import ERROR, MOMENTS, SCALE, SHARED, part
from .middle import Halting, SiteWire, columns
from .model import write_model
from .plan import Plan
from .points import layout_of, moments_of, points_of, pool_of
from .scaling import standardised
from .tables import TableError


class Kept(NamedTuple):
    """What clients keep from round to round, a row each: of the optimiser [n, ...]; personal parameters [n, H]."""

    optimizer: dict[str, Tensor]
    personal: Tensor


class Site:
    """The clients of one site.

    Args:
        name: "site-2". folder: where it keeps its clients' state, so that it can come back after a crash; None keeps it
            in memory only.
    """

    def __init__(self, plan: Plan, name: str, folder: Path | None = None):
        if name not in plan.clients:
            raise ValueError(f"the experiment has no {name!r}; its sites are {', '.join(plan.clients)}")
        self.plan, self.name, self.clients = plan, name, np.array(plan.clients[name])
        self.pool, owners = pool_of(plan, self.clients.tolist())
        shards = dict(zip(self.clients.tolist(), owners, strict=True))
        self.federation = plan.federation([shards.get(k, np.empty(0, int)) for k in range(sum(map(len, plan.sites)))])
        self.scale: dict[str, np.ndarray] | None = None  # of the tables' columns, as the server says
        self.tests = {k: points_of(plan, k, held_back=True) for k in self.clients.tolist()} if plan.test else {}
        self.file = Path(folder) / f"{name}.pt" if folder else None
        self.halting: Halting | None = None  # a round in whose middle the server was asked
        self.stored = self.restored() if self.file else None

    def restored(self) -> dict[int, Kept] | None:
        """What its folder has; ValueError where that is of another experiment, or of other points."""
        points = (layout_of(self.pool), [digest(value) for value in self.pool.values()])
        self.points = sha256(json.dumps(points[0]).encode() + b"".join(points[1])).hexdigest()
        if not self.file.exists():
            return None
        stored = opened(self.file)
        if stored.get("identity") != dict(self.plan.identity):
            raise ValueError(f"{self.file} is of another experiment or code; take another folder, or empty this one")
        if stored["points"] != self.points:
            raise ValueError(
                f"{self.file} is of other points than those that {self.name} has now; take another folder, or empty "
                "this one"
            )
        return {r: Kept(*kept) for r, kept in stored["kept"].items()}

    @cached_property  # when a round is asked for: what is wrong with it is an answer then
    def work(self) -> Work:
        """The work of this site's clients on their points, standardised where these are tables."""
        experiment, pool = self.plan.experiment, standardised(self.pool, self.scale or {})
        work_args = {**train_arguments(experiment), "pool": pool, "dtype": self.plan.dtype}
        check_work(**work_args)
        return prepared(**work_args, federations=[self.federation], rounds=experiment.rounds, backend=self.plan.backend)

    @cached_property
    def sent(self) -> Tensor:
        return columns_sent(self.work)

    @cached_property
    def kept(self) -> dict[int, Kept]:
        """By the round after which: the last two, for the server may ask for one again."""
        return self.stored or {-1: self.first()}

    def first(self) -> Kept:
        """Before round 0; the starts of ``rounds.beginning``."""
        fed, optimizer = self.federation, self.work.optimizer
        keys = [(fed.seed,) if fed.common_init else (fed.seed, int(k)) for k in self.clients]
        theta = stack(self.work.net, keys, self.plan.experiment.init, self.work.dtype).to(self.work.dtype)
        per_client, _ = split_state(optimizer, optimizer.init(theta), self.work.reset_moments)
        return Kept(per_client, theta[:, self.work.home])

    def answer(self, question: Mapping) -> dict:
        """What the server asked for, and of which round; an error is an answer, too: {"error": text}."""
        does = {"hello": self.hello, "round": self.begin, "mixed": self.go_on, "finish": self.finish}
        try:
            answer = does[question["do"]](question)
            return answer | {"round": question["round"]} if "round" in question else answer
        except Exception as error:  # of whatever kind: the server says what comes of it
            return {"error": public(error, self.plan.file)}

    def hello(self, question: Mapping) -> dict:
        """Who is here, of what its points are made, and the sums of their columns."""
        sums = {MOMENTS + name: np.stack(m[1:]) for name, m in moments_of(self.plan, self.pool).items()}
        clients = {"clients": self.clients, "sizes": self.federation.sizes[self.clients]}
        return {**self.plan.identity, **clients, "layout": json.dumps(layout_of(self.pool)), **sums}

    def take_scale(self, question: Mapping) -> None:
        """The scale that all sites share comes with every question, so that a site which starts again has it."""
        scale = {name: np.array(question[SCALE + name]) for name in self.plan.columns}
        if self.scale is None or any(not np.array_equal(scale[name], self.scale[name]) for name in scale):
            self.scale = scale
            vars(self).pop("work", None)

    def begin(self, question: Mapping) -> dict:
        """A round; where the optimiser exchanges something in it, up to there: {"mix": matrix, "rows": [n, .]}."""
        self.take_scale(question)
        if self.halting:
            self.halting.halt()
            self.halting = None
        if not needs_wire(self.work.optimizer):
            return self.round(question)
        self.halting = Halting(lambda ask: self.round(question, ask))
        return self.halting.go_on()

    def go_on(self, question: Mapping) -> dict:
        """The same with what the server made of it: rows [D, .], which [n]."""
        if not self.halting:
            raise ValueError(f"{self.name} is in no round that could go on; play it anew")
        return self.halting.go_on(question)

    def round(self, question: Mapping, ask=None) -> dict:
        """Local work of clients [n] in a round: rows [D, P'], of which client i starts at rows[which[i]].

        after: the round after which the server last heard of this site. shared.NAME [D, .]: what goes with the models.
        Returns rows [n, P'] and losses [n], shared.NAME [n, .] of what goes with them, and error.NAME [n] of the models
        that came, on what is held back.
        """
        work, r, clients = self.work, int(question["round"]), np.asarray(question["clients"])
        kept = self.after(int(question["after"]))
        turn = turn_of(work, [np.isin(np.arange(len(work.sizes)), clients)], [False])
        order = np.searchsorted(clients, turn.numbers)  # the stack has them in order of falling work
        back, rows = np.argsort(order), torch.as_tensor(np.searchsorted(self.clients, turn.numbers))
        which = np.asarray(question["which"])[order]
        x = self.models(np.asarray(question["rows"])[which], kept.personal[rows])
        state = work.optimizer.init(x) if work.reset_moments or work.optimizer.passing else {}
        state |= {name: v[rows] for name, v in kept.optimizer.items()} | self.shared(question, which)
        lr = torch.full((len(x), 1), work.federations[0].rate(r), dtype=x.dtype)
        wire = SiteWire(work, turn, x, ask, order, self.sent, bool(question["everyone"])) if ask else None
        errors = self.errors(x, turn.numbers)
        losses = site_round(work, turn, r, x, state, lr, wire)
        new = {name: v.index_copy(0, rows, state[name]) for name, v in kept.optimizer.items()}
        personal = kept.personal.index_copy(0, rows, x[:, work.home])
        self.keep({int(question["after"]): kept, r: Kept(new, personal)})
        answer = {"rows": x[:, self.sent].numpy(), "losses": losses, **errors}
        for name in part(question, SHARED):
            answer[SHARED + name] = state[name][:, columns(state[name], self.sent, work.home)].numpy()
        return {name: value[back] for name, value in answer.items()}

    def shared(self, question: Mapping, which: np.ndarray) -> dict[str, Tensor]:
        """What came with the models, a row for each client at work; 0 in the columns of personal parameters."""
        P, dtype = len(self.sent) + len(self.work.home), self.work.dtype
        like, state = self.work.optimizer.init(torch.zeros(1, P, dtype=dtype)), {}
        for name, rows in part(question, SHARED).items():
            v = like[name].new_zeros(len(which), like[name].shape[1])
            v[:, columns(v, self.sent, self.work.home)] = torch.as_tensor(np.asarray(rows)[which], dtype=dtype)
            state[name] = v
        return state

    def models(self, rows: np.ndarray, personal: Tensor) -> Tensor:
        """Whole models [n, P] of what came [n, P'] and what stayed [n, H]."""
        x = torch.empty(len(rows), len(self.sent) + len(self.work.home), dtype=self.work.dtype)
        x[:, self.sent], x[:, self.work.home] = torch.as_tensor(rows, dtype=x.dtype), personal
        return x

    def after(self, r: int) -> Kept:
        """What the clients kept after a round; ValueError where this site does not know it any more."""
        latest = self.kept[max(self.kept)]
        if r not in self.kept and (latest.optimizer or len(self.work.home)):
            raise ValueError(
                f"{self.name} knows what its clients kept after rounds {sorted(self.kept)}, the server asks for {r}; "
                "start the site with its folder, or start the whole federation anew"
            )
        return self.kept.get(r, latest)

    def keep(self, kept: dict[int, Kept]) -> None:
        """On the disk first, whole or not at all: who could not write it down has not played the round."""
        if self.file:
            rounds = {r: tuple(k) for r, k in kept.items()}
            content = {"identity": dict(self.plan.identity), "points": self.points, "kept": rounds}
            torch.save(content, buffer := io.BytesIO())
            try:
                write_atomically(self.file, buffer.getvalue())
            except OSError as error:
                raise OSError(f"{self.file} cannot be written: {error.strerror or error}") from error
        self.kept = kept

    def errors(self, models: Tensor, clients: Sequence[int]) -> dict[str, np.ndarray]:
        """error.NAME [n]: what ``evaluate`` says of clients' models [n, P] on what they hold back; NaN of nothing."""
        experiment, errors = self.plan.experiment, {}
        for i, k in enumerate(clients if self.tests and experiment.evaluate else ()):
            if not len(next(iter(self.tests[k].values()))):
                continue
            test = on(standardised(self.tests[k], self.scale) | {**experiment.constants}, dtype=self.work.dtype)
            with torch.no_grad():
                values = experiment.evaluate(predicting(experiment, models[i]), test)
            for name, value in values.items():
                errors.setdefault(ERROR + name, np.full(len(clients), np.nan))[i] = float(value)
        return errors

    def finish(self, question: Mapping) -> dict:
        """The clients' models after the last round [n, P] stay here, in ``final`` and NAME.models.npz.

        Returns the mean loss before the first step, NaN if nobody knows it any more; error.NAME [n]; and the misfit.
        """
        self.take_scale(question)
        kept = self.after(int(question["after"]))
        self.final = self.models(np.asarray(question["rows"])[np.asarray(question["which"])], kept.personal)
        if self.file:
            with replacing(self.file.with_suffix(".models.npz")) as partial, open(partial, "wb") as file:
                np.savez(file, clients=self.clients, models=self.final.numpy())
            if self.scale and (self.final == self.final[0]).all():
                file = self.file.with_suffix(".model.pt2")
                write_model(file, self.work.net, self.final[0], self.plan.columns, self.scale)
        start, misfit = float(self.work.first[self.clients].mean()), {"misfit": self.misfit()} if self.scale else {}
        return {"start": start, **misfit, **self.errors(self.final, self.clients)}

    def misfit(self) -> float:
        """Sum over this site's rows of the mean square of what a model gives minus what the table has, standardised."""
        takes, gives = self.plan.columns
        pool, shards = self.work.pool, self.work.federations[0].shards
        rests = [
            predict(self.work.net, model, pool[takes][shards[k]]) - pool[gives][shards[k]]
            for model, k in zip(self.final, self.clients, strict=True)
        ]
        return float(torch.cat(rests).square().mean(1).sum())


def public(error: Exception, file: str) -> str:
    """What a server hears of an error at a site, with the line of the experiment's file; all of it is printed here.

    Of errors of this library their text, of a table's without what stands in it. Others quote what they were given, as
    float("Jane Doe") does: of them only the kind; so of what the experiment's file raised and one of ours explains.
    """
    text, cause = f"{type(error).__name__}: {error}", error.__cause__
    if cause and any(frame.filename == file for frame in extract_tb(cause.__traceback__)):
        error = cause
    frames = extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    where = f" ({Path(file).name}, line {lines[-1]})" if lines else ""
    text += where
    if isinstance(error, TableError):
        words = f"{error.public}{where}"
    elif Path(frames[-1].filename).is_relative_to(ROOT / "fedlib"):
        return text
    else:
        words = f"{type(error).__name__}{where}; what it says is in the site's own log"
    print(text, file=sys.stderr, flush=True)
    return words


def columns_sent(work: Work) -> Tensor:
    """The columns of theta [M, P] that go over the wire: all but the personal ones."""
    P = parameter_count(work.net)
    return torch.as_tensor(np.setdiff1d(np.arange(P), work.home.numpy()))
