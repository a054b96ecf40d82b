"""What the pages show: a page per paper, on it some pieces, each with two or three sentences and a maker."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import ipywidgets

Made = tuple[ipywidgets.DOMWidget, Callable[[], None]]
"""The box of a piece, and what has to be done before it goes."""


class Piece(NamedTuple):
    """title: on its button. words: what to see and what to do. make: called when the piece is chosen."""

    title: str
    words: str
    make: Callable[[], Made]


def live(module: str, *args: str) -> Callable[[], Made]:
    """The live training of a notebook; imported when it is wanted, so that a page waits for nobody else's modules."""

    def make() -> Made:
        from ..live.stage import placed

        return placed(import_module(f"fedlib.{module}").show, *args)

    return make


def stored(module: str, piece: str = "explorer") -> Callable[[], Made]:
    """A piece of what is stored: by default that of a notebook's first section. Nothing trains when it is moved."""
    return lambda: (getattr(import_module(f"fedlib.{module}"), piece)(), lambda: None)


PAGES: dict[str, list[Piece]] = {
    "fed-deeponet": [
        Piece(
            "Clients learn a pendulum",
            "Five clients know different examples of one pendulum. Press <i>Step one round</i>: in their local steps "
            "their networks go apart, and the average snaps them together. Then take the pace <i>fastest</i>, fewer "
            "answers in a round (alpha), or a ring, where nobody has the average.",
            live("papers.fed_deeponet.pendulum.live"),
        ),
        Piece(
            "Clients that differ",
            "Sorted shards give each client targets of its own size. Play, then deal 20 shards to each: what happens "
            "to the blue error, and to the way that the clients go apart?",
            live("papers.fed_deeponet.shards.live"),
        ),
        Piece(
            "A stiffness of one's own",
            "Each client owns pendulums of one range of stiffness. Widen the range and play; then hide the stiffness: "
            "now a network has one answer for three pendulums, whoever trained it.",
            live("papers.fed_deeponet.library.live"),
        ),
        Piece(
            "Ask a trained network",
            "20 clients trained this network in 20 rounds, and one of them another one by itself, on random (GRF) "
            "torques. Choose a torque that nobody has seen, such as t sin(2 pi t), and make it faster: where does "
            "each of them fail?",
            stored("papers.fed_deeponet.pendulum.live", "asked"),
        ),
    ],
    "fedsciml": [
        Piece(
            "One curve, two halves",
            "Each client knows one half of a curve. Press <i>Step one round</i>: their fits go apart, each to "
            "its own half, and the average lies between. Then take ten pieces, and the pace <i>fastest</i>: "
            "does the blue error come down to the green one, of a model that sees everything?",
            live("papers.fedsciml.functions.live"),
        ),
        Piece(
            "An equation in pieces",
            "Poisson's equation: each client has points in its own pieces only. Below is the residual, which is small "
            "where a client has points, and free elsewhere. Play with 2 pieces, then with 16.",
            live("papers.fedsciml.forward.live"),
        ),
        Piece(
            "Unknown coefficients",
            "Two clients watch a flow past a cylinder, each in its own slabs, and look for its two coefficients (the "
            "star). Play with 2 subdomains, where the server is late, and with 20, where it keeps up with a model "
            "that sees all.",
            live("papers.fedsciml.flow.live"),
        ),
        Piece(
            "Operators",
            "Client 1 knows smooth functions, client 2 fast ones, and both learn to integrate. Play, and see how each "
            "fails at the other's kind. Which level makes them alike?",
            live("papers.fedsciml.operators.live"),
        ),
        Piece(
            "Ask a trained operator",
            "These networks are trained. Compose an input of ten terms, whose bars one drags: client 1 knows the first "
            "ones, client 2 the last ones. Which input fools a client, and does it fool the federation?",
            stored("papers.fedsciml.operators.live"),
        ),
        Piece(
            "Rules against drift",
            "Beyond the paper: 20 pieces, where plain averaging is slow. Play at the pace <i>fastest</i>, for a minute "
            "and a half: at first nobody knows a wave. Which rules then follow the green curve, and at which rate?",
            live("papers.beyond.drift.live"),
        ),
        Piece(
            "Pieces of a curve",
            "Two clients know pieces of one curve in turn. Cut it into more pieces: at which number do they help least "
            "of all, and where does a client alone beat the federation? Each dot on the right is a training.",
            stored("papers.fedsciml.functions.live"),
        ),
        Piece(
            "Pieces of an equation",
            "Two clients know an equation on pieces of an interval in turn. Move the slider: at which number of pieces "
            "does the federation do worst? It is not the smallest one.",
            stored("papers.fedsciml.forward.live"),
        ),
        Piece(
            "Sums, not averages",
            "Beyond the paper: the clients add sums, once, and average nothing. Which of the three curves never moves "
            "when you cut the interval into more pieces? Then take sines away, until it leaves the truth.",
            stored("papers.beyond.one_round.live"),
        ),
        Piece(
            "Sums train a network",
            "Beyond the paper: the blue network was averaged a thousand times, the green one is trained by sums. Let "
            "it take more evaluations. How many beat a thousand averages with eight pieces, and how many with two?",
            stored("papers.beyond.projection.live"),
        ),
    ],
    "fedstnn": [
        Piece(
            "A band forms",
            "Each client owns noisy points of a sine. Play: the federation's blue band should become the dashed one, "
            "of two sigma, and its spread the dashed line below. Then take the squared error: what becomes of the "
            "band?",
            live("papers.fedstnn.curve.live"),
        ),
        Piece(
            "Three letters",
            "Above is what the federation draws (orange should be black, blue should be white), below what a client "
            "of each letter owns and draws by itself. Take the pace <i>fastest</i>; then give the clients own pixels "
            "only: which letters does a client lose?",
            live("papers.fedstnn.letters.live"),
        ),
        Piece(
            "Which band is true?",
            "Twelve trained networks, four noises, three losses. Dashed is the true band. Move the loss: which draws "
            "no band at all, however loud the noise?",
            stored("papers.fedstnn.curve.live"),
        ),
        Piece(
            "As printed, as coded",
            "The algorithm as the paper prints it, as its authors coded it, and mended. Move the noise through five "
            "values: whose band knows it, and whose is right by chance at one of them?",
            stored("papers.fedstnn.as_coded.live"),
        ),
        Piece(
            "Who draws what",
            "30 clients, ten for each letter. Move through the rounds: which letter comes first? Then through the "
            "clients: each alone draws its own letter, together they draw all three, though nobody has seen one whole.",
            stored("papers.fedstnn.letters.live"),
        ),
    ],
    "feddro": [
        Piece(
            "Digits on common ground",
            "Three clients see shifted digits and carry them to a common barycenter. Play at the pace <i>fastest</i>: "
            "orange bars are the clean digits that the network on carried digits reads, blue ones those of FedAvg. "
            "Then try the shifts 2, where orange begins first, and .2, where blue does.",
            live("papers.feddro.digits.live"),
        ),
        Piece(
            "A distance without samples",
            "Two clients measure how far their clouds are apart, and only the black cloud goes to and fro. Move "
            "through the rounds: it finds its place between them, and the way over it, right, falls to the distance. "
            "Then let it start in another place.",
            stored("papers.feddro.transport.live"),
        ),
    ],
}
