"""Cheap producers are computed where they are read, and fills that are written over are left out: only where that is right."""

from __future__ import annotations

import numpy as np
import pytest

import irad
from irad.call.stages import Stages
from irad.core.ir import walk

N = 4000
RNG = np.random.default_rng(0)


def stages(f, *args):
    """The numbers of large loops and of filled arrays that are left."""
    program = Stages.of(f, args, {}).program
    nodes = list(walk(next(iter(program.values()))))
    loops = [n for n in nodes if n.op.name == "loop" and n.attrs["extents"][0] > 64]
    fills = [n for n in nodes if n.op.name == "const" and n.out.type.rank]
    return len(loops), len(fills)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_hessian_vector_product_is_one_pass():
    x, v = RNG.normal(size=N), RNG.normal(size=N)
    hvp = irad.hvp(rosenbrock)
    assert stages(hvp, x, v) == (1, 0)
    got = hvp(x, v)
    want = (1200 * x**2 - 400 * np.roll(x, -1) + 202) * v - 400 * x * np.roll(v, -1) - 400 * np.roll(x, 1) * np.roll(v, 1)
    np.testing.assert_allclose(got[1:-1], want[1:-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got[0], (1200 * x[0] ** 2 - 400 * x[1] + 2) * v[0] - 400 * x[0] * v[1], rtol=1e-9)
    np.testing.assert_allclose(got[-1], 200 * v[-1] - 400 * x[-2] * v[-2], rtol=1e-9)


def test_shifted_reads_of_a_cheap_producer():
    def f(x):
        y = x * x + 1.0
        return y[1:] - y[:-1] * x[1:]

    x = RNG.normal(size=N)
    assert stages(f, x) == (1, 0)
    np.testing.assert_array_equal(irad.compile(f)(x), f(x))


def test_what_is_dear_or_read_often_is_stored():
    def dear(x):
        y = np.exp(x)
        return y[1:] - y[:-1]

    def often(x):
        y = x * x
        return y[4:] - y[3:-1] + y[2:-2] * y[1:-3] - y[:-4]

    assert stages(dear, RNG.normal(size=N)) == (2, 0)
    assert stages(often, RNG.normal(size=N)) == (2, 0)
    x = RNG.normal(size=N)
    np.testing.assert_array_equal(irad.compile(often)(x), often(x))


def test_a_result_that_is_wanted_itself_is_stored():
    def f(x):
        y = x * x
        return y, y[1:] - y[:-1]

    x = RNG.normal(size=N)
    for got, want in zip(irad.compile(f)(x), f(x)):
        np.testing.assert_array_equal(got, want)


def test_a_source_that_is_written_in_between():
    def f(x):
        y = x * 2.0 + 1.0
        x[1:] = x[:-1] * y[1:]
        return y[1:] - y[:-1] + x[1:]

    x = RNG.normal(size=N)
    np.testing.assert_array_equal(irad.compile(f)(x.copy()), f(x.copy()))


@pytest.mark.parametrize(
    "parts, fills", [([(0, 5), (5, N)], 0), ([(0, 5), (6, N)], 0), ([(1, N)], 0), ([(0, N - 1)], 0), ([(9, N), (0, 10)], 0)]
)
def test_fills_that_are_written_over(parts, fills):
    def f(x):
        y = np.zeros(N)
        for a, b in parts:
            y[a:b] = x[a:b] * (a + 2.0)
        return y

    x = RNG.normal(size=N)
    program = Stages.of(f, (x,), {}).program
    found = [n for n in walk(next(iter(program.values()))) if n.op.name == "const" and n.out.type.rank]
    assert len(found) == fills
    np.testing.assert_array_equal(irad.compile(f)(x), f(x))
