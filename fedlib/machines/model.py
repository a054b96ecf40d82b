"""A model of tables as one file, which PyTorch alone reads: parameters, scale, columns and their units."""

import io
import json
from collections.abc import Mapping
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


class Model(NamedTuple):
    """A model that was read: a function of rows [n, c] in the tables' units -> [n, d].

    takes, gives: columns and their units. scale [2, c]: mean and st.dev. of what it was trained on.
    """

    program: nn.Module
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
    file: Path, net: nn.Module, row: Tensor, columns: Mapping[str, Mapping[str, str]], scale: Mapping[str, np.ndarray]
) -> None:
    """The network with one row [P] of a stack, its scale, columns and units."""
    net = with_parameters(deepcopy(net).to(row.dtype), row)
    for parameter in net.parameters():  # they are views of one row, of which torch.export warns
        parameter.data = parameter.data.clone()
    program = program_of(net, columns, scale)
    about = {"columns": columns, "scale": {name: of_name.tolist() for name, of_name in scale.items()}}
    torch.export.save(program, content := io.BytesIO(), extra_files={ABOUT: json.dumps(about)})
    write_atomically(file, content.getvalue())


def program_of(
    net: nn.Module, columns: Mapping[str, Mapping[str, str]], scale: Mapping[str, np.ndarray] | None = None
) -> torch.export.ExportedProgram:
    """The network in the tables' units as a program of torch.export, for any number of rows; scale: mean and st.dev.

    Raises:
        ValueError: it does not take and give these columns, or torch.export cannot write it.
    """
    takes, gives = map(len, columns.values())
    model = InUnits(net, scale or {"takes": np.ones((2, takes)), "gives": np.ones((2, gives))}).eval()
    rows, any_number = torch.zeros(3, takes, dtype=torch.float64), {0: torch.export.Dim("rows")}
    try:
        shape = tuple(model.net(rows.to(next(net.parameters()).dtype)).shape)
        program = torch.export.export(model, (rows,), dynamic_shapes=(any_number,), strict=False)
    except Exception as error:  # of whatever kind, and long
        reason = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        raise ValueError(f"no model of {takes} columns can be made of the network ({reason}); see COLUMNS") from error
    if shape != (3, gives):
        raise ValueError(f"the network gives {[*shape]} of 3 rows, expected [3, {gives}], the columns of COLUMNS")
    return program


def read_model(place: Path | str) -> Model:
    """The model of a folder of results, or of a file; ValueError where there is none, or more than one."""
    place = Path(place)
    files = [place] if place.is_file() else [*place.glob("model.pt2")] or sorted(place.glob("*.model.pt2"))
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise ValueError(
            f"{place} has {names}; expected one model.pt2, which federate leaves where COLUMNS are named, or one file"
        )
    try:
        program = torch.export.load(str(files[0]), extra_files=(extra := {ABOUT: ""})).module()
        about = json.loads(extra[ABOUT])
    except Exception as error:  # torch raises half a dozen types for a damaged file
        raise ValueError(f"{files[0]} cannot be read as a model ({type(error).__name__}: {error})") from None
    takes, gives = about["columns"].values()
    return Model(program, takes, gives, np.array(next(iter(about["scale"].values()))))


def predicted(model: Model, path: Path) -> pd.DataFrame:
    """A table's columns that the model takes, and beside them what it gives."""
    x = table(path, [*model.takes])
    return pd.DataFrame(np.hstack([x, model(x)]), columns=[*model.takes, *model.gives])
