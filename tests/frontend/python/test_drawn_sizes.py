"""Random samples whose sizes data decide, and picks from lists whose lengths data decide: NumPy's and Python's own streams."""

import random

import numpy as np
import pytest

import irad


def samples(x):
    above, below = x > 0, x < 0
    y = x.copy()
    y[below] = np.random.normal(1.0, 2.0, size=below.sum())
    count = np.sum(above)
    z = np.random.rand(count) * x[above]
    rows = np.random.randint(0, 5, size=(2, count))
    order = np.random.permutation(count)
    picked = np.random.choice(x[above], size=count, replace=False)
    return np.sum(y) + np.sum(z * order) + np.sum(rows) + np.sum(picked * np.arange(count))


def picks(x):
    best = [i for i in range(len(x)) if x[i] > 0]
    grown = []
    for v in x:
        if v > 0:
            grown.append(v)
    random.shuffle(grown)
    np.random.shuffle(best)
    one, two = random.sample(grown, 2)
    return (
        x[random.choice(best)]
        + np.random.choice(grown)
        + grown[0]
        + 2 * grown[1]
        + 3 * one
        - two
        + sum(random.choices(grown, k=2))
    )


X = np.array([0.5, -1.0, 2.0, 0.3, -0.2, 1.5])


@pytest.mark.parametrize("f", [samples, picks])
def test_as_without_irad(f):
    c, g = irad.compile(f), irad.grad(f)
    for x in (X, X[::-1].copy()):
        random.seed(3), np.random.seed(3)
        want = f(x)
        random.seed(3), np.random.seed(3)
        assert np.isclose(c(x), want)
        random.seed(3), np.random.seed(3)
        slope, h, numeric = g(x), 1e-6, []
        for e in np.eye(len(x)) * h:
            ends = []
            for at in (x + e, x - e):
                random.seed(3), np.random.seed(3)
                ends.append(f(at))
            numeric.append((ends[0] - ends[1]) / (2 * h))
        assert np.allclose(slope, numeric, atol=1e-6)


def test_nothing_to_pick_from():
    with pytest.raises(IndexError, match="Cannot choose from an empty sequence"):
        irad.compile(picks_above)(X, 9.0)
    assert irad.compile(picks_above)(X, 1.8) == 2.0


def picks_above(x, limit):
    return x[random.choice([i for i in range(len(x)) if x[i] > limit])]
