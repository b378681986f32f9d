"""UserDict and UserList, their subclasses, and classes that are made of the abstract ones of collections.abc, with traced arrays in them."""

from __future__ import annotations

import collections
import collections.abc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError

X = np.array([1.0, 1.2, 2.0, 0.5])


def made_of_a_dict(x: Any) -> Any:
    d = collections.UserDict({"a": x, "b": x * 2})
    d["c"] = x[0]
    return np.sum(d["a"] * d["b"]) + d["c"]


def gone_over(x: Any) -> Any:
    d = collections.UserDict(a=x)
    total = 0.0
    for _, v in d.items():
        total = total + np.sum(v**2)
    return total + len(d) + ("a" in d) + d.get("z", 3.0)


def changed(x: Any) -> Any:
    d = collections.UserDict()
    for k in range(3):
        d[k] = x[k]
    d.update({5: x[0]})
    del d[0]
    return sum(d.values()) * d.setdefault("q", x[3]) * d.pop(1)


def by_branch(x: Any) -> Any:
    d = collections.UserDict(a=x[0])
    if x[0] > 0:
        d["a"] = x[1] * 2
    else:
        d.update(a=x[2])
    return d["a"] ** 2


class Doubled(collections.UserDict):  # type: ignore[type-arg]
    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) * 2


def subclass(x: Any) -> Any:
    d = Doubled(a=x, b=x[0])
    d |= {"c": x[1]}
    return sum(np.sum(v) for v in d.values()) + d["c"]


def user_list(x: Any) -> Any:
    xs = collections.UserList([x, x * 2])
    xs.append(x[0])
    xs.extend([x[1], x[2]])
    return np.sum(xs[0] * xs[1]) + xs.pop() * xs[2] + len(xs)


class Pair(collections.abc.Mapping):  # type: ignore[type-arg]
    def __init__(self, x: Any):
        self.x = x

    def __getitem__(self, key: int) -> Any:
        if key not in (0, 1):
            raise KeyError(key)
        return self.x[key]

    def __iter__(self) -> Iterator[int]:
        return iter((0, 1))

    def __len__(self) -> int:
        return 2


def own_mapping(x: Any) -> Any:
    m = Pair(x)
    return m[0] * m.get(1) + (1 in m) + m.get(7, x[2]) + sum(m.values())


class Three(collections.abc.Sequence):  # type: ignore[type-arg]
    def __init__(self, x: Any):
        self.x = x

    def __getitem__(self, k: Any) -> Any:
        if k >= 3:
            raise IndexError
        return self.x[k]

    def __len__(self) -> int:
        return 3


def own_sequence(x: Any) -> Any:
    xs = Three(x)
    return sum(v * v for v in xs) + sum(v * x[3] for v in reversed(xs))


CASES = [made_of_a_dict, gone_over, changed, by_branch, subclass, user_list, own_mapping, own_sequence]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_values_and_slopes(f: Callable[[Any], Any]) -> None:
    value, slope = irad.compile(f).value_and_grad(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    want = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(slope, want, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_the_value_alone(f: Callable[[Any], Any]) -> None:
    assert irad.compile(f)(X) == pytest.approx(f(X), rel=1e-14)


class Result(dict):
    """A dict whose items are its attributes, as the results of SciPy's optimisers."""

    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def test_items_that_are_attributes() -> None:
    def made(x: Any) -> Any:
        r = Result([("x", x * 2), ("steps", 3)], message=[])
        r.fun = np.sum(r.x**2)
        for i in range(r.steps):
            r.fun = r.fun * x[i]
            if r.fun > 3:
                r.message.append(i)
        del r.steps
        return r.fun + r["x"][0] * len(r.message) + hasattr(r, "steps") + len(r)

    np.testing.assert_allclose(irad.compile(made)(X), made(X))
    irad.check_grads(made, (X,), modes=("rev",))


class Bunch(dict):
    """A dict whose attributes are its items."""

    def __init__(self, **items: Any):
        super().__init__(**items)
        self.__dict__ = self


class Fields(dict):
    """A dict whose attributes are its items, and None where there is none."""

    __getattr__ = dict.get
    __setattr__ = dict.__setitem__


def changed_both_ways(d: Any, x: Any) -> Any:
    d.a = d.a * x[0]
    if x[1] > 0:
        d.b = 7.0 * x[2]
    else:
        d["b"] = 8.0 * x[2]
    for v in x:
        d["a"] += v
        if v > 0.75:
            d.b *= 2 * v
    d.c = d["a"]
    del d["c"]
    return d.a * d["b"] + 100 * d["a"] + d.b + len(d)


@pytest.mark.parametrize("cls", [Bunch, Fields])
def test_items_and_attributes_are_one(cls: Any) -> None:
    f = lambda x: changed_both_ways(cls(a=2.0, b=3.0), x)
    value, slope = irad.compile(f).value_and_grad(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    want = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(slope, want, rtol=1e-7, atol=1e-6)
    one, other = cls(a=2.0, b=3.0), cls(a=2.0, b=3.0)
    assert irad.compile(changed_both_ways)(one, X) == pytest.approx(changed_both_ways(other, X), rel=1e-14)
    assert dict(one) == pytest.approx(dict(other), rel=1e-14)


class Marked(dict):
    def __init__(self, mark: float, **items: Any):
        super().__init__(**items)
        self.mark = mark


def test_one_of_two_with_attributes() -> None:
    def f(x: Any) -> Any:
        d = Marked(1.0, a=x[0]) if x[1] > 0 else Marked(2.0, a=x[2])
        return d["a"] * d.mark

    with pytest.raises(UnsupportedError, match="on one path"):
        irad.compile(f)(X)


class Counted(list):
    def append(self, x: Any) -> None:
        self.n = getattr(self, "n", 0) + 1
        self.last = x
        list.append(self, 3 * x)


class Cache(dict):
    hits: int

    def put(self, k: str, x: Any) -> None:
        self.hits = self.hits + 1
        self[k] = x


def test_attributes_beside_items_are_written_back() -> None:
    kept, found = Counted([1.0]), Cache(a=1.0)

    def captured(x: Any) -> Any:
        kept.append(x)
        found.put("a", 2 * x)
        return kept[0] * x + kept.n + found["a"] * found.hits

    def given(q: Any, x: Any) -> Any:
        q.append(x)
        return q[0] * x + q.n

    compiled, slope = irad.compile(captured), irad.grad(captured)
    kept.n = 5
    for n, x in enumerate((2.0, 3.0)):
        found.hits = n
        assert compiled(x) == x + 6 + n + 2 * x * (n + 1)
        assert (kept.n, kept.last, found.hits, list(kept)) == (6 + n, x, n + 1, [1.0, 6.0, 9.0][: n + 2])
    assert slope(3.0) == 1 + 2 * 3 and (kept.n, found.hits) == (7, 2)
    q, of_argument = Counted([1.0]), irad.compile(given)
    assert [of_argument(q, 2.0), of_argument(q, 2.0)] == [3.0, 4.0] and vars(q) == {"n": 2, "last": 2.0}


class Samples:
    def __init__(self, xs: Any):
        self.xs = xs

    def __len__(self) -> int:
        return len(self.xs)

    def __getitem__(self, k: int) -> Any:
        return self.xs[k]


def test_a_sequence_whose_length_is_known_at_run_time_only() -> None:
    def f(x: Any) -> Any:
        s = Samples(2 * x)
        return np.float64(0.5) * s, s * np.sum(x), x - s, np.asarray(s), np.sum(s)

    c = irad.compile(f, dynamic=True)
    for n in (3, 5):
        x = np.arange(float(n))
        assert repr(c(x)) == repr(f(x))
    assert (irad.grad(lambda x: np.sum(np.float64(0.5) * Samples(x * x)))(np.arange(3.0)) == [0.0, 1.0, 2.0]).all()
