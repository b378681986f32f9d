"""Numbers in messages and printed text are Python's and NumPy's, to the letter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad

NUMBERS = [0.1, 5, True, 1.5 - 2j, -0.0, float("nan"), np.float32(0.1), np.float32(1e20), np.int8(-3), np.uint64(2**63 + 5),
           np.bool_(False), np.complex64(0.1 + 1j), np.complex128(5 + 0j), np.float64(1e-320)]  # fmt: skip


def raising(x: Any, y: Any) -> Any:
    if abs(y) < 100:
        raise ValueError(f"{{x}} is {x}, {x!s}; y {y} {y:.3f}|{y:>20.2e}|" + str(x))
    return x


def printing(x: Any, y: Any) -> Any:
    print(x, y, f"{x} {y:8.3f}", str(x), sep=";")
    return x * 1


def said(f: Any, x: Any, y: Any) -> str:
    with pytest.raises(ValueError) as info:
        f(x, y)
    return str(info.value)


@pytest.mark.parametrize("x", NUMBERS, ids=repr)
@pytest.mark.parametrize("y", [2.5, np.float32(0.3), 1.5 - 2j], ids=repr)
def test_messages(x: Any, y: Any) -> None:
    assert said(irad.compile(raising), x, y) == said(raising, x, y)


@pytest.mark.parametrize("x", NUMBERS, ids=repr)
def test_prints(x: Any, capfd: pytest.CaptureFixture[str]) -> None:
    printing(x, np.float32(0.3))
    want = capfd.readouterr().out
    irad.compile(printing)(x, np.float32(0.3))
    assert capfd.readouterr().out == want


def test_arrays_in_messages() -> None:
    """The type of the exception is right; the array is shown as its type."""

    def f(x: Any) -> Any:
        if x[0] > 0:
            raise KeyError(f"{x[1]} in {x}", x, 3)
        return x

    with pytest.raises(KeyError, match=r"\('2\.0 in <array f64\[2\]>', '<array f64\[2\]>', 3\)"):
        irad.compile(f)(np.array([1.0, 2.0]))
    assert irad.compile(f)(np.array([-1.0, 2.0]))[1] == 2


def test_many_numbers() -> None:
    def f(x: Any) -> Any:
        if x > 0:
            raise ValueError(f"{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}")
        return x

    with pytest.raises(ValueError, match="(1.5){20}"):
        irad.compile(f)(1.5)

    def g(x: Any) -> Any:
        if x.real > 0:
            raise ValueError(f"{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}")
        return x

    with pytest.raises(irad.UnsupportedError, match="more than 32 numbers"):
        irad.compile(g)(1.5 + 1j)


def test_numbers_of_numpy_name_their_class_in_repr() -> None:
    def f(a: Any, b: Any) -> Any:
        raise ValueError(f"{a!r} {b!r} {[a, b]} {a} {str(b)}")

    for args in ((np.float64(3.25), 2.5), (np.float32(3.25), np.int64(2)), (3, np.int64(2))):
        with pytest.raises(ValueError) as want:
            f(*args)
        with pytest.raises(ValueError) as got:
            irad.compile(f)(*args)
        assert str(got.value) == str(want.value)


def test_what_is_not_in_a_list_is_named_as_python_names_it() -> None:
    def grown(x: Any) -> Any:
        xs = []
        for i in range(5):
            xs.append(x * i)
        return xs

    for f in (
        lambda x: [x, 2.0].index(7.5),
        lambda x: (x, 2.0).index(7.5),
        lambda x: grown(x).index(7.5),
        lambda x: grown(x).remove(7.5),
    ):
        with pytest.raises(ValueError) as want:
            f(3.0)
        with pytest.raises(ValueError) as got:
            irad.compile(f)(3.0)
        assert str(got.value) == str(want.value)


def test_arrays_of_complex_numbers_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        z = np.exp(1j * x)
        print(z, z[0], x, np.outer(z, z), z.astype(np.complex64), f"{z}|{z[1]:.3f}", str(z), sep=";")
        return np.sum(np.abs(z + 1) ** 2)

    x = np.array([1.25, 0.5])
    f(x)
    want = capsys.readouterr().out
    assert "[0.31532236+0.94898462j 0.87758256+0.47942554j]" in want
    assert np.isclose(irad.compile(f)(x), f(x), rtol=1e-15)
    assert capsys.readouterr().out == 2 * want
    np.testing.assert_allclose(irad.grad(f)(x), -2 * np.sin(x), rtol=1e-14)  # of 2 + 2 cos(x)
    assert capsys.readouterr().out == want
