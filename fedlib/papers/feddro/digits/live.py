"""Notebook 10b live: what is stored of four ways to train, and five clients' shifted digits to watch a training on."""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import xarray

from .... import live
from ....federated.batches import Local
from ....federated.federation import Federation, join
from ....federated.optimizers import sgd
from ....live.levels import Explorer, explore
from ....live.watched import Moment, Watched
from ....live.widgets import slider
from ....notebook.style import COLORS, set_ticks
from ....trainings.store import stored
from . import study
from .barycenters import class_barycenters, converging, moments_start
from .figures import STYLES
from .handwriting import SIDE, Clients, handwriting
from .problem import CNN, MOMENTUM, answers, classification, dealt
from .shifts import shifted
from ....streams import stream
