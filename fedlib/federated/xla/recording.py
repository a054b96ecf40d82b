"""A torch function written down: the operations that it comes down to, below ``vmap`` and autograd, as a graph.

torch's own ``make_fx`` does the same, but loads its compiler first (a second), and needs ten times as long, for it also
works out for every operation what it would do with tensors of other shapes.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule
from torch.fx.node import Node, map_aggregate
from torch.utils._python_dispatch import TorchDispatchMode


def recorded(function: Callable, example: Sequence[Tensor], simpler: Mapping = {}) -> GraphModule:
    """What ``function`` does with these tensors: a graph from tensors of the same shapes to its list of results.

    simpler: operation -> function that does the same with simpler ones; if there are any, then also what torch has as
        functions of others is written down as these.

    Raises:
        NotImplementedError: what it does depends on a number in a tensor.
    """
    with Recorder(example, simpler) as recorder:
        results = function(*example)
    recorder.graph.output([recorder.node(x) for x in results])
    recorder.graph.eliminate_dead_code()  # no argument goes, used or not
    return GraphModule(recorder.captured, recorder.graph)


def direct(graph: GraphModule) -> Callable:
    """The same function, which finds every operation under a name of its own: looking up ``torch.ops.aten.mul.Tensor``
    and calling it through Python costs a tenth to a sixth of a step of small models."""
    aten = re.compile(r"torch\.ops\.aten\.(\w+)\.(\w+)")
    scope = dict(graph.forward.__func__.__globals__)
    for op, overload in aten.findall(graph.code):
        scope[f"aten_{op}_{overload}"] = getattr(getattr(torch.ops.aten, op), overload)._op
    exec(aten.sub(r"aten_\1_\2", graph.code), scope)

    def replay(*tensors):
        with torch._C._AutoDispatchBelowAutograd():  # where they were recorded
            return scope["forward"](graph, *tensors)

    return replay


class Recorder(TorchDispatchMode):
    """Adds to ``graph`` what torch does. captured: name -> tensor that it uses and that is no argument."""

    def __init__(self, example: Sequence[Tensor], simpler: Mapping):
        super().__init__()
        self.graph, self.captured, self.simpler = Graph(), {}, simpler
        self.nodes: dict[int, tuple[Node, Tensor]] = {}  # by id, which is the tensor's own as long as it lives
        for i, x in enumerate(example):
            self.add(x, self.graph.placeholder(f"argument_{i}"))

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch loads its compiler, only to tell it to leave this alone

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if torch.Tag.data_dependent_output in operation.tags:
            raise NotImplementedError(f"{operation} looks at a number")
        if self.simpler:
            if operation.name().startswith("aten::as_strided") and not args[0].is_contiguous():
                raise NotImplementedError(f"{operation} of memory that is not contiguous")
            with self:
                result = self.simpler.get(operation, operation.decompose)(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if (
            operation == torch.ops.aten._efficientzerotensor.default
        ):  # without memory: torch crashes where it meets others
            operation = torch.ops.aten.zeros.default
        result = operation(*args, **kwargs)
        if operation == torch.ops.aten.detach.default:  # the same numbers in the same place
            self.nodes[id(result)] = (self.node(args[0]), result)
            return result
        node = self.graph.call_function(operation, map_aggregate(args, self.node), map_aggregate(kwargs, self.node))
        if isinstance(result, Tensor):
            self.add(result, node)
        elif isinstance(result, (list, tuple)):
            for i, x in enumerate(result):
                if isinstance(x, Tensor):  # not every gradient is asked for
                    self.add(x, self.graph.call_function(operator.getitem, (node, i)))
        return result

    def add(self, x: Tensor, node: Node) -> None:
        """A tensor that the graph makes; what is changed in place was there before."""
        node.meta["dtype"] = x.dtype
        self.nodes.setdefault(id(x), (node, x))

    def node(self, x):
        """The node of a tensor; anything else stays what it is."""
        if not isinstance(x, Tensor):
            return x
        if id(x) not in self.nodes:
            name = f"captured_{len(self.captured)}"
            self.captured[name] = x.detach()
            self.add(x, self.graph.get_attr(name))
        return self.nodes[id(x)][0]
