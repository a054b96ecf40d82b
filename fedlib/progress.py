"""One bar for a training: where somebody looks, and only while it runs."""

import os
import time
from collections.abc import Callable, Iterator

from tqdm import tqdm

DELAY, EVERY = 1.0, 0.25  # s: a shorter training shows none; between two drawings


def rounds_of(start: int, stop: int, show: bool | Callable[[int], None]) -> Iterator[int]:
    """range(start, stop), with a bar if ``show``: a line of the terminal, or an HTML bar in a notebook.

    A function in its place is told after each round how many are done.

    The bar goes away at the end, so that ten trainings of a notebook leave nothing between the reader and their
    figures. Nothing is drawn in a batch run, under nbval or into a file. (tqdm has a notebook bar, but leaves it at
    0 %.)
    """
    if callable(show):
        for r in range(start, stop):
            yield r
            show(r + 1)
    elif not show or {"FEDLIB_OUTPUT", "FEDLIB_QUIET"} & {*os.environ}:
        yield from range(start, stop)
    elif not (display := notebook_display()):
        yield from tqdm(range(start, stop), "rounds", stop, leave=False, disable=None, delay=DELAY, initial=start)
    else:
        place, drawn, due = f"rounds {os.urandom(8).hex()}", False, time.monotonic() + DELAY
        for r in range(start, stop):
            if time.monotonic() > due:
                bar = f'<progress max="{stop}" value="{r}" aria-label="rounds"></progress> round {r} of {stop}'
                display({"text/html": bar, "text/plain": ""}, raw=True, display_id=place, update=drawn)
                drawn, due = True, time.monotonic() + EVERY
            yield r
        if drawn:
            display({"text/html": "", "text/plain": ""}, raw=True, display_id=place, update=True)


def notebook_display():
    """IPython's ``display`` inside a kernel, None elsewhere."""
    from IPython import get_ipython
    from IPython.display import display

    return display if hasattr(get_ipython(), "kernel") else None
