"""Code that Python runs while a program is traced may change containers and objects: what it changes is found afterwards, and logged
like a store, so that it is undone on the paths where it did not happen.

It gets what the program has: the same containers, but copies of those that hold arrays, and views of arrays which are read-only, as
stores into them would be seen only where they are read. What it changes in a copy, keeps or gives back is exchanged for what that stands for.
"""

from __future__ import annotations

import array
import collections
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.foreign import CODE, WRAPPERS, base_items, is_instance, is_library, is_value, own_attributes
from irad.errors import UnsupportedError
from irad.frontend.reader import Reader
from irad.frontend.reading.subscripts import change
from irad.frontend.values.objects import UNDEFINED, Array, describe
from irad.frontend.values.runs import has_run
from irad.frontend.values.state import Attribute, Items

_KINDS = (list, dict, set, collections.deque)
_BYTES = (bytearray, array.array)
_COPIED = (list, tuple, dict, collections.deque)
_NEW_VIEW = (
    "it is a view that {} has made, which is not read; copy it (x.copy()), or write it as an index or a method of the array"
)


class Watched:
    """A context in which a function is run on what `lend` gives of `things`."""

    def __init__(self, r: Reader, name: str, things: Sequence[Any]):
        self.r, self.name = r, name
        self.lent: dict[int, tuple[Any, Any]] = {}  # by id: what the function gets, and what that stands for
        self.arrays: list[np.ndarray] = []
        self.copies: list[tuple[Any, Any, Any]] = []
        seen: dict[int, Any] = {}
        for x in things:
            _reach(x, seen)
        self.held = [(x, Items(x, "").get()) for x in seen.values() if isinstance(x, _KINDS)]
        self.objects = [(x, dict(own_attributes(x))) for x in seen.values() if _is_object(x)]
        self.unread = [(x, _inside(x)) for x in seen.values() if isinstance(x, _BYTES) or _is_unread(x)]

    def lend(self, x: Any) -> Any:
        """x as Python's code takes it."""
        if type(x) in _COPIED and not has_run(x):
            kids = list(x.values() if isinstance(x, dict) else x)
            given = [self.lend(e) for e in kids]
            if all(a is b for a, b in zip(kids, given)):
                return x
            out = dict(zip(x, given)) if isinstance(x, dict) else _like(x, given)
            self.lent[id(out)] = out, x
            if not isinstance(out, tuple):
                self.copies.append((x, out, out.copy()))
            return out
        out = self.r.operand(x)
        if isinstance(x, Array) and type(out) is np.ndarray:
            out = out.view()
            self.lent[id(out)] = out, x
        return self.guard(out)

    def guard(self, x: Any) -> Any:
        """x; if it is an array, it cannot be written until the function ends."""
        if isinstance(x, np.ndarray) and x.flags.writeable:
            x.flags.writeable = False
            self.arrays.append(x)
        return x

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, kind: Any, e: Any, trace: Any) -> None:
        for a in self.arrays:
            a.flags.writeable = True
        if isinstance(e, (ValueError, TypeError)) and any(s in str(e) for s in ("read-only", "not writeable", "read-write")):
            raise UnsupportedError(f"{self.name} stores into an array; write the store as x[...] = values") from None
        for x, before in self.held:
            now = Items(x, "").get()
            if not _same(before, now):
                Items(x, "").set(before)
                self._changed(x, now)
        for x, given, before in self.copies:
            if not _same(before, given):
                self._changed(x, given)
        for x, old in self.objects:
            self._assigned(x, old)
        for x, was in self.unread:
            if _inside(x)[1] != was[1]:
                self._not_followed(x)

    def _changed(self, x: Any, now: Any) -> None:
        change(self.r, x)
        Items(x, "").set({k: self.back(v) for k, v in now.items()} if isinstance(now, dict) else type(now)(map(self.back, now)))

    def _assigned(self, x: Any, old: dict[str, Any]) -> None:
        now = dict(own_attributes(x))
        names = [n for n in dict.fromkeys([*old, *now]) if now.get(n, UNDEFINED) is not old.get(n, UNDEFINED)]
        for n in names:
            Attribute(x, n).set(old.get(n, UNDEFINED))
        for n in names:
            if n in now:
                self.r.setattr(x, n, self.back(now[n]))
            else:
                self.r.call(delattr, [x, n])

    def _not_followed(self, x: Any) -> None:
        """Something has changed in what is not read: refused unless it was made here, and so is changed as often as it is made."""
        if not self.r.state.is_made_here(x):
            raise UnsupportedError(
                f"{self.name} changes {'an array.array' if isinstance(x, array.array) else describe(x)}, which compiled code does not follow where it comes from outside, or where data "
                "decide whether or how often that happens; use a list, a dict or an array"
            )

    def back(self, x: Any) -> Any:
        """What Python's code gives, as the program has it."""
        if id(x) in self.lent:
            return self.lent[id(x)][1]
        r = self.r
        if type(x) in _COPIED and not has_run(x) and not r.state.is_made(x) and r.captures.of_caller(x) is None:
            kids = x.values() if isinstance(x, dict) else x
            found = [self.back(e) for e in kids]
            out = dict(zip(x, found)) if isinstance(x, dict) else _like(x, found)
            return out if isinstance(x, tuple) else r.state.made(out)
        out = r.wrap(x)
        if out is x and (isinstance(x, _BYTES) or _is_unread(x)) and not r.state.is_made(x) and r.captures.path(x) is None:
            r.state.made(x)
        if type(x) is np.ndarray and isinstance(out, Array) and (owner := self._base(x)) is not None:
            out.frozen, out.watch = _NEW_VIEW.format(self.name), tuple((c, c.content) for c in owner.shared())
        return out

    def _base(self, x: np.ndarray) -> Array | None:
        """The array of the program that x is a view of."""
        base = x.base
        while isinstance(base, np.ndarray):
            if id(base) in self.lent or base.base is None:
                break
            base = base.base
        return next(
            (t for o, t in self.lent.values() if base is not None and (o is base or getattr(o, "base", None) is base)), None
        )


def _like(x: Any, items: list[Any]) -> Any:
    return collections.deque(items, x.maxlen) if isinstance(x, collections.deque) else type(x)(items)


def _reach(x: Any, seen: dict[int, Any]) -> None:
    """x and what it holds that can change, by id."""
    if id(x) in seen or is_value(x) or isinstance(x, CODE):
        return
    seen[id(x)] = x
    if isinstance(x, (*_KINDS, tuple)):
        for held in list(dict.values(x) if isinstance(x, dict) else base_items(x)):
            _reach(held, seen)
    if isinstance(x, WRAPPERS) or _is_object(x):
        for held in own_attributes(x).values():
            _reach(held, seen)


def _is_object(x: Any) -> bool:
    """An object of the program."""
    return is_instance(x) and not isinstance(x, type) and not type(x).__module__.startswith("irad.")


def _is_unread(x: Any) -> bool:
    """An object of a library's class that is written in Python."""
    cls = type(x)
    if not cls.__flags__ & (1 << 9) or not is_library(cls.__module__) or cls.__module__.split(".")[0] == "irad" or is_value(x):
        return False
    return not isinstance(x, (*CODE, *WRAPPERS, *_KINDS, tuple, type, np.ndarray, BaseException))


def _inside(x: Any) -> tuple[Any, list[Any]]:
    """What is in an object that is not read: things that have to live on, and what tells whether it is another time the same."""
    seen: dict[int, Any] = {}
    todo, told = [x], list[Any]()
    while todo:
        y = todo.pop()
        if id(y) in seen:
            continue
        seen[id(y)] = y
        if isinstance(y, _BYTES):
            told.append(bytes(y))
            continue
        held = own_attributes(y) if _is_unread(y) else y if isinstance(y, dict) else dict(enumerate(y))
        told.append(([*map(id, held)] if held is y else [*held], [*map(id, held.values())]))
        todo += [e for e in held.values() if isinstance(e, (*_KINDS, *_BYTES, tuple)) or _is_unread(e)]
    return [seen, [v for y in seen.values() if isinstance(y, _KINDS) for v in y]], told


def _same(a: Any, b: Any) -> bool:
    """Do two copies of a container hold the same objects in the same order?"""
    if len(a) != len(b):
        return False
    if isinstance(a, dict) and any(x is not y for x, y in zip(a.values(), b.values())):
        return False
    return a == b if isinstance(a, set) else all(x is y for x, y in zip(a, b))
