"""What a function has been compiled for."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import irad
from irad.call.runtime import SHAPES, cache_for


def test_versions_are_listed_and_let_go() -> None:
    c = irad.compile(lambda x, k: np.sum(x) * k)
    c(np.ones(3), 2.0)
    c(np.ones(4), 2.0)
    c.grad(np.ones(3), 2.0)
    found = c.versions
    assert [(v.of, v.arguments) for v in found] == [
        ("value", ("f64[3]", "f64")), ("value", ("f64[4]", "f64")), ("grad", ("f64[3]", "f64")),
    ]  # fmt: skip
    assert all(v.seconds > 0 and v.size > 100 for v in found)
    native = weakref.ref(next(iter(cache_for(c.__wrapped__).entries.values()))[0].native)
    c.clear()
    assert c.versions == []
    gc.collect()
    assert native() is None
    assert c(np.ones(3), 2.0) == 6.0 and len(c.versions) == 1


def test_cleared_functions_run_again_without_python_code() -> None:
    c = irad.compile(lambda x: 2 * x)
    for _ in range(2):
        for _ in range(4):
            assert c(np.ones(3)).tolist() == [2.0] * 3
        c.clear()


def test_a_warning_names_what_varies() -> None:
    c = irad.compile(lambda w, data: np.sum(data) * w, dynamic=False)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for n in range(1, SHAPES + 4):
            c(2.0, np.ones(n))
    (w,) = seen
    assert "<lambda> has been compiled for 8 shapes: argument 'data' varies ((1,), (2,), (3,)...)" in str(w.message)
    assert w.filename == __file__


def test_a_warning_names_the_keyword_and_the_function_that_is_differentiated() -> None:
    def loss(x: Any, *, y: Any) -> Any:
        return np.sum(x) * np.sum(y)

    with pytest.warns(UserWarning, match="grad_loss has been compiled for 8 shapes: argument 'y' varies"):
        for n in range(1, SHAPES + 1):
            irad.grad(irad.compile(loss, dynamic=False))(np.ones(2), y=np.ones(n))


def test_a_warning_names_the_argument_or_the_captured_number_whose_values_are_compiled_for() -> None:
    size = 1

    def of_argument(x: Any, n: int) -> Any:
        return np.sum(np.ones((n, 2)) * x)

    def captured(x: Any) -> Any:
        return x * len(f"{size:.3f}")

    def calls(f: Any) -> None:
        nonlocal size
        for size in range(1, SHAPES + 4):
            f(size)

    c, d = irad.compile(of_argument), irad.compile(captured)
    with pytest.warns(
        UserWarning, match=r"of_argument has been compiled for 8 values: argument 'n' varies \(1, 2, 3...\)"
    ) as seen:
        calls(lambda n: c(1.0, n))
    assert len(seen) == 1
    with pytest.warns(UserWarning, match=r"captured has been compiled for . values: size varies \(1, 2, 3...\)"):
        calls(lambda _: d(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        e = irad.compile(of_argument, static=(1,))
        calls(lambda n: e(1.0, n))


def test_other_types_are_no_shapes() -> None:
    c = irad.compile(lambda x: x + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in "bhiqBHIQfd":
            c(np.ones(3, t))


def test_numpy_that_is_set_to_raise_is_warned_of() -> None:
    old = np.seterr(divide="raise")
    try:
        with pytest.warns(UserWarning, match=r"np.seterr\(divide='raise'\): inverse as compiled raises no FloatingPointError"):

            def inverse(x: float) -> float:
                return 1.0 / x

            assert irad.compile(inverse)(np.float64(4.0)) == 0.25
    finally:
        np.seterr(**old)
