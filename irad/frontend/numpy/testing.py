"""np.testing.assert_*: checks at run time, which raise AssertionError. The message says what was not equal, without the arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.control.array_like import array_like
from irad.frontend.python.numbers import builtin
from irad.frontend.python.text_pieces import together
from irad.frontend.python.texts import shown, template_of
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, shape_of, show_shape
from irad.frontend.values.objects import Array, Text, is_number, is_traced_deep
from irad.ops.control import raise_if


def _check(r: Reader, ok: Any, head: str, err_msg: Any) -> None:
    """AssertionError unless all of `ok` hold."""
    ok = r.truth(r.call(np.all, [ok]))
    if ok is True:
        return
    text = template_of(together(["\n", head] + (["\n", shown(r, err_msg)] if isinstance(err_msg, Text) or err_msg != "" else [])))
    if isinstance(ok, Arr):
        raise_if(~ok.value, *(o.value for o in text.operands), exc="AssertionError", message=text.template)
    else:
        raise AssertionError(text if text.operands else text.template.replace("{{", "{").replace("}}", "}"))


def _shapes(r: Reader, x: Any, y: Any, head: str, strict: bool = False) -> None:
    """Arrays have one shape; a number is compared with each element."""
    a, b = shape_of(r.operand(x)), shape_of(r.operand(y))
    if (not strict and () in (a, b)) or a == b:
        return
    if len(a) == len(b) and all(d == e for d, e in zip(a, b) if isinstance(d, int) and isinstance(e, int)):
        return  # extents known at run time only are compared there
    raise AssertionError(f"\n{head}\n(shapes {show_shape(a)}, {show_shape(b)} mismatch)")


def _arrays(r: Reader, x: Any, y: Any) -> tuple[Any, Any]:
    return array_like(r, x), array_like(r, y)


def _both_nan(r: Reader, x: Any, y: Any) -> Any:
    return r.call(np.logical_and, [r.operator("ne", x, x), r.operator("ne", y, y)])


@builtin(np.testing.assert_allclose)
def assert_allclose(r: Reader, actual: Any, desired: Any, rtol: Any = 1e-7, atol: Any = 0, equal_nan: bool = True,
                    err_msg: Any = "", verbose: bool = True, *, strict: bool = False) -> None:  # fmt: skip
    """|actual - desired| <= atol + rtol * |desired|, for each element."""
    x, y = _arrays(r, actual, desired)
    head = "Not equal to tolerance"
    if not is_traced_deep([rtol, atol]):
        head += f" rtol={rtol:g}, atol={atol:g}"
    _shapes(r, x, y, head, strict)
    _check(r, r.call(np.isclose, [x, y], {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}), head, err_msg)


@builtin(np.testing.assert_array_equal)
def assert_array_equal(
    r: Reader, actual: Any, desired: Any, err_msg: Any = "", verbose: bool = True, *, strict: bool = False
) -> None:
    """Every element equal; NaN is equal to NaN."""
    x, y = _arrays(r, actual, desired)
    _shapes(r, x, y, "Arrays are not equal", strict)
    same = r.call(np.logical_or, [r.operator("eq", r.call(np.asarray, [x]), y), _both_nan(r, x, y)])
    _check(r, same, "Arrays are not equal", err_msg)


@builtin(np.testing.assert_equal)
def assert_equal(r: Reader, actual: Any, desired: Any, err_msg: Any = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Equal numbers, arrays, lists, dicts and texts; NaN is equal to NaN."""
    if isinstance(desired, dict) and isinstance(actual, dict):
        assert_equal(r, len(actual), len(desired), err_msg)
        for k, v in desired.items():
            if k not in actual:
                raise AssertionError(repr(k))
            assert_equal(r, actual[k], v, err_msg)
    elif isinstance(desired, (list, tuple)) and isinstance(actual, (list, tuple)):
        assert_equal(r, len(actual), len(desired), err_msg)
        for a, b in zip(actual, desired):
            assert_equal(r, a, b, err_msg)
    elif isinstance(desired, Array) or isinstance(actual, Array):
        assert_array_equal(r, actual, desired, err_msg, strict=strict)
    elif is_number(actual) and is_number(desired):
        same = r.call(np.logical_or, [r.operator("eq", actual, desired), _both_nan(r, actual, desired)])
        _check(r, same, "Items are not equal:", err_msg)
    else:
        _check(r, r.truth(r.operator("eq", actual, desired)), "Items are not equal:", err_msg)


def _near(r: Reader, x: Any, y: Any, limit: float) -> Any:
    """|x - y| < limit, equal infinities, or both NaN."""
    distance = r.operator("lt", r.operator("abs", r.operator("sub", x, y)), limit)
    return r.call(np.logical_or, [r.call(np.logical_or, [distance, r.operator("eq", x, y)]), _both_nan(r, x, y)])


@builtin(np.testing.assert_array_almost_equal, np.testing.assert_almost_equal)
def assert_almost_equal(
    r: Reader, actual: Any, desired: Any, decimal: Any = None, err_msg: Any = "", verbose: bool = True
) -> None:
    """|actual - desired| < 1.5 * 10**-decimal: to 6 decimals of arrays and 7 of numbers, if none are given."""
    x, y = (r.call(np.asarray, [v]) for v in _arrays(r, actual, desired))
    places = decimal if decimal is not None else 6 if x.shape or y.shape else 7
    head = f"Arrays are not almost equal to {places} decimals"
    _shapes(r, x, y, head)
    _check(r, _near(r, x, y, 1.5 * 10.0**-places), head, err_msg)


@builtin(np.testing.assert_array_less)
def assert_array_less(r: Reader, x: Any, y: Any, err_msg: Any = "", verbose: bool = True, *, strict: bool = False) -> None:
    """x < y, for each element."""
    x, y = _arrays(r, x, y)
    head = "Arrays are not strictly ordered `x < y`"
    _shapes(r, x, y, head, strict)
    _check(r, r.operator("lt", r.call(np.asarray, [x]), y), head, err_msg)


@builtin(np.testing.assert_approx_equal)
def assert_approx_equal(
    r: Reader, actual: Any, desired: Any, significant: int = 7, err_msg: Any = "", verbose: bool = True
) -> None:
    """Equal to so many significant digits."""
    x, y = (r.call(np.asarray, [v]) for v in (actual, desired))
    mean = r.operator("mul", 0.5, r.operator("add", r.operator("abs", x), r.operator("abs", y)))
    scale = r.operator("pow", 10.0, r.call(np.floor, [r.call(np.log10, [mean])]))
    scale = r.call(np.where, [r.operator("eq", mean, 0.0), 1.0, scale])
    distance = r.operator("abs", r.operator("sub", r.operator("truediv", x, scale), r.operator("truediv", y, scale)))
    near = r.call(np.logical_or, [r.operator("lt", distance, 10.0 ** -(significant - 1)), r.operator("eq", x, y)])
    both = r.call(np.logical_or, [near, _both_nan(r, x, y)])
    _check(r, both, f"Items are not equal to {significant} significant digits:", err_msg)


@builtin(np.testing.assert_)
def assert_(r: Reader, val: Any, msg: Any = "") -> None:
    """assert val, msg."""
    _check(r, r.truth(val), "", msg)


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(r: Reader, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"np.testing.{name} in compiled code; compare with assert_allclose, or put it around the call")

    return refuse


for _name in ("assert_raises", "assert_raises_regex", "assert_warns", "assert_no_warnings", "suppress_warnings",
              "assert_array_max_ulp", "assert_array_almost_equal_nulp"):  # fmt: skip
    builtin(getattr(np.testing, _name))(_refusing(_name))
