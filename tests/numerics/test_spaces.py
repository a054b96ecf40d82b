"""Function spaces: Gaussian random fields, Chebyshev and Fourier series against theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlib.numerics.spaces import (
    TERMS,
    chebyshev_draws,
    chebyshev_series,
    fourier_series,
    gaussian_kernel,
    grf,
    grf_basis,
    support,
)
from fedlib.streams import stream


@pytest.mark.parametrize("length_scale", [0.05, 0.2, 1.0, 4.2])
def test_basis_reproduces_the_kernel_between_the_nodes(length_scale):
    t = np.sort(stream(0, "t").uniform(size=37))
    phi = grf_basis(t, length_scale)
    np.testing.assert_allclose(phi @ phi.T, gaussian_kernel(t, t, length_scale), atol=1e-9)


@pytest.mark.parametrize("length_scale", [0.05, 0.2, 1.0, 4.2])
def test_the_sign_of_every_feature_is_fixed(length_scale):
    """Eigenvectors come with either sign, depending on LAPACK and its threads; the draws must not."""
    assert (grf_basis(np.zeros(1), length_scale) > 0).all()


def test_a_draw_is_one_function_on_any_grid():
    coarse = grf(np.linspace(0, 1, 11), 3, 0.2, stream(0, "u"))
    normal = stream(0, "u").standard_normal((3, grf_basis(np.zeros(1), 0.2).shape[1]))
    np.testing.assert_allclose(coarse, normal @ grf_basis(np.linspace(0, 1, 11), 0.2).T)
    fine = grf(np.linspace(0, 1, 101), 3, 0.2, stream(0, "u"))
    np.testing.assert_allclose(fine[:, ::10], coarse, atol=1e-12)


def test_unresolved_length_scale_is_refused():
    with pytest.raises(ValueError, match="not resolved by 201 nodes"):
        grf_basis(np.zeros(1), 0.001)


def draws(count, kind="forward", n=10, seed=0):
    return chebyshev_draws(kind, n, count, stream(seed, "test operators"))


@given(st.integers(1, TERMS))
def test_supports_have_n_terms_and_forward_mirrors_inverse(n):
    terms = np.arange(TERMS)
    forward, inverse = terms[support("forward", n)], terms[support("inverse", n)]
    assert len(forward) == len(inverse) == n
    np.testing.assert_array_equal(inverse, TERMS - 1 - forward[::-1])
    assert (len(np.union1d(forward, inverse)) == TERMS) == (n >= 5)  # covered from n = 5 on
    assert (len(np.intersect1d(forward, inverse)) > 0) == (n >= 6)
    if n % 2 == 0:
        middle = terms[support("middle", n)]
        assert len(middle) == n
        assert middle[0] == TERMS - 1 - middle[-1]


def test_bad_supports_are_refused():
    for kind, n, message in (
        ("forward", 0, "1 <= n"),
        ("middle", 3, "even"),
        ("inverse", 11, "1 <= n"),
        ("last", 3, "'last'"),
    ):
        with pytest.raises(ValueError, match=message):
            support(kind, n)


def test_chebyshev_series_is_the_cosine_of_multiples():
    """T_j(cos a) = cos(j a)."""
    c, a = draws(4), np.linspace(0, np.pi, 17)
    np.testing.assert_allclose(
        chebyshev_series(c, (1 + np.cos(a)) / 2), c @ np.cos(np.arange(TERMS)[:, None] * a), atol=1e-13
    )


def test_coefficients_are_uniform_on_their_support():
    c = draws(20_000, "inverse", 4)
    assert (c[:, :6] == 0).all()
    np.testing.assert_allclose(c[:, 6:].mean(0), 0, atol=0.02)
    np.testing.assert_allclose(c[:, 6:].var(0), 1 / 3, atol=0.01)
    assert np.abs(c).max() <= 1


@pytest.mark.parametrize("length_scale", [0.05, 0.2, 3.0])
def test_the_kernel_at_one_length_scale(length_scale):
    """k(0, l) = exp(-1/2), k(0, 2 l) = exp(-2), k(t, t) = 1: closed forms, not another draw from the same function."""
    s, t = np.array([0.0, 1.0]), np.array([0.0, length_scale, 2 * length_scale])
    np.testing.assert_allclose(gaussian_kernel(s, t, length_scale)[0], [1, np.exp(-0.5), np.exp(-2)], rtol=1e-14)
    np.testing.assert_allclose(gaussian_kernel(t, t, length_scale)[2, 1], np.exp(-0.5), rtol=1e-14)


def test_a_fourier_series_of_two_waves():
    """sum_k k^-decay (c_0k sin(2 pi k x + a) + c_1k sin(2 pi k x + b)): the phases come with a plus."""
    c, x = np.array([[[2.0, 3.0], [7.0, 5.0]]]), np.linspace(0, 1, 7)
    first = 2 * np.sin(2 * np.pi * x + 0.3) + 7 * np.sin(2 * np.pi * x + 1.1)
    second = 3 * np.sin(4 * np.pi * x + 0.3) + 5 * np.sin(4 * np.pi * x + 1.1)
    np.testing.assert_allclose(fourier_series(c, x, (0.3, 1.1), 1.5)[0], first + 2**-1.5 * second, atol=1e-14)
