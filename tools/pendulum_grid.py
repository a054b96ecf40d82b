"""Tries what Fed-DeepONet leaves open on validation data and writes data/pendulum_grid.json (notebooks 01 and 03).

python tools/pendulum_grid.py          # goes on where it stopped; about half an hour on one core
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fedlib.problems.pendulum_search import GRID, Tried, load, save, search

ONE, THREE = [101], [102, 103, 104]  # seeds; those of the notebooks begin with 0


def settings(optimizer, batch_size, reset, pairs, clients, seeds, updates=200) -> list[Tried]:
    """A stack: pairs (learning rate, decay per round)."""
    return [Tried(optimizer, batch_size, reset, lr, decay, updates, clients, seeds) for lr, decay in pairs]


def product(lrs: Sequence[float], decays: Sequence[float]) -> list[tuple[float, float]]:
    return [(lr, decay) for decay in decays for lr in lrs]


def stacks() -> Iterator[list[Tried]]:
    """First widely, with 20 clients and one seed; then the best ones and their neighbours, with all sizes."""
    lrs, decays = (1e-3, 2e-3, 4e-3, 8e-3, 16e-3), (1.0, 0.9, 0.8, 0.7)
    yield settings("Adam", 64, True, product(lrs, decays), [20], ONE)
    yield settings("Adam", 128, True, product(lrs, decays), [20], ONE)
    yield settings("Adam", 64, False, product((5e-4, 1e-3, 2e-3, 4e-3), (1.0, 0.9, 0.8)), [20], ONE)
    near = [(8e-3, 0.8), (6e-3, 0.8), (1e-2, 0.8), (8e-3, 0.75), (8e-3, 0.85), (6e-3, 0.85)]
    yield settings("Adam", 64, True, near, [10, 20, 50], THREE)
    yield settings("Adam", 64, True, [(4e-3, 0.85), (4e-3, 0.9), (6e-3, 0.9)], [10, 20, 50], THREE)
    for pair in [(0.01, 1.0), (0.03, 1.0), (0.1, 1.0), (0.2, 1.0), (0.1, 0.9)]:  # each alone: some diverge
        yield settings("SGD", 64, True, [pair], [20], ONE)
    yield settings("Adam", 64, False, product((1e-3, 2e-3, 4e-3, 8e-3), decays), [1], ONE)
    yield settings("Adam", 64, False, product((1e-3, 2e-3, 4e-3), (0.9, 0.8)), [1], ONE, updates=3000)
    yield settings("Adam", 64, False, product((8e-3,), (1.0, 0.9)), [20], ONE)
    yield settings("Adam", 256, True, [(8e-3, 0.8), (4e-3, 0.9)], [20], ONE)


def main() -> None:
    done = load() if GRID.exists() else []
    for stack in stacks():
        if any(replace(t, error=None) == stack[0] for t in done):
            continue
        try:
            done += search(stack)
        except FloatingPointError as error:  # of a stack of one: the setting diverged
            if len(stack) > 1:
                raise
            print(error)
            done += stack
        save(done)


if __name__ == "__main__":
    main()
