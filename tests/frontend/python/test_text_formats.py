"""Text of traced numbers by str.format, the operator % and f-strings, as Python makes it."""

# ruff: noqa: F501, F507, F509, F522, F524, F525, UP030, UP031, UP032  (formats of every kind, also wrong ones)

from __future__ import annotations

import dataclasses
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support.surface import check

X = np.random.default_rng(0).random(4)
Pair = namedtuple("Pair", "u v")


class Vec:
    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b

    def __repr__(self) -> str:
        return f"Vec({self.a:.2f}, {self.b:.2f})"


class Named(Vec):
    def __str__(self) -> str:
        return "named %.1f" % self.a

    def __format__(self, spec: str) -> str:
        return "F" + format(self.a, spec or ".1f")


@dataclasses.dataclass
class Data:
    x: float
    n: int = 3


def percent(x: np.ndarray) -> Any:
    print("%d rows, first %.3f, %5.2f%% %s|" % (len(x), x[0], 100 * x[1], float(x[2])))
    print("%(a)d and %(b)8.3f %(a)s" % {"a": len(x), "b": x[1]}, "%s" % None, "%s" % (x.shape,))
    print(
        "%*.*f|%-10s|%10s|%+.2e|%08.3f|% d" % (8, 2, x[0], "a", "%.2f" % x[1], x[2], x[3], 5), "%i" % x[0], "%x %c" % (255, "a")
    )
    return np.sum(x)


def braces(x: np.ndarray) -> Any:
    print("{0:.3f} {0:.1e} {b:>10.4f} {c[k]:.2f} {d[1]:.2f} {d.shape} {{}}".format(x[0], b=x[1], c={"k": x[2]}, d=x))
    print("{:{w}.{p}f} {!r} {:,}".format(x[0], "q", 1234567, w=10, p=2), "{:.2f} {:.2f}".format(*x[:2]))
    return np.sum(x)


def nested(x: np.ndarray) -> Any:
    print("%d rows, first %.3f, {:.2f}".format(x[1]) % (len(x), x[0]), "{{}} %.1f".format() % x[0])
    print(f"{'%.2f' % x[1]:>8}|{x[0]:{'.2f'}}|" + " ok" * 2, ("%.1f;" % x[0]) * 2, "%-12s|" % f"{x[0]:.3f}", str(x[0]).rjust(22))
    print(", ".join("%.1f" % v for v in x), *["%.1f" % v for v in x], sep=" / ")
    return np.sum(x)


def objects(x: np.ndarray) -> Any:
    v, n = Vec(x[0], x[1]), Named(x[0], x[1])
    print(v, [v, v], f"{v} {n:.3f} {n!s} {n!r}", "%s %r" % (n, n), "{:.2f}".format(n), str(n), [n], {"k": v})
    print(Pair(float(x[0]), 3), Data(float(x[0])), {"a": float(x[0]), 3: [1, float(x[1])]}, f"{['t', float(x[0])]}")
    return np.sum(x)


@pytest.mark.parametrize("f", [percent, braces, nested, objects], ids=lambda f: f.__name__)
def test_prints_as_python(f: Callable[..., Any]) -> None:
    check(f, X)


WRONG = {
    "too many": lambda x: print("%d" % (x[0], x[1])),
    "too few": lambda x: print("%d %d" % (x[0],)),
    "no such argument": lambda x: print("{} {}".format(x[0])),
    "no such key": lambda x: print("{a}".format(b=x[0])),
    "two ways of numbering": lambda x: print("{} {0}".format(x[0])),
    "an array with a format": lambda x: print("{:.2f}".format(x)),
    "incomplete": lambda x: print("%.2f %" % x[0]),
    "no such kind": lambda x: print("%q" % x[0]),
    "text in a message": lambda x: raising(f"bad {Vec(x[0], x[1])} {[float(v) for v in x[:2]]}"),
    "an object": lambda x: raising(Vec(x[0], x[1])),
}


def raising(what: Any) -> None:
    raise ValueError(what)


@pytest.mark.parametrize("name", WRONG)
def test_raises_as_python(name: str) -> None:
    f = WRONG[name]
    with pytest.raises((TypeError, ValueError, IndexError, KeyError)) as want:
        f(X)
    with pytest.raises(want.type) as got:
        irad.compile(f)(X)
    assert str(got.value) == str(want.value)


def test_directive_over_a_number() -> None:
    """Characters of a number cannot be a part of a format."""
    with pytest.raises(irad.UnsupportedError, match="text is compared, searched or used as a key"):
        irad.compile(lambda x: print("%{}f".format(x[0]) % 1.0))(X)


def numbers_of_texts(x: Any) -> Any:
    out = float("%.2f" % x[0]) + float(f"{x[1] * 1.234:8.3f}") + float("{0:<9.1f}".format(x[2])) + float(str(x[0]))
    return out * x[1] + int(str(int(x[2]))) + sum([float(f"{v:.4f}") for v in x])


def test_the_number_of_a_text_that_shows_one() -> None:
    """Rounded as Python's round() does it, with a slope of 0; as it is where all of it is shown."""
    x = np.array([2.675, -1.00449, 3.7321])
    value, slope = irad.value_and_grad(numbers_of_texts)(x)
    assert value == numbers_of_texts(x)
    assert slope == pytest.approx([x[1], 2.67 - 1.24 + 3.7 + 2.675, 0.0])
    c = irad.compile(lambda x: [float(f"{v:.2f}") for v in (x[0], -x[0], x[1], x[2])])
    for x in ([0.125, np.inf, 1e22], [2.675, np.nan, -0.001]):
        want = [float(f"{v:.2f}") for v in (x[0], -x[0], x[1], x[2])]
        np.testing.assert_array_equal(c(np.array(x)), want)
        assert np.signbit(c(np.array(x))[3]) == np.signbit(want[3])
    with pytest.raises(irad.UnsupportedError, match="text is compared, searched or used as a key"):
        irad.compile(lambda x: int(f"{x[0]}"))(X)
