"""What a `for` loop goes over: a length, and the element at a position, which may be traced if the sequence rolls."""

from __future__ import annotations

import collections.abc
import itertools
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from irad.core.array_classes import ArrayOfClass, array_in, is_own
from irad.core.foreign import is_container, is_instance, is_library, is_read, of_class
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.once import import_later
from irad.core.structured import Bytes, Structured
from irad.errors import PythonTypeError, UnsupportedError
from irad.frontend.control.gone_over import LENGTH, Listed, Unordered, alike, in_progression, unordered
from irad.frontend.control.special import special_method
from irad.frontend.reader import Reader
from irad.frontend.syntax.source import source_of
from irad.frontend.values.arr import Arr, NeedStatic, from_dim
from irad.frontend.values.objects import (
    Array,
    Choice,
    Closure,
    Env,
    Method,
    Stand,
    StructureError,
    Text,
    Varying,
    describe,
    python_method,
)
from irad.frontend.values.runs import has_run
from irad.frontend.values.state import Name
from irad.ops.control import raise_if

ENDLESS = sys.maxsize
"""The length of an iterator that does not end."""


@dataclass(frozen=True, eq=False)
class Seq:
    """A sequence: `length` (an int or a traced one), `get(position)`; `rolls`: positions may be traced.

    `state` of an iterator, which gives its elements once: how many were taken `at` this point, and whether it is `gone` over.
    `of`: the sequences and lists that its elements are taken from. `live(position)`: is there one at that position, now.
    """

    length: int | Arr
    get: Callable[[Any], Any]
    rolls: bool = True
    state: Env | None = None
    of: tuple[Seq | Listed, ...] = ()
    live: Callable[[int], bool] | None = None

    def more(self, k: int) -> bool:
        """Is there an element at a static position now, whatever the body of a loop has done?"""
        return self.length is ENDLESS or k < static_length(self) if self.live is None else self.live(k)

    def lists(self) -> Iterator[Listed]:
        """The lists whose elements are read in a loop over the sequence."""
        for x in self.of:
            yield from (x,) if isinstance(x, Listed) else x.lists()

    def check_lengths(self, before: Sequence[Any] | None = None) -> None:
        """Raise StructureError if one of the lists has become longer or shorter."""
        found = list(self.lists())
        if any(xs.now != n for xs, n in zip(found, [xs.length for xs in found] if before is None else before)):
            raise StructureError(LENGTH)

    def prepare(self) -> None:
        """Positions will be traced: put elements of lists into arrays now, outside of the loop."""
        for x in self.of:
            x.prepare()

    def __len__(self) -> int:
        return static_length(self)


class Range(Seq):
    """A range with bounds that are traced: `get` takes arrays of positions too."""

    def item(self, r: Reader, key: Any) -> Any:
        """self[key]."""
        if isinstance(key, slice):
            raise UnsupportedError("a slice of a range whose bounds depend on data; write the range with its bounds")
        return self.get(r.call(import_later("irad.frontend.library.python.grown").position, [key, self.length]))


@dataclass(frozen=True, eq=False)
class Generator:
    """A generator expression, not consumed yet: `each(consume)` runs `consume` on every element, `later` on what gives it."""

    seq: Seq
    each: Callable[[Callable[[Any], None]], None]
    later: Callable[[Callable[[Callable[[], Any]], None]], None]
    element: Callable[[Any], Any] | None  # of a position, if nothing is filtered out and there is one `for`
    filtered: Callable[[Any, Callable[[Any], None]], None] | None  # consume a position if its conditions hold; one `for`
    state: Env
    stream: Callable[[], Stream] | None = None  # as a generator function; None where `element` serves


Consume = Callable[[Any], Any]  # takes an element; are no more wanted: a bool, or a traced one
Around = tuple[Any, ...]  # loops that go over a generator: variables, those live before a trip and after the loop, the frame


@dataclass(frozen=True, eq=False)
class Stream:
    """What gives elements one after another, in loops of its own: a generator. `each(consume, loops around)` gives all of them;

    `advance(then, ended)` is then(the next one), or ended() where there is none.
    """

    each: Callable[[Consume, Around], Any]
    advance: Callable[[Callable[[Any], Any], Callable[[], Any]], Any]
    state: Env
    frame: Any = None  # of a generator function


for _cls, _name in ((Seq, "iterator"), (Range, "range"), (Generator, "generator"), (Stream, "generator")):
    _cls.__name__ = _name  # in messages, Python's own among them


def static_length(seq: Seq) -> int:
    if isinstance(seq.length, Arr):
        raise NeedStatic(seq.length, "the number of elements")
    if seq.length == ENDLESS:
        raise UnsupportedError("an iterator without an end (itertools.count, cycle, repeat) where all its elements are needed")
    return seq.length


def positions(seq: Seq, first: int = 0, until: int | None = None, ended: Callable[[], bool] = lambda: False) -> Iterator[int]:
    """The positions of a sequence of static length, from `first` on, while what is done with its elements may change how many there
    are. What is gone over is asked after the last one, too, unless the loop has `ended`: it may raise then."""
    n = static_length(seq) if until is None else until
    for k in range(first, n) if seq.live is None or until is not None else itertools.count(first):
        if ended() or (seq.live is not None and not seq.live(k)):
            return
        yield k


# ---- iterators: variables of the program, so that loops and branches that move them are followed -----------------------------


ENDED, SENT = "ended", "sent"  # where a generator stands then; what the yield gives at which it is suspended


def new_state(r: Reader) -> Env:
    return r.state.made(Env({"at": 0, "gone": False, "point": ()}))


def iterator(r: Reader, seq: Seq) -> Seq:
    """The sequence as an iterator that is still at its beginning."""
    return Seq(seq.length, seq.get, seq.rolls, new_state(r), (seq,), seq.live)


def position(state: Env) -> Any:
    if state.names["gone"] is not False:
        raise UnsupportedError(
            "an iterator (zip, map, enumerate, a generator...) gives its elements once, and this one was gone over before; "
            "make it again, or make a list of it first"
        )
    return state.names["at"]


def go_over(r: Reader, state: Env) -> Any:
    """The position from which an iterator is gone over now, for good."""
    at = position(state)
    r.state.assign(Name(state, "gone"), True)
    return at


def used_up(r: Reader, it: Any) -> None:
    """Note that all elements of an iterator have been given: it was gone over, and nothing has left the loop before its end."""
    state = getattr(it, "state", None) if isinstance(it, (Seq, Generator, Stream)) else None
    if state is None or any(f.guards for f in r.frames):
        return  # what a handler has caught may have left it early
    seq = it.seq if isinstance(it, Generator) else it
    if isinstance(seq, Seq):
        r.state.assign(Name(state, "at"), seq.length)
    r.state.assign(Name(state, "point"), ENDED)
    r.state.assign(Name(state, "gone"), False)


def rest(r: Reader, seq: Seq) -> Seq:
    """The elements of a sequence; of an iterator those that are left, which are gone over by this."""
    at = 0 if seq.state is None else go_over(r, seq.state)
    if isinstance(at, int) and at == 0:
        return Seq(seq.length, seq.get, seq.rolls, of=(seq,), live=seq.live)
    length = ENDLESS if isinstance(seq.length, int) and seq.length == ENDLESS else r.operator("sub", seq.length, at)
    live = None if seq.live is None or not isinstance(at, int) else lambda k: seq.more(at + k)
    return Seq(length, lambda i: element(seq, r.operator("add", at, i)), seq.rolls, of=(seq,), live=live)


def element(seq: Seq, position: Any) -> Any:
    if isinstance(position, Arr) and not seq.rolls:
        raise NeedStatic(position, "the position in a sequence of Python objects")
    return seq.get(position)


def next_(r: Reader, it: Any, *default: Any) -> Any:
    """next(it), next(it, default)."""
    if isinstance(it, Generator) and it.element is not None:
        it = Seq(it.seq.length, it.element, it.seq.rolls, it.state)
    if not isinstance(it, Seq) or it.state is None:
        if isinstance(it, (Generator, collections.abc.Iterator)):
            raise UnsupportedError(
                "next() of a generator with conditions, or of an iterator from outside: use a for loop with break"
            )
        raise TypeError(f"{describe(it)} is not an iterator")
    at = position(it.state)
    over = not it.more(at) if isinstance(at, int) and it.live is not None else r.operator("ge", at, it.length)
    if isinstance(over, Arr) and default:
        raise UnsupportedError("next() with a default, where the end of the iterator depends on data: use an index into an array")
    if isinstance(over, Arr):
        raise_if(over.value, exc="StopIteration", message="")
    elif over and default:
        return default[0]
    elif over:
        raise StopIteration
    r.state.assign(Name(it.state, "at"), r.operator("add", at, 1))
    return element(it, at)


def element_of(r: Reader, start: Any, i: Any, step: Any) -> Any:
    """The element at a position of a range."""
    scaled = i if isinstance(step, int) and step == 1 else r.operator("mul", i, step)
    return scaled if isinstance(start, int) and start == 0 else r.operator("add", start, scaled)


_RANGES = "irad.frontend.control.ranges"


def traced_range(r: Reader, args: Sequence[Any]) -> Range:
    """range(...) with at least one traced bound."""
    return Range(*import_later(_RANGES).of_bounds(r, args))


def iterate(r: Reader, obj: Any) -> Seq:
    """The sequence of an iterable. Raises IradTypeError if there is none, UnsupportedError if it cannot be known here."""
    if isinstance(obj, Seq):
        return rest(r, obj)
    if isinstance(obj, Stream):
        return _plain(r, collected(r, obj))
    if isinstance(obj, Generator):
        if obj.element is not None:
            return rest(r, Seq(obj.seq.length, obj.element, obj.seq.rolls, obj.state, live=obj.seq.live))
        go_over(r, obj.state)
        found: list[Any] = []
        obj.each(found.append)
        return Seq(len(found), found.__getitem__, False)
    if isinstance(obj, ArrayOfClass) and is_own(python_method(obj, "__iter__")):
        return Seq(r.call(len, [array_in(obj)]), lambda i: r.getitem(obj, i))
    if isinstance(obj, Stand):
        return obj.elements(r)  # type: ignore[attr-defined,no-any-return]
    if isinstance(obj, range):
        return Seq(len(obj), lambda i: obj[i] if isinstance(i, int) else element_of(r, obj.start, i, obj.step))
    if isinstance(obj, Choice) and all(type(o) in (list, tuple) for o in obj.options):
        return Seq(r.call(len, [obj]), lambda i: r.getitem(obj, i), False)
    if isinstance(obj, Choice):
        return Seq(*import_later(_RANGES).of_choice(r, obj))
    if isinstance(obj, Array):
        if not obj.shape:
            raise PythonTypeError("iteration over a 0-d array")
        return Seq(from_dim(obj.shape[0]), lambda i: in_progression(r, obj, i) or r.getitem(obj, i))
    if type(obj) is Varying and obj.other == []:
        return replace(iterate(r, obj.value), length=r.call(len, [obj]))
    if type(obj) is Varying and isinstance(obj.other, (Array, list, tuple)):
        item = lambda i: r.getitem(obj, i)
        return Seq(r.call(len, [obj]), item)
    if isinstance(obj, Structured) and obj.layout.scalar:
        return Seq(len(obj.children), lambda k: r.getitem(obj, k), False)
    if isinstance(obj, (Structured, Bytes)):
        if not obj.shape:
            raise PythonTypeError("iteration over a 0-d array")
        return Seq(from_dim(obj.shape[0]), lambda i: r.getitem(obj, i))
    if isinstance(obj, Text):
        raise obj.unknown()
    if isinstance(obj, (Arr, Closure)):
        raise PythonTypeError(f"{describe(obj)} is not iterable")
    return _plain(r, obj)


def collected(r: Reader, stream: Stream) -> Any:
    """A list of all elements."""
    out = r.state.made([])

    def append(x: Any) -> bool:
        r.call(Method(out, "append"), [x])
        return False

    stream.each(append, ())
    return out


def _plain(r: Reader, obj: Any) -> Seq:
    """A Python iterable of static length: its elements now."""
    if has_run(obj):
        return elements(r, obj)
    method = of_class(type(obj), "__iter__")
    if isinstance(obj, (list, tuple)) and not isinstance(method, types.FunctionType):
        return of_items(r, obj)
    code = getattr(method, "__code__", None)
    if code is not None and isinstance(obj, collections.abc.MappingView):  # of a mapping that is written in Python
        return iterate(r, r.enter(method, source_of(code), [obj], {}))
    by_position = method is None and python_method(obj, "__getitem__") is not None
    if (code is not None or by_position) and is_read(type(obj)):
        return iterate(r, import_later("irad.frontend.control.generators").opened(r, obj))
    if not isinstance(obj, collections.abc.Iterable):
        raise PythonTypeError(f"{describe(obj)} is not iterable")
    if isinstance(obj, collections.abc.Iterator):
        raise UnsupportedError(f"{describe(obj)} from outside of compiled code would be used up at compile time; pass a list")
    if r.captures.opaque(obj):
        r.captures.hand("a loop", obj)
    if unordered(obj):
        found = Unordered(obj)
        return Seq(len(found.keys), found.get, False, live=found.more)
    try:
        items = list(obj)
    except RecursionError:
        raise UnsupportedError(f"{describe(obj)} has no end") from None
    return Seq(len(items), lambda i: items[i], False)


def of_items(r: Reader, items: Any) -> Seq:
    """The sequence of the items of a list or tuple. A loop can go over long lists of numbers and of small arrays that are alike."""
    source = Listed(r, items)
    if not alike(items):
        return Seq(len(items), source.get, False, live=source.more)
    return Seq(len(items), source.get, of=(source,), live=source.more)


def elements(r: Reader, xs: list[Any]) -> Seq:
    """The sequence of the elements of a list whose elements stand in arrays."""
    source = Listed(r, xs)
    return Seq(from_dim(source.length), source.get, of=(source,), live=source.more)


def items(r: Reader, obj: Any) -> list[Any]:
    """The elements of an iterable of static length."""
    if isinstance(obj, (list, tuple)) and not has_run(obj) and python_method(obj, "__iter__") is None:
        return list(obj)
    seq = iterate(r, obj)
    return [seq.get(i) for i in positions(seq)]


# ---- the builtins that make sequences out of sequences ---------------------------------------------------------------


def enumerate_(r: Reader, iterable: Any, start: Any = 0) -> Seq:
    seq = iterate(r, iterable)
    return Seq(seq.length, lambda i: (r.operator("add", i, start), seq.get(i)), seq.rolls, of=(seq,), live=seq.live)


def zip_(r: Reader, *iterables: Any, strict: bool = False) -> Seq:
    seqs = _side_by_side(r, iterables)
    lengths = [s.length for s in seqs]
    if not seqs:
        return Seq(0, lambda i: ())
    static = [n for n in lengths if isinstance(n, int)]
    if strict and (len(static) < len(lengths) or len(set(static)) > 1):
        r.call(import_later("irad.frontend.library.python.grown").check_lengths, [lengths])
    length = min(static) if len(static) == len(lengths) else r.call(min, [list(lengths)])
    live = (lambda k: all(s.more(k) for s in seqs)) if isinstance(length, int) and any(s.live for s in seqs) else None
    return Seq(length, lambda i: tuple(s.get(i) for s in seqs), all(s.rolls for s in seqs), of=tuple(seqs), live=live)


def _side_by_side(r: Reader, iterables: Sequence[Any]) -> list[Seq]:
    """The sequences that are gone over together; an iterator that is there several times gives its elements to each in turn."""
    seqs: list[Seq] = []
    shared = collections.Counter(id(x) for x in iterables if isinstance(x, (Seq, Generator, Stream)) and x.state is not None)
    found: dict[int, tuple[Seq, int]] = {}
    for x in iterables:
        n = shared[id(x)]
        if n < 2:
            seqs.append(iterate(r, x))
            continue
        seq, k = found.get(id(x)) or (iterate(r, x), 0)
        found[id(x)] = seq, k + 1
        seqs.append(_every(r, seq, n, k))
    return seqs


def _every(r: Reader, seq: Seq, n: int, first: int) -> Seq:
    """Every n-th element of a sequence, in whole groups of n."""
    at = lambda i: r.operator("add", r.operator("mul", i, n), first)
    length = ENDLESS if isinstance(seq.length, int) and seq.length == ENDLESS else r.operator("floordiv", seq.length, n)
    live = None if seq.live is None else lambda k: seq.more(n * k + n - 1)
    return Seq(length, lambda i: element(seq, at(i)), seq.rolls, of=(seq,), live=live)


def reversed_(r: Reader, iterable: Any) -> Seq:
    own = None if is_library(type(iterable).__module__) else special_method(r, iterable, "__reversed__")
    if own is not None:
        return iterate(r, r.call(own, []))
    if is_instance(iterable) and not is_container(iterable) and python_method(iterable, "__getitem__") is not None:
        n = r.call(len, [iterable])
        return Seq(n, lambda i: r.getitem(iterable, r.operator("sub", r.operator("sub", n, 1), i)), False)
    seq = iterate(r, iterable)
    last = r.operator("sub", seq.length, 1)
    live = None if seq.live is None or not isinstance(last, int) else lambda k: k <= last and seq.more(last - k)
    return Seq(seq.length, lambda i: seq.get(r.operator("sub", last, i)), seq.rolls, of=(seq,), live=live)


def map_(r: Reader, fn: Any, *iterables: Any) -> Seq:
    seq = zip_(r, *iterables)
    return Seq(seq.length, lambda i: r.call(fn, list(seq.get(i))), seq.rolls, of=(seq,), live=seq.live)


def listed(items: list[Any]) -> Seq:
    """A sequence of Python objects."""
    return Seq(len(items), items.__getitem__, False)


def product_(r: Reader, *iterables: Any, repeat: int = 1) -> Seq:
    """itertools.product: the last sequence varies fastest."""
    seqs = [iterate(r, x) for x in iterables] * repeat
    sizes = [static_length(s) for s in seqs]
    total = 1
    for n in sizes:
        total *= n

    def get(i: Any) -> tuple[Any, ...]:
        at = []
        for n in reversed(sizes[1:]):
            at.append(r.operator("mod", i, n))
            i = r.operator("floordiv", i, n)
        positions = [i, *reversed(at)] if sizes else []
        return tuple(s.get(p) for s, p in zip(seqs, positions))

    return Seq(total, get, all(s.rolls for s in seqs), of=tuple(seqs))


def positions_of(r: Reader, *shape: Any) -> Seq:
    """np.ndindex."""
    dims = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return product_(r, *map(range, dims))


def enumerated(r: Reader, x: Any) -> Seq:
    """np.ndenumerate."""
    at = positions_of(r, *x.shape)
    return Seq(at.length, lambda k: (at.get(k), r.getitem(x, at.get(k))), at.rolls)
