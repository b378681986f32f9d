"""Bad input gives a clear error that names the user's line, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from irad import IradError, IradTypeError, IradValueError, UnsupportedError
from irad.core.text import parse

X = np.arange(3.0)
GRAPH = """func @f(%x: f64[3], %n: i64) -> f64 {
  %a: f64[3] = mul %x, %x
  %r: f64 = sum[axes=(0)] %a
  return %r
}
"""


def f(a: Any, b: Any = 2.0, *, k: float = 3.0) -> Any:
    return (a * b * k).sum()


# ---- argnums ----


@pytest.mark.parametrize("argnums", [2, -3, (0, 2), "c"])
def test_argnums_out_of_range_name_the_function(argnums: Any) -> None:
    with pytest.raises(IradValueError) as e:
        irad.grad(f, argnums)(X, 2.0)
    assert "test_bad_input.py" in str(e.value) and "def f(a: Any" in str(e.value)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -2), ("a", 0), (1, "b")])
def test_argnums_twice(argnums: Any) -> None:
    with pytest.raises(IradValueError, match="twice"):
        irad.grad(f, argnums)(X, 2.0)


@pytest.mark.parametrize("argnums", [None, 1.0, True, (0, None), {0}])
def test_argnums_of_another_type(argnums: Any) -> None:
    for make in (lambda: irad.grad(f, argnums), lambda: irad.value_and_grad(f, argnums), lambda: irad.compile(f, argnums)):
        with pytest.raises(IradTypeError, match="argnums is a position, a name, or a tuple of them"):
            make()


def test_names_for_compile() -> None:
    assert irad.compile(f, argnums="b").grad(X, 2.0) == 9.0
    assert irad.compile(f, argnums=("b", "a")).grad(X, 2.0)[0] == 9.0


def test_argnums_of_a_graph() -> None:
    assert irad.compile(parse(GRAPH)).grad(X, 1).tolist() == [0.0, 2.0, 4.0]
    for argnums in (2, -3, "x"):
        with pytest.raises(IradValueError, match="positions of the graph's 2 parameters"):
            irad.compile(parse(GRAPH), argnums=argnums)


# ---- what is given ----


@pytest.mark.parametrize("a", [np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array(X).view(np.ma.MaskedArray)])
def test_masked_arrays_are_refused(a: Any) -> None:
    g = lambda v: (v * v).sum()
    compiled = irad.compile(g)
    compiled(np.asarray(a))  # the same dtype and shape, as a plain array
    calls: list[Callable[[], Any]] = [
        lambda: compiled(a),
        lambda: irad.grad(g)(a),
        lambda: irad.vjp(g, a),
        lambda: irad.jvp(g, (a,), (a,)),
        lambda: irad.compile(lambda t: (a * t).sum())(2.0),
    ]
    for call in calls:
        with pytest.raises(IradTypeError, match=f"a {type(a).__name__} is not supported.*np.asarray"):
            call()


def test_memory_maps_are_arrays(tmp_path: Path) -> None:
    m = np.memmap(tmp_path / "data", dtype=float, mode="w+", shape=(3,))
    m[:] = X

    def store(v: Any) -> Any:
        v[0] = 7.0
        return v.sum()

    assert irad.compile(store)(m) == 10.0 and m[0] == 7.0
    assert irad.grad(lambda v: (v * v).sum())(m).tolist() == [14.0, 2.0, 4.0]


def test_ints_of_more_than_64_bits() -> None:
    for n in (2**63, -(2**70)):
        with pytest.raises(IradTypeError, match=f"argument n: the int {n} does not fit"):
            irad.compile(lambda n: n * 2)(n)


def test_arguments_of_a_graph() -> None:
    c = irad.compile(parse(GRAPH))
    for args, words in [((np.ones(4), 1), "argument %x must be f64[3], not f64[4]"), ((X, "a"), "argument %n must be i64")]:
        with pytest.raises(IradValueError, match=re.escape(words)):
            c(*args)


def test_graph_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(bytes(range(200, 256)))
    (tmp_path / "empty").write_text("\n\n")
    with pytest.raises(IradError, match="is not a text file"):
        irad.load(tmp_path / "binary")
    with pytest.raises(IradError, match="empty:1:1: no graph in an empty text"):
        irad.load(tmp_path / "empty")


def test_check_grads_wants_something_to_check() -> None:
    with pytest.raises(IradValueError, match="no float or complex number"):
        irad.check_grads(lambda n: n, (3,))
    with pytest.raises(IradTypeError, match="args is the tuple"):
        irad.check_grads(lambda x: x, X)  # type: ignore[arg-type]
    with pytest.raises(IradTypeError, match="tuples"):
        irad.jvp(np.sin, X, X)  # type: ignore[arg-type]


def test_a_result_that_is_no_number_names_the_function() -> None:
    texts = ("f64.3.; use irad.vjp or irad.jacobian", "a tuple of 2; return the number alone", "None; is a `return` missing")
    for g, text in zip((lambda x: x * 2, lambda x: (x.sum(), 1.0), lambda x: None), texts):
        with pytest.raises(IradTypeError, match=text) as e:
            irad.grad(g)(X)
        assert "test_bad_input.py" in str(e.value)


# ---- places ----


def test_exceptions_of_python_say_where() -> None:
    def missing(x: Any) -> Any:
        return {}["a"] * x

    def attribute(x: Any) -> Any:
        return x.colour

    def raising(x: Any) -> Any:
        raise RuntimeError("not today")

    def called(x: Any) -> Any:
        return x(1)

    for g, cls in [(missing, KeyError), (attribute, AttributeError), (raising, RuntimeError), (called, TypeError)]:
        with pytest.raises(cls) as e:
            irad.compile(g)(1.0)
        (note,) = e.value.__notes__
        assert "raised while compiling" in note and "test_bad_input.py" in note and "^" in note
        assert "Arr" not in str(e.value)


def test_places_are_the_users() -> None:
    with pytest.raises(IradTypeError, match="a tangent of shape") as e:
        irad.jvp(lambda x: x * x, (X,), (np.ones(4),))
    assert "api.py" not in str(e.value)


def test_unknown_functions_are_named_as_they_are() -> None:
    special = pytest.importorskip("scipy.special")
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.mathieu_a of traced arrays"):
        irad.compile(lambda x: special.mathieu_a(1, x))(X)


# ---- irad's own functions in compiled code ----


def test_what_belongs_outside() -> None:
    _, pullback = irad.vjp(lambda t: t * t, X)
    _, linear = irad.linearize(lambda t: t * t, X)
    graph, compiled = irad.compile(parse(GRAPH)), irad.compile(f)
    sparse = irad.jacobian(lambda t: t * t, sparse=True)
    for g, words in [
        (lambda t: sparse(t), "sparse=True makes SciPy arrays"),
        (lambda t: irad.jacobian(lambda u: u * t, sparse=True)(t), "sparse=True makes SciPy arrays"),
        (lambda t: irad.hessian(lambda u: (u**3).sum(), sparse=True)(t), "sparse=True makes SciPy arrays"),
        (lambda t: graph(t, 1), "a compiled graph"),
        (lambda t: graph.value_and_grad(t, 1), "a compiled graph"),
        (lambda t: pullback(t), "irad.vjp inside"),
        (lambda t: linear(t), "irad.linearize inside"),
        (lambda t: irad.check_grads(np.sin, (t,)), "call it outside"),
        (lambda t: compiled.lower(t), "call it outside"),
    ]:
        for _ in range(2):  # objects that are called again get a class of their own
            with pytest.raises(UnsupportedError, match=words) as e:
                irad.compile(g)(X)
            assert "test_bad_input.py" in str(e.value)
        pullback(X), linear(X), graph(X, 1), compiled(X)


def test_a_rule_that_calls_its_function() -> None:
    @irad.custom_vjp
    def twice(x: Any) -> Any:
        return x * 2

    twice.defvjp(lambda x: (twice(x), None), lambda _, ct: (ct * 7,))
    with pytest.raises(UnsupportedError, match=r"calls twice itself: .*twice\.fun"):
        irad.grad(lambda x: twice(x))(3.0)
    twice.defvjp(lambda x: (twice.fun(x), None), lambda _, ct: (ct * 7,))
    assert irad.grad(lambda x: twice(x))(3.0) == 7.0


def test_captured_things_of_other_kinds() -> None:
    """The same code around a tuple, then around a function: what was an element is none any more."""

    def around(o: Any) -> Any:
        return irad.compile(lambda v: v * (o[0] if isinstance(o, tuple) else 5.0))

    assert [float(around(o)(2.0)) for o in ((1, 2), np.sin, (3.0,), {})] == [2.0, 10.0, 6.0, 10.0]
