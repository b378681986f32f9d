"""Functions of the program: what is called again with arguments of the same kinds becomes a graph, which is called.

A call is read in place at first, and it is noted how many nodes that made, and what it changed that was there before. When a
function that made many comes again with arguments of the same kinds (types of numbers and arrays, and the values of all else), it is
read once more with parameters for the numbers and arrays, and from then on there is `call @f`. Known floats that are others in the
second call are parameters too. Attributes and arrays that it changes are further results, which the caller stores. The pass `inline`
decides which of those calls stay. If the very values come again where the results can be seen, the results serve again.

So it is for functions that change nothing but that: their calls give the same again as long as nothing outside has changed
(`State.epoch`). What a function reads of the variables of functions around it counts as its arguments. All other calls are read in
place each time, and so are those that cannot be read with parameters. If a program with functions cannot be read, it is read again
without.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from irad.core.foreign import own_attributes
from irad.core.ir import Builder, Graph, Value, callees, captures, current, emit, substitute, within
from irad.core.lazy_dataclass import dataclass, field
from irad.core.switches import on
from irad.core.types import Type
from irad.errors import IradError
from irad.frontend.activations import Activation, Restart
from irad.frontend.control.filling import Maker, holes, leaves
from irad.frontend.control.regions import Dead, run_region
from irad.frontend.control.templates import Ary, Template
from irad.frontend.reader import Reader
from irad.frontend.reading.signatures import (
    Arguments,
    Unsuited,
    anew,
    arrays_in,
    given_back,
    kind,
    known_numbers,
    like,
    template,
    values,
    variables,
)
from irad.frontend.reading.written import in_library
from irad.frontend.values.objects import CLOCK, Array, Cell, in_scope
from irad.frontend.values.state import Attribute, Name, Region, Watch, same
from irad.ops import effects
from irad.ops.control import call as call_op

LARGE = 60  # nodes: what makes fewer is read in place
WORTH = 8  # nodes: what makes fewer is not looked up by its values,
WORK = 64  # unless so many things, such as activations, were made while it was read
PATTERNS = 4  # sets of floats for which a function is read with parameters
Pattern = tuple[str | None, ...]


@dataclass(eq=False)
class Function:
    """A function that became a graph. `attributes`: what it assigns, by numbers of objects; `arrays`: which it stores into."""

    name: str
    inputs: list[Template]
    result: Template
    types: tuple[Type, ...]
    attributes: list[tuple[int, str]]
    arrays: list[int]
    extra: tuple[Value, ...]  # values of the entry that it reads
    raises: bool


@dataclass(eq=False)
class Known:
    """What is known of calls of one function with arguments of the same kinds. `alive`: what the key holds by id."""

    alive: Any
    epoch: int = -1
    cost: int = 0
    pure: bool = False  # nothing is changed
    closed: bool = False  # nothing is changed but objects and arrays that are given
    floats: Pattern = ()  # of the call that was read in place
    fixed: bool = False  # known numbers come out, so floats are not parameters
    functions: dict[Pattern, Function | None] = field(default_factory=dict)
    results: dict[Any, list[tuple[Any, Builder, Any]]] = field(default_factory=dict)  # by values: they, where, result


def called(r: Reader, frame: Activation, name: str, body: Callable[[Activation], Any]) -> Any:
    """What a call returns. `frame` has its arguments bound; `body` reads the function in it."""
    if not _possible(r, frame):
        return body(frame)
    given = Arguments()
    try:
        places, functions = variables(frame, given)
        kinds = (functions, *[(p.name, kind(r, p.get(), given)) for p in places])
    except Unsuited:
        return body(frame)
    key = (frame.code, id(frame.globals_of), kinds, r.orders)
    known = r.seen.get(key)
    if known is None or known.epoch != r.state.epoch:
        known = r.seen[key] = Known((frame.globals_of, given.things), floats=tuple(given.floats))
        return _in_place(r, known, given, frame, body)
    if not known.closed:
        return body(frame)
    found = _result_of(r, known, given)
    if found is not NotImplemented:
        return found
    function = _function_for(r, known, given, frame, places, name, body) if known.cost >= LARGE else None
    if function is None or known.epoch != r.state.epoch or (function.raises and r.kept.contents()):
        return _in_place(r, known, given, frame, body)
    return _call(r, function, [p.get() for p in places], given)


def _possible(r: Reader, frame: Activation) -> bool:
    """May the function become a graph? Not if it is an expression in another function, nor where it matters what raises or what is
    tried."""
    if r.quiet or r.rules or r.filters or not r.shares or not on("functions"):
        return False
    if frame.env.parent is not None and isinstance(frame.code, ast.Lambda):
        return False
    fn = frame.globals_of
    return isinstance(fn, types.FunctionType) and not in_library(fn) and not any(f.guards or f.finals for f in r.frames)


# ---- in place ------------------------------------------------------------------------------------------------------------


def _in_place(r: Reader, known: Known, given: Arguments, frame: Activation, body: Callable[[Activation], Any]) -> Any:
    """Read a call where it is, and note what can be said of it then."""
    here = current()
    before, epoch, mine = len(here.nodes), r.state.epoch, given.older()
    with r.state.watched(frame.env.stamp) as watch:
        out = body(frame)
    made = here.nodes[before:]
    known.cost = sum(1 for _ in within(made))
    known.epoch = r.state.epoch
    quiet = epoch == r.state.epoch and all(effects(n) != "io" for n in made)
    known.pure = quiet and not watch.old
    known.closed = quiet and all(k in mine for k in watch.old)
    known.fixed = known.fixed or known_numbers(out)
    if known.pure and (known.cost >= WORTH or next(CLOCK) - frame.env.stamp >= WORK):
        try:
            copy = anew(r, out, frame.env.stamp)
        except Unsuited:
            return out
        known.results.setdefault(_values(given), []).append((given.things, here, copy))
    return out


def _values(given: Arguments) -> Any:
    return (*given.ids, *given.floats)


def _result_of(r: Reader, known: Known, given: Arguments) -> Any:
    """The result of a call with the very values, if it can be seen here; else NotImplemented."""
    for _, made, out in known.results.get(_values(given), ()) if known.pure else ():
        at: Builder | None = made
        while at in r.state.joined:
            at = r.state.joined[at]
        if in_scope(at):
            return anew(r, out, 0)
    return NotImplemented


# ---- the graph -----------------------------------------------------------------------------------------------------------


def _function_for(
    r: Reader, known: Known, given: Arguments, frame: Activation, places: list[Name], name: str, body: Callable[[Activation], Any]
) -> Function | None:
    """The function as a graph that serves these arguments; None if it cannot be read with parameters."""
    floats = tuple(given.floats)
    serves = lambda p: all(a is None or a == b for a, b in zip(p, floats))
    found = next((f for p, f in known.functions.items() if f is not None and serves(p)), None)
    if found is not None:
        return found
    pattern: Pattern = tuple([b if a == b or known.fixed else None for a, b in zip(known.floats, floats)])
    if known.functions and not known.fixed:  # it comes again with others: all may change
        whole: Pattern = (None,) * len(floats)
        pattern = pattern if whole in known.functions else whole
    if pattern not in known.functions and len(known.functions) < PATTERNS:
        known.functions[pattern] = _function(r, frame, places, name, body, pattern, given)
    return known.functions.get(pattern) if serves(pattern) else None


def _function(
    r: Reader,
    frame: Activation,
    places: list[Name],
    name: str,
    body: Callable[[Activation], Any],
    pattern: Pattern,
    caller: Arguments,
) -> Function | None:
    if r.kept.contents():
        return None
    shared, seen, floats = dict[int, Template](), set[int](), iter(pattern)
    before = [p.get() for p in places]
    inputs = [template(r, x, shared, floats) for x in before]
    params = [Value(t, p.name) for p, x in zip(places, inputs) for t in holes(x, seen)]

    def run() -> tuple[Arguments, list[dict[str, Any]], Watch, Any]:
        maker = Maker(params, _array, r.state.made)
        made = list(map(maker.make, inputs))
        env, given = type(frame.env)(dict(frame.env.names), frame.env.parent), Arguments()
        for p, x in zip(places, made):
            (Name(env, p.name) if p.owner is frame.env else p).set(x)
            kind(r, x, given)
        old = [own_attributes(x) for x in given.objects]
        with r.state.watched(env.stamp) as watch:
            out = body(Activation(env, frame.source, frame.liveness, frame.globals_of, frame.code, around=frame.around))
            return given, old, watch, (out, [own_attributes(x) for x in given.objects])

    try:
        with _alone(r):
            region = run_region(r, run)
        region.params = tuple(params)
        return None if region.dead or region.log.old else _finished(r, region, inputs, _label(r, name), caller)
    except (IradError, Restart, Unsuited, Dead):
        return None
    finally:
        for p, x in zip(places, before):
            p.set(x)


@contextmanager
def _alone(r: Reader) -> Iterator[None]:
    """Read as if nothing was around: neither functions that call nor conditions that hold."""
    frames, facts = r.frames[:], r.facts
    r.facts = {}
    del r.frames[1:]
    try:
        yield
    finally:
        r.frames[:] = frames
        r.facts = facts


def _label(r: Reader, name: str) -> str:
    base = "".join(c if c.isalnum() else "_" for c in name).strip("_") or "f"
    label, k = f"{base}_fn", 1
    while label in r.graphs or any(rec.name == label for rec in r.records):
        k += 1
        label = f"{base}_fn{k}"
    return label


def _finished(r: Reader, region: Region, inputs: list[Template], label: str, caller: Arguments) -> Function | None:
    """The function of a body that was read. Raises Unsuited if it returns, or leaves behind, what a call cannot.

    `caller`: what the caller gives. Some arrays may be the program's caller's: what they hold is kept where something raises. Some may
    be views of one: in the function they are apart, so it must not store into them.
    """
    given, before, watch, (out, after) = region.result
    mine = given.older()
    if any(k not in mine for k in watch.old):
        return None
    attributes = [
        (k, name, new[name])
        for k, (old, new) in enumerate(zip(before, after))
        for name in new
        if name not in old or not same(old[name], new[name])
    ]
    gone = any(name not in new for old, new in zip(before, after) for name in old)
    arrays = [k for k, c in enumerate(given.cells) if c.written]
    whole = anew(r, (out, tuple([x for _, _, x in attributes])), watch.start, given)
    found = [x for x in arrays_in((out, tuple([x for _, _, x in attributes]))) if id(x) not in given.arrays]
    if gone or len({id(a.cell) for a in found}) < len(found):
        return None
    result = template(r, whole, {}, iter(lambda: "", None))
    with region.builder:
        results = leaves(result, whole, r.read)
        results += [r.value(Array(given.cells[k])) for k in arrays]
    graph = Graph(region.params, tuple(region.nodes), tuple(results), label)
    extra, entry = captures(graph), r.entry
    lengths = {s for v in results for s in v.type.symbols}
    raises = any(effects(n) == "raise" for n in graph.nodes) or any(name in r.raising for name in callees(graph))
    if any(v not in entry for v in (*extra, *lengths)) or any(effects(n) == "io" for n in graph.nodes):
        return None
    if arrays and (len(caller.cells) < len(caller.arrays) or (raises and any(caller.cells[k].outside for k in arrays))):
        return None
    if raises:
        r.raising.add(label)
    inner = {v: Value(v.type, v.hint) for v in extra}
    closed = substitute(graph, inner)
    r.graphs[label] = Graph((*closed.params, *inner.values()), closed.nodes, closed.results, label)
    return Function(
        label, inputs, result, tuple([v.type for v in results]), [(k, n) for k, n, _ in attributes], arrays, extra, raises
    )


def _array(t: Ary, v: Value) -> Array:
    out = like(t.pair[0], v)
    out.cell.parts = None  # its caller knows it
    return out


def _call(r: Reader, f: Function, args: list[Any], given: Arguments) -> Any:
    seen: set[int] = set()
    inputs = [v for t, x in zip(f.inputs, args) for v in values(r, t, x, seen)]
    outs = emit(call_op, *inputs, *f.extra, callee=f.name, types=f.types)
    n = len(outs) - len(f.arrays)
    for k, v in zip(f.arrays, outs[n:]):
        r.setitem(given.array(k), Ellipsis, Array(Cell(v)))
    out, new = given_back(r, Maker(outs[:n], _array, r.state.made).make(f.result), given)
    for (k, name), x in zip(f.attributes, new):
        r.state.assign(Attribute(given.objects[k], name), x)
    return out
