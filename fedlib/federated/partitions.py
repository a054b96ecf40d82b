"""Who gets which points: every rule returns one index array per client, a disjoint cover of 0..N-1."""

from collections.abc import Sequence

import numpy as np


def deal(n_points: int, n_clients: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Shuffle 0..n_points-1 and deal it to n_clients without repetition; sizes differ by at most 1.

    (Fed-DeepONet, Section 4: N / C triplets for each client.)
    """
    check_generator(rng)
    if not 1 <= n_clients <= n_points:
        raise ValueError(f"{n_clients} clients cannot share {n_points} points; use 1 to {n_points} clients")
    return np.array_split(rng.permutation(n_points), n_clients)


def check_generator(rng) -> None:
    """ValueError where a seed stands for the generator."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng = {rng!r}: expected a generator of numpy, np.random.default_rng({rng!r})")


def without_gaps(values: np.ndarray, name: str) -> np.ndarray:
    """The values [N] as an array; ValueError that says how many are missing (NaN, NaT, None, masked)."""
    masked = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else False
    values = np.asarray(values)
    missing = (values != values) | np.equal(values, None) | masked
    if missing.any():
        raise ValueError(
            f"{missing.sum()} of {len(values)} {name} are missing, the first at point {np.flatnonzero(missing)[0]}: "
            "such points cannot be dealt out by them; leave them out, or give them a value of their own"
        )
    return values


def sorted_shards(
    values: np.ndarray, n_shards: int, n_clients: int, rng: np.random.Generator, sizes: np.ndarray | None = None
) -> list[np.ndarray]:
    """Label-sorted shards: sort by value, cut into n_shards blocks, deal n_shards / C random blocks to each client.

    With n_shards = C every client owns one narrow range of values; with many shards it tends to a random deal.
    (Fed-DeepONet, Experiment 3a; McMahan et al. 2017.)

    Args:
        values: what is sorted, [N]. n_shards: a multiple of n_clients, at most N.
        sizes: relative sizes of the blocks [n_shards]; equal by default.
    """
    check_generator(rng)
    if n_shards % n_clients or not n_clients <= n_shards <= len(values):
        raise ValueError(
            f"n_shards = {n_shards} with {n_clients} clients and {len(values)} points: expected a multiple of the "
            f"number of clients, at most one shard per point"
        )
    values = without_gaps(values, "values")
    sizes = np.ones(n_shards) if sizes is None else np.asarray(sizes, float)
    if sizes.shape != (n_shards,) or not (sizes > 0).all():
        raise ValueError(f"sizes has shape {sizes.shape}: expected {n_shards} positive numbers")
    cuts = np.round(np.cumsum(sizes)[:-1] / sizes.sum() * len(values)).astype(int)
    blocks = np.split(np.argsort(values, kind="stable"), cuts)
    if empty := sum(len(b) == 0 for b in blocks):
        raise ValueError(
            f"{empty} of {n_shards} shards would be empty for {len(values)} points; use fewer or larger ones"
        )
    return [np.concatenate([blocks[i] for i in dealt]) for dealt in np.split(rng.permutation(n_shards), n_clients)]


def dirichlet(
    labels: np.ndarray, n_clients: int, alpha: float, rng: np.random.Generator, least: int = 0, draws: int = 1000
) -> list[np.ndarray]:
    """Label skew: of every class, client k gets the share q_k, q ~ Dirichlet(alpha, ..., alpha) (Hsu et al. 2019).

    Small alpha: few labels per client; large alpha: a random deal. Clients differ in size.

    Args:
        labels: of each point [N]. least: points of every client; drawn again, ``draws`` times at most, until all have
            them (Li et al. 2022, NIID-Bench). 0: drawn once.

    Raises:
        ValueError: labels are missing, or a client has no points, or not so many.
    """
    check_generator(rng)
    if not alpha > 0:
        raise ValueError(f"alpha = {alpha!r}: expected a number > 0, e.g. 1 for a moderate label skew")
    labels = without_gaps(labels, "labels")
    if least * n_clients > len(labels):
        raise ValueError(f"least = {least} points for each of {n_clients} clients: there are {len(labels)} points")
    of_label = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    for _ in range(draws if least else 1):
        owner = np.full(len(labels), -1)
        for points in of_label:
            points = rng.permutation(points)
            ends = np.cumsum(rng.dirichlet(np.full(n_clients, alpha)))[:-1] * len(points)
            owner[points] = np.searchsorted(ends, np.arange(len(points)), side="right")
        sizes = np.bincount(owner, minlength=n_clients)
        if sizes.min() >= max(least, 1):
            return owned(owner, n_clients)
    raise ValueError(
        f"client {sizes.argmin()} of {n_clients} gets {sizes.min()} points with alpha = {alpha:g}; use a larger alpha, "
        + (f"a smaller least than {least}" if least else "fewer clients, or least=1, which draws again")
    )


def pick_sources(n_points: int, n_clients: int, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """Deal as ``deal``, and let every client choose one of two input distributions at random.

    Client c's points come from source 0 (indices 0..n-1) or source 1 (indices n..2n-1) of a pool with both,
    and at least one client uses each. (Fed-DeepONet, Experiment 3b.)

    Returns:
        (shards, source of each client [C]).
    """
    check_generator(rng)
    if n_clients < 2:
        raise ValueError(f"{n_clients} client cannot use two input distributions; use at least 2 clients")
    source = rng.integers(0, 2, n_clients)
    if source.min() == source.max():
        source[rng.integers(n_clients)] = 1 - source[0]
    return [shard + n_points * s for shard, s in zip(deal(n_points, n_clients, rng), source, strict=True)], source


def focused(
    blocks: list[np.ndarray], n_points: int, n_clients: int, main: int, other: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Clients in equal groups, one per block: ``main`` points of the own block and ``other`` in total from elsewhere.

    Without repetition within a client; clients may share points, so this is no disjoint cover. (FedStNN, Section 5.)

    Args:
        blocks: index arrays; they may overlap. n_points: of the whole domain.
    """
    check_generator(rng)
    if n_clients % len(blocks):
        raise ValueError(f"{n_clients} clients in {len(blocks)} groups: give each group equally many clients")
    elsewhere = [np.setdiff1d(np.arange(n_points), block) for block in blocks]
    if (small := min(map(len, blocks))) < main or (few := min(map(len, elsewhere))) < other:
        raise ValueError(
            f"main = {main} of a block of {small} points, other = {other} of {few if small >= main else 'the rest'}: "
            "a client's points are drawn without repetition; ask for fewer"
        )
    shards = []
    for k in range(n_clients):
        home = k * len(blocks) // n_clients
        drawn = [rng.choice(a, n, replace=False) for a, n in ((blocks[home], main), (elsewhere[home], other))]
        shards.append(np.concatenate(drawn))
    return shards


def index_rule(n_points: int, n_clients: int, pieces: int) -> list[np.ndarray]:
    """Sorted points in p K pieces of q = N div (p K); piece i K + j goes to client j, i = 0..p-1.

    The N mod (p K) last points are dealt one by one to clients 0, 1, ... (FedSciML, Section 2.2.2; authors' code.)
    """
    q, rest = divmod(n_points, n_clients * pieces)
    if q == 0:
        raise ValueError(
            f"{n_points} points cannot fill {pieces} pieces for each of {n_clients} clients; "
            f"use at most {n_points // n_clients} pieces per client"
        )
    owner = np.arange(n_points) // q % n_clients
    owner[n_points - rest :] = np.arange(rest) % n_clients
    return [np.flatnonzero(owner == k) for k in range(n_clients)]


def _blocks(x: np.ndarray, low: float, high: float, n: int) -> np.ndarray:
    """Number 0..n-1 of the equal block of [low, high] that each coordinate lies in; high belongs to the last."""
    x = without_gaps(x, "coordinates")
    if (x < low).any() or (x > high).any():
        raise ValueError(f"points lie in [{x.min():g}, {x.max():g}], outside the domain [{low:g}, {high:g}]")
    return np.minimum((n * (x - low) / (high - low)).astype(int), n - 1)


def slices(x: np.ndarray, low: float, high: float, n_clients: int, pieces: int) -> list[np.ndarray]:
    """Equal slabs in x: slab i K + j of p K goes to client j (FedSciML, Fig. 2B).

    Args:
        x: coordinate of each point [N]; low, high: the domain; pieces: p, slabs per client.
    """
    return owned(_blocks(x, low, high, n_clients * pieces) % n_clients, n_clients)


def checkerboard(x: np.ndarray, y: np.ndarray, domain: tuple[float, float], n_clients: int, blocks: int):
    """s x s equal blocks of a square domain; block (i, j) goes to client (i + j) mod K (FedSciML, Fig. 2C, D)."""
    i, j = (_blocks(z, *domain, blocks) for z in (x, y))
    return owned((i + j) % n_clients, n_clients)


def per_client(n: int, clients: int) -> int:
    """Pieces per client when the domain has n subdomains in all."""
    if n % clients or n < clients:
        raise ValueError(f"{n} subdomains cannot be dealt evenly to {clients} clients; use a multiple of {clients}")
    return n // clients


def private(owners: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What each client owns and nobody else does: without the points that all share."""
    counts = np.bincount(np.concatenate(owners))
    return [np.asarray(shard)[counts[shard] == 1] for shard in owners]


def owned(owner: np.ndarray, n_clients: int) -> list[np.ndarray]:
    """Owner of each point [N] -> one index array per client; refuses a client without points, and other owners."""
    owner = without_gaps(owner, "owners")
    if outside := sorted({*owner.tolist()} - {*range(n_clients)}, key=str):
        raise ValueError(f"owner has {outside[0]!r}; expected the client of each point, 0..{n_clients - 1}")
    shards = [np.flatnonzero(owner == k) for k in range(n_clients)]
    if empty := [k for k, shard in enumerate(shards) if not len(shard)]:
        raise ValueError(
            f"client {empty[0]} of {n_clients} gets no point; use more blocks, more points or fewer clients"
        )
    return shards


def check_partition(owners: Sequence[np.ndarray], N: int, where: str) -> None:
    """ValueError unless every point has one owner, or all K own it; ``check_shards`` has seen them."""
    points, K = np.concatenate(owners).astype(int), len(owners)
    count = np.bincount(points, minlength=N)
    wrong = np.flatnonzero((count != 1) & (count != K))
    if not len(wrong):
        return
    clients = [k for k, shard in enumerate(owners) if wrong[0] in shard]
    problem = f"belongs to clients {clients}" if clients else "belongs to nobody"
    raise ValueError(
        f"{where}: point {wrong[0]} {problem}; expected one owner, or all {K} of them. Mend the owners; if this is "
        "meant, say Data(..., partition=False)"
    )


def halton(m: int, d: int = 1) -> np.ndarray:
    """The first m Halton points [m, d] in [0, 1)^d, bases 2, 3, ..., not scrambled."""
    from scipy.stats import qmc  # takes longer to load than all of numpy and matplotlib

    return qmc.Halton(d, scramble=False).random(m)


def hammersley(m: int) -> np.ndarray:
    """m Hammersley points [m, 2] in the unit square, in the variant that the FedSciML experiments used.

    Second coordinate k / m, first the base-2 radical inverse of k - 1 (scikit-optimize 0.10.2 with both skips
    at -1; its index -1 gives 0.5), so (0.5, 0), (0, 1/m), (0.5, 2/m), (0.25, 3/m), ...
    """
    inverse = halton(m)[:, 0]
    return np.stack([np.concatenate([[0.5], inverse[: m - 1]]), np.arange(m) / m], axis=1)
