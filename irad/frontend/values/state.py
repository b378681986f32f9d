"""The state of the function being read: places that hold values, and a log of what was changed where.

A branch or a loop body runs with a log of its own: afterwards the changes are known and can be undone, so that the other
branch starts from the same state and the two outcomes can be merged.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from irad.core.foreign import base_method, copied_tuple, found_in_class, own_dict
from irad.core.ir import Builder, Node, Value
from irad.core.lazy_dataclass import dataclass, field
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import CLOCK, UNDEFINED, Array, Cell, Either, Env, Method, Nullable, Varying


@dataclass(frozen=True)
class Place:
    """Somewhere a value is kept. Places of the same owner and name are equal."""

    owner: Any
    name: Any = None

    @property
    def key(self) -> tuple[Any, ...]:
        return (type(self).__name__, id(self.owner), self.name)

    @property
    def hint(self) -> str:
        """What the user calls it."""
        return ""

    def get(self) -> Any:
        raise NotImplementedError

    def set(self, value: Any) -> None:
        raise NotImplementedError


class Name(Place):
    """A variable of an activation."""

    owner: Env

    @property
    def hint(self) -> str:
        return str(self.name or "")

    def get(self) -> Any:
        return self.owner.names.get(self.name, UNDEFINED)

    def set(self, value: Any) -> None:
        if value is UNDEFINED:
            self.owner.names.pop(self.name, None)
        else:
            self.owner.names[self.name] = value


class Storage(Place):
    """The content of an array's cell."""

    owner: Cell

    @property
    def hint(self) -> str:
        return str(self.owner.name or "")

    def get(self) -> Any:
        return self.owner.content

    def set(self, value: Any) -> None:
        self.owner.content = value


class Attribute(Place):
    """An attribute of an object."""

    def get(self) -> Any:
        own = own_dict(self.owner)
        return own[self.name] if self.name in own else self._slot()

    def _slot(self) -> Any:
        found = found_in_class(type(self.owner), self.name)
        if not isinstance(found, types.MemberDescriptorType):
            return UNDEFINED
        try:
            return found.__get__(self.owner)
        except AttributeError:
            return UNDEFINED

    def set(self, value: Any) -> None:
        if value is UNDEFINED:
            if self.get() is not UNDEFINED:
                object.__delattr__(self.owner, self.name)
        else:
            object.__setattr__(self.owner, self.name, value)


class Items(Place):
    """All that a list, dict, set or deque holds; the value is a copy of it."""

    def get(self) -> Any:
        return base_method(self.owner, "copy")()

    def set(self, value: Any) -> None:
        base_method(self.owner, "clear")()
        base_method(self.owner, "extend" if hasattr(type(self.owner), "extend") else "update")(value)


@dataclass(eq=False)
class Log:
    """Changes since a point: the first old value of each place, in order of first change."""

    builder: Builder | None
    old: dict[tuple[Any, ...], tuple[Place, Any]] = field(default_factory=dict)
    new: dict[tuple[Any, ...], Any] = field(default_factory=dict)  # filled by `close`
    history: list[tuple[int, Place, Any]] = field(default_factory=list)  # if it is kept: nodes before a change, and the old value

    def close(self) -> None:
        """Remember the final values, and undo."""
        self.new = {key: place.get() for key, (place, _) in self.old.items()}
        self.undo()

    def undo(self) -> None:
        for place, value in reversed(self.old.values()):
            place.set(value)

    def at(self, k: int) -> list[tuple[Place, Any]]:
        """What the places of a closed log held when its node k was made."""
        now = dict(self.new)
        for position, place, value in reversed(self.history):
            if position > k and place.key in now:
                now[place.key] = value
        return [(place, now[key]) for key, (place, _) in self.old.items()]

    @contextmanager
    def replayed(self) -> Iterator[None]:
        """The final state of this log, for a while."""
        before = [(place, place.get()) for place, _ in self.old.values()]
        for key, (place, _) in self.old.items():
            place.set(self.new[key])
        try:
            yield
        finally:
            for place, value in reversed(before):
                place.set(value)


@dataclass(eq=False)
class Watch:
    """While a call is read: the things made before it, by id, that it changes. What is made in it has a later stamp."""

    start: int
    old: dict[int, tuple[int, Any]] = field(default_factory=dict)


class State:
    """The stack of logs, and which mutable objects were made in which region."""

    def __init__(self) -> None:
        self.logs: list[Log] = [Log(None)]
        self._born: dict[int, tuple[Any, Builder | None, int]] = {}  # keeps the objects alive, so ids stay theirs
        self._locked: dict[int, Any] = {}
        self._met: dict[int, Any] = {}
        self.stands_for: dict[int, tuple[Any, Any]] = {}  # a container at the start of a trip, and what it is before the loop
        self.changed: set[int] = set()  # ids of containers and instances that were changed
        self.joined: dict[Builder, Builder] = {}  # regions whose nodes went into another builder
        self.dated = False  # do logs keep their history?
        self.epoch = 0  # another one whenever something from outside, no array among the arguments, may have changed
        self.watches: list[Watch] = []
        self.outside: dict[tuple[Any, ...], Place] = {}  # what has changed of that

    @property
    def log(self) -> Log:
        return self.logs[-1]

    def assign(self, place: Place, value: Any) -> None:
        """Change a place and log it. What was made in the running region itself needs no undoing."""
        if isinstance(place, Attribute):
            self.changed.add(id(place.owner))
        self._note(place)
        place.set(value)

    def give(self, place: Place, value: Any) -> None:
        """Assign; what a container holds is exchanged in the same container."""
        if isinstance(place, Items):
            self.touch(place.owner)
            place.set(value)
        else:
            self.assign(place, value)

    def touch(self, container: Any) -> None:
        """Log a container that is about to be changed."""
        self.changed.add(id(container))
        self._note(Items(container))

    def _note(self, place: Place) -> None:
        log = self.log
        if self._watched(place.owner) == 0 and not isinstance(place, Storage):
            self.outside[place.key] = place
        if len(self.logs) == 1 or self._own(place.owner, log):
            return
        if self.dated and log.builder is not None:
            log.history.append((len(log.builder.nodes), place, place.get()))
        if place.key not in log.old:
            log.old[place.key] = (place, place.get())

    def _watched(self, owner: Any) -> int:
        stamp = self.stamp(owner)
        if stamp == 0:
            self.epoch = next(CLOCK)
        if self.watches and stamp < self.watches[-1].start:
            self.watches[-1].old[id(owner)] = stamp, owner
        return stamp

    def stamp(self, owner: Any) -> int:
        """When a thing was made: 0 is before the program."""
        if isinstance(owner, (Cell, Env)):
            return owner.stamp
        found = self._born.get(id(owner))
        return found[2] if found is not None and found[0] is owner else 0

    @contextmanager
    def watched(self, start: int | None = None) -> Iterator[Watch]:
        """Note which things are changed that were made before `start`, or before now."""
        watch = Watch(next(CLOCK) if start is None else start)
        self.watches.append(watch)
        try:
            yield watch
        finally:
            self.watches.pop()
            if self.watches:
                around = self.watches[-1]
                around.old.update((k, x) for k, x in watch.old.items() if x[0] < around.start)

    def turned(self, log: Log) -> None:
        """What a log has changed is undone, or done again."""
        if any(self.stamp(place.owner) == 0 for place, _ in log.old.values()):
            self.epoch = next(CLOCK)

    def _own(self, owner: Any, log: Log) -> bool:
        return log.builder is not None and self.born(owner) is log.builder

    def lock(self, obj: Any) -> None:
        """A container that must not change any more."""
        self._locked[id(obj)] = obj

    def locks(self) -> set[int]:
        """The containers that must not change, by id."""
        return set(self._locked)

    def unlock(self, ids: set[int]) -> None:
        """Containers may change again: nothing has what stands for them any more."""
        for k in ids:
            self._locked.pop(k, None)

    def locked(self, obj: Any) -> bool:
        return self._locked.get(id(obj)) is obj

    def made(self, obj: Any, node: Any = None) -> Any:
        """Note that a mutable object (list, dict, instance, activation) was made now."""
        self._born[id(obj)] = (obj, self.log.builder, next(CLOCK))
        return obj

    def met(self, obj: Any) -> Any:
        """Note that a mutable object was made now, in place of those of several paths."""
        self._met[id(obj)] = obj
        return self.made(obj)

    def stands(self, obj: Any) -> bool:
        """Was an object made in place of those of several paths?"""
        return self._met.get(id(obj)) is obj

    def is_made(self, obj: Any) -> bool:
        """Was an object made by the program?"""
        return self._born.get(id(obj), (None,))[0] is obj

    def is_made_here(self, obj: Any) -> bool:
        """Was an object made in the running region itself, and so is changed as often as it is made?"""
        self._watched(obj)
        return (self.is_made(obj) or isinstance(obj, Cell) and not obj.outside) and (
            len(self.logs) == 1 or self._own(obj, self.log)
        )

    def born(self, owner: Any) -> Builder | None:
        """The region in which an object was made; None: before any, or unknown."""
        b = owner.born if isinstance(owner, Cell) else self._born.get(id(owner), (None, None, 0))[1]
        while b in self.joined:
            b = self.joined[b]  # type: ignore[index]
        return b

    @contextmanager
    def logged(self, builder: Builder | None) -> Iterator[Log]:
        """A new log on top of the others; closed (and undone) at the end, also on an exception."""
        log = Log(builder)
        self.logs.append(log)
        try:
            yield log
        finally:
            self.logs.pop()
            log.close()
            self.turned(log)

    def commit(self, log: Log, nodes: int = 0) -> None:
        """Make the changes of a closed log again, in the log below it; its nodes have just been put after so many others."""
        known = len(self.log.history)
        self.change(((place, log.new[key]) for key, (place, _) in log.old.items()))
        if self.dated:
            self.log.history[known:] = [(nodes + k, place, value) for k, place, value in log.history]

    def change(self, values: Iterable[tuple[Place, Any]]) -> None:
        """Give places their values."""
        for place, value in values:
            if not same(place.get(), value):
                self.assign(place, value)


@dataclass(eq=False)
class Region:
    """A part of the program that was run with a builder and a log of its own."""

    builder: Builder
    log: Log
    dead: bool = False  # it ended in a raise
    result: Any = None
    params: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        self._defined: set[Value] | None = None
        self._assigned: dict[int, dict[str, Any]] | None = None

    @property
    def nodes(self) -> list[Node]:
        return self.builder.nodes

    def defines(self, v: Value) -> bool:
        """Is the value made inside (so that nothing outside can read it)?"""
        if self._defined is None:
            self._defined = {o for n in self.nodes for o in n.outputs} | set(self.params)
        return v in self._defined

    def content(self, obj: Any) -> Any:
        """A container or instance as it is at the end of the region: itself, or a copy with the changes."""
        key = (Items.__name__, id(obj), None)
        if key in self.log.new:
            return self.log.new[key]
        changes = self._attributes().get(id(obj))
        if not changes:
            return obj
        new = copy.copy(obj) if not isinstance(obj, tuple) else copied_tuple(obj)
        for name, value in changes.items():
            Attribute(new, name).set(value)
        return new

    def _attributes(self) -> dict[int, dict[str, Any]]:
        """The attributes that were assigned in the region, by object."""
        if self._assigned is None:
            self._assigned = {}
            for key, (place, _) in self.log.old.items():
                if isinstance(place, Attribute):
                    self._assigned.setdefault(id(place.owner), {})[place.name] = self.log.new[key]
        return self._assigned

    def changes(self, obj: Any) -> bool:
        """Was a container or instance changed in the region?"""
        return (Items.__name__, id(obj), None) in self.log.new or id(obj) in self._attributes()

    def stale(self, x: Any) -> bool:
        """Is x an array whose content is not known any more at the end of the region?"""
        if not isinstance(x, Array) or not (x.watch or isinstance(x, Either)):
            return False
        with self.log.replayed():
            return x.stale

    def value(self, place: Place) -> Any:
        """What the place held at the end of the region."""
        return self.log.new.get(place.key, place.get())


def same(a: Any, b: Any) -> bool:
    """Are two things certainly the same value (identical, or equal constants of one type and bits)?"""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (int, str, bytes, bool, type(None))) and not isinstance(a, np.generic):
        return bool(a == b)
    if isinstance(a, float):
        return a.hex() == b.hex() if not isinstance(a, np.generic) else a.tobytes() == b.tobytes()
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return _same_object(a, b)


def _same_object(a: Any, b: Any) -> bool:
    if isinstance(a, Arr):
        return a.value is b.value and a.weak == b.weak and a.mixed == b.mixed
    if isinstance(a, Either):
        return False
    if isinstance(a, Array):
        return a.cell is b.cell and a.steps == b.steps
    if isinstance(a, Nullable):
        other = not isinstance(a, Varying) or same(a.other, b.other)
        return a.there.value is b.there.value and same(a.value, b.value) and other
    if isinstance(a, Method):
        return same(a.owner, b.owner) and a.name == b.name
    if isinstance(a, (range, slice)):  # equal ranges may have other bounds
        return all(map(same, *((x.start, x.stop, x.step) for x in (a, b))))
    return isinstance(a, types.MethodType) and a.__self__ is b.__self__ and a.__func__ is b.__func__
