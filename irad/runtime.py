"""Specialisations: one traced and compiled version of a function per structure and types of its arguments, and their cache.

A specialisation is found by the tree and types of the arguments; then its guards on static values and captured state are
checked. Captured arrays and numbers are read anew at each call and passed as hidden parameters. Caches belong to code, not to
function objects: a closure made anew in each iteration finds the specialisation of the last one.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from irad.codegen import entry
from irad.codegen.native import Native
from irad.errors import IradError, IradValueError
from irad.fastcall import write
from irad.frontend.captures import INT32, Capture, Path
from irad.frontend.trace import trace
from irad.frontend.traced import Leaf, Result, Traced, record_of, with_own
from irad.frontend.transform import Transform
from irad.garbage import uncollected
from irad.ir import Program, walk
from irad.ops.control import RaisedInGraph
from irad.options import DEFAULT, Options, leaves_of, static_leaves
from irad.pipeline import native, optimise, signature
from irad.tree import LEAF, TreeDef, flatten, leaf_fields, structured_nodes, with_whole
from irad.types import Type, dtype_name

FUNCTIONS, VERSIONS = 256, 64  # caches kept; specialisations per function: the least recently used go first
TRIED = 8  # programs that a call tries before it takes the path in Python

Leaves = Sequence[Any]


def leaf_key(x: Any) -> Any:
    """What of a leaf the compiled code depends on: Python type of a number; dtype, shape and layout of an array."""
    if isinstance(x, np.ndarray):
        key = x.dtype, x.shape, None if x.flags.c_contiguous else x.strides
        return key if type(x) is np.ndarray else (*key, type(x))
    return x.dtype if isinstance(x, np.generic) else type(x)


def code_key(fn: Any) -> Any:
    """What identifies the code of a function, however often the function is made."""
    if isinstance(fn, Transform):
        return Transform, fn.kind, fn.argnums, fn.has_aux, fn.mode, repr(fn.axes), code_key(fn.fun)
    if hasattr(fn, "__func__"):
        return code_key(fn.__func__)
    return getattr(fn, "__code__", fn)


def statics(tree: TreeDef) -> list[Any]:
    """The parts of the arguments that are no numbers, in order, then the structured arrays among them."""
    return _statics(tree) + [t.meta.whole and t.meta.whole() for _, t in structured_nodes(tree)]


def _statics(tree: TreeDef) -> list[Any]:
    if tree.cls is TreeDef:
        return [tree.meta.value]
    return [s for c in tree.children for s in _statics(c)]


class Conditions:
    """What a trace relies on, and how native arguments are made of a call's. `leaves`: argument leaves of a call."""

    def __init__(self, traced: Traced, params: Sequence[Type], leaves: int):
        self.traced, self.params = traced, params
        infos = list(enumerate(traced.in_leaves[:leaves]))
        self.dynamic = [k for k, info in infos if info.param is not None and info.alias is None]
        self.aliased = [(k, info.alias) for k, info in infos if info.alias is not None]
        self.fixed = [(k, info) for k, info in infos if info.alias is None and (info.param is None or info.int32)]

    def holds(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> bool:
        """Do a call's static values, aliases and captured state fit?"""
        return (
            all(_fits(info, leaves[k]) for k, info in self.fixed)
            and all(leaves[k] is leaves[a] for k, a in self.aliased)  # type: ignore[index]
            and self._distinct(leaves)
            and all(g.holds(fn, rest) for g in self.traced.guards)
            and all(_same_type(c, fn, rest) for c in self.traced.captures)
        )

    def _distinct(self, leaves: Leaves) -> bool:
        """An array given twice needs a specialisation that knows it, if anything is written."""
        if not self.traced.mutated:
            return True
        arrays = [leaves[k] for k in self.dynamic if isinstance(leaves[k], np.ndarray)]
        return len({id(a) for a in arrays}) == len(arrays)

    def arguments(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> list[np.ndarray]:
        """Arrays for the native code's parameters."""
        values = [leaves[k] for k in self.dynamic] + [c.get(fn, rest) for c in self.traced.captures]
        return [_contiguous(v, t) for v, t in zip(values, self.params)]


def _contiguous(v: Any, t: Type) -> np.ndarray:
    """An array or number as native code takes it: C-contiguous and aligned."""
    a = np.ascontiguousarray(v, t.numpy) if t.shape else np.asarray(v, t.numpy)
    return a if a.flags.aligned else a.copy()


class Specialisation:
    """A traced function with its native code. `donate`: argument leaves whose memory may be written."""

    def __init__(self, traced: Traced, options: Options = DEFAULT, donate: Sequence[int] = ()):
        traced = with_own(traced)
        self.traced, self.donated = traced, donated_parameters(traced, donate)
        self.program: Program = optimise(traced.program, None, options, frozenset(self.donated.values()))
        self.native: Native = native(self.program, signature(traced.graph), options)
        self.conditions = Conditions(traced, self.native.params, len(traced.in_leaves))
        self.holds = self.conditions.holds
        self.records = record_of(traced)
        self.entry: entry.Program | None = None  # as `direct` made it: all lay their arguments out alike

    def direct(self, fn: Any) -> entry.Program | None:
        """How calls run without Python code; None if they cannot."""
        self.entry = write(self.traced, self.native, fn, self.raiser, self.donated)
        return self.entry

    def raiser(self, status: int, argv: int) -> None:
        """Raise what a status of the native code stands for, the stores made before it done in the caller's arrays."""
        words, inputs, kept = entry.arguments(argv, self.native), len(self.native.params), self.native.keeps(status)
        for m in self.traced.mutated:
            if m.index in kept:
                t, arg, source = self.native.outputs[m.index], self.traced.parameter(m.target), words[inputs + m.index]
                given = self.entry.given(argv, arg) if self.entry is not None else None
                if given is None:
                    ctypes.memmove(words[arg], source, t.size * t.numpy.itemsize)
                elif t.size:
                    given[...] = np.frombuffer(ctypes.string_at(source, t.size * t.numpy.itemsize), t.numpy).reshape(t.dims)
        try:
            self.native.fail(status, words[-1])
        except RaisedInGraph as e:
            raise user_exception(e, self.traced.exceptions) from None

    def __call__(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> Any:
        """Run on argument leaves; results in the structure that the function returns, arguments changed as it does."""
        t = self.traced
        targets = [self._target(m.target, fn, leaves, rest) for m in t.mutated]
        if targets and self._overlaps(targets, fn, leaves, rest):
            return self._exact(fn, leaves, rest)
        for a in targets:
            if not a.flags.writeable:
                raise ValueError("assignment destination is read-only")
        kept: dict[int, np.ndarray] = {}
        try:
            args = self.conditions.arguments(fn, leaves, rest)
            if self.donated:
                self._own(args)
            out = self.native.run(args, kept)
        except RaisedInGraph as e:
            raise user_exception(e, t.exceptions) from None
        finally:
            for a, m in zip(targets, t.mutated):
                if m.index in kept:
                    a[...] = kept[m.index]
        for a, m in zip(targets, t.mutated):
            a[...] = out[m.index]
        results = [self._result(r, out, fn, leaves, rest) for r in t.results]
        return t.out_tree.unflatten(results)

    def _own(self, args: list[np.ndarray]) -> None:
        """Copies of donated arrays that are read-only, or lie in memory of another argument."""
        for j in self.donated.values():
            others = [x for k, x in enumerate(args) if k != j and np.may_share_memory(x, args[j])]
            if not args[j].flags.writeable or any(np.shares_memory(x, args[j]) for x in others):
                args[j] = args[j].copy()

    def _target(self, where: tuple[str, Any], fn: Any, leaves: Leaves, rest: Sequence[Any]) -> Any:
        kind, k = where
        if kind == "path":
            return k.get(fn, rest)
        return leaves[k] if kind == "arg" else self.traced.captures[k].get(fn, rest)

    def _result(self, r: Result, out: Sequence[np.ndarray], fn: Any, leaves: Leaves, rest: Sequence[Any]) -> Any:
        if r.kind == "static":
            return r.value
        if r.same_as is not None:
            return self._target(r.same_as, fn, leaves, rest)
        assert r.index is not None
        return finish(r.kind, out[r.index])

    def _overlaps(self, targets: Sequence[Any], fn: Any, leaves: Leaves, rest: Sequence[Any]) -> bool:
        """Does an array that is written share memory with an array that the program takes for another one?

        An argument given twice is one array to the program; an argument that is also a captured array is two.
        """
        t = self.traced
        others: list[tuple[Any, Any]] = [(("arg", k), x) for k, x in enumerate(leaves) if t.in_leaves[k].alias is None]
        others += [(("capture", k), c.get(fn, rest)) for k, c in enumerate(t.captures)]
        arrays = [(where, x) for where, x in others if isinstance(x, np.ndarray)]
        group = self.records.get
        return any(
            m.target != where
            and (where not in self.records or group(where) != group(m.target))
            and np.may_share_memory(a, x)
            and np.shares_memory(a, x)
            for a, m in zip(targets, t.mutated)
            for where, x in arrays
        )

    def _exact(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> Any:
        """Written memory that overlaps other memory in part: the plain function is exact about it."""
        if isinstance(fn, Transform):
            raise IradValueError(
                "an array that the function writes overlaps another one in part; pass copies to differentiate it"
            )
        tree = self.traced.in_tree
        args, kwargs = with_whole(tree, leaves, rest[len(rest) - len(structured_nodes(tree)) :])
        return fn(*args, **kwargs)


def donated_parameters(t: Traced, leaves: Sequence[int]) -> dict[int, int]:
    """Those of the argument leaves whose memory is free for results, with their parameters: arrays that the function neither
    changes nor returns, given once."""
    kept = {m.target for m in t.mutated} | {r.same_as for r in t.results if r.same_as is not None}
    twice = {info.alias for info in t.in_leaves}
    named = leaf_fields(t.in_tree)  # memory of fields lies between that of others
    infos = [(k, t.in_leaves[k]) for k in leaves if ("arg", k) not in kept and k not in twice and named[k] is None]
    return {k: i.param for k, i in infos if i.kind == "ndarray" and i.type.shape and i.param is not None and i.alias is None}


def finish(kind: str, value: np.ndarray) -> Any:
    """A native result as what NumPy or Python would return."""
    if kind == "ndarray":
        return value
    return value[()] if kind == "generic" else value.item()


def _fits(info: Leaf, x: Any) -> bool:
    if info.param is None:
        v = info.value
        alike = type(x) is type(v) and np.shape(x) == np.shape(v)
        return alike and (x is v or bool(np.all((x == v) & (np.signbit(x) == np.signbit(v)) if isinstance(x, float) else x == v)))
    return bool(INT32[0] <= x <= INT32[1])


def _small(path: Path, fn: Any, rest: Sequence[Any]) -> bool:
    """Is there an int of 32 bits?"""
    try:
        x = path.get(fn, rest)
    except (LookupError, AttributeError, ValueError, TypeError):  # something of another kind stands there now
        return False
    return type(x) is int and INT32[0] <= x <= INT32[1]


@functools.cache
def _arrays(n: int) -> TreeDef:
    """The structure of a call with n arrays."""
    return TreeDef(tuple, None, (TreeDef(tuple, None, (LEAF,) * n), TreeDef(dict, ())))


def _same_type(c: Capture, fn: Any, rest: Sequence[Any]) -> bool:
    try:
        x = c.get(fn, rest)
    except (LookupError, AttributeError, ValueError):
        return False
    if c.weak and type(x) is int:
        return c.type.dtype == "i64" and INT32[0] <= x <= INT32[1]  # see `_live`
    if c.weak:
        return type(x) is {"f64": float, "i64": int, "bool": bool, "c128": complex}[c.type.dtype]
    return isinstance(x, (np.ndarray, np.generic)) and Type(dtype_name(x.dtype.newbyteorder("=")) or "", x.shape) == c.type


def user_exception(e: RaisedInGraph, known: Mapping[str, type[BaseException] | BaseException]) -> BaseException:
    """The exception that the user's code, or NumPy in its place, would raise; a note says where."""
    cls = known.get(e.exc) or getattr(builtins, e.exc, None)
    error = _made(cls, e.message) if cls is not None else IradError(f"{e.exc}: {e.message}")
    if e.loc is not None:
        excerpt = e.loc.excerpt()
        error.add_note(f"raised in compiled code at {e.loc}" + (f"\n{excerpt}" if excerpt else ""))
    return error


def _made(kind: Any, message: str) -> BaseException:
    """An exception of a class, or like one that was raised while the program was read."""
    if isinstance(kind, BaseException):
        made = type(kind).__new__(type(kind), *kind.args)
        made.__dict__.update({k: v for k, v in vars(kind).items() if k != "__notes__"})
        return made
    try:
        return kind(message)  # type: ignore[no-any-return]
    except TypeError:  # its __init__ wants something else
        return kind.__new__(kind, message)  # type: ignore[no-any-return]


def specialise(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: Options = DEFAULT,
    live: frozenset[Path] = frozenset(),
    static: frozenset[int] | None = None,
) -> Specialisation:
    """Trace and compile a function. Captured ints of `live` that shape arrays, or that must be known, stay constants.

    `static`: leaves that are constants, if the options do not say it.
    """
    if static is None:
        static = static_leaves(fn, options, args, kwargs)
    trial = lambda live: _with_live(fn, args, kwargs, static, live)
    traced = trial(live) if live else None
    if traced is None and len(live) > 1:
        live = frozenset(path for path in live if trial(frozenset([path])))
        traced = trial(live)
    return Specialisation(traced or trace(fn, args, kwargs, static=static), options, leaves_of(fn, options.donate, args, kwargs))


def _with_live(fn: Any, args: Any, kwargs: Any, static: frozenset[int], live: frozenset[Path]) -> Traced | None:
    """The trace with these captured ints read at each call, if it can be made and all shapes are known in it."""
    try:
        traced = trace(fn, args, kwargs, static=static, live=live)
    except (IradError, TypeError, ValueError):
        return None
    return traced if all(v.type.static for g in traced.program.values() for n in walk(g) for v in n.outputs) else None


_every: weakref.WeakSet[Cache] = weakref.WeakSet()


class Cache:
    """The specialisations of one piece of code. `cell` holds the table of irad.codegen.entry that a call tries first.

    `make(fn, args, kwargs, options)` makes a specialisation. `code`: the `code_key` of its functions, if they are to be found
    again where their code is replaced.
    """

    def __init__(
        self,
        make: Callable[..., Any] | None = None,
        code: Any = None,
        options: Options = DEFAULT,
    ):
        self.make: Callable[..., Any] = make or specialise
        self.code, self.options = code, options
        self.entries: OrderedDict[Any, list[Any]] = OrderedDict()
        self.programs: OrderedDict[Any, Any] = OrderedDict()  # specialisation -> its program, or None; the last used last
        self.cell: list[Any] = [entry.table(self.call, ())]
        self.lock = threading.RLock()
        _every.add(self)

    def call(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run a function of this code, through Python; such calls run without from the next one on, where that can be."""
        if self.code is not None and code_key(fn) != self.code:
            return cache_for(fn, self.options).call(fn, *args, **kwargs)
        s, leaves, rest = self.find(fn, args, kwargs)
        return s(fn, leaves, rest)

    def run(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function of this code. The machine that runs programs is not made before there is one."""
        if self.programs and entry.available():
            return entry.invoke()(self.cell, fn, *args, **kwargs)
        return self.call(fn, *args, **kwargs)

    def find(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any], list[Any]]:
        """The specialisation for these arguments, made now if there is none; the argument leaves; the static parts."""
        if not kwargs and all(type(a) is np.ndarray and a.dtype.names is None for a in args):
            leaves, tree, rest = list(args), _arrays(len(args)), []
        else:
            leaves, tree = flatten((args, kwargs))
            rest = statics(tree)
        key = (tree, *map(leaf_key, leaves))
        s = self._known(key, fn, leaves, rest)
        if s is not None:
            self._prefer(s, fn)
            return s, leaves, rest
        with self.lock:
            s = self._known(key, fn, leaves, rest)  # another thread may have made it meanwhile
            if s is None:
                live = self._live(key, fn, rest)
                with uncollected():
                    s = self.make(fn, args, kwargs, self.options, *([live] if live else ()))
                self._add(key, s)
        return s, leaves, rest

    def _known(self, key: Any, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> Any:
        return next((s for s in tuple(self.entries.get(key, ())) if s.holds(fn, leaves, rest)), None)

    def _add(self, key: Any, s: Any) -> None:
        """Keep a specialisation; let the oldest go where there are too many."""
        self.entries.setdefault(key, []).insert(0, s)
        self.entries.move_to_end(key)
        while sum(map(len, self.entries.values())) > VERSIONS:
            oldest = next(iter(self.entries))
            gone = [self.entries[oldest].pop()] if len(self.entries) == 1 else self.entries.pop(oldest)
            for old in gone:
                self.programs.pop(old, None)
            self._install()

    def _live(self, key: Any, fn: Any, rest: Sequence[Any]) -> frozenset[Path]:
        """Captured ints that have changed since they were taken for constants: from now on they are read at each call."""
        if self.code is None:
            return frozenset()
        found: set[Path] = set()
        for s in self.entries.get(key, ()):
            found.update(c.path for c in s.traced.captures if c.weak and c.type.dtype == "i64")
            found.update(
                g.path for g in s.traced.guards if g.kind == "eq" and type(g.expected) is int and _small(g.path, fn, rest)
            )
        return frozenset(found)

    def _prefer(self, s: Any, fn: Any) -> None:
        """Put the program of a specialisation that is called again first in the table."""
        if not entry.available():
            return
        with self.lock:
            if s not in self.programs:
                self.programs[s] = s.direct(fn)
            elif self.programs[s] is None or next(reversed(self.programs)) is s:
                return
            self.programs.move_to_end(s)
            self._install()

    def _install(self) -> None:
        found = [p for p in reversed(self.programs.values()) if p is not None]
        self.cell[0] = entry.table(self.call, found[:TRIED])


_caches: OrderedDict[Any, Cache] = OrderedDict()
_caches_lock = threading.Lock()


def _after_fork() -> None:
    """In a child: locks that other threads of the parent held, who are not here, are nobody's."""
    global _caches_lock
    _caches_lock = threading.Lock()
    for cache in _every:
        cache.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def cache_for(fn: Any, options: Options = DEFAULT) -> Cache:
    """The cache of a function's code, compiled with these options."""
    key = code_key(fn)
    return cache_of(key if options is DEFAULT else (options, key), lambda: Cache(code=key, options=options))


def cache_of(key: Any, make: Callable[[], Cache]) -> Cache:
    """The cache of a piece of code (see `code_key`)."""
    with _caches_lock:
        cache = _caches.get(key)
        if cache is None:
            cache = _caches[key] = make()
            if len(_caches) > FUNCTIONS:
                _caches.popitem(last=False)
        else:
            _caches.move_to_end(key)
    return cache
