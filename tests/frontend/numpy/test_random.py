"""Random numbers: NumPy's own streams, their state from call to call, and derivatives through what is computed from them."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from irad.core import random_streams as streams
from irad.frontend.bound import SourceReader
from tests.support.surface import check, slope

X = np.random.default_rng(0).random(5)
RNG = np.random.default_rng

MAKERS = {"Generator": np.random.default_rng, "RandomState": np.random.RandomState}


def exact(f: Callable[..., Any], *args: Any) -> None:
    np.testing.assert_array_equal(irad.compile(f)(*args), f(*args))


# ---- the numbers are NumPy's to the last bit ------------------------------------------------------------------------

SAMPLES = {
    "normal": lambda g, x: np.append(g.normal(size=(2, 3)), [g.normal(), g.normal(2.0, 3.0)]),
    "normal by arrays": lambda g, x: g.normal(x, 2 * x),
    "normal by numbers": lambda g, x: g.normal(x[0], x[1], size=4),
    "uniform": lambda g, x: np.append(g.uniform(-1, x[0], 3), [g.uniform(), g.uniform(x[1], 2.0)]),
    "exponential": lambda g, x: g.exponential(x),
    "laplace": lambda g, x: g.laplace(x, x),
    "gumbel": lambda g, x: g.gumbel(x[0], 2.0, (2, 2)),
    "logistic": lambda g, x: g.logistic(x),
    "rayleigh": lambda g, x: g.rayleigh(x),
    "gamma": lambda g, x: g.gamma(x, 2.0),
    "beta": lambda g, x: g.beta(x, 2.0, (3, 5)),
    "others": lambda g, x: np.array([g.standard_t(3), g.chisquare(x[0]), g.f(2, 3), g.triangular(0, 0.5, 1), g.vonmises(0, 1), g.wald(1, 2)]),
    "counts": lambda g, x: np.append(g.poisson(3 * x), [g.binomial(9, x[0]), g.geometric(0.3), g.negative_binomial(3, 0.4), g.zipf(3)]),
    "vectors": lambda g, x: np.hstack([g.multivariate_normal(x[:2], np.eye(2), 3), g.dirichlet([1, 2, 3], 3), g.multinomial(9, [0.3, 0.7], 3)]),
    "choice": lambda g, x: np.append(g.choice(x, (2, 2)), [g.choice(x), g.choice(7), g.choice(x, p=x / np.sum(x))]),
    "without replacement": lambda g, x: np.append(g.choice(x, 4, replace=False), g.choice(9, 3, False)),
    "permutation": lambda g, x: np.append(g.permutation(x), g.permutation(5)),
    "of rows": lambda g, x: g.permutation(np.outer(x, range(3))),
}  # fmt: skip


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", SAMPLES)
def test_sample(kind: str, name: str) -> None:
    make, sample = MAKERS[kind], SAMPLES[name]
    exact(lambda x, seed: sample(make(seed), x), X, 3)


MODERN = {
    "integers": lambda g, x: np.append(g.integers(0, 9, (2, 3)), [g.integers(7), g.integers(2, 5, endpoint=True)]),
    "random": lambda g, x: np.append(g.random((2, 2)), g.random()),
    "float32": lambda g, x: g.random(4, dtype=np.float32) + g.standard_normal(4, np.float32),
    "columns": lambda g, x: g.permutation(np.outer(x, range(3)), axis=1),
    "permuted": lambda g, x: g.permuted(np.outer(x, range(3)), axis=1),
    "choice of rows": lambda g, x: g.choice(np.outer(x, range(3)), 2, axis=1),
    "spawn": lambda g, x: np.array([c.normal() for c in g.spawn(3)]),
}
LEGACY = {
    "randint": lambda g, x: np.append(g.randint(0, 9, (2, 3)), [g.randint(7)]),
    "rand": lambda g, x: np.append(g.rand(2, 2), [g.rand(), g.random_sample()]),
    "randn": lambda g, x: np.append(g.randn(2, 2), g.randn()),
    "seed": lambda g, x: [g.rand(2), g.seed(1), g.rand(2)][2],
}


@pytest.mark.parametrize("name", MODERN)
def test_sample_of_a_generator(name: str) -> None:
    exact(lambda x: MODERN[name](RNG(3), x), X)


@pytest.mark.parametrize("name", LEGACY)
def test_sample_of_a_random_state(name: str) -> None:
    exact(lambda x: LEGACY[name](np.random.RandomState(3), x), X)


def test_classes_of_single_numbers() -> None:
    """Python's numbers where NumPy gives them."""

    def f(x: np.ndarray) -> Any:
        g, s = RNG(0), np.random.RandomState(0)
        return (g.normal(), g.normal(x[0]), g.integers(5), g.choice(5), g.choice(x), g.poisson(3.0), s.randint(5), s.rand())

    assert [type(v) for v in irad.compile(f)(X)] == [type(v) for v in f(X)]


def test_shuffle() -> None:
    def f(x: np.ndarray, g: Any) -> Any:
        rows, numbers, y = np.outer(x, range(3)), [1, 2, 3, 4], x.copy()
        g.shuffle(rows)
        g.shuffle(numbers)
        g.shuffle(y)
        return np.hstack([rows, y[:, None]]), numbers

    for make in MAKERS.values():
        (a, m), (b, n) = irad.compile(f)(X, make(1)), f(X, make(1))
        assert np.array_equal(a, b) and m == n


def test_bit_generators_and_seeds() -> None:
    def f(x: np.ndarray) -> Any:
        gens = [np.random.Generator(np.random.MT19937(5)), RNG([1, 2]), RNG(np.array([3, 4])), RNG(2**70)]
        gens += [RNG(s) for s in np.random.SeedSequence(12).spawn(2)]
        return np.array([g.normal() for g in gens]) * x[0]

    exact(f, X)


# ---- state ----------------------------------------------------------------------------------------------------------


def noise(x: np.ndarray, rng: Any) -> Any:
    return (
        np.sum(x * rng.normal(size=5)) + rng.random_sample()
        if hasattr(rng, "rand")
        else np.sum(x * rng.normal(size=5)) + rng.random()
    )


@pytest.mark.parametrize("kind", MAKERS)
def test_an_argument_goes_on(kind: str) -> None:
    """The state of the caller's generator advances as in NumPy, also under a gradient."""
    make, c = MAKERS[kind], irad.compile(noise)
    a, b = make(1), make(1)
    for _ in range(3):
        assert np.isclose(c(X, a), noise(X, b), rtol=1e-14)
    value, gradient = irad.value_and_grad(noise)(X, a)
    assert np.array_equal(gradient, b.normal(size=5)) and b.uniform() < 1
    assert a.uniform() == b.uniform()


def test_new_generators_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another object at each call is read by the same program."""
    c = irad.compile(noise)
    c(X, RNG(0))
    monkeypatch.setattr(SourceReader, "__init__", None)
    for seed in range(5):
        assert np.isclose(c(X, RNG(seed)), noise(X, RNG(seed)), rtol=1e-14)
    with pytest.raises(TypeError):
        c(X[:4], RNG(0))


def test_made_inside_starts_anew() -> None:
    f = lambda x, seed: x * RNG(seed).normal()
    c = irad.compile(f)
    assert c(2.0, 7) == c(2.0, 7) == f(2.0, 7) != c(2.0, 8)


def test_without_a_seed() -> None:
    c = irad.compile(lambda x: x * RNG().random())
    assert c(1.0) != c(1.0)


rng = RNG(3)


def test_a_global_goes_on() -> None:
    global rng
    c, twin = irad.compile(lambda x: x * rng.normal()), RNG(3)
    assert [c(1.0) for _ in range(3)] == [twin.normal() for _ in range(3)]
    rng = RNG(9)
    assert c(1.0) == RNG(9).normal()


def test_numpys_own_state() -> None:
    def f(x: np.ndarray) -> Any:
        return np.sum(x * np.random.rand(5)) + np.random.normal(x[0], 2.0) + np.random.randint(9) + np.random.choice(x)

    c = irad.compile(f)
    np.random.seed(4)
    got = [c(X), f(X), c(X)]
    np.random.seed(4)
    np.testing.assert_allclose(got, [f(X), f(X), f(X)], rtol=1e-14)

    def seeded(x: np.ndarray) -> Any:
        np.random.seed(0)
        return f(x) * np.random.randn()

    check(seeded, X)


class Net:
    def __init__(self, n: int, gen: Any):
        self.w, self.gen = gen.normal(0, 1 / np.sqrt(n), (n, 3)), gen

    def __call__(self, x: np.ndarray) -> Any:
        h = np.tanh(x @ self.w)
        return np.sum(h * (self.gen.random(h.shape) > 0.3))


def test_objects() -> None:
    """Weights drawn in a constructor, masks in a method; made inside or outside."""
    check(lambda x: Net(5, RNG(5))(x), X)
    a, b = Net(5, RNG(1)), Net(5, RNG(1))
    c = irad.compile(a)
    assert all(np.isclose(c(X), b(X)) for _ in range(6))


def test_default_of_an_argument() -> None:
    def f(x: float, gen: Any = None) -> Any:
        gen = RNG(0) if gen is None else gen
        return x * gen.normal() + isinstance(gen, np.random.Generator)

    c = irad.compile(f)
    assert c(2.0) == f(2.0) == c(2.0) and c(2.0, RNG(4)) == f(2.0, RNG(4))


# ---- programs with gradients ----------------------------------------------------------------------------------------


def reparameterised(p: np.ndarray) -> Any:
    g = RNG(2)
    s = (
        g.normal(p[0], p[1])
        + g.uniform(-p[0], p[1])
        + np.sum(g.normal(p, 0.5, (3, 2)))
        + g.exponential(p[0])
        + g.laplace(p[0], p[1])
    )
    s += (
        g.lognormal(0.1 * p[0], 0.1 * p[1])
        + g.gumbel(p[0], p[1])
        + g.rayleigh(p[0])
        + g.weibull(p[0])
        + g.pareto(p[1])
        + g.power(p[0])
    )
    s += np.sum(g.gamma(2.0, p)) + np.sum(g.multivariate_normal(p, np.eye(2), 3)) + g.logistic(p[1])
    return s + np.sum(g.multivariate_normal(p, [[2.0, p[0]], [p[0], 4.0 * p[1]]], 3, method="cholesky"))


def walk(x: np.ndarray) -> Any:
    """Draws in branches and loops; which are drawn depends on the numbers before."""
    g, s, t = RNG(1), 0.0, x[0]
    for _ in range(60):
        t = t + 0.3 * x[1] * g.normal() - 0.05 * t
        if t > 0.5:
            s = s + t * g.uniform()
        if g.random() < 0.3:
            t = t * 0.9
    while t > 0.2:
        t = t - g.exponential(0.1)
    return s + t


def metropolis(x: np.ndarray) -> Any:
    g = np.random.RandomState(0)
    now, kept = x[0], np.zeros(20)
    for i in range(20):
        new = now + g.normal(0, 0.5)
        if np.log(g.rand()) < 0.5 * (now - x[1]) ** 2 - 0.5 * (new - x[1]) ** 2:
            now = new
        kept[i] = now
    return kept.mean()


def bootstrap(x: np.ndarray) -> Any:
    g, m = RNG(4), np.zeros(20)
    for b in range(20):
        m[b] = g.choice(x, len(x)).mean()
    return m.std() + np.mean([np.mean(x[g.integers(0, 5, 5)]) for _ in range(4)])


def particles(x: np.ndarray) -> Any:
    g, p, w = RNG(2), x.copy(), np.ones(5) / 5
    for _ in range(4):
        p = p + 0.1 * g.standard_normal(5)
        w = w * np.exp(-0.5 * (p - 0.5) ** 2)
        w = w / w.sum()
        if 1 / np.sum(w**2) < 4.9:
            i = g.choice(5, size=5, p=w)
            p, w = p[i], np.full(5, 0.2)
    return np.sum(p * w)


def several(x: np.ndarray) -> Any:
    """Generators in a list, chosen by data, handed to functions."""
    gens = [RNG(k) for k in range(3)]
    pick = gens[0] if x[0] > 0.5 else gens[1]
    draw = lambda g, n: g.normal(size=n)
    return sum(g.normal() * x[k] for k, g in enumerate(gens)) + pick.normal() * x[3] + np.sum(draw(gens[2], 5) * x)


def new_in_each_trip(x: np.ndarray) -> Any:
    s = 0.0
    for seed in range(5):
        s = s + RNG(seed).normal() * x[seed]
    return s


@pytest.mark.parametrize("f", [walk, metropolis, bootstrap, particles, several, new_in_each_trip], ids=lambda f: f.__name__)
def test_programs(f: Callable[..., Any]) -> None:
    check(f, X)


def test_reparameterised() -> None:
    check(reparameterised, np.array([0.8, 1.3]))


def test_descent_in_compiled_code() -> None:
    """Draws before, in and after a function that is differentiated inside."""

    def f(w: np.ndarray, gen: Any, by_hand: bool) -> Any:
        for _ in range(7):
            i = gen.integers(len(w))
            g = np.zeros_like(w)
            if by_hand:
                g[i] = 2 * (w[i] - gen.normal())
            else:
                g = irad.grad(lambda w, i=i: (w[i] - gen.normal()) ** 2)(w)
            w = w - 0.1 * g
        return w

    np.testing.assert_allclose(irad.compile(f)(X, RNG(2), False), f(X, RNG(2), True), rtol=1e-13)


def test_higher_derivatives() -> None:
    f = lambda x: np.sum(x**3 * RNG(0).normal(size=5))
    np.testing.assert_allclose(irad.hessian(f)(X), np.diag(6 * X * RNG(0).normal(size=5)), rtol=1e-13)


def test_integers_have_no_derivative() -> None:
    assert irad.grad(lambda p: p * RNG(0).poisson(p) + RNG(1).binomial(9, 0.1 * p))(2.0) == RNG(0).poisson(2.0)


# ---- what is refused ------------------------------------------------------------------------------------------------

WRONG: dict[str, Callable[[float], Any]] = {
    "scale": lambda x: RNG(0).normal(0, -x), "range": lambda x: RNG(0).uniform(0, -x), "sizes": lambda x: RNG(0).choice(3, 5, replace=False) * x,
    "bounds": lambda x: x * RNG(0).integers(3, 3), "parameter": lambda x: RNG(0).beta(-x, 2.0), "exponential": lambda x: RNG(0).exponential(-x),
    "static": lambda x: x * RNG(0).normal(0, -1), "seed": lambda x: x * RNG(-1).normal(), "float seed": lambda x: x * RNG(1.5).normal(),
    "sum of p": lambda x: x * RNG(0).choice(2, p=[0.5, 0.6]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_numpys_exceptions(name: str) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)) as want:
        WRONG[name](1.0)
    with pytest.raises(want.type) as got:
        irad.compile(WRONG[name])(1.0)
    assert str(want.value).split(".")[0] in str(got.value)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda a: RNG(0).beta(a, 2.0), "no derivative by the parameters"),
        (lambda a: RNG(0).gamma(a, 1.0), "no derivative by the parameters"),
        (lambda a: np.sum(RNG(0).multivariate_normal([0.0, 0.0], [[a, 0.0], [0.0, 1.0]])), "cholesky"),
    ],
)
def test_no_derivative(f: Callable[[float], Any], words: str) -> None:
    assert np.isclose(irad.compile(f)(1.0), f(1.0), rtol=1e-14)
    with pytest.raises(irad.UnsupportedError, match=words):
        irad.grad(f)(1.0)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: RNG(0), "cannot be returned"), (lambda x: RNG(0).choice(["a", "b"], 2), "no numbers"),
        (lambda x: x * RNG(0).bit_generator.state["x"], "bit_generator"), (lambda x: RNG(0).bytes(3), "bytes"),
        (lambda x: RNG(np.random.SeedSequence()), "give it a seed"),
    ],
)  # fmt: skip
def test_refused(f: Callable[[float], Any], words: str) -> None:
    with pytest.raises(irad.UnsupportedError, match=words):
        irad.compile(f)(1.0)


def test_checkpoint_draws_once() -> None:
    """What is run again by the backward would draw again."""
    with pytest.raises(irad.UnsupportedError, match="checkpoint"):
        irad.grad(irad.checkpoint(lambda x: np.sin(x * RNG(0).normal())))(1.0)


def test_generators_are_let_go() -> None:
    """Those that nobody uses any more do not pile up; those in use stay."""

    def f(x: float) -> Any:
        first, s = RNG(0), 0.0
        for seed in range(3000):
            s = s + RNG(seed).normal() + first.normal()
        return s * x

    assert np.isclose(irad.compile(f)(1.0), f(1.0), rtol=1e-12)
    assert len(streams._held) <= streams.MOST


def test_long_loops() -> None:
    """Gradients of loops that would keep checkpoints."""

    def f(x: np.ndarray) -> Any:
        g, s = RNG(0), x[0]
        for _ in range(2000):
            s = 0.99 * s + 0.1 * np.sin(s) * g.normal() + 0.01 * x[1]
        return s

    slope(f, X)


# ---- Python's module random -----------------------------------------------------------------------------------------


def python_samples(x: np.ndarray) -> Any:
    random.seed(3)
    s = random.random() * x[0] + random.uniform(x[0], x[1]) + random.gauss(x[0], x[1]) + random.normalvariate(x[1], 2.0)
    s += (
        random.expovariate(x[0])
        + random.lognormvariate(0.1 * x[0], 0.5)
        + random.gammavariate(2.0, x[1])
        + random.betavariate(2, 3) * x[0]
    )
    s += random.paretovariate(3 * x[0] + 1) + random.weibullvariate(x[0], 1.5) + random.triangular(0, 1, 0.5) * x[1]
    return s + random.randint(1, 6) * x[0] + random.randrange(5) * x[1] + x[random.randrange(0, 5)] ** 2


def python_picks(x: np.ndarray) -> Any:
    gen, order = random.Random("seed"), [1, 2, 3, 4]
    gen.shuffle(order)
    at, drawn, two = gen.sample(range(5), 3), gen.choices([10, 20, 30], weights=[1, 2, 3], k=4), gen.sample(list(x), 2)
    s = order[0] * x[0] + order[3] * x[1] + x[at[0]] * x[at[1]] + sum(drawn) * x[3] + two[0] * two[1]
    for _ in range(20):
        if gen.random() < 0.5:
            s = s + gen.choice([1.0, 2.0]) * x[0]
        s = s + gen.choice(x) * 0.1
    return s


@pytest.mark.parametrize("f", [python_samples, python_picks], ids=lambda f: f.__name__)
def test_module_random(f: Callable[..., Any]) -> None:
    check(f, X)


def test_picks_of_texts() -> None:
    """What is picked may be texts, of which data decide then: actions of an agent, keys of its table."""

    def walk(x: Any, seed: int) -> Any:
        gen, gain = np.random.RandomState(seed), {"left": 0.5, "right": 1.25, "stay": 1.0}
        steps = 0
        for _ in range(12):
            action = gen.choice(["left", "right", "stay"])
            x = x * gain[action] + (0.1 if action != "stay" else 0.0)
            steps += gen.choice(np.array(["a", "bb"]), p=[0.25, 0.75]) == "bb"
        return x * steps

    for seed in range(3):
        slope(walk, 1.5, seed)


def test_state_of_the_module_random() -> None:
    c = irad.compile(lambda x: x * random.random() + random.gauss(0, 1))
    random.seed(1)
    got = [c(2.0), c(2.0)]
    random.seed(1)
    assert got == [2.0 * random.random() + random.gauss(0, 1) for _ in range(2)]
    own, twin = random.Random(5), random.Random(5)
    d = irad.compile(lambda x, gen: x * gen.random())
    assert [d(1.0, own), d(1.0, own)] == [twin.random(), twin.random()]


def test_a_drawn_array_is_exchanged_in_a_loop() -> None:
    """A draw writes into memory that a loop swaps with another."""

    def f(p: np.ndarray, n: int) -> Any:
        y = np.random.default_rng(3).standard_normal((6, 2))
        step = np.zeros_like(y)
        for _ in range(n):
            step = 0.5 * step - 0.1 * np.tanh(p @ y)
            y += step
        return np.sum(y**2)

    p = np.random.default_rng(0).random((6, 6))
    value, slope = irad.compile(f).value_and_grad(p, 7)
    assert np.isclose(value, f(p, 7), rtol=1e-13)
    d = np.random.default_rng(1).random((6, 6)) * 1e-6
    assert np.isclose(np.sum(slope * d), (f(p + d, 7) - f(p - d, 7)) / 2, rtol=1e-7)


def test_generators_after_pythons_own_random(tmp_path: Path) -> None:
    """In a process of its own: what Python's `random` needs is imported without NumPy's draws."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import random
import numpy as np
import irad

try:
    irad.compile(lambda x: x * random.SystemRandom().random())(1.0)
except irad.IradError:
    pass
f = lambda x: x * np.random.default_rng(3).normal()
assert irad.compile(f)(2.0) == f(2.0)
"""
    )
    subprocess.run([sys.executable, str(program)], check=True)
