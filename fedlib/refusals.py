"""What refusals have in common: a count, and what may have been meant."""

from collections.abc import Collection
from difflib import get_close_matches
from numbers import Integral


def check_counts(**counts) -> None:
    """ValueError where a count is no whole number >= 1."""
    for name, value in counts.items():
        if isinstance(value, bool) or not (isinstance(value, Integral) and value >= 1):
            raise ValueError(f"{name} = {value!r}: expected a whole number >= 1")


def hint(name: str, names: Collection[str]) -> str:
    """What may have been meant, as the end of a message; "lr" for "learning_rate", too."""
    initials = "".join(word[0] for word in str(name).split("_") if word)
    folded = {other.casefold(): other for other in names}
    near = [initials] if initials in names else get_close_matches(str(name).casefold(), folded, 1)
    return f"; did you mean {folded.get(near[0], near[0])!r}?" if near else ""
