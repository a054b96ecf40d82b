"""Where the panels of Figs. 12 to 15 of FedSciML are (notebook 07)."""

from ..notebook.maps import Panel

FIVE = "n = 2, 4, 6, 8, 10, T = 10 000 of 50 000, 21 x 14 of 101 x 101 points, five seeds"


PANELS = (
    Panel("Fig. 12A", "section 5, fig12_14_error", "ten n, T = 50 000, five seeds",
          ("fedsciml.q10.below.antiderivative", "fedsciml.q10.falls.antiderivative",
           "fedsciml.q10.central.antiderivative", "fedsciml.q10.jump", "fedsciml.q10.coverage")),
    Panel("Fig. 12B", "section 7, divergence", "n = 1, 5, 6, 10, five seeds",
          ("fedsciml.q11.less", "fedsciml.q11.trend")),
    Panel("Fig. 12C, D", "section 6, example_antiderivative", "n = 6 and 10, T = 50 000, one seed",
          ("fedsciml.q10.example.antiderivative",)),
    Panel("Section 6.3, no panel", "section 5, fig12_14_error",
          "n = 2, 5, 6, 10, T = 50 000, 21 x 11 of 101 x 101 points, one seed",
          ("fedsciml.q10.below.diffusion_reaction", "fedsciml.q10.falls.diffusion_reaction",
           "fedsciml.q12.below.diffusion_reaction", "fedsciml.q12.ten.diffusion_reaction")),
    Panel("Fig. 13", "section 6, example_diffusion_reaction", "n = 10, T = 50 000, 21 x 11 points, one seed",
          ("fedsciml.q10.example.diffusion_reaction", "fedsciml.q12.example.diffusion_reaction")),
    Panel("Fig. 14A", "section 5, fig12_14_error", FIVE,
          ("fedsciml.q10.below.burgers_2", "fedsciml.q10.falls.burgers_2", "fedsciml.q10.central.burgers_2",
           "fedsciml.q12.below.burgers_2", "fedsciml.q13.sharp")),
    Panel("Fig. 14B", "section 5, fig12_14_error", FIVE,
          ("fedsciml.q10.below.burgers_3", "fedsciml.q10.falls.burgers_3", "fedsciml.q10.central.burgers_3",
           "fedsciml.q12.below.burgers_3", "fedsciml.q12.both.burgers_3", "fedsciml.q12.similar.burgers_3")),
    Panel("Fig. 14C", "section 5, fig14c_clients", FIVE, ("fedsciml.q14.better",)),
    Panel("Fig. 14D, E", "section 6, example_burgers_2", "n = 5 and 10, T = 50 000, 21 x 14 points, one seed",
          ("fedsciml.q13.decay",)),
    Panel("Fig. 15A", "section 8, fig15_local_updates",
          "five E at n = 2, 5, 10, five seeds; E = 1, 5, 1000 at all n, one seed", ("fedsciml.q15.antiderivative",)),
    Panel("Fig. 15B", "section 8, fig15_local_updates",
          "E = 1, 100, 1000 at n = 5, 10, T = 5000 of 50 000, 21 x 11 points, one seed",
          ("fedsciml.q15.diffusion_reaction",)),
)  # fmt: skip
