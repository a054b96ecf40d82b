"""One dry call of a loss and of ``evaluate`` before any training: what is wrong with them is said in our words.

Whether a loss is a function of its arguments is seen only in part before a training, and so ``Probe`` goes on asking.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from .backends import of_one
from .batches import batch_of
from .local import Work, segments_in, turn_of
from .stack import as_dict

CLIENTS = 2  # are looked at: as many as it takes to see that they are different ones

HINTS = {
    r"random(ness| operation)": "it draws random numbers (torch.rand, Dropout, ...), which nobody could draw again. "
    'Say noise=(...), a shape: batch["noise"] [B, *noise] are fresh normal numbers for every point of every step',
    r"data-dependent control flow|\.item\(\)|dynamic shape": "it looks at a number (if, float, .item(), a mask as an "
    "index), which is another one for every client. Say torch.where(condition, a, b), and weights of 0",
    r"requires_grad_\(\)|backward\(\) called|does not require grad|escaped from inside": "it asks "
    "autograd for derivatives. A JetNet (fedlib.models.jets) has them beside the values; or take torch.func (grad, "
    "jacrev, jvp) of a function of one point",
    r"data pointer|can't convert|__array__|numpy": "numpy cannot be used on its tensors. Say the same with torch",
    r"Batching rule not implemented for (?P<operation>[\w:.]+\w)": "torch cannot compute {operation} for several "
    "models at once. Write it with other operations, or take another layer",
    r"track_running_stats": "a layer of the network keeps running statistics, which are no parameters and cannot be "
    "averaged. Say track_running_stats=False, or take GroupNorm or LayerNorm",
    r"out of bounds for dimension": "a label or an index is beyond its table; labels of C classes are 0, ..., C - 1",
    r"on the same device": "a tensor of its own is on another device. Pass it as constants={{'name': tensor}}",
    r"no attribute '(items|keys)'": "it gave no names. Say {{'error': tensor}}",
}
"""What torch says -> what that means here."""


class Probe:
    """A loss at one model and one batch, which stay the same: is it still the same function?"""

    def __init__(self, losses: Callable, params: Mapping[str, Tensor], batch: Mapping[str, Tensor]):
        self.losses, self.params, self.batch = losses, params, batch
        self.value = self.now()

    def now(self) -> Tensor:
        with torch.no_grad():
            return self.losses(self.params, self.batch)

    def moved(self) -> bool:
        """Whether the loss gives another value than the last time."""
        before, self.value = self.value, self.now()
        return not same(before, self.value)


def same(a: Tensor, b: Tensor) -> bool:
    """Equal but for the order of a sum, which an accelerator leaves open."""
    return torch.allclose(a, b, rtol=1e-4 if a.is_cuda else 8 * torch.finfo(a.dtype).eps, atol=0, equal_nan=True)


def check_loss(work: Work, loss: Callable, constants: Mapping[str, Tensor]) -> Probe:
    """Call the loss of two clients with points; loss has the constants already.

    Raises:
        ValueError: it gives no scalar, has a gradient by something else than by ``predict``, changes its batch, draws
            or counts, sees padding, or does what torch cannot do for many clients at once.
    """
    batch, net = first_batch(work), work.net

    def one(params, batch):
        value = of_one(net, loss)(params, batch)
        if not isinstance(value, Tensor) or value.dim():
            raise ValueError(f"the loss gave {kind(value)}; expected a scalar tensor, such as sum(w * ...)")
        if value.dtype != work.dtype:
            raise ValueError(
                f"the loss gave {value.dtype}, but the training is in {work.dtype}; leave out .double() or .float() in "
                f"the loss, or train with dtype={value.dtype}"
            )
        return value

    params = {name: value.requires_grad_() for name, value in as_dict(net, example(work, len(batch["w"]))).items()}
    versions = {name: x._version for name, x in (*batch.items(), *constants.items())}
    with (
        explained("the loss", work, "batch", {**batch, **constants}),
        only_by_predict("the loss", net),
        torch.enable_grad(),
    ):
        value = vmap(one)(params, batch)
        for name, x in (*batch.items(), *constants.items()):
            if x._version != versions[name]:
                raise ValueError(
                    f"the loss changes batch[{name!r}] in place, and with it the data of all coming steps; say "
                    f"new = batch[{name!r}] - ..., or batch[{name!r}].clone() first"
                )
        check_gradient(value, params, net)
        torch.autograd.grad(value.sum(), params.values(), materialize_grads=True)  # torch may know no backward
    probe = Probe(vmap(one), {name: x.detach() for name, x in params.items()}, batch)
    value = value.detach()
    if not same(value, probe.value):
        raise ValueError(f"{changed(value, probe.value)}. Random numbers are noise=(...), batch['noise']")
    check_padding(probe, net)
    return probe


def check_padding(probe: Probe, net: nn.Module) -> None:
    """ValueError where a client's loss sees points of weight 0 that repeat its first one: batches of ragged clients,
    and XLA, have more or fewer of them."""
    n, before = probe.batch["w"].shape[1], probe.value
    more = 2 + n // 8  # two at least, for a median may not see one
    padded = {name: torch.cat([x, x[:, :1].repeat_interleave(more, 1)], 1) for name, x in probe.batch.items()}
    padded["w"][:, n:] = 0
    advice = "say sum(w * r**2) for mean(r**2), and (w > 0).sum() for len(x), with w = batch['w']"
    try:
        with torch.no_grad(), all_pairs(net) as pairs:
            after = probe.losses(probe.params, padded)
    except RuntimeError as error:
        raise ValueError(f"the loss fails with padding points: {advice} ({str(error).splitlines()[0]})") from error
    finite = before.isfinite() & after.isfinite()  # bad data are reported as divergence, with client and step
    before, after = before[finite], after[finite]
    if ((after - before).abs() > 1e-4 * before.abs() + 1e-6 * before.abs().sum()).any():
        raise ValueError(
            "the loss of a client changes with its padding points, copies of its first one with batch['w'] = 0 that "
            f"fill up a batch: {pairs[0] if pairs else advice}"
        )


@contextmanager
def all_pairs(net: nn.Module) -> Iterator[list[str]]:
    """A list that gets a text where an answer [n, 1] of the network meets a tensor [n], and [n, n] comes out."""
    answers, texts = [], []

    class Look(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            result, tensors = function(*args, **(kwargs or {})), [x for x in args if isinstance(x, Tensor)]
            if isinstance(result, Tensor) and any(x is answer for x in tensors for answer in answers):
                answers.append(result)
                n = len(tensors[0]) if tensors[0].dim() else 0
                if n > 1 and sorted(x.shape for x in tensors) == [(n,), (n, 1)] and result.shape == (n, n):
                    texts.append(
                        "an answer [n, 1] of the network and a tensor [n] give all pairs [n, n]; say "
                        "predict(...)[:, 0], or y[:, None]"
                    )
            return result

    hook = register_module_forward_hook(lambda module, _, answer: answers.append(answer) if module is net else None)
    try:
        with Look():
            yield texts
    finally:
        hook.remove()


def changed(before: Tensor, after: Tensor) -> str:
    """What is wrong with a loss that is no function."""
    i = int((before != after).nonzero()[0])
    return (
        f"the loss gave {float(before[i])!r} and then {float(after[i])!r} for the same model and the same batch; "
        "expected a function of its arguments: a step is written down once and played again, so what a loss draws or "
        "counts would be frozen"
    )


def check_same(probe: Probe) -> None:
    """ValueError where a loss is not the function any more that it was."""
    before = probe.value
    if probe.moved():
        raise ValueError(
            f"{changed(before, probe.value)}. If a weight shall follow the training: play round by round, and change "
            "it in between"
        )


def check_evaluate(work: Work, evaluate: Callable, test: Mapping[str, Tensor], constants: Mapping[str, Tensor]) -> None:
    """Call ``evaluate`` once, at the first row of ``test``.

    Raises:
        ValueError: it gives anything else than named tensors, asks the network itself, takes all pairs of answers and
            truths, or does what torch cannot do for many models at once.
    """

    def one(params, test):
        errors = evaluate(lambda *x: functional_call(work.net, params, x), {**test, **constants})
        if not isinstance(errors, Mapping) or not errors:
            gave = "no names" if isinstance(errors, Mapping) else kind(errors)
            raise ValueError(f"evaluate gave {gave}; expected named tensors, such as {{'error': tensor}}")
        for name, value in errors.items():
            if not isinstance(value, Tensor):
                raise ValueError(
                    f"evaluate gave {name!r} as {kind(value)}; expected a tensor, without float(), .item() or numpy"
                )
        return errors

    params = as_dict(work.net, example(work, 1))
    with (
        explained("evaluate", work, "test", {**test, **constants}),
        only_by_predict("evaluate", work.net),
        all_pairs(work.net) as pairs,
        torch.enable_grad(),
    ):
        errors = vmap(one)(params, {name: x[:1] for name, x in test.items()})
    if pairs:
        raise ValueError(f"evaluate: {pairs[0]}")
    for value in errors.values():
        refuse_parameters("evaluate", leaves(value), work.net)


def first_batch(work: Work) -> dict[str, Tensor]:
    """Of the first step of the first clients that have points, [n, B, ...]; several, if anybody has: of one alone all
    is a mean."""
    at_work = np.zeros(len(work.sizes), bool)
    at_work[np.flatnonzero(work.sizes >= min(2, work.sizes.max()))[:CLIENTS]] = True
    active = [at_work[a:b] for a, b in zip(work.starts, work.starts[1:], strict=False)]
    segment = next(iter(segments_in(work, turn_of(work, active, [False] * len(active)), 0, 0)))
    return batch_of(work.pool, segment.fixed, {name: x[0] for name, x in segment.drawn.items()})


def example(work: Work, n: int) -> Tensor:
    """Models [n, P] beside the network's own: at 0, where some begin, a penalty on what they say would not be seen."""
    theta = nn.utils.parameters_to_vector(work.net.parameters()).detach().to(work.home.device, work.dtype)
    return (theta + 0.01 * torch.arange(len(theta)).to(theta).sin()).repeat(n, 1)


def kind(value) -> str:
    """A value as an error message names it."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {list(value.shape)}"
    return f"{value!r}, {type(value).__name__}" if isinstance(value, (int, float, type(None))) else type(value).__name__


def leaves(value: Tensor) -> list[Tensor]:
    """The tensors by which a value has a gradient."""
    tensors, seen, coming = [], set(), [value.grad_fn]
    while coming:
        node = coming.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            tensors.append(node.variable)
        coming += [before for before, _ in node.next_functions]
    return tensors


def check_gradient(value: Tensor, params: Mapping[str, Tensor], net: nn.Module) -> None:
    """ValueError where a loss has a gradient by anything else than the parameters of ``predict``."""
    by = leaves(value)
    refuse_parameters("the loss", by, net)
    if other := [x for x in by if not any(x is p for p in params.values())]:
        raise ValueError(
            f"the loss has a gradient by a tensor of shape {list(other[0].shape)} that is no parameter of the network, "
            "so nobody would train it; make it an nn.Parameter of the network, or detach it"
        )
    if not by:
        raise ValueError(
            "the loss has no gradient: it is computed without predict, or cut off from it by .detach() or "
            "torch.no_grad(); expected a function of what predict(...) gives"
        )


def refuse_parameters(function: str, by: list[Tensor], net: nn.Module) -> None:
    """ValueError where these are parameters of the network itself."""
    if name := next((name for name, p in net.named_parameters() if any(p is x for x in by)), None):
        raise asks_the_net(function, f"its parameter {name!r}")


def asks_the_net(function: str, what: str) -> ValueError:
    return ValueError(
        f"{function} asks the network itself ({what}), which is never trained: only its structure is used. Say "
        "predict(x), the network with the parameters that are trained, for net(x); a penalty on parameters belongs to "
        "the optimizer"
    )


@contextmanager
def only_by_predict(function: str, net: nn.Module) -> Iterator[None]:
    """ValueError if the network is called with its own parameters."""
    parameters = {id(p) for p in net.parameters()}

    def look(module, inputs):
        if any(id(p) in parameters for p in module.parameters(recurse=False)):
            raise asks_the_net(function, f"{type(module).__name__} is called")

    hook = register_module_forward_pre_hook(look)
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def explained(function: str, work: Work, where: str, names: Iterable[str]) -> Iterator[None]:
    """Raises a ValueError in our words where torch cannot compute a function for many models at once, or where it asks
    for a name that is not there. names: those that are, in the "batch" or in the "test"."""
    try:
        yield
    except KeyError as error:
        raise ValueError(
            f"{function} asks for {error}, which is not there; the {where} has "
            f"{', '.join(map(repr, names)) or 'nothing'}"
        ) from error
    except (RuntimeError, TypeError, AttributeError) as error:
        text = str(error)
        if re.search(r"scalar type|dtypes?\b|index tensor|not implemented for '", text):
            raise ValueError(
                f"{function} cannot be computed: {numbers(work, text)} ({text.splitlines()[0]})"
            ) from error
        for pattern, hint in HINTS.items():
            if match := re.search(pattern, text):
                hint = hint.format(**match.groupdict())
                raise ValueError(f"{function} cannot be computed: {hint} ({text.splitlines()[0][:200]})") from error
        raise


def numbers(work: Work, text: str) -> str:
    """Which tensors may have the wrong dtype, in words; text: of torch's error."""
    if re.search(r"index|type Long but", text):
        other = {name: x for name, x in work.pool.items() if x.dtype != torch.int64}
        if labels := [name for name, x in other.items() if torch.equal(x, x.long().to(x.dtype))]:
            return "; ".join(f"pool[{n!r}] is {other[n].dtype}: labels and indices take .long()" for n in labels)
    whole = [name for name, x in work.pool.items() if not x.is_floating_point()]
    other = [name for name, x in work.net.named_buffers() if x.is_floating_point() and x.dtype != work.dtype]
    hints = [f"pool[{name!r}] holds whole numbers, {work.pool[name].dtype}: a network takes .float()" for name in whole]
    hints += [f"the network's buffer {name!r} is not {work.dtype}: net.to({work.dtype})" for name in other]
    return "; ".join(hints) or f"a tensor of its own is not {work.dtype}: pass it as constants={{'name': tensor}}"
