"""Notebook 04's training to play with: who averages with whom, and what the server does."""

from itertools import islice

import torch

from fedlib.live.stage import OPEN, close
from fedlib.papers.fedsciml.functions import live


def test_the_slider_says_how_many_pieces_all_have(page):
    live.show()
    clients, pieces = OPEN["04"].box.children[1].children[:2]
    pieces.value = 5
    clients.value = 4
    assert (pieces.words[pieces.index], pieces.value) == ("20", 5), "five for each of four"
    close("04")


def after(**values):
    """Distinct models of the four clients after two rounds, and their mean before the exchange."""
    training = live.training(4, E=2, width=4, **values)
    done, walk = next(islice(training.begin(), 1, None))
    return torch.unique(done.after[:4], dim=0), walk[:4, -1].mean(0)


def test_what_the_mixing_and_the_server_make_of_the_clients():
    (one,), mean = after()
    torch.testing.assert_close(one, mean)
    assert [len(after(mixing=name)[0]) for name in ("ring", "no one")] == [4, 4]
    (one,), mean = after(server="FedAdam")
    assert not torch.allclose(one, mean)
