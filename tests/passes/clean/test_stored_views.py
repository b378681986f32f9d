"""Stores through views: places of one shape in another, against NumPy; and no program copies a slice for a number."""

from __future__ import annotations

import itertools
import re
from math import prod

import numpy as np
import pytest

import irad
from irad.passes.clean.stored_views import Run, reshaped

SHAPES = [(12,), (3, 4), (4, 3), (2, 6), (2, 2, 3), (1, 12), (3, 1, 4), (12, 1), (3, 2, 2), (4, 3, 1)]


def keys(n):
    """Positions, and slices as (start, size, step)."""
    yield from {0, n - 1}
    for start, size, step in ((0, n, 1), (0, 1, 1), (n - 1, 1, 1), (1, n - 1, 1), (0, (n + 1) // 2, 2), (n - 1, n, -1)):
        if size and start < n:
            yield Run(start, size, step)


def numbers(shape, items):
    """The elements at a place, in order."""
    x = np.arange(prod(shape)).reshape(shape)
    at = [[i.start + i.step * k for k in range(i.size)] if isinstance(i, Run) else [i] for i in items]
    return x[np.ix_(*at)].ravel().tolist()


@pytest.mark.parametrize("shape,to", list(itertools.permutations(SHAPES, 2)))
def test_a_place_in_another_shape_has_the_same_elements(shape, to):
    found = 0
    for items in itertools.product(*map(keys, shape)):
        there = reshaped(list(items), shape, to)
        if there is not None:
            found += 1
            assert numbers(shape, items) == numbers(to, there), (items, there)
        elif len(to) == 1:
            assert sum(isinstance(i, Run) for i in items) > 1  # one slice is always one run
    assert found


def elements(x, vals):
    m = vals[8 : 8 + len(x) * 4].reshape(len(x), 4)
    for i in range(1, len(x)):
        m[i, 1] += x[i] * x[i]
        m[i, 2] = m[i - 1, 1] * m[i, 1]
        m[i, 0:2] = m[i, 2:4] * 2.0
    return np.sum(vals * vals)


def blocks(x, vals):
    for i in range(len(x)):
        m = vals[4 * i : 4 * i + 4].reshape(2, 2)
        m[0, :] = x[i]
        m[:, 1] *= m[0, 0]
    return np.sum(vals * vals)


def rows(x, vals):
    m = vals[: 4 * len(x)].reshape(len(x), 4)
    for i in range(len(x)):
        row = m[i]
        for j in range(4):
            row[j] = row[j] * x[i] + j
    return np.sum(vals * vals)


def ravelled(x, vals):
    flat = vals.reshape(-1, 8).ravel()
    for k in range(len(x)):
        flat[2 * k] += x[k] * flat[0]
    return np.sum(vals * vals)


@pytest.mark.parametrize("f", [elements, blocks, rows, ravelled])
def test_values_gradients_and_no_copies(f):
    rng = np.random.default_rng(0)
    x, vals = rng.uniform(0.5, 1.5, 6), rng.uniform(0.5, 1.5, 80)
    compiled, both = irad.compile(f), irad.compile(irad.value_and_grad(f, argnums=(0, 1)))
    a, b = vals.copy(), vals.copy()
    value, gradients = both(x, vals)
    assert np.allclose(value, compiled(x, a), rtol=1e-14) and np.allclose(value, f(x, b), rtol=1e-14) and np.array_equal(a, b)
    for k in range(2):
        for j in (0, 1, 5):
            step = [np.zeros(6), np.zeros(80)]
            step[k][j] = 1e-6
            up, down = (f(x + s * step[0], vals + s * step[1]) for s in (1, -1))
            assert np.isclose(gradients[k][j], (up - down) / 2e-6, rtol=1e-6, atol=1e-7)
    kernel = compiled.lower(x, vals).kernel
    assert max([int(n) for n in re.findall(r"f64, (\d+)\)", kernel)], default=0) <= 8
