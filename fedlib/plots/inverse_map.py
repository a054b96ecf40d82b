"""The map at the top of the notebook: a panel of the paper, our figure of it, its setting, and what the runs say."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..runs.claims import all_claims, find


class Panel(NamedTuple):
    """A panel of the paper and where ours is. claims: ids of what the paper says of it."""

    paper: str
    ours: str
    setting: str
    claims: tuple[str, ...] = ()


PANELS = (
    Panel("Fig. 10A-C", "section 5, fig10", "2, 6, 10 slabs, T = 40 000, one seed (five with a sixth of the points)",
          ("fedsciml.q8.error.C1", "fedsciml.q8.error.C2", "fedsciml.q8.spread.C1", "fedsciml.q8.spread.C2",
           "fedsciml.q8.converge", "fedsciml.q8.similar")),
    Panel("Table 2", "section 6, table2", "the same, C recorded in every round, the first epochs of T = 40 000",
          ("fedsciml.q8.sooner.C1", "fedsciml.q8.sooner.C2", "fedsciml.q8.printed.C2", "fedsciml.q8.together.C2",
           "fedsciml.q8.accuracy")),
    Panel("Fig. 11A, errors of k", "section 8, fig11", "six levels, T = 100 000, ten residual points inside",
          ("fedsciml.q9.error.k", "fedsciml.q9.between.k")),
    Panel("Fig. 11A, divergence", "section 8, fig11", "the same", ("fedsciml.q9.divergence.k",)),
    Panel("Fig. 11B, errors of u", "section 8, fig11", "the same", ("fedsciml.q9.error.u", "fedsciml.q9.between.u")),
    Panel("Fig. 11B, divergence", "section 8, fig11", "the same", ("fedsciml.q9.divergence.u",)),
    Panel("Fig. 11, columns 3 and 4", "section 8, fig11", "n = 2 and 24, every seed"),
    Panel("not in the paper", "section 8, points", "10 or 38 residual points inside; 8 and the two ends (the code's)"),
)  # fmt: skip


def rows(panels: Sequence[Panel], results: Sequence[Mapping]) -> list[list[str]]:
    """Rows (panel, our figure, setting, verdicts) of text; of several results that ran a claim the first counts."""
    found, table = all_claims(results), []
    for panel in panels:
        said = {}
        for id in panel.claims:
            said.setdefault(find(id).verdict(found[id]["holds"]), []).append(id.split(".", 1)[1])
        verdicts = "; ".join(f"{word}: {', '.join(ids)}" for word, ids in said.items()) or "shown"
        table.append([panel.paper, panel.ours, panel.setting, verdicts])
    return table
