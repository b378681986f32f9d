"""From a Python function and example arguments to a program: the entry of the front end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from irad.core.foreign import State, asked_of_classes
from irad.core.ir import Builder, Graph, Node, Program, Value, callees, reachable, values, walk
from irad.core.ir import captures as free
from irad.core.lazy_dataclass import replace
from irad.core.notes import Notes
from irad.core.promotion import of_numpy_2
from irad.core.room import ONCE, Outgrown, level
from irad.core.room import at as room_at
from irad.core.structured import Structured
from irad.core.tree import TreeDef, flatten, is_leaf
from irad.core.types import I64, Dim, Type
from irad.errors import IradError, UnsupportedError
from irad.frontend.activations import HELD, REAL, THEMSELVES, WHOLE, OfObjects, Restart, Spectra, spectra
from irad.frontend.arguments import Arguments, definition
from irad.frontend.bound import SourceReader, outermost
from irad.frontend.control.regions import Dead, of_the_program, raise_as
from irad.frontend.control.special import sites_of
from irad.frontend.reading.returned import Outcome
from irad.frontend.reading.write_back import put_outside, rely_on_others, written_back
from irad.frontend.values.arr import PYTHON, Arr, NeedStatic
from irad.frontend.values.captures import Captures
from irad.frontend.values.extents import unclear
from irad.frontend.values.guards import INT32, Capture, Fixed, Path
from irad.frontend.values.kept import renumbered
from irad.frontend.values.layout import dense_order
from irad.frontend.values.objects import AliasError, Array, Cell, Maybe, Poison, Stopped, Text
from irad.frontend.values.traced import Mutation, Result, Sizes, Spec, Traced, Write
from irad.frontend.values.unfit import UNFIT, unfit
from irad.ops.array import transpose_to
from irad.ops.constant import scalar
from irad.ops.control import raise_if, shown
from irad.ops.core import effects
from irad.ops.elementwise import logical_or

_RESTARTS = 50
_STACK = 18_000
_IN_PLACE = ("functions", None)  # among what is fixed: no function becomes a graph but by recursion


def trace(
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    static: frozenset[int] = frozenset(),
    live: frozenset[Path] = frozenset(),
    varying: frozenset[int] = frozenset(),
    name: str = "",
    notes: Notes | None = None,
    rows: bool = True,
    extents: Sizes | None = None,
    objects: bool = False,
) -> Traced:
    """Read `fn` for arguments like these.

    Arguments are trees of arrays, numbers or `Spec`s. `static`: numbers of argument leaves that are constants of the program;
    others become so where the program's structure depends on them. `live`: paths of captured ints that change from call to call.
    `varying`: numbers of leaves that do, so that they are no constants where they need not be. `notes`: where to say what is
    decided. `rows`: long lists are returned as arrays, of which the caller makes lists. `extents`: axes of argument leaves whose
    extents are parameters of the program; those that its structure depends on are constants all the same. `objects`: what is returned or assigned in two places is one thing, and what is the caller's is itself, as a call of the
    function gives it; else each place has leaves of its own. Raises `IradError` kinds at the user's line for what is not supported; exceptions that the user's own static code raises
    come out unchanged.
    """
    leaves, in_tree = flatten((tuple(args), dict(kwargs or {})), lambda x: is_leaf(x) or isinstance(x, Spec))
    asked = Restart(frozenset(("arg", k) for k in static), room=level())
    label = "".join(c if c.isalnum() or c == "_" else "_" for c in name or getattr(fn, "__name__", "f")).strip("_") or "f"
    for _ in range(_RESTARTS):
        attempt = _Attempt(fn, leaves, in_tree, asked, live, varying, rows, extents, objects)
        attempt.reader.notes = notes
        if notes is not None:
            notes.forget("mode")
        try:
            room, real = room_at(asked.room), REAL in asked.static
            with _deep_stack(), of_numpy_2(), room, spectra(real) as attempt.spectra, asked_of_classes() as attempt.classes:
                with unclear(attempt.unclear):
                    return attempt.run(label)
        except Restart as again:
            asked = asked.joined(again)
    raise UnsupportedError(f"{getattr(fn, '__name__', fn)} needs more than {_RESTARTS} of its numbers at compile time")


@contextmanager
def _deep_stack() -> Iterator[None]:
    """Room for the reader's own recursion: up to forty Python frames for each level of nesting in the user's code."""
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
        asked: Restart,
        live: frozenset[Path],
        varying: frozenset[int],
        rows: bool,
        sizes: Sizes | None,
        objects: bool,
    ):
        fixed = asked.static
        self.spectra = Spectra()
        self.classes: dict[type, dict[str, Any]] = {}  # what is asked of the user's classes
        self.rows, self.objects = rows, objects
        self.fn, self.leaves, self.in_tree, self.fixed, self.varying = fn, leaves, in_tree, fixed, varying
        captures = Captures(live)
        captures.frozen = {key for kind, key in fixed if kind == "capture"}
        self.reader = SourceReader(captures, asked)
        self.reader.shares, self.reader.holds = _IN_PLACE not in fixed, HELD in fixed
        self.reader.themselves, self.reader.whole = THEMSELVES in fixed, WHOLE in fixed
        self.reader.frames.append(outermost())
        self.arguments = Arguments(self.reader, fn, leaves, in_tree, fixed, sizes)
        self.params = self.reader.params
        self.values: list[Value] = []  # of all results
        self.shared: dict[int, tuple[Any, Result]] = {}  # id of a new array, or of its storage -> it, and the result that it is
        self.numbers: dict[int, int] = {}  # arrays of the caller that change -> results that are their final contents
        self.mutated: list[tuple[tuple[str, Any], int]] = []  # where they are found, with those results
        self.apart: list[tuple[str, Any]] = []  # where arrays are found that may overlap no others
        self.ends: Callable[[], None] | None = None  # emits what is raised in the end, whatever the data

    def run(self, name: str) -> Traced:
        r = self.reader
        with Builder() as b:
            b.kept = r.kept.now
            args, kwargs = self.arguments.given()
            self.checked = len(b.nodes)
            r.captures.note(self.fn, Path())
            try:
                out = r.call(self.fn, args, kwargs)
            except IradError as e:
                again = self._restart(e) or self._with_real_spectra() or self._without_functions()
                if again is not None:
                    raise again from None
                r.located(e)
                if isinstance(e, NeedStatic):
                    raise
                if not self._raised_late(b, e):
                    raise e.at(definition(self.fn)) from e.__cause__
                out = None
            except Dead:
                self._raised_last(b)
                out = None
            except Exception as e:
                if not self._raised_late(b, e):
                    r.located(e, definition(self.fn))
                    raise
                out = None
            try:
                r.captures.check_callbacks(self.fn, self.in_tree.statics)
                outcome = Outcome(r, self._result, self._own, self.objects, self.rows)
                out = outcome.meet(_settled(out))
                put = put_outside(r, outcome.meet)
                out_tree, results = outcome.take(out)
                self._changed()
                writes = written_back(r, put, outcome, self._result)
                ended = None if self.ends is None else self._end(b, bool(writes))
                self.once = rely_on_others(self.reader)
            except IradError as e:
                if e.site is not None and (again := self._restart(e)) is not None:
                    raise again from None
                raise e.at(definition(self.fn)) from e.__cause__
        nodes = tuple(b.nodes)
        for cls, asked in self.classes.items():
            r.captures.guard(Path(Fixed(cls)), "state", State(cls, asked))
        return replace(self._traced(name, nodes, results, out_tree, writes, outcome.made), ended=ended)

    def _with_real_spectra(self) -> Restart | None:
        """Read it again with real eigenvalues: the error may be that they are complex."""
        return Restart(frozenset({REAL})) if self.spectra.met and not self.spectra.real else None

    def _without_functions(self) -> Restart | None:
        """Read it again with each call in place: what cannot be done is not to depend on which calls became functions."""
        return Restart(frozenset({_IN_PLACE})) if self.reader.graphs and self.reader.shares else None

    def _raised_late(self, b: Builder, e: Exception) -> bool:
        """Raise at run time what reading raised after the program has done something: raised under a condition, printed, or
        stored into an array of the caller or changed something else outside."""
        if not of_the_program(e):
            return False
        r = self.reader
        changed = r.kept.contents() or any(True for _ in chain(r.outside.assigned(), r.outside.held()))
        if not changed and not any(effects(n) != "none" for n in b.nodes[self.checked :]):
            return False
        del r.frames[1:]
        self.ends = lambda: raise_as(r, e)
        return True

    def _raised_last(self, b: Builder) -> None:
        """Where the last node raises whatever the data, it is to stand after what is assigned outside."""
        *_, before, n = (None, *b.nodes)
        if n.op is raise_if and before is not None and before.outputs == n.inputs[:1] and before.attrs.get("value") is True:
            del self.reader.frames[1:], b.nodes[-1]
            self.ends = lambda: raise_if(n.inputs[0], *shown(n), exc=n.attrs["exc"], message=n.attrs["message"])

    def _end(self, b: Builder, writes: bool) -> int | None:
        """Raise in the end what the program always raises. What it assigns outside before is there then: all results are kept, with
        one more, whose number this gives, that no other raise keeps."""
        assert self.ends is not None
        if not writes:
            self.ends()
            return None
        ended = self._value(scalar(True, "bool"))
        self.numbers |= {-1 - k: k for k in range(len(self.values))}
        b.kept = lambda: {-1 - k: v for k, v in enumerate(self.values)}
        self.ends()
        return ended

    def _restart(self, e: IradError) -> Restart | None:
        """What to fix so that the numbers which an error is about are known, or which loops to follow arrays in; None if nothing helps."""
        r = self.reader
        if isinstance(e, AliasError) and not r.doubtful <= r.tracked:
            return Restart(tracked=frozenset(r.doubtful))
        if isinstance(e, OfObjects) and not r.themselves:
            return Restart(frozenset({THEMSELVES}))
        leaf_of = r.leaf_of | {v: ("capture", p) for v, p in r.captures.fixable(floats=True).items()}
        sources = r.sources_of(e)
        site = sites_of(r, e) - r.keyed
        if site and not (isinstance(e, NeedStatic) and r.may_be_known(e.arr)):
            return Restart(keyed=site)
        fix = frozenset(leaf_of[v] for v in sources if v in leaf_of)
        loops = frozenset(r.loop_of[v] for v in sources if v in r.loop_of)
        unknown = [v for v in sources if v not in leaf_of and v not in r.loop_of]
        extents = frozenset(leaf_of[v] for v in leaf_of if leaf_of[v][0] == "extent")
        if (unknown or not sources) and extents:  # whatever it is about: without extents at run time it may be done
            return Restart(extents)
        if (
            not sources
            or unknown
            or (fix <= self.fixed and loops <= r.unroll)
            or any(isinstance(self.leaves[k], Spec) for kind, k in fix if kind == "arg")
        ):
            return Restart(keyed=site) if site else None
        # loops are written out where known numbers alone do not help: so few trips may depend on them
        return Restart(fix) if fix - self.fixed else Restart(fix, loops)

    def unclear(self, extents: Sequence[Dim], needed: bool) -> bool:
        """Ints of the arguments that alone decide whether lengths fit together are constants, unless they vary and need not be. Do sizes
        of the arguments alone decide it?"""
        found = {v for v in Type("f64", tuple(extents)).symbols for v in self.reader.sources_of_number(v)}
        leaves = {self.reader.leaf_of.get(v, ("", None)) for v in found}
        if leaves and all(
            kind == "arg" and (needed or k not in self.varying) and type(self.leaves[k]) is int for kind, k in leaves
        ):
            raise Restart(frozenset(leaves))
        return bool(leaves) and all(kind == "extent" for kind, _ in leaves)

    # ---- results ----

    def _own(self, x: Structured) -> Path | None:
        """Where a structured array of the caller's is found."""
        given = next((k for k, y in enumerate(self.arguments.records) if y is x), None)
        if given is None:
            return self.reader.captures.records.get(x)
        return None if x.layout.scalar else Path(len(self.in_tree.statics) + given)

    def _result(self, x: Any) -> Result:
        if isinstance(x, Poison):
            raise UnsupportedError(f"a part of the result cannot be returned: {x.message}")
        if isinstance(x, Text):
            raise UnsupportedError("a string that depends on data cannot be returned; print it, or return the numbers")
        if isinstance(x, UNFIT):
            raise UnsupportedError(f"what is assigned is {unfit(x)}")
        if isinstance(x, Array):
            return self._array(x)
        if not isinstance(x, Arr):
            return Result("static", value=x)
        kind = PYTHON[x.name].__name__ if x.weak else "generic"
        return Result(kind, self._value(x.value))

    def _array(self, x: Array) -> Result:
        """An array of the caller's is itself; one that stands in several places of what a call gives is one array."""
        if type(x) is Array and all(isinstance(s, Stopped) for s in x.steps):
            same = self._outside(x.cell)
            if same is not None:
                return Result("ndarray", same_as=same)
        key = x.cell if type(x) is Array and not x.steps else x
        if id(key) not in self.shared or not self.objects:
            order = dense_order(x.shape, x.strides) if self.objects else ()
            value = self.reader.value(x)
            made = self._value(transpose_to(value, order) if order else value)
            self.shared[id(key)] = key, Result("ndarray", made, axes=tuple(order.index(k) for k in range(len(order))))
        return self.shared[id(key)][1]

    def _value(self, v: Value) -> int:
        self.values.append(v)
        return len(self.values) - 1

    def _outside(self, cell: Cell) -> tuple[str, Any] | None:
        for k, obj in enumerate(self.arguments.objects):
            if isinstance(obj, Array) and obj.cell is cell:
                return ("arg", k)
        path = self.reader.captures.path(cell)
        return None if path is None else ("capture", path)

    def _changed(self) -> None:
        """Arrays of the caller's that are written, and results that are their contents; with those of which a transform's copy is
        written, they are to lie apart from others."""
        r, infos = self.reader, self.arguments.infos
        given = (x for x in enumerate(self.arguments.objects) if isinstance(x[1], Array) and infos[x[0]].alias is None)
        arrays: list[tuple[tuple[str, Any], Cell]] = [(("arg", k), x.cell) for k, x in given]
        found = (x.cell for x in r.captures.mirrors.values() if isinstance(x, Array))
        arrays += [(("capture", r.captures.path(cell)), cell) for cell in found]
        for target, cell in arrays:
            if cell.outside and cell.written:
                k = self.numbers[r.kept.cells.index(cell)] = self._value(r.value(Array(cell)))
                self.mutated.append((target, k))
            if len(arrays) > 1 and cell.outside and (cell.written or cell in r.outside.written):
                self.apart.append(target)

    def _traced(
        self,
        name: str,
        nodes: Any,
        results: tuple[Result, ...],
        out_tree: TreeDef,
        writes: list[Write],
        made: list[tuple[TreeDef, tuple[Result, ...]]],
    ) -> Traced:
        given = [*results, *(x for w in writes for x in w.results), *(x for _, inside in made for x in inside)]
        captures = self._used(nodes, given, [*(t for t, _ in self.mutated), *self.apart])
        used = {c.path for c in captures}
        for c in self.reader.captures.params.values():
            if c.path not in used and c.path not in self.reader.captures.forgotten:
                # nothing is computed of it, but that it is there, of this type, may have decided something
                self.reader.captures.guard(c.path, "typed", c)
        index = {c.path: k for k, c in enumerate(captures)}
        fix = lambda t: ("capture", index[t[1]]) if t is not None and t[0] == "capture" else t
        fixed = lambda xs: tuple(replace(x, same_as=fix(x.same_as)) for x in xs)
        graph = Graph((*self.params, *(c.value for c in captures)), nodes, tuple(self.values), name)
        called = reachable(self.reader.graphs, callees(graph))
        program = {name: graph, **{f: self.reader.graphs[f] for f in called}}
        if not all(v.type.static for g in program.values() for v in values(g)):
            given_ints = [self.params[x.param] for x in self.arguments.infos if x.int32 and x.param is not None]
            given_ints += [c.value for c in captures if c.weak and c.type == I64]
            program[name] = graph.replace(nodes=(*_of_32_bits(given_ints), *nodes))
        if self.reader.room < ONCE and may_outgrow(program) and acts(program):
            raise Restart(room=ONCE)
        return Traced(
            {name: renumbered(g, self.numbers) for name, g in program.items()} if self.numbers else program,
            self.in_tree,
            tuple(self.arguments.infos),
            tuple(captures),
            self.reader.captures.all_guards(),
            out_tree,
            fixed(results),
            tuple(Mutation(fix(t), k) for t, k in self.mutated),  # type: ignore[arg-type]
            tuple((tree, fixed(inside)) for tree, inside in made),
            dict(self.reader.exceptions),
            tuple((p, q, same) for (p, q), same in self.reader.captures.identities.items()),
            tuple(replace(w, results=fixed(w.results)) for w in writes),
            tuple(self.arguments.extents),
            self.once,
            tuple(map(fix, self.apart)),
        )

    def _used(self, nodes: Any, results: list[Result], changed: Any) -> list[Capture]:
        """Captures that the program reads, changes or returns."""
        read = set(free(Graph(tuple(self.params), nodes, tuple(self.values))))
        kept = {x.same_as[1] for x in results if x.same_as is not None and x.same_as[0] == "capture"}
        kept |= {t[1] for t in changed if t[0] == "capture"}
        return [c for p, c in self.reader.captures.params.items() if c.value in read or p in kept]


def _of_32_bits(ints: list[Value]) -> tuple[Node, ...]:
    """What the conditions of a call see to, said to the passes, which bound the lengths of arrays by it: sums of such ints do not wrap."""
    with Builder() as b:
        for v in ints:
            raise_if(logical_or(v < INT32[0], v > INT32[1]), exc="OverflowError", message="an int of more than 32 bits")
    return tuple(b.nodes)


def may_outgrow(program: Program) -> bool:
    """May a list need more room than there is, so that a call has to begin again?"""
    return any(n.attrs.get("exc") == Outgrown.__name__ for g in program.values() for n in walk(g) if n.op is raise_if)


def acts(program: Program) -> bool:
    """Does a program print or call Python, so that a call must not begin again?"""
    return any(effects(n) == "io" for g in program.values() for n in g.nodes)


def _settled(x: Any) -> Any:
    """Results with what is surely defined unwrapped."""
    return x.value if isinstance(x, Maybe) else x
