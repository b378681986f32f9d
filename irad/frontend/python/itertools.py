"""Python's itertools: iterators over sequences, which loops can keep as loops where the positions are arithmetic."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

from irad.errors import IradValueError, UnsupportedError
from irad.frontend.control.sequences import ENDLESS, Seq, element, items, iterate, iterator, listed, product_, rest, static_length
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic, static_value
from irad.frontend.values.objects import StructureError, is_traced_deep


class Varies(StructureError):
    """How many elements there are depends on data."""


def filter_(r: Reader, fn: Any, iterable: Any) -> Seq:
    out: list[Any] = []
    for x in items(r, iterable):
        keep = r.truth(x if fn is None else r.call(fn, [x]))
        if isinstance(keep, Arr):
            raise Varies("filter() by data makes elements whose number is not known; use a boolean mask or a loop with if")
        out += [x] if keep else []
    return listed(out)


def _register(*fns: Any) -> Callable[[Callable[..., Seq]], Callable[..., Seq]]:
    """Register what makes a sequence for functions of itertools that make iterators."""

    def register(make: Callable[..., Seq]) -> Callable[..., Seq]:
        BUILTINS.update((fn, lambda r, *args, **kwargs: iterator(r, make(r, *args, **kwargs))) for fn in fns)
        return make

    return register


_register(itertools.product)(product_)


@_register(itertools.chain)
def chain(r: Reader, *iterables: Any) -> Seq:
    return listed([x for it in iterables for x in r.items(it)])


@_register(itertools.chain.from_iterable)
def chain_from(r: Reader, iterable: Any) -> Seq:
    return chain(r, *r.items(iterable))


@_register(itertools.count)
def count(r: Reader, start: Any = 0, step: Any = 1) -> Seq:
    return Seq(ENDLESS, lambda i: r.operator("add", start, r.operator("mul", i, step)))


@_register(itertools.cycle)
def cycle(r: Reader, iterable: Any) -> Seq:
    seq = iterate(r, iterable)
    n = static_length(seq)
    return Seq(ENDLESS, lambda i: element(seq, r.operator("mod", i, n)), seq.rolls, of=(seq,)) if n else seq


@_register(itertools.repeat)
def repeat(r: Reader, obj: Any, times: Any = ENDLESS) -> Seq:
    return Seq(times if isinstance(times, Arr) else max(times, 0), lambda i: obj)


@_register(itertools.islice)
def islice(r: Reader, iterable: Any, *bounds: Any) -> Seq:
    start, stop, step = bounds_of_islice(bounds)
    if isinstance(iterable, Seq) and iterable.state is not None and stop is not None and step == 1:
        return _taken(r, iterable, start, stop)
    seq = iterate(r, iterable)
    if seq.length == ENDLESS and stop is None:
        return Seq(ENDLESS, lambda i: element(seq, r.operator("add", start, r.operator("mul", i, step))), seq.rolls, of=(seq,))
    n = len(range(start, min(stop, static_length_or(seq)) if stop is not None else static_length(seq), step))
    return Seq(n, lambda i: element(seq, r.operator("add", start, r.operator("mul", i, step))), seq.rolls, of=(seq,))


def bounds_of_islice(bounds: tuple[Any, ...]) -> tuple[int, int | None, int]:
    """Where to start, where to stop (None: never), and the step. Raises IradValueError for what is no bound."""
    at = slice(*bounds)
    for b in (at.start, at.stop, at.step):
        if isinstance(b, Arr):
            raise NeedStatic(b, "a bound of islice")
        if b is not None and (not hasattr(b, "__index__") or b < 0):
            raise IradValueError(f"bounds of islice are None or numbers of 0 or more, not {b!r}")
    return at.start or 0, at.stop, 1 if at.step is None else at.step


def static_length_or(seq: Seq) -> int:
    """The length, if it is endless too."""
    return ENDLESS if seq.length == ENDLESS else static_length(seq)


def _taken(r: Reader, it: Seq, start: int, stop: int) -> Seq:
    """The next elements of an iterator, which goes on behind them."""
    if it.length != ENDLESS and static_length(it) < stop:
        seq = rest(r, it)
        return islice(r, Seq(seq.length, seq.get, seq.rolls, of=(seq,)), start, stop)
    found = [r.call(next, [it]) for _ in range(stop)]
    return listed(found[start:])


@_register(itertools.pairwise)
def pairwise(r: Reader, iterable: Any) -> Seq:
    seq = iterate(r, iterable)
    n = seq.length if seq.length == ENDLESS else r.call(max, [0, r.operator("sub", seq.length, 1)])
    return Seq(n, lambda i: (seq.get(i), seq.get(r.operator("add", i, 1))), seq.rolls, of=(seq,))


@_register(itertools.starmap)
def starmap(r: Reader, fn: Any, iterable: Any) -> Seq:
    seq = iterate(r, iterable)
    return Seq(seq.length, lambda i: r.call(fn, r.items(seq.get(i))), seq.rolls, of=(seq,))


@_register(itertools.zip_longest)
def zip_longest(r: Reader, *iterables: Any, fillvalue: Any = None) -> Seq:
    return listed(list(itertools.zip_longest(*(r.items(it) for it in iterables), fillvalue=fillvalue)))


@_register(itertools.accumulate)
def accumulate(r: Reader, obj: Any, func: Any = operator.add, *, initial: Any = None) -> Seq:
    items = ([] if initial is None else [initial]) + r.items(obj)
    out: list[Any] = []
    for x in items:
        out.append(r.call(func, [out[-1], x]) if out else x)
    return listed(out)


def _by_position(native: Any) -> Callable[..., Seq]:
    """What picks elements by their positions only, so that Python can do it."""

    def make(r: Reader, iterable: Any, *args: Any, **kwargs: Any) -> Seq:
        static_value([*args, *kwargs.values()], f"the number of elements in {native.__name__}")
        return listed(list(native(r.items(iterable), *args, **kwargs)))

    return make


for _native in (itertools.combinations, itertools.combinations_with_replacement, itertools.permutations):
    _register(_native)(_by_position(_native))
if hasattr(itertools, "batched"):
    _register(itertools.batched)(_by_position(itertools.batched))


@_register(itertools.compress)
def compress(r: Reader, data: Any, selectors: Any) -> Seq:
    return listed([x for x, keep in zip(r.items(data), r.items(selectors)) if _known(r, keep, "compress")])


@_register(itertools.filterfalse)
def filterfalse(r: Reader, fn: Any, iterable: Any) -> Seq:
    return listed([x for x in r.items(iterable) if not _known(r, x if fn is None else r.call(fn, [x]), "filterfalse")])


@_register(itertools.takewhile)
def takewhile(r: Reader, fn: Any, iterable: Any) -> Seq:
    return listed(list(itertools.takewhile(lambda x: _known(r, r.call(fn, [x]), "takewhile"), r.items(iterable))))


@_register(itertools.dropwhile)
def dropwhile(r: Reader, fn: Any, iterable: Any) -> Seq:
    return listed(list(itertools.dropwhile(lambda x: _known(r, r.call(fn, [x]), "dropwhile"), r.items(iterable))))


def _known(r: Reader, x: Any, name: str) -> bool:
    keep = r.truth(x)
    if isinstance(keep, Arr):
        raise Varies(f"{name} by data gives elements whose number is not known; use a boolean mask or a loop with if")
    return bool(keep)


@_register(itertools.groupby)
def groupby(r: Reader, iterable: Any, key: Any = None) -> Seq:
    items = r.items(iterable)
    keys = items if key is None else [r.call(key, [x]) for x in items]
    if any(is_traced_deep(r.operand(k)) for k in keys):
        raise UnsupportedError("groupby by data gives groups whose number is not known; compare neighbours in a loop")
    groups = itertools.groupby(range(len(items)), lambda k: r.operand(keys[k]))
    return listed([(k, r.state.made([items[j] for j in at])) for k, at in groups])


def tee(r: Reader, iterable: Any, n: int = 2) -> tuple[Seq, ...]:
    seq = iterate(r, iterable)
    return tuple(iterator(r, seq) for _ in range(n))


BUILTINS[itertools.tee] = tee
