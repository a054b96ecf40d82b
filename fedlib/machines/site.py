"""A site: a machine with many clients, trained as one stack; it answers the server's questions.

Question and answer are dicts of numpy arrays, numbers and texts, whatever engine carries them. Of a client's model,
personal parameters never leave the site; its points neither, nor what its optimiser keeps, but for what a rule shares.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from traceback import extract_tb
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.checks import check_work
from ..federated.experiment import Experiment, train_arguments
from ..federated.federation import Federation, digest
from ..federated.local import Work, turn_of
from ..federated.rounds import needs_wire, on, prepared, site_round
from ..federated.stack import predict, stack
from ..federated.states import split_state
from ..federated.sums import added, check_linear, predicting, statistics
from ..files import replacing
from .exchanging import Halting, SiteMix, SiteWire, columns_of
from .experiment import identity, layout_of, load, moments_of, points_of, pool_of
from .model import InUnits, write_model
from .scaling import standardised

SHARED, MOMENTS, SCALE, ERROR = "shared.", "moments.", "scale.", "error."
"""Names in a message: what an optimiser keeps with the models; sums and scale of columns, see ``scaling``; errors."""


class Kept(NamedTuple):
    """What clients keep from round to round, a row each: of the optimiser [n, ...]; personal parameters [n, H]."""

    optimizer: dict[str, Tensor]
    personal: Tensor


class Site:
    """The clients of one site.

    Args:
        path: of the experiment module. name: "site-2". folder: where it keeps its clients' state, so that it can come
            back after a crash; None keeps it in memory only.
    """

    def __init__(self, path: Path | str, name: str, folder: Path | None = None):
        self.plan = plan = load(path)
        self.path, self.name, self.experiment, self.identity = Path(path), name, plan.experiment, identity(path)
        if name not in plan.clients:
            raise ValueError(f"the experiment has no {name!r}; its sites are {', '.join(plan.clients)}")
        self.clients = np.array(plan.clients[name])
        self.pool, owners = pool_of(plan, self.clients)
        owned = dict(zip(self.clients.tolist(), owners, strict=True))
        self.federation = plan.federation([owned.get(k, np.empty(0, int)) for k in range(sum(map(len, plan.sites)))])
        self.scale: dict[str, np.ndarray] | None = None  # of the tables' columns, as the server says
        self.tests = {k: points_of(plan, k, held_back=True) for k in self.clients.tolist()} if plan.test else {}
        self.file = Path(folder) / f"{name}.pt" if folder else None
        self.points = digest_of(self.pool) if folder else ""
        self.halting: Halting | None = None  # a round in whose middle the server was asked
        self.stored = None
        if self.file and self.file.exists():
            stored = torch.load(self.file, weights_only=True)
            if stored["identity"] != self.identity:
                raise ValueError(f"{self.file} is of another experiment or code; remove it to start anew")
            if stored["points"] != self.points:
                raise ValueError(
                    f"{self.file} is of other points than those that {name} has now; take another folder, or remove "
                    "this one to start anew"
                )
            self.stored = {r: Kept(*kept) for r, kept in stored["kept"].items()}

    @cached_property  # when a round is asked for: what is wrong with it is an answer then
    def work(self) -> Work:
        """The work of this site's clients on their points, standardised where these are tables."""
        experiment, pool = self.plan.experiment, standardised(self.pool, self.scale or {})
        work_args = {**train_arguments(experiment), "pool": pool, "dtype": self.plan.dtype}
        check_work(**work_args)
        return prepared(**work_args, federations=[self.federation], rounds=experiment.rounds, backend=self.plan.backend)

    @cached_property
    def sent(self) -> Tensor:
        return columns_sent(self.plan.experiment, self.work.home)

    @cached_property
    def kept(self) -> dict[int, Kept]:
        """By the round after which: the last two, for the server may ask for one again."""
        return self.stored or {-1: self.first()}

    def first(self) -> Kept:
        """Before round 0."""
        theta = first_models(self.plan.experiment, self.work.federations[0], self.clients).to(self.work.dtype)
        optimizer = self.work.optimizer
        per_client, _ = split_state(optimizer, optimizer.init(theta), self.work.reset_moments)
        return Kept(per_client, theta[:, self.work.home])

    def answer(self, question: Mapping) -> dict:
        """What the server asked for; an error is an answer, too: {"error": text}."""
        try:
            does = {"hello": self.hello, "round": self.begin, "mixed": self.go_on, "finish": self.finish}
            return (does | {"sums": self.sums})[question["do"]](question)
        except Exception as error:  # of whatever kind: the server says what comes of it
            lines = [frame for frame in extract_tb(error.__traceback__) if frame.filename == str(self.path)]
            where = f" ({self.path.name}, line {lines[-1].lineno})" if lines else ""
            return {"error": f"{type(error).__name__}: {error}{where}"}

    def hello(self, question: Mapping) -> dict:
        """Who is here, of what its points are made, and the sums of their columns."""
        sums = {MOMENTS + name: np.stack(part[1:]) for name, part in moments_of(self.plan, self.pool).items()}
        clients = {"clients": self.clients, "sizes": self.federation.sizes[self.clients]}
        return {**self.identity, **clients, "layout": json.dumps(layout_of(self.pool)), **sums}

    def take_scale(self, question: Mapping) -> None:
        """The scale that all sites share comes with every question, so that a site which starts again has it."""
        scale = {name: np.array(question[SCALE + name]) for name in self.plan.columns}
        if self.scale is None or any(not np.array_equal(scale[name], self.scale[name]) for name in scale):
            self.scale = scale
            vars(self).pop("work", None)
            if scale:
                self.experiment = self.plan.experiment._replace(net=InUnits(self.plan.experiment.net, scale))

    def begin(self, question: Mapping) -> dict:
        """A round; where the optimiser exchanges something in it, up to there: {"mix": how, "rows": [n, .]}."""
        self.take_scale(question)
        if self.halting:
            self.halting.halt()
            self.halting = None
        if not needs_wire(self.work.optimizer):
            return self.round(question)
        self.halting = Halting(lambda ask: self.round(question, ask))
        return self.halting.go_on()

    def sums(self, question: Mapping) -> dict:
        """The sums of this site's clients at a model theta [P], added up here: see ``federated.sums``."""
        self.take_scale(question)
        theta, shards = torch.as_tensor(question["theta"]), self.work.federations[0].shards
        clients = [{name: value[shards[k]] for name, value in self.work.pool.items()} for k in self.clients]
        experiment = self.plan.experiment if self.scale else self.experiment  # whose network is in the tables' units
        for points in clients:
            check_linear(experiment, points, theta)
        total = added(statistics(experiment, of, theta, question["form"] == "roots") for of in clients)
        return {"matrix": total.matrix.numpy(), "n": total.n}

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
        r, clients = int(question["round"]), np.asarray(question["clients"])
        kept, active = self.after(int(question["after"])), np.zeros(len(self.work.sizes), bool)
        active[clients] = True
        here = turn_of(self.work, [active], [False])
        order = np.searchsorted(clients, here.numbers)  # the stack has them in order of falling work
        at = torch.as_tensor(np.searchsorted(self.clients, here.numbers))
        x = self.models(np.asarray(question["rows"])[np.asarray(question["which"])[order]], kept.personal[at])
        optimizer = self.work.optimizer
        state = optimizer.init(x) if self.work.reset_moments or optimizer.passing else {}
        state |= {name: v[at] for name, v in kept.optimizer.items()} | self.shared(question, order)
        lr = torch.full((len(x), 1), self.work.federations[0].rate(r), dtype=x.dtype)
        wire = None
        if ask:
            mix = SiteMix(ask, order, self.sent, self.work.home)
            wire = SiteWire(self.work, here, x, mix, bool(question["everyone"]))
        errors = self.errors(x, here.numbers)
        losses = site_round(self.work, here, r, x, state, lr, wire)
        new = {name: v.index_copy(0, at, state[name]) for name, v in kept.optimizer.items()}
        personal = kept.personal.index_copy(0, at, x[:, self.work.home])
        self.keep({int(question["after"]): kept, r: Kept(new, personal)})
        back = np.argsort(order)
        with_models = {
            name: state[name.removeprefix(SHARED)][:, self.columns(name, state)].numpy()[back]
            for name in question
            if name.startswith(SHARED)
        }
        errors = {name: values[back] for name, values in errors.items()}
        return {"rows": x[:, self.sent].numpy()[back], "losses": losses[back], **errors, **with_models}

    def errors(self, models: Tensor, clients: Sequence[int]) -> dict[str, np.ndarray]:
        """error.NAME [n]: what ``evaluate`` says of clients' models [n, P] on what they hold back; NaN of nothing."""
        experiment, errors = self.plan.experiment, {}
        for i, k in enumerate(clients if self.tests and experiment.evaluate else ()):
            test = on(standardised(self.tests[k], self.scale) | {**experiment.constants}, dtype=self.work.dtype)
            if not len(next(iter(self.tests[k].values()))):
                continue
            with torch.no_grad():
                values = experiment.evaluate(predicting(experiment, models[i]), test)
            for name, value in values.items():
                errors.setdefault(ERROR + name, np.full(len(clients), np.nan))[i] = float(value)
        return errors

    def misfit(self, models: Tensor) -> float:
        """Sum over this site's rows of the mean square of what a model gives minus what the table has, standardised."""
        takes, gives = self.plan.columns
        pool, shards = self.work.pool, self.work.federations[0].shards
        rests = [
            predict(self.work.net, m, pool[takes][shards[k]]) - pool[gives][shards[k]]
            for m, k in zip(models, self.clients, strict=True)
        ]
        return float(torch.cat(rests).square().mean(1).sum())

    def shared(self, question: Mapping, order: np.ndarray) -> dict[str, Tensor]:
        """What came with the models, a row for each client at work; 0 in the columns of personal parameters."""
        state, which = {}, np.asarray(question["which"])[order]
        like = self.work.optimizer.init(torch.zeros(1, len(self.sent) + len(self.work.home), dtype=self.work.dtype))
        for name, rows in question.items():
            if name.startswith(SHARED):
                kept = name.removeprefix(SHARED)
                state[kept] = like[kept].new_zeros(len(which), like[kept].shape[1])
                state[kept][:, self.columns(name, state)] = torch.as_tensor(
                    np.asarray(rows)[which], dtype=self.work.dtype
                )
        return state

    def columns(self, name: str, state: Mapping[str, Tensor]) -> Tensor:
        return columns_of(state[name.removeprefix(SHARED)], self.sent, self.work.home)

    def after(self, r: int) -> Kept:
        """What the clients kept after a round; ValueError where this site does not know it any more."""
        if r not in self.kept and (self.kept[max(self.kept)].optimizer or len(self.work.home)):
            raise ValueError(
                f"{self.name} knows what its clients kept after rounds {sorted(self.kept)}, the server asks for {r}; "
                "start the site with its folder, or start the whole federation anew"
            )
        return self.kept.get(r, self.kept[max(self.kept)])

    def keep(self, kept: dict[int, Kept]) -> None:
        self.kept = kept
        if self.file:
            with replacing(self.file) as partial:
                rounds = {r: tuple(k) for r, k in kept.items()}
                torch.save({"identity": self.identity, "points": self.points, "kept": rounds}, partial)

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
        about = {"round": int(question["round"]), "start": float(self.work.first[self.clients].mean())}
        misfit = {"misfit": self.misfit(self.final)} if self.scale else {}
        return {**about, **misfit, **self.errors(self.final, self.clients)}

    def models(self, rows: np.ndarray, personal: Tensor) -> Tensor:
        """Whole models [n, P] of what came [n, P'] and what stayed [n, H]."""
        x = torch.empty(len(rows), len(self.sent) + len(self.work.home), dtype=self.work.dtype)
        x[:, self.sent], x[:, self.work.home] = torch.as_tensor(rows, dtype=x.dtype), personal
        return x


def digest_of(pool: Mapping[str, Tensor]) -> str:
    """Which points these are; it stays where they are."""
    return sha256(json.dumps(layout_of(pool)).encode() + b"".join(map(digest, pool.values()))).hexdigest()


def columns_sent(experiment: Experiment, home: Tensor) -> Tensor:
    """The columns of theta [M, P] that go over the wire: all but the personal ones."""
    P = sum(p.numel() for p in experiment.net.parameters())
    return torch.as_tensor(np.setdiff1d(np.arange(P), home.numpy()))


def first_models(experiment: Experiment, fed: Federation, clients) -> Tensor:
    """The start [n, P] of some clients, as in ``rounds.beginning``."""
    keys = [(fed.seed,) if fed.common_init else (fed.seed, int(k)) for k in clients]
    return stack(experiment.net, keys, experiment.init)
