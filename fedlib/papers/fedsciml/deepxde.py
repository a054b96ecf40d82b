"""Is it our code? What ``benchmarks/deepxde_seeds.py`` measured: final errors as the authors run them, and as we do."""

import json
from collections.abc import Mapping

from ...trainings.settings import FIGURES

FILE = FIGURES / "deepxde/seeds.json"


def stored() -> dict:
    """The committed comparison."""
    return json.loads(FILE.read_text(encoding="utf-8"))


HEADER = ("problem", "n", "steps, of the paper's", "DeepXDE, median (range), %", "ours", "p, KS", "p, MW")


def rows(result: Mapping) -> list[list[str]]:
    """Rows of HEADER, one for each error of each problem. result: as of ``result_of``."""
    table = []
    for name, studied in result["problems"].items():
        for error, c in studied["compared"].items():
            sides = [f"{c['median'][s]:.2g} ({c['range'][s][0]:.2g} to {c['range'][s][1]:.2g})" for s in c["median"]]
            steps = f"{studied['E'] * studied['rounds']} of {studied['E'] * studied['of_rounds']}"
            p = [f"{c[test]:.2f}" for test in ("p_kolmogorov_smirnov", "p_mann_whitney")]
            table.append([f"{name}, {error}", str(studied["level"]), steps, *sides, *p])
    return table


def differ(result: Mapping, level: float = 0.05) -> list[str]:
    """Errors whose two samples differ: the smaller p is below level over the number of tests (Bonferroni)."""
    p = {
        f"{name}, {error}": min(c["p_kolmogorov_smirnov"], c["p_mann_whitney"])
        for name, studied in result["problems"].items()
        for error, c in studied["compared"].items()
    }
    return [error for error, smaller in p.items() if smaller < level / (2 * len(p))]
