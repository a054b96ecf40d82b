"""FedAvg as one writes it in JAX: networks by hand, optax, ``jit(vmap(scan))`` of a whole round."""

from collections import defaultdict
from itertools import count

import numpy as np
import torch

from fedlib.federated.batches import batches, noise_stream
from fedlib.federated.stack import as_dict, stack

from .problems import K0, Problem


def layers(params: dict, prefix: str = "") -> list:
    """(W, b) of the linear layers whose names begin so, first to last."""
    names = sorted(name.removesuffix("weight") for name in params if name.startswith(prefix) and "weight" in name)
    return [(params[name + "weight"], params[name + "bias"]) for name in names]


def mlp(layers, x, activation):
    *hidden, (W, b) = layers
    for V, a in hidden:
        x = activation(x @ V.T + a)
    return x @ W.T + b


def line(params, batch):
    """(1/n) sum (N(x) - f(x))^2."""
    import jax.numpy as jnp

    return batch["w"] @ (mlp(layers(params), batch["x"], jnp.tanh)[:, 0] - batch["f"]) ** 2


def helmholtz(params, batch):
    """Value, gradient and Laplacian of N forward through the layers, then those of u = x (1 - x) y (1 - y) N."""
    import jax.numpy as jnp

    x = batch["x"]
    z, d, laplacian, last = x, list(jnp.eye(2)[:, None]), 0 * x[:1], len(layers(params)) - 1
    for i, (W, b) in enumerate(layers(params)):
        z, d, laplacian = z @ W.T + b, [v @ W.T for v in d], laplacian @ W.T
        if i < last:
            s, c = jnp.sin(z), jnp.cos(z)
            z, d, laplacian = s, [c * v for v in d], c * laplacian - s * sum(v * v for v in d)
    p, slope = x * (1 - x), 1 - 2 * x
    N, (N_x, N_y), N_l = z[:, 0], (v[:, 0] for v in d), laplacian[:, 0]
    product, u = p[:, 0] * p[:, 1], p[:, 0] * p[:, 1] * N
    u_l = product * N_l + 2 * (slope[:, 0] * p[:, 1] * N_x + slope[:, 1] * p[:, 0] * N_y) - 2 * p.sum(1) * N
    return batch["w"] @ (-u_l - K0**2 * u - batch["f"]) ** 2


def antiderivative(params, batch):
    """All pairs of functions and points; the trunk has an activation after its last layer, too."""
    import jax.nn as nn

    trunk = nn.relu(mlp(layers(params, "trunk"), batch["y"], nn.relu))
    out = mlp(layers(params, "branch"), batch["u"], nn.relu) @ trunk.T + params["bias"]
    return batch["w"] @ ((out - batch["s"]) ** 2 @ batch["q"])


def pendulum(params, batch):
    """A point for each function."""
    import jax.nn as nn

    branch, trunk = (mlp(layers(params, p), batch[x], nn.relu) for p, x in (("branch", "u"), ("trunk", "y")))
    return batch["w"] @ ((branch * trunk).sum(-1) + params["bias"][0] - batch["s"]) ** 2


def stochastic(params, batch):
    """Squared error of Euler-Maruyama paths."""
    import jax

    N = params["s"].shape[0]
    X = (batch["x"] @ params["lift.weight"].T + params["lift.bias"])[:, None]
    for n in range(N):
        drift, g = mlp(layers(params, f"drift.{n}"), X, jax.numpy.tanh), jax.nn.softplus(params["s"][n])
        X = X + drift / N + N**-0.5 * g * batch["noise"][:, n]
    out = (X @ params["read.weight"].T + params["read.bias"])[..., 0]
    return batch["w"] @ ((out - batch["y"][:, None]) ** 2).mean(-1)


LOSSES = {
    "line": line, "Helmholtz": helmholtz, "antiderivative": antiderivative, "pendulum": pendulum,
    "stochastic": stochastic,
}  # fmt: skip


def knows(problem: Problem) -> bool:
    return problem.name in LOSSES


def import_library():
    """JAX on as many threads as torch has, and optax."""
    import optax

    from fedlib.federated.xla import aten  # JAX on as many threads as torch has

    jax = aten.jax

    return jax, optax


def one_round(problem: Problem):
    """(params, state, fixed, drawn, pool, group, share) -> (params, state): local steps of all rows, then the means."""
    experiment = problem.experiment
    jax, optax = import_library()
    loss, adam, steps = LOSSES[problem.name], optax.adam(problem.federations[0].lr), experiment.local.updates

    def local(params, state, fixed, drawn, pool):
        def step(carry, drawn):
            params, state = carry
            batch = {name: values[drawn["at"]] for name, values in pool.items()} if drawn else {}
            gradient = jax.grad(loss)(params, fixed | batch | drawn)
            updates, state = adam.update(gradient, state, params)
            return (optax.apply_updates(params, updates), state), None

        return jax.lax.scan(step, (params, state), drawn, length=steps)[0]

    def play(params, state, fixed, drawn, pool, group, share):
        if state is None:
            state = jax.vmap(adam.init)(params)
        params, state = jax.vmap(local, in_axes=(0, 0, {name: ROWS.get(name) for name in fixed}, 0, None))(
            params, state, fixed, drawn, pool
        )

        def mean(x):
            weighted = share.reshape(-1, *[1] * (x.ndim - 1)) * x
            return jax.ops.segment_sum(weighted, group, len(group))[group]

        return jax.tree.map(mean, params), None if experiment.reset_moments else state

    return jax.jit(play, donate_argnums=(0, 1))


ROWS = dict.fromkeys(("x", "f", "u", "s", "b", "g", "w"), 0)
"""What every client has an own of in a full batch."""


def drawn(problem: Problem, clients, r: int) -> dict[str, np.ndarray]:
    """Points, weights and noise [rows, steps, B, ...] of a round of mini-batches; nothing for full ones."""
    experiment = problem.experiment
    if experiment.local.batch_size is None:
        return {}
    at, noise = [], []
    for fed, k in clients:
        chosen = batches(fed.seed, k, r, len(fed.shards[k]), experiment.local)
        at.append(np.where(chosen < 0, -1, fed.shards[k][chosen]))
        if experiment.noise:
            draw = noise_stream(fed.seed, k, r, len(fed.shards[k]), experiment.local, experiment.noise)
            noise.append(draw(len(chosen)))
    at = np.stack(at)
    weight = (at >= 0) / (at >= 0).sum(-1, keepdims=True)
    found = {"at": np.maximum(at, 0).astype(np.int32), "w": weight.astype(np.float32)}
    return found | ({"noise": np.asarray(noise)} if noise else {})


def federation(problem: Problem):
    """A way. Clients with as many points are one ``vmap``; no federation has others."""
    experiment = problem.experiment
    jax, _ = import_library()
    clients, alike, full = problem.clients, defaultdict(list), experiment.local.batch_size is None
    number = {id(fed): i for i, fed in enumerate(problem.federations)}
    for i, (fed, k) in enumerate(clients):
        alike[len(fed.shards[k]) if full else 0].append(i)
    theta, parts = stack(experiment.net, [(fed.seed,) for fed, _ in clients], experiment.init), []
    play = one_round(problem)
    pool = {name: values.numpy() for name, values in problem.pool.items()}
    constants = {name: jax.numpy.asarray(values) for name, values in experiment.constants.items()}
    for rows in alike.values():
        # copies: a round is given its weights' memory to write into
        params = {name: jax.numpy.array(v.numpy()) for name, v in as_dict(experiment.net, theta[rows]).items()}
        where, fixed = [clients[i] for i in rows], dict(constants)
        if full:
            shards = np.stack([fed.shards[k] for fed, k in where])
            fixed |= {name: jax.numpy.asarray(values[shards]) for name, values in pool.items()}
            fixed["w"] = jax.numpy.full(shards.shape, 1 / shards.shape[1], "float32")
        # a federation is a group; a client alone is one, too
        alone = [fed.mixing.__name__ == "isolated" for fed, _ in where]
        names = [(number[id(fed)], k * own) for (fed, k), own in zip(where, alone, strict=True)]
        group = np.unique(names, axis=0, return_inverse=True)[1].ravel()
        share = np.array([1 if own else fed.p[k] for (fed, k), own in zip(where, alone, strict=True)], np.float32)
        parts.append([rows, where, params, None, fixed, group, share])
    pool, numbers = {} if full else {name: jax.numpy.asarray(v) for name, v in pool.items()}, count()

    def run(n):
        for r in (next(numbers) for _ in range(n)):
            for part in parts:
                _, where, params, state, fixed, group, share = part
                part[2:4] = play(params, state, fixed, drawn(problem, where, r), pool, group, share)
        for rows, _, params, *_ in parts:
            columns = [np.asarray(params[name]).reshape(len(rows), -1) for name, _ in experiment.net.named_parameters()]
            theta[rows] = torch.as_tensor(np.concatenate(columns, 1))
        return theta.clone()

    return run
