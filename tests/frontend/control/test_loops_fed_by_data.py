"""Loops that carry whole numbers and lists which data decide, and variables that are given the containers of objects in a loop."""

import random

import numpy as np
import pytest

import irad


class Tour:
    """A walk over places, with two of them exchanged in each step, as simulated annealing does."""

    def __init__(self, state, far):
        self.state, self.far = list(state), far

    def length(self):
        total = 0
        for i in range(len(self.state)):
            total += self.far[self.state[i - 1]][self.state[i]]
        return total

    def move(self):
        before = self.length()
        a, b = random.randint(0, len(self.state) - 1), random.randint(0, len(self.state) - 1)
        self.state[a], self.state[b] = self.state[b], self.state[a]
        return self.length() - before

    def improved(self, steps):
        now = self.length()
        kept, best, least = self.state[:], self.state[:], now
        k = 0
        while k < steps:
            k += 1
            change = self.move()
            if change > 0.3 / k:
                self.state = kept[:]
            else:
                kept, now = self.state[:], now + change
                if now < least:
                    best, least = self.state[:], now
        self.state = best[:]
        return best, least


def annealed(x):
    n = len(x)
    far = {i: {j: 0.0 if i == j else (x[i] - x[j]) ** 2 * (1 + i + j) for j in range(n)} for i in range(n)}
    best, least = Tour(range(n), far).improved(30)
    return least + x[best[0]]


class Population:
    def __init__(self, x):
        self.cost, self.trip = [v * v for v in x], 0

    def __iter__(self):
        while self.trip < 3:
            for i in range(len(self.cost)):
                if 0.4 * i < self.cost[i]:
                    self.cost[i] = 0.4 * i + 0.1 * self.cost[i]
                yield self
            self.trip += 1


def steps_of(x):
    trip = 0
    for step in Population(x):
        if step.trip != trip:
            trip = step.trip
            yield step


def evolved(x):
    """`cost` is the list of the object, which changes it further."""
    for step in steps_of(x):
        cost = step.cost
    cost[1] += x[0]
    return sum(cost) + step.cost[1]


def labelled(x):
    """Marks that data decide, looked up after the loop that made them."""
    marks, n, weights = [0] * len(x), 0, [[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]]
    for i in range(len(x)):
        if x[i] > 0.5:
            n = min(n + 1, 2)
            marks[i] = n
    return sum(x[i] * weights[m][i % 2] for i, m in enumerate(marks))


def ordered(x):
    pairs = sorted(((round(v), v, i) for i, v in enumerate(x)), reverse=True)
    ways = sorted(range(len(x)), key=lambda i: (x[i] > 1, -x[i]))
    return sum((k + 1) * v + i for k, (_, v, i) in enumerate(pairs)) + sum(k * x[i] for k, i in enumerate(ways))


def filtered(x):
    kept, kernel = x[x > 0], np.array([1.0, -2.0, 0.5, 3.0])
    same, valid = np.convolve(kept, kernel, "same"), np.correlate(kernel, kept)
    return np.sum(same**2) * len(same) + np.sum(valid * np.arange(len(valid)))


X = np.array([0.9, 0.2, -0.3, 2.1, 1.4, -1.2, 0.7, 1.9, 0.6, -0.8])


@pytest.mark.parametrize("f, xs", [
    (annealed, [X[:4]]), (evolved, [X[:4]]), (labelled, [X[:6], -X[:6]]), (ordered, [X, X[::-1]]), (filtered, [X, -X, X - 1.2]),
])  # fmt: skip
def test_as_without_irad(f, xs):
    both = irad.value_and_grad(f)
    for x in xs:
        random.seed(5)
        want = f(x)
        random.seed(5)
        value, slope = both(x.copy())
        assert np.isclose(value, want)
        numeric = []
        for e in np.eye(len(x)) * 1e-6:
            ends = []
            for at in (x + e, x - e):
                random.seed(5)
                ends.append(f(at))
            numeric.append((ends[0] - ends[1]) / 2e-6)
        assert np.allclose(slope, numeric, atol=1e-5)


def test_list_of_arrays_without_elements():
    def joined(x, n):
        parts = [x[:0]]
        while np.sum(x) < n:
            x = x * 2
            parts.append(x[:0])
        return len(parts) + np.sum(x)

    assert irad.compile(joined)(np.ones(2), 30.0) == joined(np.ones(2), 30.0) == 37.0
