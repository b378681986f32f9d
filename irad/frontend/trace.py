"""From a Python function and example arguments to a program: the entry of the front end."""

from __future__ import annotations

import ast
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from irad.core.foreign import is_container, is_foreign_array
from irad.core.ir import Builder, Graph, Program, Value, walk
from irad.core.ir import captures as free
from irad.core.lazy_dataclass import replace
from irad.core.notes import Notes
from irad.core.once import import_later
from irad.core.promotion import of_numpy_2
from irad.core.random_streams import is_stream
from irad.core.structured import ARRAYS, SCALARS, Bytes, Structured, field_type, why_not
from irad.core.tree import Static, TreeDef, flatten, is_leaf, leaf_fields, structured_nodes
from irad.core.types import type_of
from irad.errors import IradError, IradTypeError, Loc, UnsupportedError
from irad.frontend.control import lists, nullable, sequences, tries
from irad.frontend.control.flow import branch_values
from irad.frontend.control.regions import Dead, of_the_program, raise_as
from irad.frontend.control.templates import structure
from irad.frontend.reader import OWN, Frame, Reader, Restart
from irad.frontend.reading import attributes, calls, comprehensions, expressions, logic, records, subscripts
from irad.frontend.reading.protocols import run_without_source
from irad.frontend.reading.returned import check_returned, with_perhaps
from irad.frontend.reading.write_back import written_back
from irad.frontend.reading.written import call_written
from irad.frontend.registry import Written
from irad.frontend.syntax.source import Source
from irad.frontend.values.arr import Arr, NeedStatic
from irad.frontend.values.captures import RECORD, Captures, strides_of
from irad.frontend.values.guards import INT32, Capture, Path
from irad.frontend.values.kept import renumbered
from irad.frontend.values.objects import (
    AliasError,
    Array,
    Cell,
    Either,
    Env,
    Maybe,
    Nullable,
    Poison,
    Stopped,
    Text,
    is_number,
    unfit,
)
from irad.frontend.values.traced import GIVEN, Leaf, Mutation, Result, Spec, Traced, Write
from irad.ops.core import effects
from irad.ops.intervals import bound

for _name in (  # they register handlers of syntax and of calls
    *(f"python.{m}" for m in ("builtins", "complex", "itertools", "math", "texts")),
    *(f"reading.{m}" for m in ("match", "raises", "statements", "streams", "with_blocks")),
    *(f"numpy.{m}" for m in ("view_conversions", "view_picks")),
):
    import_module(f"irad.frontend.{_name}")

_CALL: Any = ast.parse("lambda: None", mode="eval").body  # what is around the function: it may be one that has no source
_RESTARTS = 50
_STACK = 12_000


def _operator(r: Reader, name: str, *xs: Any) -> Any:
    """A Python operator, by its name in the module `operator`."""
    if any(isinstance(x, (Structured, Bytes)) for x in xs):
        return records.node_operator(r, name, *xs)
    return expressions.apply_operator(r, name, *xs)


def _get_item(r: Reader, obj: Any, key: Any) -> Any:
    """obj[key]."""
    return (records.node_item if isinstance(obj, (Structured, Bytes)) else subscripts.get_item)(r, obj, key)


def _set_item(r: Reader, obj: Any, key: Any, value: Any) -> None:
    """obj[key] = value."""
    (records.set_node_item if isinstance(obj, (Structured, Bytes)) else subscripts.set_item)(r, obj, key, value)


class SourceReader(Reader):
    """The reader with everything bound."""

    call = lambda self, fn, args, kwargs=None: calls.call(self, fn, list(args), dict(kwargs or {}))
    enter = calls.enter
    truth = logic.truth
    condition = logic.condition
    identical = logic.identical
    guarded = tries.guarded
    operator = _operator
    getitem = _get_item
    setitem = _set_item
    getattr = attributes.get_attr
    setattr = attributes.set_attr
    put = subscripts.put
    choose = subscripts.choose
    items = sequences.items
    array_of = lists.array_of
    fold = comprehensions.fold
    tabulated = comprehensions.tabulated
    vectorized = lambda self, fn, args, kwargs: import_later("irad.frontend.reading.vectorize").vectorized(self, fn, args, kwargs)

    narrowed = nullable.narrowed
    one_by_one = lambda self: import_later("irad.frontend.reading.resumed")  # seldom needed

    def definite(self, x: Nullable, what: ast.expr | str) -> Any:
        return nullable.definite(self, x, what if isinstance(what, str) else f"'{ast.unparse(what)}'")

    def read_either(self, x: Either) -> Value:
        return branch_values(self, x.cond, lambda: [self.value(x.left)], lambda: [self.value(x.right)])[0]

    without_source = run_without_source


def _read_alone(entry: Written, operands: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """A function that is written in NumPy as a builder: of operands as the table's functions take them, outside of any function."""
    r = SourceReader(Captures())
    r.frames.append(_outermost())
    args, kwargs = [r.wrap(x) for x in operands], {k: r.wrap(v) for k, v in named.items()}
    return r.operand(call_written(r, entry, args, kwargs))


Written.read = _read_alone


def _outermost() -> Frame:
    """The activation around the function that is read."""
    return Frame(Env(), Source(_CALL, "<the call>", 0), calls.liveness_of(_CALL), None)


def trace(
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    static: frozenset[int] = frozenset(),
    live: frozenset[Path] = frozenset(),
    name: str = "",
    notes: Notes | None = None,
    rows: bool = True,
) -> Traced:
    """Read `fn` for arguments like these.

    Arguments are trees of arrays, numbers or `Spec`s. `static`: numbers of argument leaves that are constants of the
    program; others become so where the program's structure depends on them. `live`: paths of captured ints that
    change from call to call. `notes`: where to say what is decided. `rows`: long lists are returned as arrays, of which the caller makes lists. Raises `IradError` kinds at the user's line for what is not supported; exceptions
    that the user's own static code raises come out unchanged.
    """
    leaves, in_tree = flatten((tuple(args), dict(kwargs or {})), lambda x: is_leaf(x) or isinstance(x, Spec))
    fixed: set[Any] = {("arg", k) for k in static}
    unroll: set[Any] = set()
    tracked: set[Any] = set()
    label = "".join(c if c.isalnum() or c == "_" else "_" for c in name or getattr(fn, "__name__", "f")).strip("_") or "f"
    for _ in range(_RESTARTS):
        attempt = _Attempt(fn, leaves, in_tree, frozenset(fixed), frozenset(unroll), frozenset(tracked), live, rows)
        attempt.reader.notes = notes
        if notes is not None:
            notes.forget("mode")
        try:
            with _deep_stack(), of_numpy_2():
                return attempt.run(label)
        except Restart as again:
            fixed |= again.static
            unroll |= again.unroll
            tracked |= again.tracked
    raise UnsupportedError(f"{getattr(fn, '__name__', fn)} needs more than {_RESTARTS} of its numbers at compile time")


@contextmanager
def _deep_stack() -> Iterator[None]:
    """Room for the reader's own recursion: some twenty Python frames for each level of nesting in the user's code."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _STACK))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class _Attempt:
    """One reading of a function, with some numbers fixed and some loops written out."""

    def __init__(
        self,
        fn: Any,
        leaves: list[Any],
        in_tree: TreeDef,
        fixed: frozenset[Any],
        unroll: frozenset[Any],
        tracked: frozenset[Any],
        live: frozenset[Path],
        rows: bool,
    ):
        self.rows = rows
        self.fn, self.leaves, self.in_tree, self.fixed = fn, leaves, in_tree, fixed
        captures = Captures(live)
        captures.frozen = {key for kind, key in fixed if kind == "capture"}
        self.reader = SourceReader(captures, unroll, tracked)
        self.reader.frames.append(_outermost())
        self.infos: list[Leaf] = []
        self.params = self.reader.params
        self.objects: list[Any] = []  # what stands for each leaf
        self.records: list[Structured] = []  # the structured arrays among the arguments
        self.shared: dict[
            int, tuple[Cell, Result]
        ] = {}  # id of a new array's storage -> it, which is kept, and the result that it is
        self.numbers: dict[int, int] = {}  # arrays of the caller that change -> results that are their final contents

    def run(self, name: str) -> Traced:
        r = self.reader
        with Builder() as b:
            b.kept = r.kept.now
            self._arguments()
            taken = iter([self._static(x, Path(k)) for k, x in enumerate(_statics(self.in_tree))])
            args, kwargs = _with_statics(self.in_tree, taken).unflatten(self.objects)
            for k, x in enumerate(args):
                self._inputs(x, Path(GIVEN, (("item", 0), ("item", k))))
            for name_of, x in kwargs.items():
                self._inputs(x, Path(GIVEN, (("item", 1), ("item", name_of))))
            r.captures.note(self.fn, Path())
            try:
                out = r.call(self.fn, list(args), dict(kwargs))
            except IradError as e:
                again = self._restart(e)
                if again is not None:
                    raise again from None
                if isinstance(e, NeedStatic):
                    raise
                if not self._raised_late(b, e):
                    raise e.at(definition(self.fn)) from e.__cause__
                out = None
            except Dead:
                out = None
            except Exception as e:
                if not self._raised_late(b, e):
                    raise
                out = None
            try:
                r.captures.check_callbacks(self.fn, _statics(self.in_tree))
                results, values, out_tree, own = self._results(out)
                mutated = self._mutations(values)
                writes = written_back(self.reader, lambda x: self._assigned(x, values))
            except IradError as e:
                raise e.at(definition(self.fn)) from e.__cause__
        nodes = tuple(b.nodes)
        return self._traced(name, nodes, values, results, out_tree, mutated, own, writes)

    def _raised_late(self, b: Builder, e: Exception) -> bool:
        """Raise at run time what reading raised after the program has done something: raised under a condition, printed, or
        stored into an array of the caller."""
        if not of_the_program(e):
            return False
        if not self.reader.kept.contents() and not any(effects(n) != "none" for n in b.nodes):
            return False
        raise_as(self.reader, e)
        return True

    # ---- arguments ----

    def _arguments(self) -> None:
        names = _leaf_names(self.fn, self.in_tree, len(self.leaves))
        found = leaf_fields(self.in_tree)
        scalars = {first + j for first, t in structured_nodes(self.in_tree) if t.meta.scalar for j in range(t.size)}
        seen: dict[int, int] = {}
        for k, x in enumerate(self.leaves):
            first = seen.setdefault(id(x), k) if isinstance(x, np.ndarray) else k
            if first != k:
                old = self.infos[first]
                self.infos.append(Leaf(old.type, old.kind, old.param, alias=first, strides=old.strides))
                self.objects.append(self.objects[first])
            elif ("arg", k) in self.fixed:
                self.infos.append(Leaf(type_of(x), _kind(x), None, value=x))
                self.objects.append(self.reader.wrap(x))
            else:
                self._parameter(k, x, names[k], found[k] is not None, RECORD if k in scalars else "")

    def _static(self, x: Any, path: Path) -> Any:
        """What stands for a part of the arguments that is no number: what is followed is read like captured state."""
        if not isinstance(x, (bool, str, type(None))):
            if is_container(x) or is_foreign_array(x) or isinstance(x, np.ndarray) or is_stream(x):
                return self.reader.captures.take(x, path)
            self.reader.captures.note(x, path)
        return x

    def _inputs(self, x: Any, path: Path) -> None:
        """Containers of the caller, and where they are found from the arguments."""
        if isinstance(x, Structured):
            self.records.append(x)
            return
        found = structure(x)
        if found is not None:
            if not isinstance(x, tuple):
                self.reader.captures.inputs[id(x)] = x
                self.reader.captures.given[id(x)] = path
            for step, child in _steps(x, found):
                self._inputs(child, Path(path.root, (*path.steps, step)))

    def _parameter(self, k: int, x: Any, name: str, field: bool, frozen: str) -> None:
        """`field`: of a structured array, in either byte order; `frozen`: why it cannot be stored into."""
        kind = _kind(x)
        try:
            found = field_type(x) if field and isinstance(x, np.ndarray) else None
            t = x.type if isinstance(x, Spec) else found or type_of(x)
        except (TypeError, OverflowError) as e:
            raise IradTypeError(f"argument {name}: {refusal(x) or e}").at(definition(self.fn)) from None
        value = Value(t, name)
        strides = strides_of(x) if isinstance(x, np.ndarray) else None
        small = type(x) is int and INT32[0] <= x <= INT32[1]
        steps = x.strides if isinstance(x, np.ndarray) else None
        self.infos.append(Leaf(t, kind, len(self.params), strides=strides, steps=steps, int32=small))
        self.params.append(value)
        if kind == "ndarray":
            array = Array(Cell(value, name, outside=True), strides=strides, frozen=frozen)
            if isinstance(x, np.ndarray):
                array.laid_out(strides)
            self.reader.kept.cells.append(array.cell)
            self.reader.captures.leaves[id(array)] = k, x
            self.objects.append(array)
            return
        if small:
            bound(value, *INT32)
        self.reader.leaf_of[value] = ("arg", k)
        self.objects.append(Arr(value, kind in ("int", "float", "complex")))

    def _restart(self, e: IradError) -> Restart | None:
        """What to fix so that the numbers which an error is about are known, or which loops to follow arrays in; None if nothing helps."""
        r = self.reader
        if isinstance(e, AliasError) and not r.doubtful <= r.tracked:
            return Restart(tracked=frozenset(r.doubtful))
        leaf_of = r.leaf_of | {
            c.value: ("capture", p)
            for p, c in r.captures.params.items()
            if not c.type.shape and p.steps[-1:] != (("stream", None),)
        }
        sources = r.sources_of(e)
        fix = frozenset(leaf_of[v] for v in sources if v in leaf_of)
        loops = frozenset(r.loop_of[v] for v in sources if v in r.loop_of)
        unknown = [v for v in sources if v not in leaf_of and v not in r.loop_of]
        if (
            not sources
            or unknown
            or (fix <= self.fixed and loops <= r.unroll)
            or any(isinstance(self.leaves[k], Spec) for kind, k in fix if kind == "arg")
        ):
            return None
        return Restart(fix, loops)

    # ---- results ----

    def _results(self, out: Any) -> tuple[list[Result], list[Value], TreeDef, list[tuple[int, Path]]]:
        leaf = lambda x: is_number(x) or isinstance(x, (Array, Poison, Text))
        out = with_perhaps(self.reader, lists.with_items(self.reader, _settled(out), self.rows))
        leaves, tree = flatten(_settled(out), leaf, self.reader.is_opened, nondiff=True)
        check_returned(self.reader, _statics(tree))
        values: list[Value] = []
        whole = [
            x
            for x in flatten(_settled(out), lambda x: isinstance(x, Structured) or leaf(x), self.reader.is_opened, nondiff=True)[
                0
            ]
            if isinstance(x, Structured)
        ]
        own = [(k, path) for k, x in enumerate(whole) if (path := self._own(x)) is not None]
        return [self._result(x, values) for x in leaves], values, tree, own

    def _own(self, x: Structured) -> Path | None:
        """Where a structured array of the caller's is found."""
        given = next((k for k, y in enumerate(self.records) if y is x), None)
        if given is None:
            return self.reader.captures.records.get(x)
        return None if x.layout.scalar else Path(len(_statics(self.in_tree)) + given)

    def _result(self, x: Any, values: list[Value]) -> Result:
        if isinstance(x, Poison):
            raise UnsupportedError(f"a part of the result cannot be returned: {x.message}")
        if isinstance(x, Text):
            raise UnsupportedError("a string that depends on data cannot be returned; print it, or return the numbers")
        if isinstance(x, Nullable):
            raise UnsupportedError(f"what is assigned is {unfit(x)}")
        if isinstance(x, Array):
            itself = type(x) is Array and all(isinstance(s, Stopped) for s in x.steps)
            same = self._outside(x.cell) if itself else None
            if same is not None:
                return Result("ndarray", same_as=same)
            values.append(self.reader.value(x))
            if type(x) is Array and not x.steps:
                self.shared[id(x.cell)] = x.cell, Result("ndarray", len(values) - 1)
            return Result("ndarray", len(values) - 1)
        if not isinstance(x, Arr):
            return Result("static", value=x)
        values.append(x.value)
        kind = {"f64": "float", "i64": "int", "bool": "bool", "c128": "complex"}[x.name] if x.weak else "generic"
        return Result(kind, len(values) - 1)

    def _assigned(self, x: Any, values: list[Value]) -> Result:
        """Like a result; an array that is one, too, is the same array."""
        key = id(x.cell) if type(x) is Array and not x.steps else None
        if key not in self.shared or key is None:
            return self._result(x, values)
        return self.shared[key][1]

    def _outside(self, cell: Cell) -> tuple[str, Any] | None:
        for k, obj in enumerate(self.objects):
            if isinstance(obj, Array) and obj.cell is cell:
                return ("arg", k)
        path = self.reader.captures.path(cell)
        return None if path is None else ("capture", path)

    def _mutations(self, values: list[Value]) -> list[tuple[tuple[str, Any], int]]:
        r = self.reader
        out = []
        arrays: list[tuple[tuple[str, Any], Array]] = [
            (("arg", k), o) for k, o in enumerate(self.objects) if isinstance(o, Array) and self.infos[k].alias is None
        ]
        arrays += [(("capture", r.captures.path(m.cell)), m) for m in r.captures.mirrors.values() if isinstance(m, Array)]
        for target, a in arrays:
            if a.cell.outside and a.cell.written:
                self.numbers[r.kept.cells.index(a.cell)] = len(values)
                out.append((target, len(values)))
                values.append(r.value(Array(a.cell)))
        return out

    def _traced(
        self,
        name: str,
        nodes: Any,
        values: list[Value],
        results: list[Result],
        out_tree: TreeDef,
        mutated: Any,
        own: Any,
        writes: list[Write],
    ) -> Traced:
        captures = self._used(nodes, values, [*results, *(x for w in writes for x in w.results)], mutated)
        used = {c.path for c in captures}
        for c in self.reader.captures.params.values():
            if (
                c.path not in used and c.path not in self.reader.captures.forgotten
            ):  # nothing is computed of it, but that it is there, of this type, may have decided something
                self.reader.captures.guard(c.path, "typed", c)
        index = {c.path: k for k, c in enumerate(captures)}
        fix = lambda t: ("capture", index[t[1]]) if t is not None and t[0] == "capture" else t
        fixed = lambda x: Result(x.kind, x.index, x.value, fix(x.same_as))
        graph = Graph((*self.params, *(c.value for c in captures)), nodes, tuple(values), name)
        program = _reachable(name, graph, self.reader.graphs)
        return Traced(
            {name: renumbered(g, self.numbers) for name, g in program.items()} if self.numbers else program,
            self.in_tree,
            tuple(self.infos),
            tuple(captures),
            tuple(self.reader.captures.guards.values()),
            out_tree,
            tuple(map(fixed, results)),
            tuple(Mutation(fix(t), k) for t, k in mutated),  # type: ignore[arg-type]
            tuple(own),
            dict(self.reader.exceptions),
            tuple((p, q, same) for (p, q), same in self.reader.captures.identities.items()),
            tuple(replace(w, results=tuple(map(fixed, w.results))) for w in writes),
        )

    def _used(self, nodes: Any, values: list[Value], results: list[Result], mutated: Any) -> list[Capture]:
        """Captures that the program reads, changes or returns."""
        read = set(free(Graph(tuple(self.params), nodes, tuple(values))))
        kept = {x.same_as[1] for x in results if x.same_as is not None and x.same_as[0] == "capture"}
        kept |= {t[1] for t, _ in mutated if t[0] == "capture"}
        return [c for p, c in self.reader.captures.params.items() if c.value in read or p in kept]


def _steps(x: Any, found: Any) -> list[tuple[tuple[str, Any], Any]]:
    """The parts of a container or object among the arguments, and how each is found in it."""
    names = getattr(found[1], "names", None)
    if isinstance(x, dict):
        keys: Any = list(x)
    elif isinstance(x, (list, tuple, deque)) or not names:
        keys = range(len(found[2]))
    else:
        return [(("attr", name), child) for name, child in zip(names, found[2])]
    return [(("item", key), child) for key, child in zip(keys, found[2])]


def refusal(x: Any) -> str:
    """Why a structured array cannot be taken apart; "" for what is none."""
    plain = isinstance(x, (np.ndarray, np.void)) and x.dtype.names is not None and type(x) in (*ARRAYS, *SCALARS)
    return why_not(x.dtype) if plain else ""


def _reachable(name: str, graph: Graph, others: dict[str, Graph]) -> Program:
    """The entry, and the graphs that it calls, directly or not."""
    program = {name: graph}
    todo = [graph]
    while todo:
        for n in walk(todo.pop()):
            callee = n.attrs.get("callee") if n.op.name == "call" else None
            if callee is not None and callee not in program:
                program[callee] = others[callee]
                todo.append(others[callee])
    return program


def _settled(x: Any) -> Any:
    """Results with what is surely defined unwrapped."""
    return x.value if isinstance(x, Maybe) else x


def _statics(tree: TreeDef) -> list[Any]:
    """The parts of a tree that are no leaves, in order."""
    return [tree.meta.value] if tree.cls is TreeDef else [s for c in tree.children for s in _statics(c)]


def _with_statics(tree: TreeDef, values: Iterator[Any]) -> TreeDef:
    """The tree with other parts that are no leaves."""
    if tree.cls is TreeDef:
        return TreeDef(TreeDef, Static(next(values)))
    return tree if tree.cls is None else TreeDef(tree.cls, tree.meta, tuple(_with_statics(c, values) for c in tree.children))


def definition(fn: Any) -> Loc | None:
    """Where a function begins."""
    while getattr(fn, "__wrapped__", None) is not None:
        fn = fn.__wrapped__
    code = getattr(getattr(fn, "__func__", fn), "__code__", None)
    return None if code is None or code.co_filename.startswith(OWN) else Loc(code.co_filename, code.co_firstlineno)


def _kind(x: Any) -> str:
    if isinstance(x, Spec):
        return x.kind
    if isinstance(x, np.ndarray):
        return "ndarray"
    return "generic" if isinstance(x, np.generic) else type(x).__name__


def _leaf_names(fn: Any, tree: TreeDef, n: int) -> list[str]:
    """Names for the leaves: the parameter's, with a number behind where it has several; a transform's are its function's."""
    while getattr(fn, "__wrapped__", None) is not None:
        fn = fn.__wrapped__
    if not hasattr(fn, "__code__") and not isinstance(fn, types.MethodType):
        fn = getattr(fn, "__call__", fn)  # noqa: B004  (an object of a class that can be called)
    code = getattr(getattr(fn, "__func__", fn), "__code__", None)
    params = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    if isinstance(fn, types.MethodType):
        params = params[1:]
    args, kwargs = tree.children
    names: list[str] = []
    for k, t in enumerate(args.children):
        base = params[k] if k < len(params) else f"arg{k}"
        names += [base] if t.size == 1 else [f"{base}_{j}" for j in range(t.size)]
    for key, t in zip(kwargs.meta, kwargs.children):
        names += [str(key)] if t.size == 1 else [f"{key}_{j}" for j in range(t.size)]
    return names
