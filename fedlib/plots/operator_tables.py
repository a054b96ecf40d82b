"""Tables of what committed results of operator learning say: errors and weights, mean and st.dev. over seeds."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..numerics.metrics import mean_sd, plus_minus
from ..numerics.spaces import TERMS
from ..papers.fedsciml.operators.problem import CLIENTS, TITLES
from ..problems.operator_claims import listed
from ..problems.operator_study import changes


def number(values: np.ndarray) -> str:
    """Errors (%), one per seed, as text."""
    return plus_minus(values, 2 if np.mean(values) < 10 else 1)


def final_table(name: str, e: Mapping) -> tuple[list, list]:
    """Errors (%) of a run at the end, mean over seeds: e as of ``operator_study.errors``."""
    alone, central = e["isolated"].mean(0).T, e["centralised"]
    rows = [[f"client {k + 1} alone ({kind})", *alone[k]] for k, kind in enumerate(CLIENTS[name])]
    rows.append(["federated", *e["federated"].mean(0)])
    rows.append(["centralised, union", *(central[n].mean() if n in central else "-" for n in e["levels"])])
    S = len(e["federated"])
    title = f"{TITLES[name]}: e (%), mean over {S} seed{'s' * (S > 1)}"
    return [title, *(f"n = {n}" for n in e["levels"])], rows


def level_table(results: Sequence[Mapping]) -> tuple[list, list]:
    """Errors (%) of all models at all levels; the last level's centralised model, too."""
    levels = sorted({n for result in results for of in result["metrics"]["levels"].values() for n in of})
    rows = []
    for metrics in (result["metrics"] for result in results):
        for name, own in metrics["levels"].items():
            e = {kind: np.array(values) for kind, values in metrics["error_percent"][name].items()}  # [S, levels, ...]
            clients = {f"client {k + 1} alone": e["isolated"][..., k] for k in range(e["isolated"].shape[2])}
            for who, values in (clients | {"federated": e["federated"]}).items():
                at = dict(zip(own, values.T, strict=True))
                rows.append([f"{TITLES[name]}, {who}", *(number(at[n]) if n in at else "" for n in levels)])
            if name in metrics["centralised_percent"]:
                central = np.array(metrics["centralised_percent"][name])[:, -1]
                rows.append([f"{TITLES[name]}, centralised", *[""] * (len(levels) - 1), number(central)])
    return ["e (%)", *(f"n = {n}" for n in levels)], rows


def end_table(results: Sequence[Mapping]) -> tuple[list, list]:
    """What the last client alone errs more than the first where both draw from one space, n = TERMS (%)."""
    rows = []
    for metrics in (result["metrics"] for result in results):
        for name, own in metrics["levels"].items():
            e = np.array(metrics["error_percent"][name]["isolated"])[:, own.index(TERMS)]
            mean, sd = mean_sd(e[:, -1] - e[:, 0])
            rows.append([TITLES[name], f"{mean:.2f}", f"{2 * sd / len(e) ** 0.5:.2f}" if len(e) > 1 else "one seed"])
    return [f"n = {TERMS}", "last client less first client, e (%)", "two standard errors"], rows


def divergence_table(results: Sequence[Mapping]) -> tuple[list, list]:
    """Weight divergence at the lowest level over that at the highest, per matrix."""
    found = {name: changes(of) for r in results for name, of in r["metrics"]["weight_divergence"].items()}
    matrices = sorted({matrix for factors in found.values() for matrix in factors})
    text = {name: {matrix: f"{f:.2f}" for matrix, f in factors.items()} for name, factors in found.items()}
    rows = [[TITLES[name], *(factors.get(matrix, "") for matrix in matrices)] for name, factors in text.items()]
    return ["divergence, lowest over highest n", *matrices], rows


def local_updates_table(levels: Sequence[int], errors: Mapping[object, np.ndarray]) -> tuple[list, list]:
    """Errors (%) of the federation for some numbers of local steps: E -> [S, levels]."""
    rows = [[f"E = {E}", *(plus_minus(of_level, 2) for of_level in np.transpose(e))] for E, e in errors.items()]
    return ["e (%), mean ± st.dev. over seeds", *(f"n = {n}" for n in levels)], rows


def example_table(examples: Mapping[str, Mapping]) -> tuple[list, list]:
    """Errors (%) of the examples, and how often the federation beats each client over all test functions.

    examples: name of the operator -> {n: ``operator_examples.findings``}.
    """
    rows = []
    for name, of in examples.items():
        for n, found in of.items():
            e, below = found["example"], found["below"]
            row = [listed([e[who]]) for who in ("federated", "isolated 1", "isolated 2")]
            row += [f"{share:.0%}" for share in (below["isolated 1"], below["isolated 2"], found["best"])]
            rows.append([f"{TITLES[name]}, n = {n}", *row, str(found["functions"])])
    header = ["example", "federated, e (%)", "client 1 alone", "client 2 alone"]
    return [*header, "federation beats client 1", "client 2", "both", "of functions"], rows


def example_words(examples: Mapping[str, Mapping]) -> list[str]:
    """What is seen in the examples, a sentence each: who is best, and at how many functions the federation is."""
    said = []
    for name, of in examples.items():
        for n, found in of.items():
            e = {who: v for who, v in found["example"].items() if who != "centralised"}
            order = ", then ".join(who.replace("isolated", "client") for who in sorted(e, key=e.__getitem__))
            rule = f"of {found['functions']} functions the federation is best at {found['best']:.0%}"
            said.append(f"{TITLES[name]}, n = {n}: the best here is {order}; {rule}")
    return said
