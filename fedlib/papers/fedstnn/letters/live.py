"""Notebook 09 live: what is stored, round by round and client by client; and the picture forming while clients train."""

from base64 import b64encode
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import anywidget
import numpy as np
import torch
import traitlets
from torch import Tensor

from .... import live
from ....federated.batches import Local
from ....federated.federation import Federation, centralised
from ....live.modules import module
from ....live.watched import Moment, Watched
from ....live.widgets import choice, slider
from ....notebook.lesson import Lesson
from ....notebook.style import set_ticks
from ....streams import torch_stream
from ..network import SNN, init_snn
from ..scores import local_loss, squared_error
from . import study
from .figures import PAPER, SHEET, UNKNOWN, codes, show_drawn
from .picture import Picture, letters, pixels
from .problem import owners

# as stored


class Drawings(anywidget.AnyWidget):
    """Sliders for round and client, what they draw, and their overlaps; ``explorer`` makes it.

    data: as of ``packed``. anchor: the name before the state in the page's address; "": a notebook.
    """

    _esm = module(Path(__file__).parent / "drawings.js")
    data = traitlets.Dict().tag(sync=True)
    anchor = traitlets.Unicode().tag(sync=True)


def explorer(round: int = 12, client: int = 1) -> Drawings:
    """What the federation draws after each round that was looked at, beside what a client owns and draws alone."""
    lesson = Lesson(study)
    owned = partial(study.owned, lesson.parameters)
    return Drawings(data=packed(lesson.results([(study.NAME, name) for name in ("together", "alone")]), owned, round, client))


def packed(results: study.Results, owned, round: int, client: int) -> dict:
    """What drawings.js takes, of the first seed: pictures as bits in base64, overlaps of each letter as float32.

    owned: seed -> pixels of each client. round, client: where the sliders begin.
    """
    picture, federated = results.picture, results.together.sel(kind="federated").isel(seed=0)
    alone, rounds = results.alone.isel(seed=0), federated["round"].values.tolist()
    shards = owned(int(federated.seed))
    seen = np.zeros((len(shards), picture.white.size), bool)
    for row, shard in zip(seen, shards, strict=True):
        row[shard] = True
    clients = [*range(1, len(shards) + 1)]
    controls = {"round": (rounds, round), "client": (clients, client)}
    return {
        "controls": [{"name": n, "options": o, "start": o.index(at)} for n, (o, at) in controls.items()],
        "shape": [*picture.shape],
        "names": [*picture.names],
        "pictures": {
            name: in_bits(white)
            for name, white in {"truth": picture.white.ravel(), "seen": seen, "alone": alone, "federated": federated}.items()
        },
        "overlaps": {
            name: b64encode(picture.overlaps(white.values).astype("<f4").tobytes()).decode()
            for name, white in {"alone": alone, "federated": federated}.items()
        },
    }
