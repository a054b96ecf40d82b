"""Draws figures/00_start/round_by_round.png, the first picture: two clients own a half each, and learn the whole curve.

python tools/round_by_round.py
"""

import numpy as np
import torch
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.reference import average, client_batches, local_updates
from fedlib.federated.stack import draw_parameters, load
from fedlib.files import ROOT, replacing
from fedlib.models.networks import glorot_uniform, mlp
from fedlib.notebook import pages
from fedlib.notebook.style import CLIENTS, COLORS, DASHES, panels, use
from fedlib.streams import torch_stream

SHOWN = (1, 4, 12, 300)  # rounds
STEPS = 20  # local steps of Adam in each


def f(x):
    return np.sin(2 * np.pi * x) + 0.4 * np.cos(5 * np.pi * x)


def loss(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()


def learn() -> dict[int, tuple[list, np.ndarray]]:
    """round -> (curves of the clients after their local steps, curve of their average)."""
    x = torch.linspace(-1, 1, 60)[:, None]
    pool = {"x": x, "y": torch.as_tensor(f((x[:, 0].numpy() + 1) / 2)).float()}
    fed = Federation([np.arange(30), np.arange(30, 60)], lr=2e-3)
    nets = [mlp((1, 32, 32, 1), nn.Tanh) for _ in fed.shards]
    for net in nets:
        load(net, draw_parameters(net, glorot_uniform, torch_stream(0, "round by round")))
    optimizers = [torch.optim.Adam(net.parameters(), fed.lr) for net in nets]
    curves = {}
    for r in range(max(SHOWN)):
        for c, net in enumerate(nets):
            local_updates(net, optimizers[c], loss, client_batches(pool, fed, c, r, Local(STEPS)))
        alone = [net(2 * grid - 1)[:, 0].detach().numpy() for net in nets]
        mean = average(nets, fed.p)
        for net in nets:
            load(net, mean)
        curves[r + 1] = alone, nets[0](2 * grid - 1)[:, 0].detach().numpy()
    return curves


grid = torch.linspace(0, 1, 200)[:, None]


def main():
    torch.set_num_threads(1)
    use()
    curves, z = learn(), grid[:, 0].numpy()
    fig, axes = panels(1, len(SHOWN), size=(2.3, 2.1), sharey=True)
    for ax, r in zip(axes[0], SHOWN, strict=True):
        alone, together = curves[r]
        ax.plot(z, f(z), color=COLORS["truth"], lw=3, alpha=0.25, label="truth")
        for c, curve in enumerate(alone):
            half = slice(0, 100) if c == 0 else slice(100, 200)
            ax.plot(z, curve, ls=DASHES[c], color=CLIENTS[c], lw=1.5, label=f"client {c + 1}, before the average")
            ax.plot(z[half], np.full(100, -1.75), color=CLIENTS[c], lw=4)
        ax.plot(z, together, color=COLORS["federated"], lw=2, label="federated")
        ax.set(title=f"round {r}", ylim=(-1.85, 1.85), xticks=[0, 0.5, 1], xlabel="x")
    axes[0, 0].text(0.25, -1.5, "client 1 knows this", ha="center", fontsize=7)
    axes[0, 0].text(0.75, -1.5, "client 2 this", ha="center", fontsize=7)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    with replacing(ROOT / "figures/00_start/round_by_round.png") as partial:
        partial.write_bytes(pages.png(fig))


if __name__ == "__main__":
    main()
