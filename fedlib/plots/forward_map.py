"""Where the panels of Figs. 7 to 9 of FedSciML are (notebook 05)."""

from ..runs.maps import Panel

SECOND = "first and last of eight levels, one seed, T = 50 000, tanh (two clients also sine)"

PANELS = (
    Panel("Fig. 7A", "section 5, error_w1", "Poisson, n = 6 to 32 of the paper and 2, 4 of the code, five seeds",
          ("fedsciml.q1.poisson", "fedsciml.q2.poisson", "fedsciml.q3.poisson.federated",
           "fedsciml.q3.poisson.isolated")),
    Panel("Fig. 7B", "section 7, divergence", "the same", ("fedsciml.q4.poisson",)),
    Panel("Fig. 7C, D", "section 6, poisson_coarse and poisson_fine", "n = 6 and 32, first seed"),
    Panel("Fig. 8A", "section 5, error_w1", "Helmholtz, 2 to 24 blocks per axis, five seeds",
          ("fedsciml.q1.helmholtz", "fedsciml.q2.helmholtz", "fedsciml.q3.helmholtz.federated",
           "fedsciml.q3.helmholtz.isolated")),
    Panel("Fig. 8B", "section 7, divergence", "the same", ("fedsciml.q5.layers", "fedsciml.q5.slope")),
    Panel("Fig. 8C, D, E", "section 6, helmholtz_coarse and helmholtz_fine", "2 x 2 and 24 x 24 blocks, first seed"),
    Panel("Fig. 9A", "section 5, error_w1", f"Allen-Cahn, two clients: {SECOND}",
          ("fedsciml.q1.allen_cahn_2", "fedsciml.q3.allen_cahn_2.federated", "fedsciml.q3.allen_cahn_2.isolated",
           "fedsciml.q7.allen_cahn_2")),
    Panel("Fig. 9B", "section 5, error_w1", f"three clients, half of the points: {SECOND}",
          ("fedsciml.q1.allen_cahn_3", "fedsciml.q3.allen_cahn_3.federated", "fedsciml.q3.allen_cahn_3.isolated",
           "fedsciml.q7.allen_cahn_3")),
    Panel("Fig. 9C, D, E", "section 6, allen_cahn_2_coarse and _fine", "n = 2 and 40"),
    Panel("Fig. 9F, G", "section 6, allen_cahn_3_coarse and _fine", "n = 3 and 60"),
    Panel("not in the paper", "section 8, gap", "Poisson, n = 32: what closes the gap to the centralised model"),
)  # fmt: skip
