"""What a study would train, without training it; and draws that are the same on every machine."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from inspect import signature
from unittest.mock import patch

import torch

from fedlib import play, train
from fedlib.streams import stream

OF_THE_RUN = ("rounds", "evaluate_every", "progress", "checkpoint", "device", "dtype", "backend", "state", "twins")
"""Arguments of ``train`` and ``play`` that say how, not what; the runner has its own; and further keys of a model."""


class Captured(BaseException):
    """Carries the arguments out of the study; no study catches it."""


def captured(study: Callable[[], object]) -> dict:
    """Arguments of the first ``train`` or ``play`` that a study calls."""
    with ExitStack() as patches:
        for function in (train, play):
            for module in [m for name, m in sys.modules.items() if name.startswith("fedlib.")]:
                if vars(module).get(function.__name__) is function:
                    patches.enter_context(patch.object(module, function.__name__, standing_in_for(function)))
        try:
            study()
        except Captured as caught:
            return caught.args[0]
    raise AssertionError("the study trained nothing")


def standing_in_for(function: Callable) -> Callable:
    """Takes the same arguments, and raises them."""

    def stand_in(*args, **named):
        bound = signature(function).bind(*args, **named).arguments
        rest = bound.pop("work_args", {})
        raise Captured({name: value for name, value in (bound | rest).items() if name not in OF_THE_RUN})

    return stand_in


def of_live(training) -> dict:
    """Arguments of ``train`` of a live training; its errors stay aside, for their test points are float32."""
    what = {name: value for name, value in training.train_args.items() if name not in OF_THE_RUN}
    return {name: getattr(training, name) for name in ("net", "loss", "pool", "federations")} | what


def with_paths(case: dict) -> dict:
    """The case with other test paths: torch's normal numbers differ by 1e-7 on machines without AVX2."""
    drawn = stream(0, "golden paths").standard_normal(case["constants"]["w_test"].shape)
    return case | {"constants": {**case["constants"], "w_test": torch.as_tensor(drawn)}}
