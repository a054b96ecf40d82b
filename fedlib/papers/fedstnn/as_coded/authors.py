"""Models that FedStNN's authors trained, for whoever has fetched their two files; nothing of them is shipped.

The files are in github.com/TonyTangTT/FedStNN, which has no licence. Put them into data/cache/fedstnn, or name a folder
that has them in the environment variable FEDLIB_DATA.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from ....downloads import CACHE, Unavailable, fetch
from .. import plane, sine
from ..experiment import asked, quality
from .coded import Coded
from .problem import CASES


class Source(NamedTuple):
    """A file, its SHA-256, the widths d, L, H of its network, and what its inputs run over."""

    file: str
    sha256: str
    widths: tuple[int, int, int]
    domain: tuple[float, float]


SOURCES = {
    "5.1": Source(
        "FedSNN_1D_global.pth",
        "c04b3c2ce84862043e8d9882daa2161e9d1ec00d9c0927628ede2446d0db3933",
        (1, 8, 16),
        (0, 2 * math.pi),
    ),
    "5.2": Source(
        "FedSNN_2D_Function.pth",
        "3a4f406a713451d328522e40a4c31c6d379f83e905668c33ebccae2d6fe1ae9b",
        (2, 16, 32),
        (-1, 1),
    ),
}


def load_authors(section: str, folder: str | Path | None = None) -> tuple[Coded, Tensor] | None:
    """Their network of a section, "5.1" or "5.2", and its parameters as a row [P]; None if the file is not here.

    folder: where it is, if neither in the cache nor in FEDLIB_DATA.

    Raises:
        ValueError: another file, or another network.
    """
    source = SOURCES[section]
    try:
        path = fetch(f"fedstnn/{source.file}", source.sha256, folder=folder)
    except Unavailable:
        return None
    net = Coded(*source.widths, domain=source.domain)
    return net, as_row(net, torch.load(path, map_location="cpu", weights_only=True))


def how_to_get(section: str) -> str:
    """Where the authors' file of a section comes from and where it goes, one line of text."""
    return (
        f"{SOURCES[section].file} is not here: fetch it from github.com/TonyTangTT/FedStNN and put it into "
        f"{CACHE.parent.name}/{CACHE.name}/fedstnn/"
    )


def as_row(net: Coded, state: Mapping[str, Tensor]) -> Tensor:
    """Their state dict as a row [P] of a stack; what nothing uses (a normalisation of the drift, counters) goes.

    Raises:
        ValueError: a tensor is missing or has another shape.
    """
    parts = []
    for name, parameter in net.named_parameters():
        theirs = their_name(name)
        if theirs not in state or state[theirs].shape != parameter.shape:
            shape = tuple(state[theirs].shape) if theirs in state else "nothing"
            raise ValueError(
                f"{theirs}: expected a tensor {tuple(parameter.shape)}, got {shape}; "
                "is this a state dict of their network?"
            )
        parts.append(state[theirs].flatten().float())
    return torch.cat(parts)


def their_name(name: str) -> str:
    """What the authors call a parameter of ``Coded``."""
    part, *rest = name.split(".")
    if part in ("lift", "read"):
        return f"{dict(lift='project0', read='project_end')[part]}.linear.{rest[0]}"
    if part == "norm":
        return f"diffusionList.{rest[0]}.bn.{'running_' * (rest[1] in ('mean', 'var'))}{rest[1]}"
    block, layer, kind = rest
    return f"{dict(drift='driftList', spread='diffusionList')[part]}.{block}.layers.{layer}.linear.{kind}"


MEASURED = {
    "5.1": {"RMSE": 0.0860, "std": 0.0787, "coverage": 0.6616, "in band": 0.9164, "a path against f": 0.0136},
    "5.2": {"RMSE": 0.1111, "std": 0.1605, "coverage": 0.8237, "in band": 0.7518, "a path against f": 0.0381},
}
"""What ``judged`` gives of their files, which were at hand once; section -> quantity -> number."""


def judged_theirs(section: str, folder: str | Path | None = None) -> dict[str, float] | None:
    """The quantities of MEASURED, measured again; None if the file is not here."""
    loaded, case = load_authors(section, folder), {"5.1": "curve", "5.2": "surface"}[section]
    if loaded is None:
        return None
    net, theta = loaded
    answers = asked(net, theta, CASES[case].probes(net, 0.1, {"curve": 100, "surface": 20}[case]))
    f = sine.curve(sine.curve_grid(sine.TESTED)) if case == "curve" else plane.on_grid()
    row = quality(answers["mean"], answers["std"], f, 0.1)
    return row | {"in band": answers["inside"], "a path against f": row["RMSE"] ** 2 + row["std"] ** 2}
