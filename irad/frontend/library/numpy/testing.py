"""np.testing.assert_*: checks, of traced numbers at run time, that raise AssertionError without the arrays in its text."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import written

_NONE = ""  # compared by identity: a text with computed numbers in it is never compared


def _check(ok, head, err_msg):
    """AssertionError unless all of `ok` hold."""
    if not np.all(ok):
        raise AssertionError(f"\n{head}\n{err_msg}" if err_msg is not _NONE else f"\n{head}")


def _shapes(x, y, head, strict=False):
    """Arrays have one shape; a number is compared with each element."""
    a, b = np.shape(x), np.shape(y)
    if (strict or (a and b)) and a != b:
        raise AssertionError(f"\n{head}\n(shapes {a}, {b} mismatch)")


def _same(x, y):
    """Equal, or both NaN."""
    return (x == y) | (x != x) & (y != y)


@written("numpy.testing.assert_allclose", always=True)
def assert_allclose(actual, desired, rtol=1e-7, atol=0, equal_nan=True, err_msg="", verbose=True, *, strict=False):
    """|actual - desired| <= atol + rtol * |desired|, for each element."""
    head = f"Not equal to tolerance rtol={rtol:g}, atol={atol:g}"
    _shapes(actual, desired, head, strict)
    _check(np.isclose(actual, desired, rtol, atol, equal_nan), head, err_msg)


@written("numpy.testing.assert_array_equal", always=True)
def assert_array_equal(actual, desired, err_msg="", verbose=True, *, strict=False):
    """Every element equal; NaN is equal to NaN."""
    _shapes(actual, desired, "Arrays are not equal", strict)
    _check(_same(np.asarray(actual), np.asarray(desired)), "Arrays are not equal", err_msg)


@written("numpy.testing.assert_equal", always=True)
def assert_equal(actual, desired, err_msg="", verbose=True, *, strict=False):
    """Equal numbers, arrays, lists, dicts and texts; NaN is equal to NaN."""
    if isinstance(desired, dict) and isinstance(actual, dict):
        assert_equal(len(actual), len(desired), err_msg)
        for k, v in desired.items():
            if k not in actual:
                raise AssertionError(repr(k))
            assert_equal(actual[k], v, err_msg)
    elif isinstance(desired, (list, tuple)) and isinstance(actual, (list, tuple)):
        assert_equal(len(actual), len(desired), err_msg)
        for a, b in zip(actual, desired):
            assert_equal(a, b, err_msg)
    elif isinstance(desired, np.ndarray) or isinstance(actual, np.ndarray):
        assert_array_equal(actual, desired, err_msg, strict=strict)
    elif isinstance(actual, (int, float, complex, np.number, np.bool_)):
        _check(_same(actual, desired), "Items are not equal:", err_msg)
    else:
        _check(actual == desired, "Items are not equal:", err_msg)


@written("numpy.testing.assert_array_almost_equal", "numpy.testing.assert_almost_equal", always=True)
def assert_almost_equal(actual, desired, decimal=None, err_msg="", verbose=True):
    """|actual - desired| < 1.5 * 10**-decimal: to 6 decimals of arrays and 7 of numbers, if none are given."""
    x, y = np.asarray(actual), np.asarray(desired)
    places = decimal if decimal is not None else 6 if x.shape or y.shape else 7
    head = f"Arrays are not almost equal to {places} decimals"
    _shapes(x, y, head)
    _check((np.abs(x - y) < 1.5 * 10.0**-places) | _same(x, y), head, err_msg)


@written("numpy.testing.assert_array_less", always=True)
def assert_array_less(x, y, err_msg="", verbose=True, *, strict=False):
    """x < y, for each element."""
    head = "Arrays are not strictly ordered `x < y`"
    _shapes(x, y, head, strict)
    _check(np.asarray(x) < np.asarray(y), head, err_msg)


@written("numpy.testing.assert_approx_equal", always=True)
def assert_approx_equal(actual, desired, significant=7, err_msg="", verbose=True):
    """Equal to so many significant digits."""
    x, y = np.asarray(actual), np.asarray(desired)
    mean = 0.5 * (np.abs(x) + np.abs(y))
    scale = np.where(mean == 0.0, 1.0, 10.0 ** np.floor(np.log10(mean)))
    near = np.abs(x / scale - y / scale) < 10.0 ** -(significant - 1)
    _check(near | _same(x, y), f"Items are not equal to {significant} significant digits:", err_msg)


@written("numpy.testing.assert_", always=True)
def assert_(val, msg=""):
    """assert val, msg."""
    _check(bool(val), "", msg)


def _refused(name):
    @written(f"numpy.testing.{name}", always=True)
    def refused(*args, **kwargs):
        raise UnsupportedError(f"np.testing.{name} in compiled code; compare with assert_allclose, or put it around the call")


for _name in ("assert_raises", "assert_raises_regex", "assert_warns", "assert_no_warnings", "suppress_warnings",
              "assert_array_max_ulp", "assert_array_almost_equal_nulp"):  # fmt: skip
    _refused(_name)
