"""A stack of M models is one matrix theta [M, P]: row r holds all P parameters of model r."""

from collections.abc import Callable, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ..streams import torch_stream


def draw_parameters(net: nn.Module, init: Callable, generator: torch.Generator) -> Tensor:
    """One row of a stack, [P]: ``init(layer, generator)`` fills every layer of torch.nn that has parameters.

    It must fill or refuse whatever it is given: a layer left as it is starts equal under all seeds. Parameters of
    modules of one's own (an unknown coefficient, a displacement) and of containers keep their values.
    """
    net = deepcopy(net)  # the caller's network stays as it is
    for module in net.modules():
        kinds = (kind.__module__ for kind in type(module).__mro__ if kind.__module__.startswith("torch.nn."))
        layer = any(not kind.endswith((".module", ".container")) for kind in kinds)  # a subclass of a layer is one
        if layer and next(module.parameters(recurse=False), None) is not None:
            init(module, generator)
    return nn.utils.parameters_to_vector(net.parameters()).detach().clone()


def kept(layer: nn.Module, generator: torch.Generator) -> None:
    """An ``init`` that draws nothing: all clients and seeds start from the network as it is, trained before, say."""


def stack(
    net: nn.Module, keys: Sequence[tuple[int, ...]], init: Callable, dtype: torch.dtype | None = None
) -> Tensor:  # fmt: skip
    """theta [M, P] with one row per key (seed, ...); equal keys give equal rows.

    dtype: of the training. One in float32 starts as from a float32 network, whatever dtype it has (a session's default
    may be float64): torch draws other numbers in float64.
    """
    if dtype == torch.float32:
        net = deepcopy(net).float()
    drawn = {key: draw_parameters(net, init, torch_stream(key[0], "init", *key[1:])) for key in dict.fromkeys(keys)}
    return torch.stack([drawn[key] for key in keys])


def parameter_count(net: nn.Module) -> int:
    """P, how many numbers a network learns."""
    return sum(parameter.numel() for parameter in net.parameters())


def as_dict(net: nn.Module, theta: Tensor) -> dict[str, Tensor]:
    """theta [..., P] as named tensors [..., *shape]: views in the layout of ``stack_module_state``."""
    shapes = {name: p.shape for name, p in net.named_parameters()}
    parts = theta.split([s.numel() for s in shapes.values()], dim=-1)
    return {
        name: part.reshape((*part.shape[:-1], *shape))
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def load(net: nn.Module, row: Tensor) -> nn.Module:
    """Copy one row [P] of a stack into ``net`` and return it."""
    nn.utils.vector_to_parameters(row.detach().clone(), net.parameters())
    return net


def predict(net: nn.Module, row: Tensor, *inputs: Tensor) -> Tensor:
    """The network with one row [P] of a stack as its parameters, without gradients."""
    if not isinstance(row, Tensor):
        raise ValueError(f"row is a {type(row).__name__}; expected the parameters [P] of a model: history.model(...)")
    with torch.no_grad():
        return functional_call(net, as_dict(net, row), inputs)


def home_columns(net: nn.Module, personal: Sequence[str]) -> Tensor:
    """Columns of theta [M, P] that the personal parameters fill."""
    if isinstance(personal, str):
        raise ValueError(f"personal = {personal!r}; expected a list of names, [{personal!r}]")
    if unknown := sorted(set(personal) - {name for name, _ in net.named_parameters()}):
        raise ValueError(f"personal names {unknown[0]!r}, but the network has {[n for n, _ in net.named_parameters()]}")
    marks = [torch.full((p.numel(),), name in personal) for name, p in net.named_parameters()]
    return torch.cat(marks).nonzero()[:, 0]
