"""A model of tables as one file: parameters, scale, columns and their units.

``torch.export.load`` reads it, too, but that unpickles, and evaluates what the file says: only one's own files are for
it. ``read_model`` takes files of others: it reads numbers, and names of PyTorch's core operators.
"""

import io
import json
import operator
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from ..federated.stack import load as with_parameters
from ..files import write_atomically
from .tables import table

ABOUT = "fedlib.json"
ON_SIZES = {name: getattr(operator, name) for name in ("getitem", "add", "sub", "mul", "floordiv")}
WHERE = "layout", "device", "pin_memory"  # of a tensor that a step makes; on another machine they are others
UNUSUAL = 5.0  # st.dev. from the mean of what a model was trained on


class InUnits(nn.Module):
    """A network that was trained on standardised columns, in the units of the tables: m + s net((x - m_x) / s_x).

    scale: of what it takes and of what it gives, [2, c] each: mean and st.dev.
    """

    def __init__(self, net: nn.Module, scale: Mapping[str, np.ndarray]):
        super().__init__()
        self.net = net
        for name, of_name in zip(("takes", "gives"), scale.values(), strict=True):
            self.register_buffer(name, torch.tensor(of_name, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """x [n, c] -> [n, d], float64."""
        inner = ((x.double() - self.takes[0]) / self.takes[1]).to(next(self.net.parameters()).dtype)
        return self.gives[0] + self.gives[1] * self.net(inner).double()


class Program(NamedTuple):
    """A network as steps, each (its name, an operator's, args, kwargs); {"step": name} among these is a step's result.

    takes: the name of the rows [n, c]; gives: of what is returned. tensors: parameters and buffers by name.
    """

    tensors: Mapping[str, Tensor]
    takes: str
    steps: Sequence
    gives: str

    def __call__(self, rows: Tensor) -> Tensor:
        results = {**self.tensors, self.takes: rows}

        def value(words):
            if isinstance(words, list):
                return [value(part) for part in words]
            if not isinstance(words, dict):
                return words
            return results[words["step"]] if "step" in words else dtype_of(words["dtype"])

        for name, target, args, kwargs in self.steps:
            results[name] = operator_of(target)(*value(args), **{key: value(words) for key, words in kwargs.items()})
        return results[self.gives]


def operator_of(name: str) -> Callable:
    """One of PyTorch's core operators, such as aten.addmm.default; ValueError where a name is none."""
    space, _, rest = name.partition(".")
    packet, _, overload = rest.partition(".")
    function = getattr(getattr(torch.ops.aten, packet, None), overload, None) if space == "aten" else ON_SIZES.get(name)
    is_core = isinstance(function, torch._ops.OpOverload) and torch.Tag.core in function.tags
    if not is_core and name not in ON_SIZES:
        raise ValueError(f"{name!r} is no core operator of PyTorch, and nothing else is called")
    return function


def dtype_of(name: str) -> torch.dtype:
    """torch.float32 of "float32"; ValueError where it is none."""
    if not isinstance(dtype := getattr(torch, name, None), torch.dtype):
        raise ValueError(f"{name!r} is no dtype of PyTorch")
    return dtype


def in_words(value) -> object:
    """An argument of a step as JSON; ValueError where it has no words."""
    if isinstance(value, (list, tuple)):
        return [in_words(part) for part in value]
    if isinstance(value, torch.fx.Node):
        return {"step": value.name}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"{value!r} cannot be written down")


def steps_of(program: torch.export.ExportedProgram) -> dict:
    """``Program`` as JSON. ValueError where it is more than core operators on numbers."""
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of torch, about itself
        program = program.run_decompositions()
    held, tensors = {**program.state_dict, **program.constants}, {}
    takes = program.graph_signature.user_inputs[0]
    for spec in program.graph_signature.input_specs:
        if spec.target is not None:
            value = held[spec.target].detach()
            dtype = str(value.dtype).removeprefix("torch.")
            tensors[spec.arg.name] = {"dtype": dtype, "shape": [*value.shape], "values": value.flatten().tolist()}
    steps = []
    for node in program.graph.nodes:
        if node.op == "call_function" and node.users:  # who has none checks only what was exported
            name = str(node.target) if isinstance(node.target, torch._ops.OpOverload) else node.target.__name__
            operator_of(name)
            kwargs = {key: in_words(part) for key, part in node.kwargs.items() if key not in WHERE}
            steps.append([node.name, name, in_words(node.args), kwargs])
    return {"tensors": tensors, "takes": takes, "steps": steps, "gives": program.graph.output_node().args[0][0].name}


class Model(NamedTuple):
    """A model that was read: a function of rows [n, c] in the tables' units -> [n, d].

    takes, gives: columns and their units. scale [2, c]: mean and st.dev. of what it was trained on.
    """

    program: Callable[[Tensor], Tensor]
    takes: Mapping[str, str]
    gives: Mapping[str, str]
    scale: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self.program(torch.as_tensor(np.asarray(x, float))).numpy()

    def unusual(self, x: np.ndarray) -> str:
        """The column in which most rows lie far from what it was trained on; empty where none does."""
        far = (np.abs(x - self.scale[0]) > UNUSUAL * self.scale[1]).sum(0)
        column = [*self.takes][far.argmax()]
        mean, spread = self.scale[:, far.argmax()]
        return "" if not far.any() else (
            f"{far.max()} of {len(x)} rows have {column!r} more than {UNUSUAL:g} st.dev. from what the model was "
            f"trained on ({mean:.3g} ± {spread:.2g} {self.takes[column]}); is it in another unit?"
        )  # fmt: skip


def write_model(
    file: Path, net: nn.Module, row: Tensor, columns: Mapping[str, Mapping[str, str]],
    scale: Mapping[str, np.ndarray] | None = None,
) -> None:  # fmt: skip
    """The network with one row [P] of a stack, its scale, columns and units; without a scale it takes and gives the
    columns as they are, and nobody is told which rows are far from what it has seen."""
    net = with_parameters(deepcopy(net).to(row.dtype), row)
    for parameter in net.parameters():  # they are views of one row, of which torch.export warns
        parameter.data = parameter.data.clone()
    program, steps = program_of(net, columns, scale)
    moments = scale or {name: np.array([[0.0], [np.inf]]).repeat(len(of_name), 1) for name, of_name in columns.items()}
    about = {"columns": columns, "scale": {name: of_name.tolist() for name, of_name in moments.items()}} | steps
    torch.export.save(program, content := io.BytesIO(), extra_files={ABOUT: json.dumps(about)})
    write_atomically(file, content.getvalue())


def program_of(
    net: nn.Module, columns: Mapping[str, Mapping[str, str]], scale: Mapping[str, np.ndarray] | None = None
) -> tuple[torch.export.ExportedProgram, dict]:
    """The network in the tables' units as a program of torch.export, for any number of rows, and its ``steps_of``;
    scale: mean and st.dev.

    Raises:
        ValueError: it does not take and give these columns, or torch.export cannot write it.
    """
    takes, gives = map(len, columns.values())
    as_it_is = {name: np.array([[0.0], [1.0]]).repeat(n, 1) for name, n in (("takes", takes), ("gives", gives))}
    model = InUnits(net, scale or as_it_is).eval()
    rows, any_number = torch.zeros(3, takes, dtype=torch.float64), {0: torch.export.Dim("rows")}
    try:
        shape = tuple(model.net(rows.to(next(net.parameters()).dtype)).shape)
        program = torch.export.export(model, (rows,), dynamic_shapes=(any_number,), strict=False)
        steps = steps_of(program)
    except Exception as error:  # of whatever kind, and long
        reason = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        raise ValueError(f"no model of {takes} columns can be made of the network ({reason}); see COLUMNS") from error
    if shape != (3, gives):
        raise ValueError(f"the network gives {[*shape]} of 3 rows, expected [3, {gives}], the columns of COLUMNS")
    return program, steps


def read_model(place: Path | str) -> Model:
    """The model of a folder of results, or of a file, of whomever: nothing in it is unpickled, and no code is run.

    Raises:
        ValueError: there is none, or more than one; the file is damaged, or asks for more than core operators.
    """
    place = Path(place)
    files = [place] if place.is_file() else [*place.glob("model.pt2")] or sorted(place.glob("*.model.pt2"))
    if len(files) != 1:
        raise ValueError(
            f"{place} has a model of each site ({', '.join(file.name for file in files)}); name one of these files"
            if files
            else f"{place} has none; expected one model.pt2, which federate leaves where COLUMNS are named, or one file"
        )
    try:
        with zipfile.ZipFile(files[0]) as file:
            (name,) = (name for name in file.namelist() if name.endswith(f"extra/{ABOUT}"))
            about = json.loads(file.read(name))
        takes, gives = about["columns"].values()
        tensors = {
            name: torch.tensor(words["values"], dtype=dtype_of(words["dtype"])).reshape(words["shape"])
            for name, words in about["tensors"].items()
        }
        model = Model(
            Program(tensors, about["takes"], about["steps"], about["gives"]), takes, gives,
            np.array(next(iter(about["scale"].values())), float),
        )  # fmt: skip
        if (shape := model(np.zeros((3, len(takes)))).shape) != (3, len(gives)):
            raise ValueError(f"it gives {[*shape]} of 3 rows, expected [3, {len(gives)}]")
    except Exception as error:  # of whatever kind, as the damage is
        raise ValueError(
            f"{files[0]} cannot be read as a model ({type(error).__name__}: {error}); expected model.pt2 as federate "
            "leaves it"
        ) from None
    return model


def predicted(model: Model, path: Path) -> pd.DataFrame:
    """A table's columns that the model takes, and beside them what it gives."""
    x = table(path, [*model.takes])
    return pd.DataFrame(np.hstack([x, model(x)]), columns=[*model.takes, *model.gives])
