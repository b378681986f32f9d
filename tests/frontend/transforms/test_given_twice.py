"""A derivative or vmap of a function that changes a thing which is given to it twice: an error, never the number of two things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import IradValueError, UnsupportedError

pytestmark = pytest.mark.plain


@dataclass
class State:
    a: Any


class Plain:
    def __init__(self, a: Any):
        self.a = a


def item(x: Any, p: Any, q: Any) -> Any:
    p[0] = x * 5.0
    return q[0] * 1.0


def attribute(x: Any, p: Any, q: Any) -> Any:
    p.a = x * 5.0
    return q.a * 1.0


ARRAY = np.ones(3)
WAYS: list[tuple[str, Callable[..., Any]]] = [
    ("value_and_grad", lambda f, p, q: irad.value_and_grad(f)(2.0, p, q)),
    ("grad of the thing", lambda f, p, q: irad.grad(f, argnums=1)(2.0, p, q)),
    ("vjp", lambda f, p, q: irad.vjp(f, 2.0, p, q)),
    ("jvp", lambda f, p, q: irad.jvp(f, (2.0, p, q), (1.0, None, None))),
    ("linearize", lambda f, p, q: irad.linearize(f, 2.0, p, q)),
    ("jacobian", lambda f, p, q: irad.jacobian(f)(2.0, p, q)),
    ("vmap", lambda f, p, q: irad.vmap(f, in_axes=(0, None, None))(np.arange(3.0), p, q)),
]


@pytest.mark.parametrize("call", [w for _, w in WAYS], ids=[n for n, _ in WAYS])
def test_a_list_given_twice_is_refused_where_it_is_changed(call: Callable[..., Any]) -> None:
    one = [1.0]
    call(item, [1.0], [1.0])
    with pytest.raises((IradValueError, UnsupportedError), match="twice"):
        call(item, one, one)
    assert one == [1.0]
    call(item, [1.0], [1.0])


@pytest.mark.parametrize("make", [lambda: State(1.0), lambda: Plain(1.0)], ids=["dataclass", "object"])
def test_objects(make: Callable[[], Any]) -> None:
    one = make()
    slope = irad.grad(attribute, argnums=1)
    slope(2.0, make(), make())
    with pytest.raises((IradValueError, UnsupportedError), match="twice"):
        slope(2.0, one, one)
    assert one.a == 1.0


def test_a_plain_object_that_is_no_copy_is_one_object() -> None:
    one = Plain(1.0)
    assert irad.grad(attribute)(2.0, one, one) == 5.0
    assert one.a == 1.0


def test_an_array_given_twice() -> None:
    """One that the function differentiates by is a copy there; otherwise it is one array."""
    assert irad.value_and_grad(item)(2.0, ARRAY, ARRAY) == (10.0, 5.0)
    with pytest.raises(UnsupportedError, match="an array that is given twice"):
        irad.grad(item, argnums=1)(2.0, ARRAY, ARRAY)
    with pytest.raises(IradValueError, match="overlaps"):
        irad.grad(item, argnums=1)(2.0, ARRAY[:2], ARRAY[1:])
    with pytest.raises(IradValueError, match="overlaps"):
        irad.jvp(item, (2.0, ARRAY[:2], ARRAY[:]), (1.0, None, None))
    with pytest.raises(IradValueError, match="overlaps"):
        irad.vjp(item, 2.0, ARRAY[:2], ARRAY[:])
    assert (ARRAY == 1.0).all()


def test_inside_of_compiled_code() -> None:
    def by_one(x: Any) -> Any:
        r = [1.0]
        return irad.value_and_grad(item)(x, r, r)

    def by_the_list(x: Any) -> Any:
        r = [1.0]
        return irad.value_and_grad(item, argnums=1)(x, r, r)

    assert irad.compile(by_one)(2.0) == (10.0, 5.0)
    with pytest.raises(UnsupportedError, match="a list that is given twice") as e:
        irad.compile(by_the_list)(2.0)
    assert "p[0] = x * 5.0" in str(e.value)


def test_a_list_that_is_captured_and_given() -> None:
    kept = [1.0]

    def f(x: Any, q: Any) -> Any:
        kept[0] = x * 5.0
        return q[0] * 1.0

    slope = irad.grad(f)
    assert slope(2.0, [3.0]) == 0.0
    with pytest.raises(IradValueError, match="twice, or given and captured"):
        slope(2.0, kept)
    assert kept == [1.0]


def test_what_is_not_changed_may_be_given_twice() -> None:
    def f(p: Any, q: Any) -> Any:
        return p[0] * q[0] ** 2

    r = [3.0]
    assert irad.grad(f, argnums=(0, 1))(r, r) == ([9.0], [18.0])
