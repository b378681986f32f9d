"""globals(): the variables of a module by names that are known when the program is read."""

from __future__ import annotations

from typing import Any

from irad.errors import UnsupportedError
from irad.frontend.control.stands import Stands
from irad.frontend.reader import Reader
from irad.frontend.reading.expressions import usable
from irad.frontend.values.objects import UNDEFINED, Env
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


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise UnsupportedError("globals() with a name that depends on data: put what it may name into a dict, and choose there")
    return key


def _get(r: Reader, self: Globals, key: Any, default: Any = None) -> Any:
    found = module_name(r, self.fn, _name(key))
    return default if found is UNDEFINED else found


Globals.METHODS = {"get": _get, "__contains__": lambda r, self, key: self.has(r, key)}
