"""zip, map, filter, enumerate and parts of itertools, of generators: nothing is taken before its consumer wants it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from irad.core.foreign import is_mapped
from irad.errors import UnsupportedError
from irad.frontend.control import generators
from irad.frontend.control.flow import branch, disjunction
from irad.frontend.control.generators import Undecided, as_stream, has_own_iterator, made, opened, where_found
from irad.frontend.control.regions import attempt
from irad.frontend.control.sequences import (
    SENT,
    Around,
    Consume,
    Seq,
    Stream,
    element,
    go_over,
    iterate,
    iterator,
    new_state,
    rest,
)
from irad.frontend.control.special import special_method
from irad.frontend.python.itertools import Varies, bounds_of_islice
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Env
from irad.frontend.values.runs import has_run
from irad.frontend.values.state import Name


def _lazy(x: Any) -> bool:
    if isinstance(x, (list, tuple)):  # chain.from_iterable([g, h])
        return any(isinstance(e, Stream) for e in x)
    return as_stream(x) is not None


def zipped(r: Reader, *iterables: Any, strict: bool = False) -> Stream:
    """zip: one is gone over, the only generator or the first, and the others are taken from one by one."""
    if strict:
        raise UnsupportedError("zip(strict=True) of generators; make lists of them first")
    its = [_taken(r, x) for x in iterables]
    lazy = [k for k, it in enumerate(its) if as_stream(it) is not None]
    state = new_state(r)

    def each(consume: Consume, around: Around) -> Any:
        go_over(r, state)
        if len(lazy) == 1:
            return _along(r, its, lazy[0], consume, around)
        first = its[0] if 0 in lazy else made(r, generators.each_of, its[0])
        return first.each(lambda x: r.one_by_one().take_all(r, its[1:], lambda xs: consume((x, *xs)), lambda: True), around)

    return Stream(each, lambda then, ended: r.one_by_one().take_all(r, its, lambda xs: then(tuple(xs)), ended), state)


def _along(r: Reader, its: list[Any], k: int, consume: Consume, around: Around) -> Any:
    """Go over iterator number k, and along the others, up to the end of the shortest.

    Where one before it has ended, it is not asked again; where one after it has, it has been: what it does then is done.
    """
    others = [rest(r, it) for j, it in enumerate(its) if j != k]
    before, after = (_shortest(r, [seq.length for seq in seqs]) for seqs in (others[:k], others[k:]))
    env = r.state.made(Env({"at": 0, "stop": True}))
    place, stop = Name(env, "at"), Name(env, "stop")

    def taken(x: Any) -> None:
        at = place.get()
        row = [element(seq, at) for seq in others]
        r.state.assign(place, r.operator("add", at, 1))
        left = consume((*row[:k], x, *row[k:]))
        r.state.assign(stop, disjunction(left, r.truth(r.operator("ge", place.get(), before))) if others[:k] else left)

    def one(x: Any) -> Any:
        over = r.truth(r.operator("ge", place.get(), after)) if others[k:] else False
        r.state.assign(stop, True)
        if isinstance(over, Arr):
            branch(r, over, lambda: None, lambda: taken(x))
        elif not over:
            taken(x)
        return stop.get()

    def run() -> None:
        as_stream(its[k]).each(one, around)  # type: ignore[union-attr]

    some = r.truth(r.operator("gt", before, 0)) if others[:k] else True
    if isinstance(some, Arr):
        branch(r, some, run, lambda: None)
    elif some:
        run()


def _shortest(r: Reader, lengths: list[Any]) -> Any:
    return r.call(min, [lengths]) if len(lengths) > 1 else lengths[0] if lengths else None


def _taken(r: Reader, x: Any) -> Any:
    """An iterator that elements are taken from."""
    stream = as_stream(x)
    if stream is not None:
        return stream
    return x if isinstance(x, Seq) and x.state is not None else iterator(r, iterate(r, x))


def _mapped(r: Reader, fn: Any, *iterables: Any) -> Stream:
    if len(iterables) == 1:
        return made(r, generators.mapped, fn, *iterables)
    return made(r, generators.mapped_rows, fn, zipped(r, *iterables))


def _sliced(r: Reader, iterable: Any, *bounds: Any) -> Stream:
    return made(r, generators.sliced, iterable, *bounds_of_islice(bounds))


def _of(fn: Any) -> Callable[..., Stream]:
    return lambda r, *args: made(r, fn, *args)


_STREAMED: dict[Any, Callable[..., Stream]] = {
    enumerate: lambda r, iterable, start=0: made(r, generators.enumerated, iterable, start),
    zip: zipped,
    map: _mapped,
    filter: _of(generators.filtered),
    itertools.starmap: _of(generators.mapped_rows),
    itertools.filterfalse: _of(generators.filtered_false),
    itertools.chain: lambda r, *iterables: made(r, generators.chained, iterables),
    itertools.chain.from_iterable: _of(generators.chained),
    itertools.takewhile: _of(generators.taken_while),
    itertools.dropwhile: _of(generators.dropped_while),
    itertools.islice: _sliced,
}


def _next(r: Reader, it: Any, *default: Any) -> Any:
    """next(generator), next(generator, default)."""
    stream = as_stream(it)
    assert stream is not None

    def ended() -> Any:
        if default:
            return default[0]
        raise StopIteration

    try:
        return attempt(r, lambda: stream.advance(lambda x: x, ended))
    except Undecided:
        if stream.state.names["point"] != ():
            raise
    found = made(r, generators.first, stream)  # of a generator at its beginning, that is not used again
    return where_found(r, found, "StopIteration", "", *default)


def send(r: Reader, stream: Stream, value: Any) -> Any:
    """stream.send(value). Raises TypeError for a generator that is at its beginning."""
    if value is not None and stream.state.names["point"] == ():
        raise TypeError("can't send non-None value to a just-started generator")
    r.state.assign(Name(stream.state, SENT), value)
    return _next(r, stream)


def _opened(r: Reader, x: Any) -> Any:
    """iter(x); of a dict by data or a view of it, its elements by position, so that several are gone over side by side."""
    if is_mapped(x) and hasattr(type(x), "keys"):
        x = r.call(r.getattr(x, "keys"), [])
    if not (is_mapped(x) and hasattr(type(x), "at")):
        return opened(r, x)
    size = r.call(len, [x])
    return Seq(size, lambda k: r.call(r.getattr(x, "at"), [k, size]), True)


def _of_generators(plain: Callable[..., Any], lazy: Callable[..., Any]) -> Callable[..., Any]:
    """The function that goes over generators by `lazy`; so too where data decide how many elements there are."""

    def call(r: Reader, *args: Any, **kwargs: Any) -> Any:
        args = tuple(_opened(r, x) if has_own_iterator(x) else x for x in args)
        if any(_lazy(x) for x in args):
            return lazy(r, *args, **kwargs)
        if plain not in _SELECTING:
            return plain(r, *args, **kwargs)
        if any(map(has_run, args)):
            return lazy(r, *args, **kwargs)
        try:
            return attempt(r, lambda: plain(r, *args, **kwargs))
        except Varies:
            return lazy(r, *args, **kwargs)

    return call


def _moved(r: Reader, it: Any, *default: Any) -> Any:
    """next(), also of an object whose class has `__next__`."""
    step = special_method(r, it, "__next__")
    if step is None:
        return _plain_next(r, it, *default)
    return made(r, _step_or, step, *default) if default else r.call(step, [])


def _step_or(step: Any, default: Any) -> Any:
    try:
        return step()
    except StopIteration:
        return default


_SELECTING = {BUILTINS[f] for f in (filter, itertools.filterfalse, itertools.takewhile, itertools.dropwhile)}
for _fn, _made in {**_STREAMED, next: _next}.items():
    BUILTINS[_fn] = _of_generators(BUILTINS[_fn], _made)
_plain_next, BUILTINS[next] = BUILTINS[next], _moved
