"""The cache of specialisations: one version of a function per structure and types of its arguments.

A specialisation (irad.call.specialisation) is found by the tree and types of the arguments; then its guards on static values and
captured state are checked. Caches belong to code, not to function objects: a closure made anew in each iteration finds the
specialisation of the last one.
"""

from __future__ import annotations

import functools
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.call.compiled import TooLarge
from irad.call.conditions import Leaves
from irad.call.specialisation import specialise
from irad.codegen.call import machine as entry
from irad.core.garbage import uncollected
from irad.core.once import import_later
from irad.core.room import LAST, MESSAGE, Outgrown, bounded
from irad.core.room import at as room_at
from irad.core.switches import off
from irad.core.tree import LEAF, TreeDef, flatten, structured_nodes
from irad.errors import UnsupportedError, shortened
from irad.frontend.trace import acts
from irad.frontend.transforms.transform import Transform
from irad.frontend.values.guards import INT32, Path
from irad.frontend.values.traced import Sizes
from irad.options import DEFAULT, Options

FUNCTIONS, VERSIONS = 256, 64  # caches kept; specialisations per function: the least recently used go first
SHAPES = 8  # versions that differ in shapes only, at which there is a warning
OFTEN, SIZES = (
    8,
    6,
)  # calls after which a shape gets code of its own, unless so many shapes have come that all share code for all sizes
TRIED = 8  # programs that a call tries before it takes the path in Python


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
    return code_key(fn.__func__) if hasattr(fn, "__func__") else getattr(fn, "__code__", fn)


def statics(tree: TreeDef) -> list[Any]:
    """The parts of the arguments that are no numbers, in order, then the structured arrays among them."""
    return tree.statics + [t.meta.whole and t.meta.whole() for _, t in structured_nodes(tree)]


_every: weakref.WeakSet[Cache] = weakref.WeakSet()


@functools.cache
def _arrays(n: int) -> TreeDef:
    """The structure of a call with n arrays."""
    return TreeDef(tuple, None, (TreeDef(tuple, None, (LEAF,) * n), TreeDef(dict, ())))


def _other_int(path: Path, before: int, fn: Any, rest: Sequence[Any]) -> bool:
    """Is there another int now, of 32 bits?"""
    try:
        x = path.get(fn, rest)
    except (LookupError, AttributeError, ValueError, TypeError):  # something of another kind stands there now
        return False
    return type(x) is int and x != before and INT32[0] <= x <= INT32[1]


class Cache:
    """The specialisations of one piece of code. `cell` holds the table of irad.codegen.call.machine that a call tries first.

    `make(fn, args, kwargs, options)` makes a specialisation. `code`: the `code_key` of its functions, if they are to be found
    again where their code is replaced.
    """

    def __init__(self, make: Callable[..., Any] | None = None, code: Any = None, options: Options = DEFAULT):
        self.make: Callable[..., Any] = make or specialise
        self.code, self.options = code, options
        self.entries: OrderedDict[Any, list[Any]] = OrderedDict()
        self.programs: OrderedDict[Any, Any] = OrderedDict()  # specialisation -> its program, or None; the last used last
        self.cell: list[Any] = [entry.table(self.call, ())]
        self.seconds: dict[Any, float] = {}  # specialisation -> how long it took to make
        self.warned = False
        self._sized = False  # are there versions for all sizes?
        self.refused: set[Any] = set()  # keys for which there can be none
        self.calls: dict[Any, int] = {}  # of code for all sizes that nobody asked for: key -> calls, while few shapes have come
        self.room = 0  # the level of the room for lists that nothing bounds
        self.lock = threading.RLock()
        _every.add(self)

    def call(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run a function of this code, through Python; such calls run without from the next one on, where that can be."""
        if self.code is not None and code_key(fn) != self.code:
            return cache_for(fn, self.options).call(fn, *args, **kwargs)
        try:
            while True:
                s, leaves, rest = self.find(fn, args, kwargs)
                try:
                    return s(fn, leaves, rest, (args, kwargs))
                except Outgrown:
                    self._larger(s)
        except Exception as e:
            raise shortened(e)  # noqa: B904

    def _larger(self, s: Any) -> None:
        """Give versions that are made from now on more room for lists than this one has, which was not enough for a call."""
        with self.lock:
            found = [key for key, known in self.entries.items() if s in known]
            if not found:  # another thread has seen to it
                return
            if self.room == LAST or acts(s.traced.program) or getattr(s, "donated", None):
                raise MemoryError(MESSAGE + " than there is; fill an array of the final size instead")
            self.room += 1
            self.entries[found[0]].remove(s)
            self.programs.pop(s, None)
            self.seconds.pop(s, None)
            self._install()

    def run(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function of this code. The machine that runs programs is not made before there is one."""
        if self.programs and entry.available():
            return entry.invoke()(self.cell, fn, *args, **kwargs)
        return self.call(fn, *args, **kwargs)

    def find(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any], list[Any]]:
        """The specialisation for these arguments, made now if there is none; the argument leaves; the static parts."""
        if not kwargs and all(type(a) is np.ndarray and a.dtype.kind in "biufc" for a in args):
            leaves, tree, rest = list(args), _arrays(len(args)), []
        else:
            leaves, tree = flatten((args, kwargs))
            rest = statics(tree)
        key = (tree, *map(leaf_key, leaves))
        s = self._known(key, fn, leaves, rest)
        own = False  # is code for these shapes to be made, though there is code for all sizes?
        if s is None and (s := self._any_size(fn, leaves, tree, rest)) is not None and self._watched():
            own = self._often(key)
        elif s is not None:
            self._prefer(s, fn)
        if s is not None and not own:
            return s, leaves, rest
        with self.lock:
            s = self._known(key, fn, leaves, rest) or (None if own else self._any_size(fn, leaves, tree, rest))
            if s is None:  # else another thread has made it meanwhile
                live, varying = self._live(key, fn, rest), self._varying(key, leaves)
                start = time.perf_counter()
                with uncollected(), room_at(self.room):
                    s = None if live or own else self._for_all_sizes(fn, args, kwargs, leaves, tree)
                    key = key if s is None else _extents().any_size(tree, leaves)
                    s = s or bounded(lambda: self._made(key, fn, args, kwargs, live, varying))
                self._add(key, s)
                self.seconds[s] = time.perf_counter() - start
                if "raise" in np.geterr().values():
                    import_later("irad.call.versions").warn_of_raising(fn)
                if not self.warned and self.code is not None:
                    self._warn(fn, key)
        return s, leaves, rest

    def _any_size(self, fn: Any, leaves: Leaves, tree: TreeDef, rest: Sequence[Any]) -> Any:
        """The version for all sizes that these arguments fit."""
        return self._known(_extents().any_size(tree, leaves), fn, leaves, rest) if self._sized else None

    def _watched(self) -> bool:
        """Are calls of code for all sizes counted? It may be slower, so nobody who did not ask has it for a few shapes only."""
        return self.options.dynamic is None and len(self.calls) < SIZES

    def _often(self, key: Any) -> bool:
        """Has a shape come often, with this call?"""
        self.calls[key] = self.calls.get(key, 0) + 1
        return self.calls[key] == OFTEN

    def _for_all_sizes(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: Leaves, tree: TreeDef) -> Any:
        """A version in which extents are parameters: those that the option names, or without one those that vary from the third shape
        on. None if there are none, or if it cannot be made."""
        asked = self.options.dynamic
        if self.code is None or asked is False or not asked and len(self.entries) < 2:
            return None
        of = _extents()
        key = of.any_size(tree, leaves)
        if key is None or key in self.refused:
            return None
        if asked:
            axes = of.named(fn, self.options, args, kwargs, leaves, tree)
        else:
            axes = of.varying(self.entries, fn, kwargs, leaves, tree)
        if not axes:
            return None
        try:
            try:
                s = self.make(fn, args, kwargs, self.options, extents=Sizes(axes))
            except TooLarge:
                s = self.make(fn, args, kwargs, self.options, extents=Sizes(axes, close=True))
        except Exception as e:  # whatever it is: the version for these shapes alone says it if it is the function's
            self.refused.add(key)
            if asked:
                of.refused(fn, e)
            return None
        if not s.traced.extents:
            self.refused.add(key)
            return None
        self._sized = True
        return s

    def _made(self, key: Any, fn: Any, args: Any, kwargs: Any, live: frozenset[Path], varying: frozenset[int]) -> Any:
        """A version in which ints that vary are no constants, if that can be done."""
        refused = "varying", key
        if varying and refused not in self.refused:
            try:
                return self.make(fn, args, kwargs, self.options, live, varying)
            except (UnsupportedError, TooLarge):
                self.refused.add(refused)
        return self.make(fn, args, kwargs, self.options, *([live] if live else ()))

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
                self.seconds.pop(old, None)
            self._install()

    def _warn(self, fn: Any, key: Any) -> None:
        """Once, where the shapes of an argument vary, or the values of one that the program's structure depends on."""
        if len(self.entries[key]) >= SHAPES and not self.options.static:
            self.warned = import_later("irad.call.versions").warn_of_values(fn, key[0], self.entries[key])
        if len(self.entries) < SHAPES:
            return
        types = lambda k: (k[0], *(leaf[0] if isinstance(leaf, tuple) else leaf for leaf in k[1:]))
        if sum(types(k) == types(key) for k in self.entries) >= SHAPES:
            self.warned = True
            import_later("irad.call.versions").warn(fn, self, key)

    def clear(self) -> None:
        """Let all specialisations go, and their code as soon as nothing runs it."""
        with self.lock:
            self.entries.clear()
            self.programs.clear()
            self.seconds.clear()
            self.refused.clear()
            self.calls.clear()
            self._install()

    def _live(self, key: Any, fn: Any, rest: Sequence[Any]) -> frozenset[Path]:
        """Captured ints that have changed since they were taken for constants: from now on they are read at each call."""
        if self.code is None:
            return frozenset()
        found: set[Path] = set()
        for s in self.entries.get(key, ()):
            found.update(c.path for c in s.traced.captures if c.weak and c.type.dtype == "i64")
            ints = [g for g in s.traced.guards if g.kind == "eq" and type(g.expected) is int]
            found.update(g.path for g in ints if _other_int(g.path, g.expected, fn, rest))
        return frozenset(found)

    def _varying(self, key: Any, leaves: Leaves) -> frozenset[int]:
        """Numbers of leaves: ints that were constants, and are others now."""
        if self.code is None:
            return frozenset()
        infos = [enumerate(s.traced.in_leaves) for s in self.entries.get(key, ())]
        known = [(k, x) for of in infos for k, x in of if x.param is None and type(x.value) is int]
        return frozenset(k for k, x in known if x.value != leaves[k])

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


def _extents() -> Any:
    """Code for all sizes: few programs need it."""
    return import_later("irad.call.extents")


_caches: OrderedDict[Any, Cache] = OrderedDict()
_caches_lock = threading.Lock()


def _after_fork() -> None:
    """Make new locks in a child process: other threads of the parent may have held the old ones, and they are not here."""
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
    if off():
        key = off(), key
    with _caches_lock:
        cache = _caches.get(key)
        if cache is None:
            cache = _caches[key] = make()
            if len(_caches) > FUNCTIONS:
                _caches.popitem(last=False)
        else:
            _caches.move_to_end(key)
    return cache
