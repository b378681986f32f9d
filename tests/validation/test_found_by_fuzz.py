"""Found by the generators of tests.fuzz."""

from __future__ import annotations

import numpy as np

import irad
from irad.core.switches import without
from irad.validation.guard_zones import GuardZones
from irad.validation.validate import validate


def test_a_product_that_is_stored_and_summed_up() -> None:
    """The inner sum of a nest is a row of one result and a term of another, which is a number."""

    def f(w):
        v = w.T @ (w @ w[0])
        return v / np.sqrt(np.sum(v**2) + 1.0)

    validate(f, [np.random.default_rng(0).standard_normal((31, 31))], flags=False)


def test_one_lane_of_narrowed_integers() -> None:
    """The last vector of a row of 9 has one lane: what is stored is 4 bytes, not the 8 of the integer that was narrowed."""

    def f(y):
        v = y.astype("int32")
        return v, np.take(v.T, [0, 1], axis=0)

    with without("blocks"):
        validate(f, [np.arange(81, dtype=np.uint64).reshape(9, 9)], flags=False)


def test_guard_zones() -> None:
    zones = GuardZones()
    x = zones.copy(np.arange(9, dtype=np.int32))
    np.lib.stride_tricks.as_strided(x, (10,))[8] = 7
    assert not zones.changed() and x[8] == 7
    np.lib.stride_tricks.as_strided(x, (10,))[9] = 0
    assert zones.changed() == "memory beside array 0 of 1 was written"


def test_nests_that_need_each_other() -> None:
    """A loop may not join a nest that another nest, which the loop needs, needs."""

    def f(x):
        v = np.ones(17)
        v = v - 0.1 * (x.T @ np.tanh(x @ v)) / 33.0
        return np.sum(np.ones(8)) / 8.0 + np.mean(v * 0.1)

    with without("fold", "joins", "siblings"):
        irad.check_grads(f, (np.random.default_rng(0).standard_normal((33, 17)),), order=1, rtol=1e-6, atol=1e-6)


def test_a_mask_of_an_array_that_is_one_of_two() -> None:
    """How many elements there are differs between the two."""

    @irad.compile
    def f(x, y):
        if x[0] > 0:
            y = y + x
        return y[y > 0].sum()

    assert f(np.ones(3), np.ones(3)) == 6.0 and f(-np.ones(3), np.array([1.0, -1.0, 2.0])) == 3.0


def test_products_with_equal_constants() -> None:
    """Row buffers of one nest start where they are summed, whatever other constants are equal to their start."""

    def f(x, u):
        c = x - x.mean(axis=0)
        d = x - x.mean(axis=0)
        return np.sum(d.T @ d / 7.0 * 0.5) / 64.0 + np.mean(c @ ((u - 0.0) / 3.0) * 0.1)

    r = np.random.default_rng(1)
    validate(f, [r.standard_normal((8, 8)), r.standard_normal(8)], flags=False)
