"""Who knows an array, list or object: the variables of running activations, and what hangs on them."""

from __future__ import annotations

import ast
import functools
import gc
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from irad.core.foreign import base_items, is_instance, is_library, module_of, of_class, own_attributes
from irad.core.ir import Builder, Node, Value
from irad.core.once import import_later
from irad.frontend.activations import Activation
from irad.frontend.control.templates import structure
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, Cell, Closure, Env, Maybe, Method, Nullable
from irad.frontend.values.reach import full
from irad.frontend.values.state import Attribute, Name, Place

_ENDS = (
    Arr, Array, types.NoneType, str, int, float, np.ndarray, np.generic, bytes, complex, type, types.ModuleType, Reader, ast.AST,
    Builder, Node, Value,
)  # fmt: skip


def references(r: Reader, cell: Cell) -> int:
    """How many variables of running activations hold the cell (in containers, functions and iterators too); stops at two."""
    return _count(r, lambda x: isinstance(x, Array) and any(c is cell for c in x.shared()))


def known_by_name(r: Reader, cell: Cell) -> bool:
    """Does a variable of the program hold the cell, itself or in something?"""
    mine = [f for f in r.frames if not is_library(module_of(f.globals_of))]
    return _count(r, lambda x: isinstance(x, Array) and any(c is cell for c in x.shared()), mine) > 0


def names_of(r: Reader, obj: Any, roots: Sequence[Any] = ()) -> int:
    """How many variables hold a list, dict or object, or what is held by `roots`; stops at two."""
    return _count(r, lambda x: x is obj, roots)


def exchange(r: Reader, old: Any, new: Any) -> None:
    """Another thing in its place in all variables, containers and attributes that they hold."""
    seen: set[int] = set()

    def exchanged(x: Any) -> Any:
        if x is old:
            return new
        if type(x) is tuple:
            items = tuple(map(exchanged, x))
            return x if all(a is b for a, b in zip(items, x)) else items
        if id(x) in seen:
            return x
        seen.add(id(x))
        if not r.state.is_made(x) or r.state.locked(x):
            return x
        if type(x) in (list, dict):
            for k, e in list(enumerate(x) if type(x) is list else x.items()):
                if (other := exchanged(e)) is not e:
                    r.state.touch(x)
                    x[k] = other
        elif is_instance(x):
            for name, e in own_attributes(x).items():
                if (other := exchanged(e)) is not e:
                    r.state.assign(Attribute(x, name), other)
        return x

    for env in _environments(r):
        for name, x in list(env.names.items()):
            if (other := exchanged(x)) is not x:
                r.state.assign(Name(env, name), other)


def variables_of(r: Reader, obj: Any) -> list[Name]:
    """The variables of running activations, and of the functions around them, that hold an object themselves."""
    return [Name(env, name) for env in _environments(r) for name, x in env.names.items() if x is obj]


def _environments(r: Reader) -> list[Env]:
    envs: dict[int, Env] = {}
    for frame in r.frames:
        env: Any = frame.env
        while isinstance(env, Env):
            envs[id(env)] = env
            env = env.parent
    return list(envs.values())


def known(r: Reader, obj: Any, live: frozenset[str] | None) -> bool:
    """Does a variable that is read later hold a list, dict or object? `live`: those of the running function; None: all."""
    if live is None:
        return True
    frame = r.frame
    names = [x for name, x in frame.env.names.items() if name in live or name in frame.liveness.always]
    return (
        _count(r, lambda x: x is obj, [*r.frames[:-1], frame.flags, frame.around, *frame.iterated, *names], {id(frame.env)}) > 0
    )


def _count(r: Reader, wanted: Callable[[Any], bool], roots: Sequence[Any] = (), seen: Iterable[int] = ()) -> int:
    count = 0
    seen = set(seen)
    todo: list[Any] = list(roots or r.frames)
    while todo and count < 2:
        x = todo.pop()
        if wanted(x):
            count += 1
        elif not isinstance(x, _ENDS) and id(x) not in seen:
            seen.add(id(x))
            todo += _inside(x)
    return count


def _inside(x: Any) -> Iterable[Any]:
    """What a thing holds."""
    if isinstance(x, Env):
        return [*x.names.values(), x.parent]
    if isinstance(x, Activation):
        return [x.env, x.flags, x.around, *x.iterated]
    if isinstance(x, dict):
        return dict.values(x)
    if isinstance(x, (list, tuple, set, frozenset)):
        return base_items(x)
    if isinstance(x, (Maybe, Nullable)):
        return [x.value]
    if isinstance(x, Method):
        return [x.owner]
    if isinstance(x, Closure):  # not all have them: a pullback holds values only
        return [getattr(x, name, None) for name in ("env", "defaults", "kw_defaults")]
    if isinstance(x, types.FunctionType):
        return [*(c.cell_contents for c in x.__closure__ or () if full(c)), x.__defaults__, x.__kwdefaults__]
    if isinstance(x, types.MethodType):
        return [x.__self__]
    if isinstance(x, functools.partial):
        return [x.func, x.args, x.keywords]
    if type(x).__module__ in ("builtins", "itertools", "collections"):
        return [] if isinstance(x, types.BuiltinFunctionType) else gc.get_referents(x)
    return own_attributes(x).values()


def knower(r: Reader) -> Callable[[Any], bool]:
    """Does a variable, or the caller, hold a list, dict or object, or what it stands for in a loop? While variables stay as they are."""
    held: dict[int, Any] = {}

    def note(x: Any) -> bool:
        held[id(x)] = x
        return False

    def is_known(obj: Any) -> bool:
        if id(obj) in r.state.stands_for and is_known(r.state.stands_for[id(obj)][1]):
            return True
        if r.captures.of_caller(obj) is not None:
            return True
        if not held:
            _count(r, note)
        return id(obj) in held

    return is_known


def held_around(r: Reader) -> Callable[[Any], bool]:
    """May the functions around the running one hold a list, dict or object that none of their variables has, of expressions that call
    it? Not one that was made after the call began."""
    holds = import_later("irad.frontend.syntax.holding").holds
    calls = []  # when those calls began
    for frame, called in zip(r.frames[1:-1], r.frames[2:]):
        always, mine = frame.liveness.always, frame.env.locals
        if frame.running is None or holds(frame.running, lambda name: name in mine and name not in always):  # noqa: B023
            calls.append(called.env.stamp)
    latest = max(calls, default=-1)
    return lambda x: _made(r, x) < latest


def _made(r: Reader, x: Any) -> int:
    """When a thing was made, or the oldest that it stands for in a loop."""
    made, seen = r.state.stamp(x), {id(x)}
    while (found := r.state.stands_for.get(id(x))) is not None and found[0] is x and id(found[1]) not in seen:
        x = found[1]
        seen.add(id(x))
        made = min(made, r.state.stamp(x))
    return made


def is_last_result(r: Reader, place: Place) -> bool:
    """Is it what the outermost function has returned? No caller, but a transform, and no `finally`, changes it any more."""
    frame = r.frame
    own = isinstance(place, Name) and place.owner is frame.flags and place.name == "value"
    if not own or frame.finals or frame.consume is not None:
        return False
    return all(getattr(f.globals_of, "__module__", "") == "irad.directional" for f in r.frames[1:-1])


def known_apart(r: Reader, x: Any, items: Any) -> None:
    """Refuse to look for an object among others by identity where data decides which of them it is, or they are."""
    if of_class(type(x), "__eq__") is object.__eq__ and structure(x) is not None:
        if r.state.locked(x) or any(type(y) is type(x) and y is not x and r.state.locked(y) for y in items):
            raise r.locked_error(
                x, f"looking for a {type(x).__name__} that is one of several, depending on data; compare what is in it"
            )
