"""A long training that is stopped goes on where it was.

Every draw of a round is keyed by the round's number, so parameters, optimiser state and history after round r are all
that the rest depends on.
"""

from collections.abc import Mapping
from pathlib import Path

import joblib
import torch
from torch import Tensor

from ..files import replacing

SECONDS = 120  # between two files; at most this much work is lost


def fingerprint(*parts) -> str:
    """A hash of what was given to a training: arrays, tensors and plain values."""
    return joblib.hash([_bytes(part) for part in parts])


def _bytes(part):
    if isinstance(part, Tensor):
        return part.cpu().numpy()
    if isinstance(part, Mapping):
        return {name: _bytes(value) for name, value in part.items()}
    return part


def save(path: Path, mark: str, round: int, theta: Tensor, state: Mapping[str, Tensor], history) -> None:
    """Keep the state after a round."""
    metrics = {name: torch.from_numpy(values) for name, values in history.metrics.items()}
    past = {"losses": torch.from_numpy(history.losses), "rounds": history.rounds, "metrics": metrics}
    with replacing(path) as partial:
        torch.save({"mark": mark, "round": round, "theta": theta, "state": dict(state), **past}, partial)


def load(path: Path, mark: str, device: str, history) -> tuple[int, Tensor, dict[str, Tensor]] | None:
    """(round, theta, optimiser state) that ``save`` wrote, and the past into ``history``; None where there is no file.

    Raises:
        ValueError: the file cannot be read, or belongs to another training.
    """
    if not path.exists():
        return None
    hint = f"remove {path} to start anew, or name another checkpoint"
    try:
        kept = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # torch raises half a dozen types for a damaged file
        raise ValueError(f"{path} cannot be read as a checkpoint ({type(error).__name__}); {hint}") from error
    if not isinstance(kept, dict) or kept.get("mark") != mark:
        raise ValueError(f"{path} belongs to a training with other data, clients or settings; {hint}")
    history.losses, history.rounds = kept["losses"].cpu().numpy(), kept["rounds"]
    history.metrics = {name: values.cpu().numpy() for name, values in kept["metrics"].items()}
    return kept["round"], kept["theta"], kept["state"]
