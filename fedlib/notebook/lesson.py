"""The blank of a lesson, which a reader fills in."""

from torch import Tensor


def filled(answer: object, example: Tensor) -> bool:
    """Whether the blank of an exercise returns something; ValueError: no finite numbers of the shape of ``example``."""
    if answer is None:
        return False
    size = list(example.shape)
    words = f"return a tensor {size}, as each of those that the blank gets, for instance 0.5 * the first one"
    if not isinstance(answer, Tensor):
        raise ValueError(f"the blank returns a {type(answer).__name__}; {words}")
    if answer.shape != example.shape:
        raise ValueError(f"the blank returns a tensor {list(answer.shape)}; {words}")
    if not answer.isfinite().all():
        raise ValueError("the blank returns numbers that are not finite: is something divided by zero?")
    return True
