"""Numbers that are Python's on one path and NumPy's on another: what asks for the class is refused, or right on both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad

OF_TWO = "one class on one path"


def compared_again(n):
    i = 7 if n < 5 else n
    return (i > n) is (i >= i)


def product(n):
    i = 7 if n < 5 else n
    return (i * 2 - 1 > 3) is True


def of_max(n):
    i = max(7, n)
    return (abs(-i) > 0) is True


@pytest.mark.parametrize("f", [compared_again, product, of_max])
def test_refused(f: Any) -> None:
    with pytest.raises(irad.UnsupportedError, match=OF_TWO):
        irad.compile(f)(np.int64(3))


def asked(x):
    y = 7 if x < 5 else np.int64(x)
    return isinstance(y, int)


def type_of(x):
    y = 7.0 if x < 5 else x
    return type(y) is float


@pytest.mark.parametrize("f", [asked, type_of])
@pytest.mark.parametrize("x", [np.float64(2.0), np.float64(6.0)])
def test_right_or_refused(f: Any, x: Any) -> None:
    try:
        found = irad.compile(f)(x)
    except irad.UnsupportedError as e:
        assert OF_TWO in str(e)
        return
    assert found is f(x)


def floats(x):
    y = 0.5 if x > 1 else x
    return 1.0 if isinstance(y, float) and isinstance(y * 2, (int, float)) else 2.0


def with_numpy(x):
    y = 0.5 if x > 1 else x
    return (y + x > 0.0) is True


@pytest.mark.parametrize("f", [floats, with_numpy])
@pytest.mark.parametrize("x", [np.float64(0.25), np.float64(3.0)])
def test_one_answer_on_both_paths(f: Any, x: Any) -> None:
    assert irad.compile(f)(x) == f(x)


def test_order_of_lists_of_numpy_numbers() -> None:
    """It is NumPy's bool, of the first elements that differ; of equal lists Python's."""

    def order(a, c):
        return 1.0 if [a, c] >= [c, a] else 2.0

    def identity(a, c):
        return ([a, c] >= [c, a]) is True

    a, c = np.float64(2.0), np.float64(1.0)
    for x, y in ((a, c), (c, a), (a, a)):
        assert irad.compile(order)(x, y) == order(x, y)
    with pytest.raises(irad.UnsupportedError, match=OF_TWO):
        irad.compile(identity)(a, c)


def test_index_of_a_number_of_either_class() -> None:
    def f(x, n):
        w = [0.5, x]
        if n > 1:
            w[0] = np.tanh(x)
        return w.index(max(w)), w.index(w[0] + (n > 3))

    c = irad.compile(f)
    assert c(1.5, 0) == f(1.5, 0) and c(1.5, 2) == f(1.5, 2)
    with pytest.raises(ValueError, match="not in list"):
        c(1.5, 4)


def test_arithmetic_and_text_of_an_int_on_one_path_and_a_float_on_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        y = 3 if x > 1 else 2.5
        z = (x > 2) if x > 0 else 1.5
        print(y, f"{y} {y + 1:>5} {y:.1f} {[y * 2]}", str(-y), "%s" % (y // 2), z, z + z)
        return (
            y + 1,
            y - 2 * y,
            y * 2.0,
            -y,
            abs(y),
            y % 2,
            y // 2,
            y / 2,
            y**2,
            y**-1,
            y * y,
            [y + 1, {"a": y - 1}],
            isinstance(y * 2, int),
            z + 1,
        )

    c = irad.compile(f)
    for x in (3.0, 1.5, 0.5, -1.0):
        got = c(x)
        shown = capsys.readouterr().out
        assert repr(got) == repr(f(x)) and shown == capsys.readouterr().out
    assert (
        irad.grad(lambda x: x * ((2 if x > 1 else x) + 1))(3.0) == 3.0
        and irad.grad(lambda x: 2 * (x if x > 0 else 0))(3.0) == 2.0
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint8, np.int32, np.bool_, np.complex64])
def test_items_of_arrays_of_all_types_are_numbers_of_python(dtype: Any) -> None:
    def f(x: Any) -> Any:
        xs, rows = x.tolist(), np.stack([x, x]).tolist()
        xs.sort(key=abs, reverse=True)
        return sum(x.tolist()) * 0.1, xs[0] * 300, rows[1][0] * 300, x[0].item() * 300, x.item(1) * 0.1, x.max().item() * 300

    def of_records(p: Any) -> Any:
        return p["a"][0].item() * 300, p["a"].tolist()[1] * 0.1, p[0].item()[0] * 0.1

    x = np.array([3, 1, 2]).astype(dtype)
    p = np.array([(v, 1.0) for v in x], [("a", dtype), ("b", "f8")])
    assert repr(irad.compile(f)(x)) == repr(f(x))
    assert repr(irad.compile(of_records)(p)) == repr(of_records(p))


def test_whole_numbers_of_all_types() -> None:
    f = lambda x: (x[0].is_integer(), np.float32(x[1]).is_integer(), x.astype(np.int8)[0].is_integer())
    x = np.array([2.0, 1.5], np.float32)
    assert irad.compile(f)(x) == f(x) == (True, False, True)
    with pytest.raises(AttributeError, match="'numpy.float32' object has no attribute 'nothing'"):
        irad.compile(lambda x: x[0].nothing)(x)
    for g in (lambda x: x[0].item(), lambda x: x.tolist()):
        with pytest.raises(OverflowError):
            irad.compile(g)(np.array([2**63 + 5, 3], np.uint64))
