"""docs/edges.md, row by row."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.interp import interpret
from irad.core.ir import Value, build
from irad.core.types import F64, I64, Type
from irad.errors import IradTypeError
from irad.frontend.numpy.table import lookup
from irad.frontend.values.arr import Arr
from irad.ops import OPS, array
from irad.ops import elementwise as ew
from irad.ops.array import Slice
from irad.ops.constant import const
from irad.passes.derivatives.autodiff import grad, jvp, vjp
from tests.support import ROOT
from tests.support.agree import agree
from tests.support.programs import For, If, Sym, fn, lt, sqrt, vec

INF, NAN = np.inf, np.nan


def slopes(body: Callable[..., Value], *xs: Any) -> list[Any]:
    """Derivatives of the sum of the results of `body` at xs; forward mode must agree, and `grad` if it is a scalar."""
    xs_ = [np.asarray(x, float)[()] for x in xs]
    program = {"f": build([Type("f64", np.shape(x)) for x in xs_], body, "f")}
    y = interpret(program, *xs_)[0]
    got = agree(vjp(program), *xs_, np.ones(np.shape(y)))[1:]
    if not np.shape(y):
        same(agree(grad(program), *xs_)[1:], got)
    forward = jvp(program)
    for k, x in enumerate(xs_):
        for at in np.ndindex(np.shape(x)):
            tangents = [np.zeros(np.shape(z)) for z in xs_]
            tangents[k][at] = 1
            same(np.sum(agree(forward, *xs_, *tangents)[1]), np.asarray(got[k])[at])
    return got


def same(got: Any, want: Any) -> None:
    for a, b in zip(got, want, strict=True) if isinstance(want, list) else [(got, want)]:
        np.testing.assert_allclose(a, b, rtol=1e-15)


def full(value: float, like: Value) -> Value:
    return const(value=value, type=like.type)


def ints(*xs: int) -> Value:
    return const(value=np.asarray(xs), type=Type("i64", (len(xs),)))


def numpy(function: Any) -> Callable[..., Value]:
    """The graph of a NumPy function, by the front end's table."""
    builder = lookup(function)
    assert builder is not None
    return lambda *vs: builder(*map(Arr, vs)).value


# ---- what was not chosen -----------------------------------------------------------------------------------


def test_branch_not_taken() -> None:
    @fn(F64)
    def f(x):
        return If(lt(0.0 * x, x), lambda: sqrt(x), lambda: x * 3.0)

    for make in (vjp, jvp):
        assert agree(make({"f": f}), 0.0, 1.0)[1] == 3.0
    assert agree(grad({"f": f}), 0.0)[1] == 3.0


def test_where_masks_an_infinite_slope() -> None:
    body = lambda x: ew.select(ew.gt(x, full(0.0, x)), ew.sqrt(x), full(0.0, x))
    same(slopes(body, 0.0), [0.0])
    same(slopes(body, [0.0, 4.0, -1.0]), [[0.0, 0.25, 0.0]])


def test_maximum_masks_an_infinite_slope() -> None:
    same(slopes(lambda x: ew.maximum(ew.sqrt(x), full(1.0, x)), 0.0), [0.0])


def test_element_not_read() -> None:
    same(slopes(lambda x: array.index(ew.sqrt(x), spec=(0,)), [4.0, 0.0, -1.0]), [[0.25, 0.0, 0.0]])


def test_element_overwritten() -> None:
    def body(x: Value) -> Value:
        y = array.update(ew.sqrt(x), const(value=2.0, type=F64), spec=(1,))
        return array.sum_(y, axes=(0,))

    same(slopes(body, [4.0, 0.0]), [[0.25, 0.0]])


def test_cotangent_of_zero() -> None:
    program = {"f": build([Type("f64", (2,))], lambda x: ew.sqrt(x), "f")}
    same(agree(vjp(program), [0.0, 4.0], [0.0, 1.0])[1], [0.0, 0.25])
    same(agree(jvp(program), [0.0, 4.0], [0.0, 1.0])[1], [0.0, 0.25])


def test_masked_in_second_order() -> None:
    body = lambda x: ew.select(ew.gt(x, full(0.0, x)), ew.mul(x, ew.sqrt(x)), full(0.0, x))
    first = grad({"f": build([F64], body, "f")})
    assert agree(grad(first, result=1), 0.0)[2] == 0.0
    assert agree(jvp(first), 0.0, 1.0)[3] == 0.0
    second = agree(grad(first, result=1), 4.0)[2]
    same(second, 0.75 / 2)


def test_loop_of_no_trips() -> None:
    @fn(F64, I64)
    def f(x, n):
        return For(n, x * 2.0, lambda i, s: sqrt(s))

    assert agree(vjp({"f": f}), 0.0, 0, 1.0)[1] == 2.0


def test_infinite_slopes() -> None:
    for f in (ew.sqrt, ew.log):
        same(slopes(f, 0.0), [INF])
    same(slopes(lambda x: ew.div(full(1.0, x), x), 0.0), [-INF])


# ---- kinks and ties ------------------------------------------------------------------------------------------


def test_abs_at_zero() -> None:
    same(slopes(ew.abs_, [0.0, -0.0, -2.0, 3.0]), [[0.0, 0.0, -1.0, 1.0]])


def test_tie_of_maximum() -> None:
    for op in (ew.maximum, ew.minimum, ew.fmax, ew.fmin):
        same(slopes(op, [1.0, 0.0], [1.0, -0.0]), [[0.5, 0.5], [0.5, 0.5]])


def test_maximum_of_nan() -> None:
    for op in (ew.maximum, ew.minimum):
        same(slopes(op, [NAN, 1.0], [1.0, NAN]), [[1.0, 0.0], [0.0, 1.0]])


def test_fmax_of_nan() -> None:
    for op in (ew.fmax, ew.fmin):
        same(slopes(op, [NAN, 1.0], [1.0, NAN]), [[0.0, 1.0], [1.0, 0.0]])


def test_tie_of_max_reduction() -> None:
    same(slopes(lambda x: array.max_(x, axes=(0,)), [1.0, 3.0, 3.0]), [[0.0, 1.0, 0.0]])
    same(slopes(lambda x: array.min_(x, axes=(0, 1)), [[3.0, 1.0], [1.0, 1.0]]), [[[0.0, 1.0], [0.0, 0.0]]])
    same(slopes(lambda x: array.max_(x, axes=(1,)), [[2.0, 2.0], [NAN, 1.0]]), [[[1.0, 0.0], [1.0, 0.0]]])


def test_sort_of_equal_elements() -> None:
    body = lambda x: ew.mul(OPS["sort"](x, axis=0), const(value=np.array([1.0, 10.0, 100.0]), type=x.type))
    same(slopes(body, [5.0, 2.0, 2.0]), [[100.0, 1.0, 10.0]])


def test_steps() -> None:
    for op in (ew.sign, ew.floor, ew.ceil, ew.trunc, ew.rint):
        same(slopes(op, [0.0, 1.0, 2.5]), [[0.0, 0.0, 0.0]])
    same(slopes(ew.floor_divide, [7.0, 6.0], [2.0, 3.0]), [[0.0, 0.0], [0.0, 0.0]])


def test_remainder_slopes() -> None:
    same(slopes(ew.remainder, [7.5, -7.5], [2.0, 2.0]), [[1.0, 1.0], [-3.0, 4.0]])
    same(slopes(ew.fmod, [7.5, -7.5, 2.0], [2.0, 2.0, 0.4]), [[1.0, 1.0, 1.0], [-3.0, 3.0, -4.0]])  # 0.4 is more than 2 / 5


def test_heaviside_slopes() -> None:
    same(slopes(ew.heaviside, [0.0, 1.0], [0.5, 0.5]), [[0.0, 0.0], [1.0, 0.0]])


def test_copysign_slopes() -> None:
    same(slopes(ew.copysign, [2.0, 2.0, 0.0], [-1.0, 1.0, 1.0]), [[-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])


# ---- corners of formulas --------------------------------------------------------------------------------------


def test_power_zero() -> None:
    same(slopes(lambda x: ew.pow_(x, full(0.0, x)), [0.0, 2.0, -1.0]), [[0.0, 0.0, 0.0]])


def test_zero_to_a_power() -> None:
    same(slopes(lambda y: ew.pow_(full(0.0, y), y), [2.0, 0.0]), [[0.0, 0.0]])


def test_power_of_a_negative() -> None:
    same(slopes(lambda x: ew.pow_(x, full(2.0, x)), [-3.0]), [[-6.0]])


def test_hypot_at_origin() -> None:
    for op in (ew.hypot, ew.arctan2):
        same(slopes(op, 0.0, 0.0), [0.0, 0.0])
    same(slopes(ew.hypot, 3e200, 4e200), [0.6, 0.8])


def test_norm_at_zero() -> None:
    same(slopes(numpy(np.linalg.norm), [0.0, 0.0]), [[0.0, 0.0]])
    same(slopes(numpy(np.linalg.norm), [3.0, 4.0]), [[0.6, 0.8]])


def test_std_at_zero() -> None:
    same(slopes(numpy(np.std), [2.0, 2.0, 2.0]), [[0.0, 0.0, 0.0]])


def test_logaddexp_at_infinity() -> None:
    for op in (ew.logaddexp, ew.logaddexp2):
        same(slopes(op, [INF, -INF, 0.0], [INF, -INF, INF]), [[0.5, 0.5, 0.0], [0.5, 0.5, 1.0]])


def test_xlogy_at_zero() -> None:
    same(slopes(OPS["xlogy"], [0.0, 0.0], [2.0, 0.0]), [[np.log(2), -INF], [0.0, 0.0]])


def test_saturated() -> None:
    for op in (ew.expit, ew.tanh):
        same(slopes(op, [800.0, -800.0, INF, -INF]), [[0.0, 0.0, 0.0, 0.0]])


def test_prod_with_zeros() -> None:
    same(slopes(lambda x: array.prod_(x, axes=(0,)), [2.0, 0.0, 3.0]), [[0.0, 6.0, 0.0]])
    cumprod = lambda x: array.cumprod(x, axis=0, reverse=False, exclusive=False)
    same(slopes(cumprod, [2.0, 0.0, 3.0]), [[1.0, 8.0, 0.0]])


# ---- indices ---------------------------------------------------------------------------------------------------


def test_repeated_index_in_assignment() -> None:
    body = lambda x, v: array.update(x, v, ints(1, 1, 0), spec=("g",))
    same(slopes(body, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])


def test_repeated_index_in_augmented_assignment() -> None:
    def body(x: Value, v: Value) -> Value:
        at = ints(1, 1, 0)
        return array.update(x, ew.add(array.index(x, at, spec=("g",)), v), at, spec=("g",))

    same(slopes(body, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])


def test_repeated_index_in_add_at() -> None:
    body = lambda x, v: array.update_add(x, v, ints(1, 1, 0), spec=("g",))
    same(slopes(body, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])


def test_repeated_index_in_read() -> None:
    same(slopes(lambda x: array.index(x, ints(1, 1, 0), spec=("g",)), [1.0, 2.0, 3.0]), [[1.0, 2.0, 0.0]])
    same(slopes(lambda x: array.index(x, spec=(Slice(2, 2, -1),)), [1.0, 2.0, 3.0]), [[0.0, 1.0, 1.0]])


# ---- what is not a float ----------------------------------------------------------------------------------------


def test_rounding_stops_it() -> None:
    same(slopes(lambda x: ew.mul(ew.cast(ew.cast(x, dtype="i64"), dtype="f64"), x), 2.75), [2.0])


def test_integer_parameter() -> None:
    program = {"f": build([I64, F64], lambda n, x: ew.mul(ew.cast(n, dtype="f64"), x), "f")}
    for make in (vjp, jvp, grad):
        with pytest.raises(IradTypeError, match="parameter 0 has type i64, which has no derivative"):
            make(program, wrt=[0])
    assert agree(grad(program), 3, 2.0) == [6.0, 3.0]


# ---- the weakened products agree with the strong ones --------------------------------------------------------------


def test_gradient_has_plain_products_where_nothing_is_masked() -> None:
    program = {"f": build([vec(4)], lambda x: array.sum_(ew.mul(ew.sin(x), x), axes=(0,)), "f")}
    assert not any(n.op is ew.szmul for n in grad(program)["f.grad"].nodes)
    assert any(n.op is ew.szmul for n in vjp(program)["f.vjp"].nodes)  # the caller may give a cotangent of 0


def test_mask_reaches_through_a_loop() -> None:
    """A masked zero carried, stored, taped and passed on by a loop still guards the infinite slope before it."""

    @fn(vec(3), Type("bool"))
    def f(x, c):
        r = sqrt(x)
        s = For(3, 0.0, lambda i, s: s + Sym(ew.select(c.v, r[i].v, const(value=0.0, type=F64))) * 2.0)
        return s + x.sum()

    same(agree(grad({"f": f}), [0.0, 0.0, 4.0], False)[1:], [[1.0, 1.0, 1.0]])
    same(agree(grad({"f": f}), [1.0, 1.0, 4.0], True)[1:], [[2.0, 2.0, 1.5]])


def test_infinite_tangent_times_zero() -> None:
    """What docs/edges.md says below its first table."""
    f = lambda x: np.sqrt(x) * 0.0
    assert irad.grad(f)(0.0) == 0 and np.isnan(irad.jvp(f, (0.0,), (1.0,))[1])


def test_every_row_of_the_table_is_a_test() -> None:
    text = (ROOT / "docs" / "edges.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\| `(\w+)` \|$", text, re.M)) | set(re.findall(r"\(`(\w+)`\)", text))
    assert len(named) == 35 and named <= {name.removeprefix("test_") for name in globals()}
