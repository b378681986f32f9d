"""Containers of the standard library hold what they are given, not copies: a store by another name is seen in them."""

from __future__ import annotations

from collections import ChainMap, OrderedDict, UserList, defaultdict, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import irad

MAKE: dict[str, Callable[[Any], Any]] = {
    "deque": lambda u: deque([u])[0],
    "deque with a length": lambda u: deque((u, u), maxlen=1)[0],
    "deque of a generator": lambda u: deque(v for v in (u,))[0],
    "deque of a deque": lambda u: list(deque(deque([u])))[0],
    "copy of a deque": lambda u: deque([u]).copy()[0],
    "OrderedDict by names": lambda u: OrderedDict(a=u)["a"],
    "OrderedDict of pairs": lambda u: OrderedDict([("a", u)])["a"],
    "OrderedDict of a dict": lambda u: OrderedDict({"a": u})["a"],
    "defaultdict of a dict": lambda u: defaultdict(list, {"a": u})["a"],
    "defaultdict by names": lambda u: defaultdict(list, a=u)["a"],
    "ChainMap": lambda u: ChainMap({"a": u})["a"],
    "UserList": lambda u: UserList([u])[0],
    "SimpleNamespace": lambda u: SimpleNamespace(a=u).a,
}


@pytest.mark.parametrize("name", MAKE)
def test_a_store_is_seen_through_a_container(name: str) -> None:
    make = MAKE[name]

    def f(x: Any) -> Any:
        u = 2.0 * x
        held = make(u)
        u[0] = 100.0
        return np.sum(held * held)

    x = np.arange(3.0)
    value, gradient = irad.compile(f).value_and_grad(x)
    assert value == f(x) == 10020.0
    assert gradient.tolist() == [0.0, 8.0, 16.0]
