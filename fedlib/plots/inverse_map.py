"""Where the panels of Figs. 10 and 11 and Table 2 of FedSciML are (notebook 06)."""

from ..notebook.maps import Panel

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
