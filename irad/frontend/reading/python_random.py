"""Python's module `random`: its own object, and objects of the class Random, draw at run time as NumPy's generators do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.types import Type
from irad.errors import UnsupportedError
from irad.frontend.library.python.standard import reordered
from irad.frontend.python.numbers import builtin
from irad.frontend.reader import Reader
from irad.frontend.reading.random_streams import Draw, RandomStream, ask, constant, extents, making, parameter, reseed, shaped
from irad.frontend.registry import into
from irad.frontend.values.arr import Arr, lift, static_int
from irad.frontend.values.objects import Array, describe
from irad.frontend.values.runs import has_run
from irad.ops.control import raise_if
from irad.ops.intervals import bound, interval

DRAWS: dict[str, Draw] = {"seed": reseed}
draws = into(DRAWS)  # methods of Random


class Python(RandomStream):
    """random.Random, the one behind the functions of the module among them."""

    cls = random.Random
    METHODS: dict[str, Any] = {}
    draws = DRAWS


builtin(random.Random)(making(random.Random, Python))

# ---- numbers --------------------------------------------------------------------------------------------------------


def _float(s: RandomStream, name: str, *fixed: float) -> Arr:
    return Arr(ask(s, name, lambda draw: draw(*fixed), [], Type("f64"), fixed), True)


@draws("random")
def uniform_01(r: Reader, s: RandomStream) -> Any:
    return _float(s, "random")


@draws("uniform")
def uniform(r: Reader, s: RandomStream, a: Any, b: Any) -> Any:
    return r.operator("add", a, r.operator("mul", r.operator("sub", b, a), _float(s, "random")))


def _located(name: str) -> None:
    def draw(r: Reader, s: RandomStream, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
        return r.operator("add", mu, r.operator("mul", _float(s, name, 0.0, 1.0), sigma))

    draws(name)(draw)


_located("gauss")
_located("normalvariate")


@draws("lognormvariate")
def lognormvariate(r: Reader, s: RandomStream, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
    return r.call(float, [r.call(np.exp, [DRAWS["normalvariate"](r, s, mu, sigma)])])


@draws("expovariate")
def expovariate(r: Reader, s: RandomStream, lambd: Any = 1.0) -> Any:
    return r.operator("truediv", _float(s, "expovariate", 1.0), lambd)


@draws("gammavariate")
def gammavariate(r: Reader, s: RandomStream, alpha: Any, beta: Any) -> Any:
    shape = parameter(r, alpha, "f64").value
    return r.operator("mul", Arr(ask(s, "gammavariate", lambda draw, a: draw(a, 1.0), [shape], Type("f64"), ()), True), beta)


@draws("paretovariate")
def paretovariate(r: Reader, s: RandomStream, alpha: Any) -> Any:
    return r.operator("pow", r.operator("sub", 1.0, _float(s, "random")), r.operator("truediv", -1.0, alpha))


@draws("weibullvariate")
def weibullvariate(r: Reader, s: RandomStream, alpha: Any, beta: Any) -> Any:
    return r.operator("mul", alpha, r.operator("pow", _float(s, "expovariate", 1.0), r.operator("truediv", 1.0, beta)))


def _hosted(name: str, count: int) -> None:
    """Derivatives with respect to the parameters are refused."""

    def draw(r: Reader, s: RandomStream, *args: Any) -> Any:
        if len(args) != count:
            raise TypeError(f"{name}() takes {count} numbers here")
        values = [parameter(r, x, "f64").value for x in args]
        return Arr(ask(s, name, lambda method, *xs: method(*xs), values, Type("f64"), ()), True)

    draws(name)(draw)


for _name, _count in (("triangular", 3), ("betavariate", 2), ("vonmisesvariate", 2)):
    _hosted(_name, _count)


def _integer(s: RandomStream, name: str, args: Sequence[Any], r: Reader) -> Arr:
    values = [constant(parameter(r, x)) for x in args]
    return Arr(ask(s, name, lambda draw, *xs: draw(*xs), values, Type("i64"), ()), True)


@draws("randint")
def randint(r: Reader, s: RandomStream, a: Any, b: Any) -> Any:
    out = _integer(s, "randint", (a, b), r)
    if isinstance(a, int) and isinstance(b, int):
        bound(out.value, a, max(a, b))
    return out


@draws("randrange")
def randrange(r: Reader, s: RandomStream, *args: Any) -> Any:
    out = _integer(s, "randrange", args, r)
    if len(args) < 3 and all(isinstance(x, int) for x in args):
        lo, hi = (0, args[0]) if len(args) == 1 else args
        bound(out.value, lo, max(lo, hi - 1))
    return out


# ---- picks ----------------------------------------------------------------------------------------------------------


def _length(r: Reader, seq: Any) -> Arr:
    """How many there are to pick from."""
    n = lift(r.operand(r.call(len, [seq])))
    if isinstance(seq, (str, tuple)) or (isinstance(seq, list) and not has_run(seq)):
        static_int(n, "the length of what random picks from")
    return n


def _highest(n: Arr) -> float:
    return max(interval(n.value)[1] - 1, 0)


def _picked(r: Reader, seq: Any, v: Any, count: int) -> list[Any]:
    at = r.wrap(Arr(v))
    return r.state.made([r.getitem(seq, Arr(r.operand(r.getitem(at, k)).value, True)) for k in range(count)])  # type: ignore[no-any-return]


@draws("choice")
def choice(r: Reader, s: RandomStream, seq: Any) -> Any:
    n = _length(r, seq)
    if interval(n.value)[1] == 0:
        raise IndexError("Cannot choose from an empty sequence")
    if interval(n.value)[0] == 0:
        raise_if(n.value <= 0, exc="IndexError", message="Cannot choose from an empty sequence")
    v = shaped(s, "choice", lambda draw, shape, n: draw(range(n)), [n.value], "i64", None, (), highest=_highest(n))
    return r.getitem(seq, Arr(v, True))


@draws("choices")
def choices(r: Reader, s: RandomStream, population: Any, weights: Any = None, *, cum_weights: Any = None, k: Any = 1) -> Any:
    n, count = _length(r, population), static_int(k, "the number of choices")
    given = weights if weights is not None else cum_weights
    operands = [] if given is None else [constant(parameter(r, r.call(np.asarray, [given])))]
    name = "weights" if weights is not None else "cum_weights"
    pick = lambda draw, shape, n, *w: draw(range(n), **({name: w[0].tolist()} if w else {}), k=count)
    v = shaped(s, "choices", pick, [n.value, *operands], "i64", (count,), name, highest=_highest(n))
    return _picked(r, population, v, count)


@draws("sample")
def sample(r: Reader, s: RandomStream, population: Any, k: Any, **rest: Any) -> Any:
    if rest:
        raise UnsupportedError("random.sample(counts=) in compiled code; repeat the elements")
    n, count = _length(r, population), static_int(k, "the size of a sample")
    v = shaped(s, "sample", lambda draw, shape, n: draw(range(n), count), [n.value], "i64", (count,), (), highest=_highest(n))
    return _picked(r, population, v, count)


@draws("shuffle")
def shuffle(r: Reader, s: RandomStream, x: Any) -> None:
    if not isinstance(x, list) and not (isinstance(x, Array) and len(x.shape) == 1):
        raise UnsupportedError(
            f"random.shuffle of {describe(x)}; of a list of numbers or an array of one axis, or np.random.shuffle"
        )

    def pick(draw: Any, shape: tuple[int]) -> list[int]:
        order = list(range(shape[0]))
        draw(order)
        return order

    n = _length(r, x)
    v = shaped(s, "shuffle", pick, [], "i64", extents(r, n), (), highest=_highest(n))
    if isinstance(x, Array) or has_run(x):
        r.call(reordered, [x, r.wrap(Arr(v))])
        return
    put_in_order(r, x, v)


def put_in_order(r: Reader, x: Any, order: Any) -> None:
    """The elements of a list at these positions, in it."""
    for k, item in enumerate(_picked(r, r.call(list, [x]), order, len(x))):
        r.setitem(x, k, item)
