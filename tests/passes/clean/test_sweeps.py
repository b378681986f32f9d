"""In-place sweeps: several rows at once, bit for bit as NumPy runs them; and their adjoints, turned round to gather."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.ir import walk
from irad.core.text import parse
from irad.passes.clean.unscatter_sweep import unscatter_sweeps
from irad.passes.manager import run
from tests.support.agree import agree

rng = np.random.default_rng(11)


def five_point(u: Any) -> Any:
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            u[i, j] = 0.24 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) + 0.1 * u[i, j]
    return u


def downwards(u: Any) -> Any:
    """From the last row and column to the first."""
    for i in range(u.shape[0] - 2, 0, -1):
        for j in range(u.shape[1] - 2, 0, -1):
            u[i, j] = 0.3 * u[i + 1, j] + 0.2 * u[i, j + 1] + 0.1 * u[i - 1, j - 1]
    return u


def one_sided(u: Any) -> Any:
    """Reads the elements before only, two columns back at most: no frame but on two sides."""
    for i in range(1, u.shape[0]):
        for j in range(2, u.shape[1]):
            u[i, j] += 0.3 * u[i - 1, j - 2] + 0.2 * u[i - 1, j] - 0.4 * u[i, j - 1]
    return u


def columns_first(u: Any) -> Any:
    for j in range(1, u.shape[1] - 1):
        for i in range(1, u.shape[0] - 1):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def two_shares(u: Any) -> Any:
    """Its derivative gives different shares to different neighbours."""
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            u[i, j] = 0.1 * u[i - 1, j] + 0.4 * u[i, j - 1] + 0.1 * u[i + 1, j] + 0.4 * u[i, j + 1]
    return u


def not_linear(u: Any) -> Any:
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            u[i, j] = 0.4 * np.sin(u[i - 1, j] + u[i, j - 1]) + 0.1 * u[i + 1, j] * u[i, j + 1] + 0.1 * u[i - 1, j - 1]
    return u


def along(u: Any) -> Any:
    """One axis, three steps back."""
    x = u.reshape(-1)
    for i in range(3, len(x)):
        x[i] = 0.5 * x[i - 1] - 0.3 * x[i - 2] + 0.1 * x[i - 3] + 0.2 * x[i]
    return u


def often(u: Any) -> Any:
    for _ in range(3):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = (u[i - 1, j - 1] + u[i - 1, j] + u[i, j - 1] + u[i, j] + u[i + 1, j] + u[i + 1, j + 1]) / 6
    return u


def cube(u: Any) -> Any:
    w = u.reshape(-1)[:60].reshape(3, 4, 5)
    for i in range(1, 3):
        for j in range(1, 4):
            for k in range(1, 5):
                w[i, j, k] = 0.3 * w[i - 1, j, k] + 0.3 * w[i, j - 1, k] + 0.3 * w[i, j, k - 1] + 0.1 * w[i - 1, j - 1, k - 1]
    return w


SWEEPS = [five_point, downwards, one_sided, columns_first, two_shares, not_linear, along, often, cube]


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(7, 9), (17, 40), (22, 133)], ids=str)
def test_values_are_numpys_and_the_gradient_is_right(sweep: Callable[..., Any], shape: tuple[int, int]) -> None:
    x, w, d = rng.standard_normal((3, *shape))

    def f(u: Any) -> Any:
        out = sweep(u.copy())
        return np.sum(out * w.reshape(-1)[: out.size].reshape(out.shape))

    ours, plain = irad.compile(sweep)(x.copy()), sweep(x.copy())
    assert np.allclose(ours, plain, rtol=1e-14) if sweep is not_linear else np.array_equal(ours, plain)
    value, gradient = irad.value_and_grad(f)(x)
    h = 1e-5
    want = (f(x + h * d) - f(x - h * d)) / (2 * h)
    assert np.isclose(value, f(x), rtol=1e-12)
    assert np.isclose(np.sum(gradient * d), want, rtol=1e-7, atol=1e-8)


def on_diagonals(x: Any) -> Any:
    """Each row stores what the next one reads in its first column."""
    for i in range(8):
        for j in range(30):
            x[i + j + 1] = 0.5 * x[i + j] + 0.25 * x[i + j + 1]
    return x


def adding(u: Any) -> Any:
    """Rows add to one element: the order is the source's."""
    for i in range(u.shape[0] - 1):
        for j in range(u.shape[1] - 3):
            u[i + 1, j] += 0.3 * u[i, j]
            u[i, j + 3] += 0.1 * u[i, j]
            u[i, j + 1] += 0.17 * u[i, j]
    return u


def paths(u: Any) -> Any:
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] = u[i, j - 1] + u[i - 1, j]
    return u


def best(u: Any) -> Any:
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] = np.maximum(u[i - 1, j] + 1, u[i, j - 1] + 2)
    return u


def forward_fill(u: Any) -> Any:
    for i in range(u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] = u[i, j - 1]
    return u


def looked_up(u: Any, table: Any, k: Any) -> Any:
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] = 0.3 * u[i, j - 1] + 0.2 * u[i - 1, j] + table[k[j] % 8]
    return u


def at_computed_places(u: Any, k: Any) -> Any:
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1] - 1):
            s = k[j] % 2
            u[i, j + s] = 0.3 * u[i, j - 1 + s] + 0.2 * u[i - 1, j + s]
    return u


def stores_counters(u: Any, v: Any) -> Any:
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] = u[i, j - 1] + u[i - 1, j]
            v[i, j] = i - j
    return u, v


_REAL, _INTEGER = rng.standard_normal((14, 40)), rng.integers(0, 3, (14, 40))
ROWS_AT_ONCE = {
    on_diagonals: [_REAL[:2].reshape(-1)[:64]],
    adding: [_REAL],
    paths: [_INTEGER],
    best: [_INTEGER],
    forward_fill: [_REAL],
    looked_up: [_REAL, _REAL[0, :8], _INTEGER[0]],
    at_computed_places: [_REAL, _INTEGER[0]],
    stores_counters: [_INTEGER, _INTEGER],
}


@pytest.mark.parametrize("sweep", ROWS_AT_ONCE, ids=lambda f: f.__name__)
def test_several_rows_at_once_give_numpys_bits(sweep: Callable[..., Any]) -> None:
    ours, plain = ([a.copy() for a in ROWS_AT_ONCE[sweep]] for _ in range(2))
    irad.compile(sweep)(*ours)
    sweep(*plain)
    for a, b in zip(ours, plain):
        np.testing.assert_array_equal(a, b)


def test_second_order() -> None:
    x, v = rng.standard_normal((2, 6, 7))
    f = lambda u: np.sum(not_linear(u.copy()) ** 2)
    got = irad.jvp(irad.grad(f), (x,), (v,))[1]
    h = 1e-5
    g = irad.grad(f)
    assert np.allclose(got, (g(x + h * v) - g(x - h * v)) / (2 * h), rtol=1e-6, atol=1e-7)


ADJOINT = """
func @f(%ct: f64[{shape}]) -> f64[{shape}] {{
  %n: i64 = const[value={trips}]
  %out: f64[{shape}] = for' %n, %ct body {{ |%k: i64, %c: f64[{shape}]|
    %last: i64 = const'[value={last}]
    %i: i64 = sub' %last, %k
    %one: i64 = const[value=1]
    %below: i64 = sub' %i, %one
    %above: i64 = add' %i, %one
    %x: f64 = index'[spec=(i)] %c, %i
    %zero: f64 = const'[value={cleared}]
    %c_1: f64[{shape}] = update'[spec=(i)] %c, %zero, %i
    %half: f64 = const'[value=0.5]
    %v: f64 = mul' %x, %half
    %c_2: f64[{shape}] = update_add'[spec=(i)] %c_1, %v, %below
    %c_3: f64[{shape}] = update_add'[spec=(i)] %c_2, %v, %i
    %c_4: f64[{shape}] = update_add'[spec=(i)] %c_3, %{share}, %above
    yield %c_4
  }}
  return %out
}}
"""


@pytest.mark.parametrize(
    "change, turned",
    [({}, True), ({"share": "x"}, True), ({"last": 9}, False), ({"last": 3}, False), ({"cleared": 1.0}, False)],
    ids=["one share", "two shares", "beyond the end", "beyond the start", "not cleared"],
)
def test_what_is_turned_round(change: dict[str, Any], turned: bool) -> None:
    """Only where every neighbour exists, and what was read is cleared."""
    program = parse(ADJOINT.format(**{"shape": 10, "trips": 5, "last": 6, "cleared": 0.0, "share": "v", **change}))
    out = unscatter_sweeps(program)
    assert any(n.op.name == "update_add" for g in out.values() for n in walk(g)) != turned
    if turned:
        ct = rng.standard_normal(10)
        assert np.allclose(agree(out, ct)[0], agree(program, ct)[0], rtol=1e-14)
        assert run(out, ["simplify", "cse", "dce"])


def test_a_reader_of_the_array_keeps_the_scatter() -> None:
    """A sweep whose array is read at another place too stays as it is."""
    text = ADJOINT.format(shape=10, trips=5, last=6, cleared=0.0, share="v")
    text = text.replace("%v: f64 = mul' %x, %half", "%y: f64 = index'[spec=(i)] %c_1, %below\n    %v: f64 = mul' %x, %y")
    program = parse(text)
    assert unscatter_sweeps(program)["f"] is program["f"]
