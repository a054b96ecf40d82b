"""What was stored, made again: the first rounds of a training, or all of what was computed."""

from collections.abc import Mapping, Sequence
from importlib import import_module

from fedlib.federated.batches import Local
from fedlib.federated.sweep import Row
from fedlib.trainings import again
from fedlib.trainings.as_json import MOVED
from fedlib.trainings.calls import NEAR, Call
from fedlib.trainings.files import Stored

OURS = "fedlib.", "tests.", "torch.nn."


def call_of(settings: Mapping) -> Call:
    """The call whose rows have these settings: no rows yet, and without axes, whose values are among its changes.

    It calls what a file names: here the files are those of this repository. Nothing in fedlib does.
    """
    arguments, changes = restored(settings["arguments"]), restored(settings["changes"])
    if "local" in changes:
        changes["local"] = Local(*changes["local"])
    if isinstance(changes.get("fraction"), list):
        changes["fraction"] = tuple(changes["fraction"])
    return Call(restored(settings["experiment"]), arguments, (), (), changes=changes)


def restored(value):
    """What ``as_json.plain`` was given; a tuple is a list. ValueError: a function that is not OURS."""
    if isinstance(value, str) and "." in value:
        module, _, name = MOVED.get(value, value).rpartition(".")
        if not f"{module}.".startswith(OURS):
            raise ValueError(f"{value} is none of {', '.join(OURS)}")
        return getattr(import_module(module), name)
    if isinstance(value, list):
        return [restored(part) for part in value]
    if isinstance(value, Mapping) and "text" in value:
        return value["text"]
    if isinstance(value, Mapping):
        parts = {name: restored(part) for name, part in value.items()}
        return parts["function"](**parts["arguments"]) if "function" in value else parts
    return value


def replay(stack: Stored, rows: Sequence[Row] | None = None, near: float = NEAR) -> float:
    """See ``again.replay``; of a stack whose call is what its file says."""
    return again.replay(call_of(stack.settings), stack, rows, near)
