"""One traced and compiled version of a function: when it holds for a call, and how the call runs through Python.

Captured arrays and numbers are read anew at each call and passed as hidden parameters. `irad.call.runtime` finds the version.
"""

from __future__ import annotations

import builtins
import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irad import errors
from irad.call import write_back
from irad.call.compiled import Job, native_of, signature
from irad.call.conditions import Conditions, Leaves
from irad.call.fastcall import write
from irad.codegen.call import machine as entry
from irad.codegen.call.native import NativeCode
from irad.core.ir import walk
from irad.core.once import import_later
from irad.core.room import Outgrown
from irad.core.tree import leaf_fields
from irad.errors import IradError, IradValueError, UnsupportedError
from irad.frontend.arguments import definition
from irad.frontend.trace import trace
from irad.frontend.transforms.transform import is_derivative
from irad.frontend.values.guards import Path
from irad.frontend.values.traced import GIVEN, Result, Sizes, Traced
from irad.ops.control import RaisedInGraph
from irad.ops.text import PARTS, Slot
from irad.options import DEFAULT, Options, leaves_of, static_leaves, takes

ARENA = 1 << 28  # bytes that code for sizes far above what there is may work in


class Specialisation:
    """A traced function with its native code. `donate`: argument leaves whose memory may be written. `most`: see `Job`."""

    def __init__(self, traced: Traced, options: Options = DEFAULT, donate: Sequence[int] = (), most: int | None = None):
        self.traced, self.donated = traced, donated_parameters(traced, donate)
        donated = frozenset(self.donated.values())
        self.native: NativeCode = native_of(Job(traced.program, signature(traced.graph), options, donated, most=most))
        self.conditions = Conditions(traced, self.native.params, len(traced.in_leaves))
        self.holds = self.conditions.holds
        self.entry: entry.Program | None = None  # as `direct` made it: all lay their arguments out alike

    def direct(self, fn: Any) -> entry.Program | None:
        """How calls run without Python code; None if they cannot."""
        if outgrown(self.native) or self.traced.ended is not None:
            return None
        self.entry = write(self.traced, self.conditions, self.native, fn, self.raiser, self.donated)
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

    def __call__(self, fn: Any, leaves: Leaves, rest: Sequence[Any], given: Any = ((), {})) -> Any:
        """Run on argument leaves; results in the structure that the function returns, arguments changed as it does.

        `given`: the arguments themselves, whose containers the function may change.
        """
        t = self.traced
        if t.once or t.apart:
            clash = import_later("irad.call.aliasing").clash(t, fn, leaves, rest, given)
            if clash:
                return self._exact(clash, fn, given)
        targets = [self._target(m.target, fn, leaves, rest) for m in t.mutated]
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
            if t.ended in kept:
                self._given(kept, fn, leaves, rest, given)
        for a, m in zip(targets, t.mutated):
            a[...] = out[m.index]
        return self._given(out, fn, leaves, rest, given)

    def _given(self, out: Any, fn: Any, leaves: Leaves, rest: Sequence[Any], given: Any) -> Any:
        """What the function returns, once all that it assigns is assigned; `out`: results of the native code by their numbers."""
        t = self.traced
        for k, axes in t.turned.items():
            out[k] = out[k].transpose(axes)
        made: list[Any] = []
        found = lambda r: self._result(r, out, fn, leaves, rest, given, made)
        for tree, inside in t.made:
            made.append(tree.unflatten([found(r) for r in inside]))
        results = [found(r) for r in t.results]
        if t.writes:
            write_back.write(t.writes, found, fn, rest, given)
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

    def _result(
        self,
        r: Result,
        out: Sequence[np.ndarray],
        fn: Any,
        leaves: Leaves,
        rest: Sequence[Any],
        given: Any = None,
        made: Sequence[Any] = (),
    ) -> Any:
        if r.kind == "static":
            return r.value
        if r.same_as is not None:
            if r.same_as[0] == "made":
                return made[r.same_as[1]]
            if r.same_as[0] == "path" and r.same_as[1].root == GIVEN:
                return write_back.find(r.same_as[1], fn, rest, given)
            return self._target(r.same_as, fn, leaves, rest)
        assert r.index is not None
        return finish(r.kind, out[r.index])

    def _exact(self, clash: str, fn: Any, given: Any) -> Any:
        """What the program takes for two things is one: the plain function is exact about it."""
        if is_derivative(fn):
            raise IradValueError(clash)
        return fn(*given[0], **given[1])


def outgrown(native: NativeCode) -> bool:
    """May a call have to begin again with more room for lists? Then it goes through Python."""
    return any(e.exc == Outgrown.__name__ for e in native.interface.raises)


def donated_parameters(t: Traced, leaves: Sequence[int]) -> dict[int, int]:
    """Which of the argument leaves may give their memory to results, with their parameters: arrays that are given once, and that the
    function neither changes nor returns."""
    kept: set[tuple[str, Any]] = {m.target for m in t.mutated} | {
        r.same_as for r in (*t.results, *t.held) if r.same_as is not None
    }
    wholes = {
        at[1].steps[:2] for at in kept if at[0] == "path" and at[1].root == GIVEN
    }  # arguments of which containers are returned
    for (_, pair), (_, key) in wholes:
        tree = t.in_tree.children[pair]
        n = key if pair == 0 else tree.meta.index(key)
        first = sum(c.size for c in (*t.in_tree.children[:pair], *tree.children[:n]))
        kept |= {("arg", first + k) for k in range(tree.children[n].size)}
    twice = {info.alias for info in t.in_leaves}
    named = leaf_fields(t.in_tree)  # memory of fields lies between that of others
    infos = [(k, t.in_leaves[k]) for k in leaves if ("arg", k) not in kept and k not in twice and named[k] is None]
    return {k: i.param for k, i in infos if i.kind == "ndarray" and i.type.shape and i.param is not None and i.alias is None}


def finish(kind: str, value: np.ndarray) -> Any:
    """A native result as what NumPy or Python would return."""
    if kind == "ndarray":
        return value
    return value[()] if kind == "generic" else value.item()


def user_exception(e: RaisedInGraph, known: Mapping[str, type[BaseException] | BaseException]) -> BaseException:
    """The exception that the user's code, or NumPy in its place, would raise; a note says where."""
    cls = known.get(e.exc) or getattr(builtins, e.exc, None) or getattr(errors, e.exc, None)
    error = _made(cls, e.message) if cls is not None else IradError(f"{e.exc}: {e.message}")
    if isinstance(error, IradError):
        return error.at(e.loc)
    if e.loc is not None:
        excerpt = e.loc.excerpt()
        error.add_note(f"raised in compiled code at {e.loc}" + (f"\n{excerpt}" if excerpt else ""))
    return error


def _made(kind: Any, message: str) -> BaseException:
    """An exception of a class, or like one that was raised while the program was read."""
    if isinstance(kind, BaseException):
        texts = iter(message.split(PARTS))
        made = type(kind).__new__(type(kind), *(a.made(next(texts)) if isinstance(a, Slot) else a for a in kind.args))
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
    varying: frozenset[int] = frozenset(),
    static: frozenset[int] | None = None,
    extents: Sizes | None = None,
) -> Specialisation:
    """Trace and compile a function. Captured ints of `live` that shape arrays, or that must be known, stay constants. `varying`:
    numbers of leaves, ints that change from call to call.

    `static`: leaves that are constants, if the options do not say it. A keyword `out` that is none of the function's: see
    irad.call.into. `extents`: axes of leaves whose extents are known at run time only; TooLarge is raised of code for sizes far above
    what there is, or for ints that vary, that would work in more than ARENA bytes.
    """
    if "out" in kwargs and not takes(fn, "out"):
        return import_later("irad.call.into").specialise_into(fn, args, kwargs, options)  # type: ignore[no-any-return]
    if static is None:
        static = static_leaves(fn, options, args, kwargs)
    trial = lambda live: _with_live(fn, args, kwargs, static, live, varying) if not extents else None
    traced = trial(live) if live else None
    if traced is None and len(live) > 1:
        live = frozenset(path for path in live if trial(frozenset([path])))
        traced = trial(live)
    traced = traced or trace(fn, args, kwargs, static=static, varying=varying, extents=extents, objects=True)
    try:
        most = ARENA if varying or extents and not extents.close else None
        return Specialisation(traced, options, leaves_of(fn, options.donate, args, kwargs), most)
    except UnsupportedError as e:  # found after the passes, which keep no place for every node
        raise e.at(definition(fn)) from e.__cause__


def _with_live(
    fn: Any, args: Any, kwargs: Any, static: frozenset[int], live: frozenset[Path], varying: frozenset[int]
) -> Traced | None:
    """The trace with these captured ints read at each call, if it can be made and all shapes are known in it."""
    try:
        traced = trace(fn, args, kwargs, static=static, live=live, varying=varying, objects=True)
    except (IradError, TypeError, ValueError):
        return None
    return traced if all(v.type.static for g in traced.program.values() for n in walk(g) for v in n.outputs) else None
