"""Generators: what a generator function gives is handed to its consumer at each `yield`, in the middle of its own loops.

So the loops and branches of a generator stay what they are, and the body of a `for` loop over it, or the step of a sum, is run inside
of them; a consumer that stops sets the flag with which a function returns. One element at a time (`next`, a second argument of
`zip`) is the business of `irad.frontend.reading.resumed`.
"""

from __future__ import annotations

import ast
import builtins
import collections.abc
import functools
from collections.abc import Callable
from typing import Any

from irad.core.array_classes import ArrayOfClass, is_own
from irad.core.foreign import found_in_class, is_container, is_instance, is_read
from irad.core.ir import current
from irad.core.lazy_dataclass import replace
from irad.errors import PythonTypeError, UnsupportedError
from irad.frontend.activations import Activation
from irad.frontend.control.flow import block, branch, disjunction, flag, loop_flags, settle
from irad.frontend.control.loops import otherwise, run_for
from irad.frontend.control.regions import Dead, as_python
from irad.frontend.control.sequences import Around, Consume, Generator, Seq, Stream, go_over, iterate, new_state
from irad.frontend.control.special import special_method
from irad.frontend.control.tries import CAUGHT, may_be_caught
from irad.frontend.control.trips import LoopStatement, stop_flag, trip
from irad.frontend.reader import Reader, expression
from irad.frontend.syntax.liveness import liveness_of
from irad.frontend.syntax.source import source_of
from irad.frontend.values.arr import Arr, from_dim
from irad.frontend.values.objects import Array, Env, Nullable, StructureError, python_method
from irad.frontend.values.runs import has_run, length_of
from irad.frontend.values.state import Name
from irad.ops.control import raise_if

_THROWN = (
    "an exception raised in what goes over this generator would not be caught by the try around this yield, as Python has it; "
    "let the try end before the yield"
)


_DEEPEST = 400


class Undecided(StructureError):
    """An element is wanted now, but which yield comes next depends on data."""


def start(r: Reader, frame: Activation, known: Env | None = None) -> Stream:
    """The generator that a call of a generator function gives: nothing of its body has run. `known`: its state."""
    frame.env.locals, frame.env.nonlocals = frame.liveness.locals, frame.liveness.nonlocals
    r.state.made(frame.env)
    state = known or new_state(r)

    def each(consume: Consume, around: Around) -> Any:
        go_over(r, state)
        if state.names["point"] == ():
            return run(r, frame, consume, around)
        return run(r, frame, consume, around, body=lambda: r.one_by_one().go_on(r, state))

    def advance(then: Callable[[Any], Any], ended: Callable[[], Any]) -> Any:
        return r.one_by_one().advance(r, frame, state, then, ended)

    return Stream(each, advance, state, frame)


def run(
    r: Reader,
    given: Activation,
    consume: Consume,
    around: Around = (),
    thrown: bool = False,
    body: Callable[[], None] | None = None,
) -> Any:
    """Run the body of a generator function, or what is left of it, to its end; what it returns.

    `thrown`: exceptions of the consumer arise at the yield.
    """
    consumer = r.frame
    frame = _activation(r, given)
    frame.around_loops = around

    def handed(value: Any) -> Any:
        with r.activation(consumer):
            return consume(value)

    frame.consume = handed if thrown else lambda value: _apart(r, frame, lambda: handed(value))
    if len(r.frames) > _DEEPEST:
        raise UnsupportedError(f"generators nest deeper than {_DEEPEST}; is there a recursion that does not end?")
    with r.activation(frame):
        body() if body is not None else block(r, given.liveness.node.body)  # type: ignore[arg-type]
    if around and around[0][3] is consumer and flag(frame.flags, "return") is True and not _returns(given.liveness.node):
        settle(r)  # it has no end of its own: the loop over it has been left
    return frame.flags.names.get("value")


@functools.cache
def _returns(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Return) for n in ast.walk(node))


def _activation(r: Reader, given: Activation) -> Activation:
    """A frame of its own for each time that a body runs; its variables are the generator's."""
    frame = replace(given, flags=Env({"return": False}), loops=[], guards=[], finals=[], conditional=r.conditional)
    r.state.made(frame.flags)
    return frame


def _apart(r: Reader, frame: Activation, run: Callable[[], Any]) -> Any:
    """Run a consumer, whose exceptions the generator does not see. Raises UnsupportedError where its handlers would catch one."""
    if not frame.guards:
        return run()
    before = len(current().nodes)
    try:
        out = run()
    except Exception as e:
        if isinstance(e, Dead) or as_python(e) is None:
            raise
        raise UnsupportedError(_THROWN) from e
    with r.activation(frame):
        if may_be_caught(r, current().nodes[before:]):
            raise UnsupportedError(_THROWN)
    return out


@expression(ast.Yield)
def yield_(r: Reader, e: ast.Yield) -> None:
    value = None if e.value is None else r.perhaps(e.value)
    r.at(e)
    _hand(r, value)


def _hand(r: Reader, value: Any) -> Any:
    """Give the consumer an element; has it stopped: a bool, or a traced one?"""
    frame = r.frame
    if frame.consume is None:
        raise UnsupportedError("a yield inside of an expression, of a generator whose elements are taken one by one: assign it")
    stop = frame.consume(value)
    if stop is not False:
        returned = flag(frame.flags, "return")
        r.state.assign(Name(frame.flags, "return"), disjunction(returned, stop))
    return stop


@expression(ast.YieldFrom)
def yield_from(r: Reader, e: ast.YieldFrom) -> Any:
    inner = opened(r, r.expr(e.value))
    r.at(e)
    return hand_all(r, e, inner)


def hand_all(r: Reader, node: ast.AST, iterable: Any) -> Any:
    """Give the consumer all elements of an iterable; what it returns, if it is a generator."""
    stream = as_stream(iterable)
    if stream is not None:
        return stream.each(lambda x: _hand(r, x), r.frame.around_loops)
    seq = iterate(r, iterable)
    run_for(r, LoopStatement(node, lambda k: _hand(r, seq.get(k)), None, None, None), seq)
    return None


def as_stream(x: Any) -> Stream | None:
    """What gives its elements one after another, and only that; None of anything else."""
    if isinstance(x, Generator):
        return x.stream() if x.stream is not None and x.element is None else None
    return x if isinstance(x, Stream) else None


def uncounted(r: Reader, obj: Any) -> Stream | None:
    """The elements of an iterable one by one, if data decide how many there are; None of anything else."""
    stream = as_stream(obj)
    if stream is not None:
        return stream
    seq = obj.seq if isinstance(obj, Generator) and obj.element is not None else obj
    length: Any = None
    if has_run(obj) or (isinstance(obj, Array) and obj.shape):
        length = from_dim(length_of(obj) if has_run(obj) else obj.shape[0])
    elif isinstance(seq, Seq):
        length = seq.length
    if not isinstance(length, Arr) or (r.may_be_known(length) and r.from_arguments(length)):
        return None
    return made(r, each_of, obj)


def made(r: Reader, fn: Any, *args: Any) -> Any:
    """What one of the functions below gives, read as if it were the program's."""
    return r.enter(fn, source_of(fn.__code__), list(args), {})


def opened(r: Reader, x: Any) -> Any:
    """iter(x) of an object whose class is written in Python; anything else is itself."""
    if isinstance(x, (Stream, Generator, Seq, Arr, Array)) or not is_read(type(x)):
        return x
    method = python_method(x, "__iter__")
    if isinstance(x, ArrayOfClass) and is_own(method):
        return x
    if method is None:
        item = python_method(x, "__getitem__")
        by_position = item is not None and not isinstance(x, (list, tuple, dict)) and found_in_class(type(x), "__iter__") is None
        return made(r, indexed, special_method(r, x, "__getitem__")) if by_position else x
    it = r.call(special_method(r, x, "__iter__"), [])
    if python_method(it, "__next__") is not None:
        return made(r, called, special_method(r, it, "__next__"))
    if type(it).__module__.split(".")[0] != "irad" and not isinstance(it, _ITERATES):
        raise PythonTypeError(f"iter() returned non-iterator of type '{type(it).__name__}'")
    return it


_ITERATES = (collections.abc.Iterator,)


def has_own_iterator(x: Any) -> bool:
    """Is it an object whose class says in Python how it is gone over?"""
    if not is_instance(x) or isinstance(x, type) or is_container(x):
        return False
    return any(python_method(x, name) is not None for name in ("__iter__", "__getitem__"))


# ---- loops over generators ------------------------------------------------------------------------------------------------


def run_stream(r: Reader, loop: LoopStatement, stream: Stream) -> None:
    """A `for` loop, whose position is an element; its else clause included."""
    frame, before = r.frame, len(current().nodes)
    around = ((frame.env, loop.head, loop.after, frame), *frame.around_loops)
    with loop_flags(r):

        def consume(x: Any) -> Any:
            trip(r, loop, x)
            return stop_flag(r)

        stream.each(consume, around)
        if frame.guards and may_be_caught(r, current().nodes[before:]):
            raise UnsupportedError(CAUGHT)
        stop, broken = stop_flag(r), flag(frame.loops[-1], "break")
    otherwise(r, loop, stop, broken)


def folded(
    r: Reader, stream: Stream, first: Any, step: Callable[[Any, Any], Any], done: Callable[[Any], Any] | None = None
) -> Any:
    """step(...step(first, x0)..., xn); `done(total)`: nothing can change it any more."""
    place = Name(r.state.made(Env({"total": first})), "total")

    def consume(x: Any) -> Any:
        r.state.assign(place, step(place.get(), x))
        return False if done is None else done(place.get())

    stream.each(consume, ())
    return place.get()


# ---- generator expressions ------------------------------------------------------------------------------------------------


def of_expression(r: Reader, e: ast.GeneratorExp, first: Any, state: Env | None = None) -> Stream:
    """A generator expression as the generator function that it stands for; its first iterable is evaluated."""
    node = _function(e)
    frame, env = r.frame, Env({_FIRST: first}, r.frame.env)
    return start(r, Activation(env, frame.source, liveness_of(node), frame.globals_of, node, around=frame.env), state)


_FIRST = ".0"


@functools.cache
def _function(e: ast.GeneratorExp) -> ast.FunctionDef:
    body: ast.stmt = ast.Expr(ast.Yield(e.elt))
    for k, g in reversed(list(enumerate(e.generators))):
        for test in reversed(g.ifs):
            body = ast.If(test, [body], [])
        body = ast.For(g.target, g.iter if k else ast.Name(_FIRST, ast.Load()), [body], [])
    spec = ast.arguments([], [ast.arg(_FIRST)], None, [], [], None, [])
    made = ast.FunctionDef("<genexpr>", spec, [body], [])
    for n in ast.walk(made):
        if "lineno" in getattr(n, "_attributes", ()) and not hasattr(n, "lineno"):
            ast.copy_location(n, e)
    return made


def where_found(r: Reader, found: Any, exc: str, message: str, *default: Any) -> Any:
    """What a search has found; where that is None the default, or an exception."""
    missing = r.truth(r.identical(found, None))
    value = found.value if isinstance(found, Nullable) else found
    if isinstance(missing, Arr):
        if default:
            return branch(r, missing, lambda: default[0], lambda: value)
        raise_if(missing.value, exc=exc, message=message)
    elif missing and default:
        return default[0]
    elif missing:
        raise getattr(builtins, exc)(*([message] if message else []))
    return value


# ---- what is made of iterators: generator functions, which are read like those of the program --------------------------------


def called(function: Any) -> Any:
    """The elements of an iterator, by its `__next__`."""
    while True:
        try:
            x = function()
        except StopIteration:
            return
        yield x


def until(function: Any, sentinel: Any) -> Any:
    """iter(function, sentinel)."""
    while True:
        x = function()
        if x == sentinel:
            return
        yield x


def indexed(item: Any) -> Any:
    """The elements of an object that has `__getitem__`, and no `__iter__`."""
    k = 0
    while True:
        try:
            x = item(k)
        except IndexError:
            return
        yield x
        k += 1


def best(iterable: Any, better: Any, key: Any) -> Any:
    """The first of the best elements, or None."""
    found = None
    best_key = None
    for x in iterable:
        k = x if key is None else key(x)
        if found is None or better(k, best_key):
            found = x
            best_key = k
    return found


def first(iterable: Any) -> Any:
    """The first element, or None."""
    found = None
    for x in iterable:
        found = x
        break
    return found


def listed(iterable: Any) -> Any:
    """The elements in a list."""
    return [x for x in iterable]  # noqa: C416  (`list` is read as this)


def each_of(iterable: Any) -> Any:
    """The elements of an iterable."""
    yield from iterable


def enumerated(iterable: Any, start: int = 0) -> Any:
    """enumerate."""
    n = start
    for x in iterable:
        yield n, x
        n += 1


def mapped(function: Any, iterable: Any) -> Any:
    """map, of one iterable."""
    for x in iterable:
        yield function(x)


def mapped_rows(function: Any, rows: Any) -> Any:
    """itertools.starmap; map, of several iterables."""
    for row in rows:
        yield function(*row)


def filtered(function: Any, iterable: Any) -> Any:
    """filter."""
    for x in iterable:
        if x if function is None else function(x):
            yield x


def filtered_false(function: Any, iterable: Any) -> Any:
    """itertools.filterfalse."""
    for x in iterable:
        if not (x if function is None else function(x)):
            yield x


def chained(iterables: Any) -> Any:
    """itertools.chain.from_iterable."""
    for it in iterables:
        yield from it


def taken_while(function: Any, iterable: Any) -> Any:
    """itertools.takewhile."""
    for x in iterable:
        if not function(x):
            break
        yield x


def dropped_while(function: Any, iterable: Any) -> Any:
    """itertools.dropwhile."""
    dropping = True
    for x in iterable:
        if dropping:
            dropping = bool(function(x))
        if not dropping:
            yield x


def sliced(iterable: Any, start: int, stop: int | None, step: int) -> Any:
    """itertools.islice."""
    if stop is not None and stop <= start:
        return
    n = 0
    for x in iterable:
        if n >= start and (n - start) % step == 0:
            yield x
        n += 1
        if stop is not None and n >= stop:
            break
