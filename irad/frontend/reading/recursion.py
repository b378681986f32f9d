"""Recursion whose depth depends on data: the function becomes a graph of its own, which calls itself.

Calls are inlined as they are read, so that a function that calls itself in a loop, or twice, becomes a tree of copies; if there
are many of them, which differ in Python numbers only, the numbers are traced and the function becomes a graph too. A function
that is met again under a condition that depends on data, with arguments of the same types, would be inlined for ever: that inner
call becomes `call @f`. What f returns is found by a fixed point: at first the recursive calls count as not returning, so the base
case decides; then they return what was found, until that no longer changes. Arrays that f changes in place are returned too and
stored by the caller; values of surrounding functions that f reads become further parameters.

A check in f keeps what arrays of the caller of the program hold (see irad.frontend.values.kept), so f is read for the arrays that
its parameters are, and for those of the others that have changed. One that passes its arrays on in many orders is read for no
array in particular: what it stores, a check in it does not keep. Nor does it what is stored through a view of an array.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CellType
from typing import Any

from irad.core.ir import Graph, Node, Value, captures, current, emit, map_regions, substitute, walk
from irad.core.lazy_dataclass import dataclass, field
from irad.core.tree import parts
from irad.core.types import Dim, Type
from irad.errors import IradError, UnsupportedError
from irad.frontend.activations import Activation, Restart
from irad.frontend.control.filling import Maker, fresh_array, holes, leaves
from irad.frontend.control.list_rules import OfRecursion, grown_parts
from irad.frontend.control.merge import Joiner, open_
from irad.frontend.control.regions import assume_no_return, run_region
from irad.frontend.control.templates import Ary, Bad, Composite, Grown, Template, equal
from irad.frontend.control.tries import check_tried
from irad.frontend.reader import Reader
from irad.frontend.reading.kinds import circular, generalised, signature
from irad.frontend.reading.recursive_changes import Changes, opened
from irad.frontend.values.kept import Home
from irad.frontend.values.objects import Array, Cell, Maybe, is_number, is_traced_deep
from irad.frontend.values.runs import larger, most_of
from irad.frontend.values.state import Region
from irad.ops.control import call as call_op
from irad.ops.control import raise_if

_LONGER = (
    "the recursive function {1} {0} may be longer in each call, depending on data, and for which there is no room then; "
    "hand on one array and positions in it, or use a loop (sorted(xs) and np.sort sort)"
)
_SIZES = (
    "the recursive function {} is given an array of another length in each call, which depends on extents known at run time only"
)
_LOST = (
    "the recursive function {} stores into an array of the caller, and may raise depending on data; given a view of the array, or its "
    "arrays in changing order, compiled code would undo the stores then; hand on the array itself and positions in it"
)
_ROUND = (
    "the recursive function {} is called by another one that it calls, and reads values of the function around them that data decide; "
    "hand them on as arguments"
)
_CHECKS = ("RecursionError", "IndexError", "ZeroDivisionError", "OverflowError")
_MANY = 4096  # elements of lists for which calls make room where lengths are known at run time only; else lengths are known
_DEEP = 3  # activations that differ in Python numbers only, after which those are traced too
_COPIES = 24  # of a function in itself that are written out
_MOST_COPIES = 128  # of one that cannot become a graph
_NESTED = 8  # activations of a function while it is to become a graph
_ATTEMPTS = 8
_GROWTH = 8  # calls in a row whose arguments get larger, after which there is no end to it
_ORDERS = 2  # orders in which a function passes arrays of the program's caller on to itself, up to which they are told apart


@dataclass(eq=False)
class Record:
    """A function that became a graph."""

    name: str
    frame: Activation
    signature: tuple[Any, ...]
    inputs: list[Template]
    result: Template | None = None  # not known yet
    changed: tuple[int, ...] = ()  # which array arguments are changed in place
    extra: tuple[Value, ...] = ()  # values of the surroundings that are passed too
    done: bool = False
    provisional: bool = False  # built on what is assumed of a function that is still being found out
    arrays: list[Array] = field(default_factory=list)  # the array parameters while the body is read
    homes: tuple[int | None, ...] = ()  # which array of the program's caller each of those is
    stored: frozenset[int] = frozenset()  # arrays of that caller that may have changed before the call
    lost: bool = False  # an exception in it would undo stores into arrays of the program's caller
    moved: bool = False  # it passes its arrays on in many orders
    changes: Changes = field(default_factory=lambda: Changes(""))  # of the containers among the arguments
    tried: list[tuple[type[BaseException], Any]] = field(
        default_factory=list
    )  # what handlers around its own calls catch, and where

    def serves(self, homes: tuple[int | None, ...], stored: frozenset[int]) -> bool:
        """Are these arrays, of which some may have changed, what the function was read for?"""
        mine = {self.homes[k] for k in self.changed}
        return homes == self.homes and (not self.done or stored - mine == self.stored - mine)


def recursive_call(r: Reader, frame: Activation, name: str, body: Callable[[Activation], Any]) -> Any:
    """The result of a call that must not be inlined; NotImplemented for all others. `frame` has its arguments bound."""
    frame.signature = signature(r, frame.env.names)
    record = _known(r, frame)
    if record is None:
        if not _calls_itself(r, frame) or circular(frame.signature):
            _check_growth(r, frame, name)
            return NotImplemented
        known = list(r.records), dict(r.graphs)
        record = _new(r, frame, name)
        record.homes, record.stored = _callers(r, frame)
        try:
            _build(r, record, body)
        except Exception as e:
            r.records, r.graphs = known  # the program may be read on in another way
            if not isinstance(e, IradError) or not (_wanted(r, frame) or _ends(r, frame)):
                raise
            r.recursive[frame.code] = False
            r.no_graph.setdefault(frame.code, e)
            return NotImplemented
    try:
        return _emit(r, record, frame)
    except UnsupportedError:
        if not record.done or not _wanted(r, frame):
            raise
        r.recursive[frame.code] = False
        return NotImplemented


def _calls_itself(r: Reader, frame: Activation) -> bool:
    """Is this a call that must not be inlined?"""
    inside = _activations(r, frame)
    if not inside:
        return False
    if _wanted(r, frame):
        if len(inside) > _NESTED and any(not x.done and _same_function(x.frame, frame) for x in r.records):
            raise UnsupportedError("the types of the arguments of this recursive call do not settle")
        if _among(frame, inside):
            return True
    around = [f for f in inside if f.conditional < r.conditional]
    again = any(f.signature == frame.signature for f in around)
    return again or (len(around) >= _DEEP and frame.code not in r.no_graph and _among(frame, around))


def _ends(r: Reader, frame: Activation) -> bool:
    """May known numbers end a recursion, so that it can be written out?"""
    return all(f.signature != frame.signature for f in _activations(r, frame))


def _activations(r: Reader, frame: Activation) -> list[Activation]:
    """Those of the same function that are running."""
    return [f for f in r.frames if _same_function(f, frame)]


def _among(frame: Activation, others: Iterable[Activation]) -> bool:
    """Do arguments of some of these differ from those of an activation in Python numbers only?"""
    general = generalised(frame.signature)
    return any(generalised(f.signature) == general for f in others)


def _wanted(r: Reader, frame: Activation) -> bool:
    """Is a function to become a graph, because too many copies of it were written out?"""
    return not r.quiet and r.recursive.get(frame.code, False)


def written_out(r: Reader, frame: Activation, body: Callable[[], Any]) -> Any:
    """A call that is inlined. A function that calls itself more than once becomes a tree of copies: from a number of them on it is
    read again as a graph that calls itself, if its copies differ in Python numbers only."""
    if r.quiet or not any(f.code is frame.code for f in r.frames):
        return body()
    nodes = current().nodes
    before = len(nodes)
    out = body()
    if len(nodes) > before and (out is None or is_traced_deep(out)):
        r.copies[frame.code] += 1
        if r.copies[frame.code] > _MOST_COPIES and frame.code in r.no_graph:
            raise r.no_graph[frame.code]
        if r.copies[frame.code] == _COPIES and frame.code not in r.recursive and _among(frame, _activations(r, frame)):
            raise Restart(recursive=frozenset([frame.code]))
    return out


def _same_function(a: Activation, b: Activation) -> bool:
    """Are two activations of one function? Closures of one code that have captured other things are other functions."""
    if a.code is not b.code or a.around is not b.around:
        return False
    f, g = a.globals_of, b.globals_of
    return f is g or all(map(_same_cell, getattr(f, "__closure__", None) or (), getattr(g, "__closure__", None) or ()))


def _same_cell(a: CellType, b: CellType) -> bool:
    try:
        return a is b or a.cell_contents is b.cell_contents
    except ValueError:  # empty
        return False


def _size(t: Any) -> int:
    return sum(map(_size, t)) if isinstance(t, tuple) else 1


def _check_growth(r: Reader, frame: Activation, name: str) -> None:
    """Raise UnsupportedError for a list that each call makes longer before it hands it on, and for an array that has another extent
    in each, as it follows from extents of arguments that are known at run time only."""
    around = [f for f in _activations(r, frame) if f.conditional < r.conditional]
    if len(around) < _GROWTH:
        return
    kinds = [f.signature for f in (*around[-_GROWTH:], frame)]
    if all(_size(a) < _size(b) for a, b in itertools.pairwise(kinds)):
        raise UnsupportedError(_LONGER.format("is given a list that", name))
    extents = [list(_extents(k)) for k in kinds]
    given = any(kind == "extent" for kind, _ in r.leaf_of.values())
    if given and all(a and a != b for a, b in itertools.pairwise(extents)):
        raise UnsupportedError(_SIZES.format(name))


def _extents(kinds: Any) -> Iterator[Dim]:
    """The run-time extents of arrays among arguments."""
    if isinstance(kinds, tuple):
        for k in kinds:
            yield from _extents(k)
    elif isinstance(kinds, Type):
        yield from (n for n in kinds.shape if not isinstance(n, int))


def _callers(r: Reader, frame: Activation) -> tuple[tuple[int | None, ...], frozenset[int]]:
    """Which arrays of the program's caller the arguments are, and which of those may have changed."""
    arrays = [a for x in frame.env.names.values() for a in _arrays(x)]
    return tuple(r.kept.home(a) for a in arrays), r.kept.stored()


def _known(r: Reader, frame: Activation) -> Record | None:
    alike = [x for x in r.records if _same_function(x.frame, frame)]
    if not alike:
        return None
    general = generalised(frame.signature)
    alike = [x for x in alike if x.signature == general and (not x.done or _has_room(x, frame))]
    homes, stored = _callers(r, frame)
    found = next((x for x in alike if x.serves(homes, stored)), None)
    unfinished = [x for x in alike if not x.done]
    if found is None and len(unfinished) == _ORDERS:
        found = unfinished[0]
        found.moved = True
    return found


def _new(r: Reader, frame: Activation, name: str) -> Record:
    base = "".join(c if c.isalnum() else "_" for c in name).strip("_") or "f"
    taken = {rec.name for rec in r.records} | set(r.graphs)
    label, k = f"{base}_rec", 1
    while label in taken:
        k += 1
        label = f"{base}_rec{k}"
    record = Record(label, frame, generalised(frame.signature), [opened(r, x) for x in frame.env.names.values()])
    record.changes = Changes(base)
    r.records.append(record)
    return record


# ---- the graph ----------------------------------------------------------------------------------------------------------


def _build(r: Reader, record: Record, body: Callable[[Activation], Any]) -> None:
    for _ in range(_ATTEMPTS):
        record.provisional = False
        region = _read(r, record, body)
        if record.moved and any(h is not None for h in record.homes):
            record.homes = (None,) * len(record.homes)
        elif _settled(r, record, region):
            _finish(r, record, region)
            return
    r.records.remove(record)
    raise UnsupportedError(f"the type of what {record.name.removesuffix('_rec')} returns does not settle")


def _read(r: Reader, record: Record, body: Callable[[Activation], Any]) -> Region:
    """Read the body with parameters in place of arguments."""
    params = [Value(t, n) for n, t in _param_types(record)]
    record.arrays, record.tried = [], []
    record.changes.begin()

    def array(t: Any, v: Value) -> Array:
        record.arrays.append(Array(Cell(v, parts=None)))
        return record.arrays[-1]

    def run() -> Any:
        maker = Maker(params, array, lambda obj, _: record.changes.made(r, obj), handed=True)
        frame = record.frame
        env = type(frame.env)(dict(zip(frame.env.names, map(maker.make, record.inputs))), frame.env.parent)
        with r.kept.inside(_homes(record)):
            return body(Activation(env, frame.source, frame.liveness, frame.globals_of, frame.code, around=frame.around))

    region = run_region(r, run)
    region.params = tuple(params)
    if region.dead:
        raise UnsupportedError(f"{record.name.removesuffix('_rec')} calls itself on every path: it has no base case")
    if region.log.old:
        raise UnsupportedError(
            f"the recursive function {record.name.removesuffix('_rec')} changes variables outside of it; return them"
        )
    return region


def _has_room(record: Record, frame: Activation) -> bool:
    """Have the lists that a call hands on room where the recursive function keeps them?"""
    given = zip(record.inputs, frame.env.names.values())
    return all(larger(g.rows, most_of(xs)) == g.rows for t, x in given for g, xs in grown_parts(t, x))


def _held(t: Template) -> int:
    """How many elements there are in lists, or rows in arrays, that a function is given."""
    if isinstance(t, Composite):
        return max(len(t.kids), *map(_held, t.kids)) if t.kids else 0
    most = t.most if isinstance(t, Grown) else t.type.shape[0] if isinstance(t, Ary) and t.type.shape else 0
    return most if isinstance(most, int) else 0


def _homes(record: Record) -> list[Home]:
    """The arrays of the program's caller that the parameters are; of one given twice, the parameter that is changed is last."""
    found = [(k in record.changed, h, a) for k, (h, a) in enumerate(zip(record.homes, record.arrays)) if h is not None]
    found.sort(key=lambda x: x[0])
    return [Home(h, a.cell, changed or h in record.stored) for changed, h, a in found]


def _param_types(record: Record) -> list[tuple[str, Any]]:
    out, seen = [], set[int]()
    for n, t in zip(record.frame.env.names, record.inputs):
        out += [(n, h) for h in holes(t, seen)]
    return out


def _settled(r: Reader, record: Record, region: Region) -> bool:
    """Join what came out with what was assumed; True if they agree."""
    result = region.result.value if isinstance(region.result, Maybe) else region.result
    changed = tuple(k for k, a in enumerate(record.arrays) if a.cell.written)
    given = sum(map(_held, record.inputs))
    if given > _MANY and any(kind == "extent" for kind, _ in r.leaf_of.values()):
        raise UnsupportedError(_SIZES.format(record.name.removesuffix("_rec")))
    joiner = Joiner(grower=OfRecursion(r.room, given))
    template = open_(result) if record.result is None else joiner.join(record.result, result)
    if isinstance(template, Bad):
        raise UnsupportedError(
            f"what {record.name.removesuffix('_rec')} returns depends on data in its structure: {template.message}"
        )
    agrees = record.result is not None and equal(record.result, template) and changed == record.changed
    agrees = record.changes.learn(r) and agrees
    if not agrees:
        record.result, record.changed = template, tuple(sorted({*changed, *record.changed}))
    return agrees


def _finish(r: Reader, record: Record, region: Region) -> None:
    assert record.result is not None
    result = region.result.value if isinstance(region.result, Maybe) else region.result
    with region.builder:
        values = leaves(record.result, result, r.read)
        values += [r.value(record.arrays[k]) for k in record.changed]
        values += record.changes.values(r)
    graph = Graph(region.params, tuple(region.nodes), tuple(values), record.name)
    record.extra = captures(graph)
    if record.extra:
        graph = _with_extra(graph, record)
        _check_others(r, record)
    r.graphs[record.name] = graph
    record.done = True
    check_tried(r, graph, record.tried)
    _check_lost(r, record)
    if record.provisional or any(v not in r.entry for v in record.extra):
        r.records.remove(record)  # or it reads values of this very place: elsewhere it is built anew


def _check_others(r: Reader, record: Record) -> None:
    """Only the function itself hands on what it reads from outside: raise UnsupportedError if one that it calls calls it."""
    for n in (n for g in r.graphs.values() for n in walk(g)):
        if n.op is call_op and n.attrs["callee"] == record.name and n.inputs[len(n.inputs) - len(record.extra) :] != record.extra:
            raise UnsupportedError(_ROUND.format(record.name.removesuffix("_rec")), n.loc)


def _with_extra(graph: Graph, record: Record) -> Graph:
    """The graph with what it reads from outside as further parameters, passed on in its own calls."""
    inner = {v: Value(v.type, v.hint) for v in record.extra}
    body = _passing(graph, record.name, record.extra)
    closed = substitute(body, inner)
    return Graph((*closed.params, *inner.values()), closed.nodes, closed.results, closed.name)


def _passing(graph: Graph, name: str, extra: tuple[Value, ...]) -> Graph:
    def node(n: Node) -> Node:
        mine = n.op is call_op and n.attrs["callee"] == name
        return n.replace(inputs=n.inputs + extra) if mine else map_regions(n, lambda g: _passing(g, name, extra))

    return graph.replace(nodes=[node(n) for n in graph.nodes])


# ---- calls -------------------------------------------------------------------------------------------------------------------


def _emit(r: Reader, record: Record, frame: Activation) -> Any:
    if not record.done:
        for other in r.records[r.records.index(record) + 1 :]:
            other.provisional = other.provisional or not other.done
    if record.result is None:  # being found out: this path does not count yet
        raise assume_no_return()
    seen: set[int] = set()
    args = list(frame.env.names.values())
    if not _has_room(record, frame):
        raise UnsupportedError(_LONGER.format("is given a list that", record.name.removesuffix("_rec")))
    inputs = [v for t, x in zip(record.inputs, args) for v in leaves(t, x, r.read, seen)]
    arrays = [a for x in args for a in _arrays(x)]
    changed = [arrays[k] for k in record.changed]
    if len({id(c) for a in changed for c in a.cells()}) < len(changed):
        raise UnsupportedError("a recursive function that changes its array arguments is given the same array twice")
    containers = record.changes.given(args)
    _note_lost(r, record, arrays)
    types = (*holes(record.result), *(a.type for a in changed), *record.changes.types())
    outs = emit(call_op, *inputs, *record.extra, callee=record.name, types=types)
    n = len(holes(record.result))
    for a, v in zip(changed, outs[n:]):
        r.setitem(a, Ellipsis, Array(_cell(v)))
    record.changes.give(r, containers, outs[n + len(changed) :])
    return Maker(outs[:n], fresh_array, r.state.made, handed=True).make(record.result)


def _note_lost(r: Reader, record: Record, arrays: Sequence[Array]) -> None:
    """Which stores into arrays of the program's caller an exception in the function would undo: those that it is not read for."""
    for k in record.changed:
        for c in arrays[k].cells():
            if record.homes[k] is None and r.kept.number(Array(c)) is not None:
                record.lost = True
    if record.done:
        _check_lost(r, record)


def _check_lost(r: Reader, record: Record) -> None:
    """Raises UnsupportedError for a function that has a `raise` where Python would leave the caller's arrays as they are then.

    Checks of indices and of arithmetic do not count: they are in most functions, and hardly ever raise.
    """
    graph = r.graphs[record.name]
    if record.lost and any(n.op is raise_if and n.attrs["exc"] not in _CHECKS for n in walk(graph)):
        raise UnsupportedError(_LOST.format(record.name.removesuffix("_rec")))


def _cell(v: Value) -> Any:
    return fresh_array(None, v).cell  # type: ignore[arg-type]


def _arrays(x: Any) -> list[Array]:
    if isinstance(x, Array):
        return [x]
    node = None if is_number(x) else parts(x)
    return [a for c in node[2] for a in _arrays(c)] if node is not None else []
