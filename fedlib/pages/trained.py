"""Explorers of networks that a committed run has trained: nothing trains when a page opens, a move asks a network."""

from pathlib import Path

import ipywidgets
import torch

from ..federated.stack import predict
from ..live.widgets import explore, slider
from ..models.stochastic import SNN
from ..notebook import models
from ..papers.fed_deeponet.pendulum import live as pendulum
from ..plots import arms as draw_arms
from ..plots import letters as draw_letters
from ..plots import stochastic
from ..problems import arms, letters, letters_study
from ..streams import torch_stream
from ..trainings.profiles import committed, folder_of


def rows(folder: Path) -> dict:
    """Key -> rows [K, P] of a committed run.

    Raises:
        FileNotFoundError: the run kept no models.
    """
    if not (kept := models.load(folder)):
        raise FileNotFoundError(f"{folder / models.NAME}: these networks are part of the repository; fetch it anew")
    return {key: torch.as_tensor(row) for key, row in kept.items()}


def of_pendulum() -> ipywidgets.GridBox:
    """A torque of one's own, the true angle, and what the federation of 20 and one of its clients say."""
    return pendulum.asked()


def of_noise() -> ipywidgets.GridBox:
    """Bands of three losses at four noise levels."""
    kept = rows(folder_of("08_stochastic_regression", "paper"))
    return stochastic.band_explorer(SNN(1, 8, 16), {key: row[0] for key, row in kept.items()})


def of_arms() -> ipywidgets.GridBox:
    """FedStNN as printed, as its authors coded it, and as it should be."""
    name = "08b_as_coded"
    p = committed(name, "paper")["parameters"]
    nets = {
        "as printed": arms.printed(1, 8, 16, p["steps"], p["batch_size"], p["rate"]).net,
        "as coded": arms.coded(1, 8, 16, p["steps"], p["batch_size"], "coded 1D", domain=(0, 2 * torch.pi)).net,
        "as it should be": arms.proper(1, 8, 16, p["steps_proper"], 32, p["lr"], p["decay"]).net,
    }
    kept = rows(folder_of(name, "paper"))
    return draw_arms.arms_explorer({(arm, sigma): (nets[arm], row[0]) for (arm, sigma), row in kept.items()})


def of_letters() -> ipywidgets.GridBox:
    """What each of 30 clients owns, what it draws alone, and what they draw together."""
    name = "09_stochastic_image"
    p, kept, net = committed(name, "paper")["parameters"], rows(folder_of(name, "paper")), SNN(2, 16, 32, std=0.1)
    picture = letters.Picture(letters.letters((p["height"], p["width"])))
    owned = letters_study.shards_of(picture, p["clients"], p["own"], p["others"], p["seeds"][0])
    x = letters.pixels(picture.shape)
    w = torch.randn(len(x), *net.noise(1), generator=torch_stream(0, "test paths")).float()
    scores = {who: [predict(net, row, x.float(), w)[..., 0].numpy() for row in of] for who, of in kept.items()}
    asked = {"alone": [scores["alone"]], "federation": scores["federation"]}
    return explore(
        lambda client: draw_letters.draw_letters(asked, picture, owned, [p["rounds"]], client, p["rounds"]),
        "the pixels that a client owns, what it draws alone and what the federation draws",
        client=slider(range(1, p["clients"] + 1), 1),
    )
