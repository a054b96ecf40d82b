"""Where the panels of FedSciML's Sections 2 to 4 are (notebook 04)."""

from ..notebook.maps import Panel

LINE = "19 levels, 5 seeds, T = 15 000"
SQUARE = "1600 points, T = 15 000, 3 seeds"

PANELS = (
    Panel("Fig. 1", "section 4, the sweep", "any"),
    Panel("Table 1", "section 1, table1", "an example of each kind"),
    Panel("Fig. 2A", "section 3, fig2_w1", "200 points, 2 clients", ("fedsciml.fig2a",)),
    Panel("Fig. 2B, C", "section 3, fig2_partitions, fig2_w1", "500 points", ("fedsciml.q16", "fedsciml.target.q16")),
    Panel("Fig. 2D", "section 3, fig2_w1", "3, 4, 5 clients", ("fedsciml.fig2d.trend", "fedsciml.fig2d.clients")),
    Panel("Fig. 2E", "notebook 07", "operators"),
    Panel("Fig. 3", "section 9, fig3", "real weights, 2 and 100 subdomains, T = 15 000", ("fedsciml.fig3.apart",)),
    Panel("Fig. 4A", "section 5, fig4_ab", LINE,
          ("fedsciml.q1.line", "fedsciml.q2.line", "fedsciml.target.function.coarsest")),
    Panel("Fig. 4B", "section 5, fig4_ab", LINE, ("fedsciml.q4.line",)),
    Panel("Fig. 4C left", "section 5, fig4_c", "2 subdomains; drawn: one seed",
          ("fedsciml.fig4c.alone", "fedsciml.fig4c.better", "fedsciml.fig4c.wave")),
    Panel("Fig. 4C right", "section 5, fig4_c", "100 subdomains; drawn: one seed",
          ("fedsciml.q3.function", "fedsciml.q3.function.alone")),
    Panel("Fig. 5A", "section 6, fig5_ab", f"5 levels of 25, {SQUARE}",
          ("fedsciml.q1.square", "fedsciml.q2.square", "fedsciml.fig5.fall")),
    Panel("Fig. 5B", "section 6, fig5_ab", "the same", ("fedsciml.q4.square",)),
    Panel("Fig. 5C, D, E", "section 6, fig5_maps", "2 and 50 slabs, 1600 points, T = 15 000, one seed",
          ("fedsciml.fig5.better", "fedsciml.fig5.missing.coarse", "fedsciml.fig5.missing.fine")),
    Panel("Fig. 6A-C", "section 7, fig6", f"3 levels, {SQUARE}",
          ("fedsciml.q6.trend", "fedsciml.q6.alone", "fedsciml.q6.gap", "fedsciml.target.q6.ratio")),
    Panel("Fig. 6D", "section 7, fig6", "the same", ("fedsciml.q6.two-five", "fedsciml.target.q6.order")),
    Panel("Sec. 2.1.2, Adam", "section 8, what_if", "5 seeds, T = 15 000", ("fedsciml.q17",)),
    Panel("Theorem 3.1", "section 9, theorem", "E to 20, 100 rounds", ("fedsciml.q18",)),
)  # fmt: skip
