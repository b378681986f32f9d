"""Dicts of names that are known when the program is read: globals(), vars(x) and x.__dict__."""

from __future__ import annotations

import ast
import types
from typing import Any

from irad.core.foreign import found_in_class, own_dict, own_names
from irad.core.ir import current
from irad.errors import UnsupportedError
from irad.frontend.control.sequences import Seq
from irad.frontend.control.stands import Stands
from irad.frontend.python.builtins import introspection
from irad.frontend.reader import Reader
from irad.frontend.reading.expressions import usable
from irad.frontend.reading.instances import decides, delete_attr, hook, own_attr, place_of, plain_set, rely_on_absence
from irad.frontend.values.choices import OneOf
from irad.frontend.values.objects import UNDEFINED, Choice, Env, Maybe, describe
from irad.frontend.values.state import Name


def module_name(r: Reader, fn: Any, name: str) -> Any:
    """A global variable of a function, or UNDEFINED; builtins are not among them."""
    assigned = r.outside.names(fn.__globals__)
    if name in assigned:
        return assigned[name] if assigned[name] is UNDEFINED else usable(r, name, assigned[name], Env({name: assigned[name]}))
    if name in fn.__globals__:
        return r.captures.take(fn.__globals__[name], r.captures.origin(fn).child("global", name))
    r.captures.rely_on_absence(fn, r.captures.origin(fn), name)
    return UNDEFINED


def module_variable(r: Reader, fn: Any, name: str) -> Name:
    """The place of a global variable of a function."""
    now = module_name(r, fn, name) if name not in r.outside.names(fn.__globals__) else UNDEFINED
    return Name(r.outside.env(fn.__globals__, r.captures.origin(fn), "global", name, now), name)


class Globals(Stands):
    """The dict that globals() gives: items are read, stored and asked for as variables are."""

    cls = dict

    def __init__(self, fn: Any):
        self.fn = fn  # whose globals they are

    def item(self, r: Reader, key: Any) -> Any:
        """globals()[key]. Raises KeyError."""
        found = module_name(r, self.fn, _name(key))
        if found is UNDEFINED:
            raise KeyError(key)
        return found

    def store(self, r: Reader, key: Any, value: Any) -> None:
        """globals()[key] = value."""
        r.state.assign(module_variable(r, self.fn, _name(key)), value)

    def has(self, r: Reader, key: Any) -> bool:
        """key in globals()."""
        return module_name(r, self.fn, _name(key)) is not UNDEFINED


def _name(key: Any, what: str = "globals() with a name") -> str:
    if not isinstance(key, str):
        raise UnsupportedError(f"{what} that depends on data: put what it may name into a dict, and choose there")
    return key


def _known(key: Any) -> str:
    return _name(key, "an attribute by a name")


def _get(r: Reader, self: Globals, key: Any, default: Any = None) -> Any:
    found = module_name(r, self.fn, _name(key))
    return default if found is UNDEFINED else found


Globals.METHODS = {"get": _get, "__contains__": lambda r, self, key: self.has(r, key)}


class Attributes(Stands):
    """The dict of an object's own attributes. What is stored is assigned, as `object.__setattr__` does it. The object may be one of
    several, which have attributes of the same names."""

    cls = dict
    of_itself = True

    def __init__(self, of: Any):
        self.of = of

    def options(self) -> tuple[Any, ...] | None:
        """The objects of which data choose one, if they do."""
        return self.of.options if isinstance(self.of, (Choice, OneOf)) else None

    def names(self, r: Reader) -> list[str]:
        """The names there are, in order. The program relies on their being these."""
        if (options := self.options()) is not None:
            first, *rest = [Attributes(x).names(r) for x in options]
            if any(names != first for names in rest):
                raise UnsupportedError("the attributes of one of several objects, by data, of which some have others")
            return first
        path, assigned = place_of(r, self.of), r.outside.names(self.of)
        if path is not None:
            r.captures.guard(path, "attributes", own_names(self.of))
        inside = dict.fromkeys([*own_dict(self.of), *(k for k in assigned if not _is_slot(self.of, k))])
        return [k for k in inside if self._found(r, k) is not UNDEFINED]

    def whole(self, r: Reader, returned: bool = False) -> Any:
        """A dict of the same items."""
        if returned and not self.options() and place_of(r, self.of) is not None:
            raise UnsupportedError(
                f"the attributes of {describe(self.of)}, as a dict, cannot be returned: return a copy, dict(vars(x))"
            )
        return r.state.made({k: self.item(r, k) for k in self.names(r)})

    def item(self, r: Reader, key: Any) -> Any:
        """x.__dict__[key]. Raises KeyError."""
        if self.options() and _known(key) in self.names(r):
            return r.getattr(self.of, key)
        found = UNDEFINED if self.options() else self._found(r, _known(key))
        if found is UNDEFINED or _is_slot(self.of, key):
            for x in self.options() or (self.of,):
                rely_on_absence(r, x, key)
            raise KeyError(key)
        return found

    def _found(self, r: Reader, key: str) -> Any:
        found = own_attr(r, self.of, key)
        if isinstance(found, Maybe):
            raise UnsupportedError(f"{describe(self.of)} has the attribute '{key}' on some paths only: assign it on all of them")
        return found

    def store(self, r: Reader, key: Any, value: Any) -> None:
        """x.__dict__[key] = value."""
        options = self.options()
        if any(decides(found_in_class(type(x), _known(key))) for x in options or (self.of,)):
            raise UnsupportedError(f"'{key}' is stored into the attributes of {describe(self.of)}, whose class decides about it")
        if options and any(hook(x, "__setattr__") is not None for x in options):
            raise UnsupportedError(f"'{key}' is stored into the attributes of one of several objects with a __setattr__")
        r.setattr(self.of, key, value) if options else plain_set(r, self.of, key, value)

    def elements(self, r: Reader) -> Seq:
        """The names."""
        names = self.names(r)
        return Seq(len(names), names.__getitem__, False)

    def length(self, r: Reader) -> int:
        """How many there are."""
        return len(self.names(r))


def _is_slot(obj: Any, name: str) -> bool:
    return isinstance(found_in_class(type(obj), name), types.MemberDescriptorType)


def _update(r: Reader, self: Attributes, /, *args: Any, **kwargs: Any) -> None:
    given = r.call(dict, list(args), kwargs)
    if not isinstance(given, dict):
        raise UnsupportedError(f"the attributes of {describe(self.of)} get names that depend on data")
    for k, v in given.items():
        self.store(r, k, v)


def _pop(r: Reader, self: Attributes, key: Any, *default: Any) -> Any:
    if _known(key) not in self.names(r) and default:
        return default[0]
    if self.options():
        raise UnsupportedError("an attribute is taken out of one of several objects that data choose; assign None to it")
    out = self.item(r, key)
    delete_attr(r, self.of, key)
    return out


def _setdefault(r: Reader, self: Attributes, key: Any, default: Any = None) -> Any:
    if _known(key) not in self.names(r):
        self.store(r, key, default)
    return self.item(r, key)


def _of_a_dict(name: str) -> Any:
    return lambda r, self, *args: r.call(r.getattr(self.whole(r), name), list(args))


Attributes.METHODS = {
    "update": _update, "pop": _pop, "setdefault": _setdefault,
    "__contains__": lambda r, self, key: _known(key) in self.names(r),
    **{name: _of_a_dict(name) for name in ("keys", "values", "items", "get", "copy")},
}  # fmt: skip


_OWN_NAMES = (
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.NamedExpr,
    ast.Await,
    ast.Yield,
    ast.YieldFrom,
)


def evaluated(r: Reader, text: Any = None, *scopes: Any) -> Any:
    """eval(text) of a known expression that names global variables and builtins only: what it reads of local ones the analyses do not see."""
    if type(text) is not str or scopes:
        introspection(r)
    e = ast.parse(text.lstrip(" \t"), mode="eval").body
    seen, env = set(r.frame.globals_of.__code__.co_freevars), r.frame.env
    while isinstance(env, Env):
        seen |= env.names.keys() | set(env.locals)
        env = env.parent  # type: ignore[assignment]
    for n in ast.walk(e):
        if isinstance(n, _OWN_NAMES) or (isinstance(n, ast.Name) and n.id in seen):
            introspection(r)
        n._irad_loc = current().loc  # type: ignore[attr-defined]  # errors in it are shown at the call
    return r.expr(e)
