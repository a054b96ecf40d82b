"""How far a prediction is from the truth."""

from torch import Tensor


def relative_l2(prediction: Tensor, truth: Tensor) -> Tensor:
    """||truth - prediction|| / ||truth|| over the last axis; dimensionless."""
    return (truth - prediction).norm(dim=-1) / truth.norm(dim=-1)
