"""Attributes of objects: their own and those of their class, in the order in which Python looks; what is there on some paths only."""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from typing import Any

from irad.core.foreign import (
    CACHE,
    CODE,
    found_in_class,
    is_container,
    is_in_class,
    is_instance,
    is_library,
    is_value,
    own_dict,
    own_names,
)
from irad.errors import UnsupportedError
from irad.frontend.control.flow import branch, disjunction
from irad.frontend.control.generators import made
from irad.frontend.reader import Reader
from irad.frontend.reading.class_attributes import C_METHODS, hook, items_are_attributes, of_classes
from irad.frontend.reading.written import in_library
from irad.frontend.values.callables import Native
from irad.frontend.values.guards import Path
from irad.frontend.values.objects import UNDEFINED, Maybe, Poison, describe, holds_traced, python_method
from irad.frontend.values.state import Attribute, Name
from irad.ops.control import raise_if

# ---- reading ----------------------------------------------------------------------------------------------------------


def instance_attr(r: Reader, obj: Any, name: str) -> Any:
    """An attribute of an object that is no array, module or class."""
    if type(obj) is super:
        return _super_attr(r, obj, name)
    method = python_method(obj, "__getattribute__")
    if method is None or is_library(method.__module__):
        return plain_attr(r, obj, name)
    try:
        return r.call(method, [obj, name])
    except AttributeError:
        return _asked(r, obj, name)


def plain_attr(r: Reader, obj: Any, name: str) -> Any:
    """An attribute as `object.__getattribute__` finds it, or else `__getattr__` of the class."""
    own = own_attr(r, obj, name)
    if isinstance(own, Maybe):
        return _perhaps(r, obj, name, own)
    return _of_class(r, obj, name) if own is UNDEFINED else own


def attr_or(r: Reader, obj: Any, name: str, default: Any) -> Any:
    """getattr(obj, name, default)."""
    own = own_attr(r, obj, name) if _is_plain(obj) else UNDEFINED
    if isinstance(own, Maybe) and not _has_other(r, obj, name):
        return _usable(name, branch(r, own.defined, lambda: own.value, lambda: default))
    if _decided_by_code(obj, name):
        return made(r, _read_or, Native(lambda: r.getattr(obj, name)), default)
    try:
        return r.getattr(obj, name)
    except AttributeError:
        rely_on_absence(r, obj, name)
        return default


def has_attr(r: Reader, obj: Any, name: str) -> Any:
    """hasattr(obj, name): a bool, or a traced one."""
    own = own_attr(r, obj, name) if _is_plain(obj) else UNDEFINED
    if isinstance(own, Maybe):
        other = lambda: _has_other(r, obj, name) and made(r, _reads, Native(lambda: _of_class(r, obj, name)))
        return disjunction(own.defined, branch(r, own.defined, lambda: True, other))
    if _decided_by_code(obj, name):
        return made(r, _reads, Native(lambda: r.getattr(obj, name)))
    try:
        r.getattr(obj, name)
    except AttributeError:
        rely_on_absence(r, obj, name)
        return False
    return True


def _decided_by_code(obj: Any, name: str) -> bool:
    """Is it code of the user's that gives an attribute, or raises AttributeError?"""
    if not is_instance(obj) or isinstance(obj, type):
        return False
    found = found_in_class(type(obj), name)
    if isinstance(found, property) or python_method(found, "__get__") is not None:
        return True
    return any(python_method(obj, f) is not None for f in ("__getattr__", "__getattribute__"))


# read as if they were the program's, so that what the user's code raises at run time is caught


def _read_or(read: Any, default: Any) -> Any:
    try:
        return read()
    except AttributeError:
        return default


def _reads(read: Any) -> bool:
    try:
        read()
    except AttributeError:
        return False
    return True


def _is_plain(obj: Any) -> bool:
    return is_instance(obj) and not isinstance(obj, type) and python_method(obj, "__getattribute__") is None


def rely_on_absence(r: Reader, obj: Any, name: str) -> None:
    """The program relies on an object's not having an attribute; that its class has none is asked of that."""
    r.captures.without(obj, name)


def own_attr(r: Reader, obj: Any, name: str) -> Any:
    """What an object itself has under a name, slots included; UNDEFINED if nothing, or if its class decides."""
    found = found_in_class(type(obj), name)
    slot = isinstance(found, types.MemberDescriptorType)
    if decides(found) and not slot:
        return UNDEFINED
    assigned = r.outside.names(obj)
    if items_are_attributes(obj):
        return r.call(dict.__getitem__, [obj, name], {}) if dict.__contains__(obj, name) else UNDEFINED
    if name in assigned:
        value = assigned[name]
        if value is UNDEFINED or isinstance(value, Maybe):
            rely_on_first(r, obj, name)
    else:
        value = _of_slot(found, obj) if slot else own_dict(obj).get(name, UNDEFINED)
        path = place_of(r, obj) if value is not UNDEFINED else None
        if path is not None:
            if _has_other(r, obj, name, code=True):  # where this object's own is not there
                r.captures.guard(path, "owns", name)
            value = r.captures.take(value, path.child("attr", name))
    return _usable(name, value)


def rely_on_first(r: Reader, obj: Any, name: str) -> None:
    """The program relies on an object from outside not having an attribute before it assigns it."""
    if is_instance(obj) and r.outside.absent_at_first(obj, name):
        r.captures.guard(r.captures.origin(obj), "lacks own", name)


def _of_slot(slot: types.MemberDescriptorType, obj: Any) -> Any:
    try:
        return slot.__get__(obj, type(obj))
    except AttributeError:
        return UNDEFINED


def _perhaps(r: Reader, obj: Any, name: str, own: Maybe) -> Any:
    """An attribute that is assigned on some paths: on the others there is that of the class, or AttributeError is raised."""
    if _has_other(r, obj, name):
        return _usable(name, branch(r, own.defined, lambda: own.value, lambda: _of_class(r, obj, name)))
    raise_if(~own.defined.value, exc="AttributeError", message=_missing(obj, name))
    r.state.assign(place_of_attribute(r, obj, name), own.value)
    return own.value


def _usable(name: str, value: Any) -> Any:
    if isinstance(value, Poison):
        raise value.error(f"the attribute '{name}'")
    return value


def _has_other(r: Reader, obj: Any, name: str, code: bool = False) -> bool:
    """Does an object have an attribute, or may it, where its own is not there? With `code`: by code of the user's, which would run."""
    found = found_in_class(type(obj), name)
    there = is_in_class(type(obj), name) and not isinstance(found, types.MemberDescriptorType)
    if of_classes(r, type(obj), name) is not UNDEFINED or python_method(obj, "__getattr__") is not None:
        return True
    return there and (not code or hasattr(type(found), "__get__"))


def _missing(obj: Any, name: str, deleted: bool = False) -> str:
    """Python's words: from 3.13 on it names the whole path of a class whose slot is empty, and to delete one it names only the slot."""
    cls, slot = type(obj), isinstance(found_in_class(type(obj), name), types.MemberDescriptorType)
    if slot and deleted:
        return name
    path = f"{cls.__module__}." if slot and sys.version_info >= (3, 13) and cls.__module__ not in ("builtins", "__main__") else ""
    return f"'{path}{cls.__qualname__ if path else cls.__name__}' object has no attribute '{name}'"


def _of_class(r: Reader, obj: Any, name: str) -> Any:
    """What the class of an object has under a name: methods, properties, other descriptors, data; `__getattr__` if nothing."""
    if (assigned := of_classes(r, type(obj), name)) is not UNDEFINED:
        _rely_on_class(r, obj, name)
        return assigned
    found = found_in_class(type(obj), name)
    library, nothing = is_library(type(obj).__module__) and not in_library(type(obj)), not is_in_class(type(obj), name)
    if isinstance(found, types.MemberDescriptorType) and is_instance(obj):
        found, nothing = None, True
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType) and not library:
        return r.call(found.fget, [obj])
    if isinstance(found, types.FunctionType):
        note_method(r, obj, name, found)
        return types.MethodType(found, obj)
    if isinstance(found, CACHE) and not library:
        r.captures.guard(r.captures.origin(type(obj)).child("found", name), "is", found)
        return types.MethodType(found, obj)
    if nothing and is_instance(obj) and name != "__dict__":
        return _asked(r, obj, name)
    if isinstance(found, functools.cached_property):
        return _cached(r, obj, name, found)
    getter = None if library else python_method(found, "__get__")
    if getter is not None:
        _rely_on_class(r, obj, name)
        return r.call(getter, [found, obj, type(obj)])
    return _data(r, obj, name, found, library)


def _rely_on_class(r: Reader, obj: Any, name: str) -> None:
    """The program relies on a class's going before an object from outside, which has nothing of its own under a name."""
    path = place_of(r, obj)
    if path is not None and name not in r.outside.names(obj) and not decides(found_in_class(type(obj), name)):
        r.captures.guard(path, "lacks own", name)


def _data(r: Reader, obj: Any, name: str, found: Any, library: bool) -> Any:
    """Data of a class, and what is written in C."""
    there = is_in_class(type(obj), name)
    if there and not hasattr(type(found), "__get__"):
        value = found
    else:
        value = getattr(obj, name)
    if isinstance(found, C_METHODS) or (library and is_value(obj)):
        return value
    path = place_of(r, obj)
    if there and not library and (callable(value) or not hasattr(type(found), "__get__")):
        # a static or class method, a function kept as data; data of the class
        shown = path is not None and name not in r.outside.names(obj) and name not in own_names(obj)
        at = path if shown and path is not None else r.captures.origin(type(obj))
        return r.captures.take(value, at.child("attr", name))
    return value if path is None else r.captures.take(value, path.child("attr", name))


def _cached(r: Reader, obj: Any, name: str, found: functools.cached_property[Any]) -> Any:
    """A `cached_property` that was not asked before: from now on the object has it."""
    path = place_of(r, obj)
    if path is not None:
        r.captures.guard(path, "attributes", own_names(obj))
    value = r.call(found.func, [obj])
    r.state.assign(place_of_attribute(r, obj, name), value)
    return value


def _asked(r: Reader, obj: Any, name: str) -> Any:
    """`__getattr__`, where nothing else has the attribute."""
    method = python_method(obj, "__getattr__")
    if method is None:
        in_c = found_in_class(type(obj), "__getattr__")
        if isinstance(in_c, C_METHODS):  # __getattr__ = dict.__getitem__
            return r.call(in_c, [obj, name])
        raise AttributeError(_missing(obj, name))
    path = place_of(r, obj)
    if path is not None:
        r.captures.guard(path, "attributes", own_names(obj))
    note_method(r, obj, "__getattr__", method)
    return r.call(method, [obj, name])


def _super_attr(r: Reader, obj: Any, name: str) -> Any:
    """super().name: what the classes after one have, bound to the object."""
    of = obj.__self_class__
    after = of.__mro__[of.__mro__.index(obj.__thisclass__) + 1 :]
    cls = next((k for k in after if name in vars(k)), None)
    r.captures.guard(r.captures.origin(of).child("attr", "__mro__"), "is", of.__mro__)
    if cls is None or is_library(cls.__module__):
        return getattr(obj, name)
    found, me, path = vars(cls)[name], obj.__self__, r.captures.origin(cls)
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        r.captures.guard(path.child("attr", name), "is", found)
        return r.call(found.fget, [me])
    if isinstance(found, types.FunctionType):
        r.captures.note(found, path.child("attr", name))
        r.captures.guard(path.child("attr", name), "code", found.__code__)
        return found if isinstance(me, type) and not issubclass(type(me), cls) else types.MethodType(found, me)
    if isinstance(found, functools.cached_property):
        raise UnsupportedError(f"super().{name}, a cached_property, in compiled code; make it a property or a method")
    getter = python_method(found, "__get__")
    if getter is not None:
        r.captures.guard(path.child("found", name), "is", found)
        return r.call(getter, [found, me, of])
    if hasattr(type(found), "__get__"):
        return getattr(obj, name)
    return r.captures.take(found, path.child("attr", name))


def assigned_value(obj: Any, name: str, value: Any) -> Any:
    """An attribute of a module that the program has assigned, checked to be there."""
    message = f"module '{obj.__name__}' has no attribute '{name}'"
    if value is UNDEFINED:
        raise AttributeError(message)
    if isinstance(value, Poison):
        raise value.error(f"attribute {name}")
    if isinstance(value, Maybe):
        raise_if(~value.defined.value, exc="AttributeError", message=message)
        return value.value
    return value


def decides(found: Any) -> bool:
    """Does a descriptor of the class go before the object's own attribute?"""
    return hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")


def place_of(r: Reader, obj: Any) -> Path | None:
    """Where an object was found; one that was neither made by the program nor found by a path is itself."""
    found = r.captures.path(obj)
    if found is not None or not is_instance(obj) or r.captures.of_caller(obj) is not None:
        return found
    if r.state.is_made(obj) or is_container(obj) or type(obj).__module__.split(".")[0] == "irad" or holds_traced(obj):
        return None
    return r.captures.origin(obj)


def note_method(r: Reader, obj: Any, name: str, f: Any) -> None:
    """A method, its globals and closure are found through the object, or through its class: either may get another one."""
    path = r.captures.path(obj)
    if path is None:
        found = r.captures.origin(type(obj)).child("attr", name)
    else:
        found = path.child("attr", name).child("func")
    if not is_library(type(obj).__module__):
        r.captures.note(f, found)
        r.captures.guard(found, "code", f.__code__)


# ---- assigning ----------------------------------------------------------------------------------------------------------


def set_instance_attr(r: Reader, obj: Any, name: str, value: Any) -> None:
    """obj.name = value."""
    _check_own(r, obj)
    method = hook(obj, "__setattr__")
    if method is not None:
        if isinstance(method, types.FunctionType):
            note_method(r, obj, "__setattr__", method)
        r.call(method, [obj, name, value])
    elif _is_frozen(obj, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field '{name}'")
    else:
        plain_set(r, obj, name, value)


def plain_set(r: Reader, obj: Any, name: str, value: Any) -> None:
    """An assignment as `object.__setattr__` makes it."""
    found = found_in_class(type(obj), name)
    setter = None if is_library(type(obj).__module__) else python_method(found, "__set__")
    if isinstance(found, property):
        if found.fset is None:
            raise AttributeError(f"property '{name}' of '{type(obj).__name__}' object has no setter")
        r.call(found.fset, [obj, value])
    elif setter is not None:
        r.call(setter, [found, obj, value])
    elif items_are_attributes(obj):
        r.call(dict.__setitem__, [obj, name, value])
    elif not _has_place(obj, found):
        raise AttributeError(_no_place(obj, name, found))
    else:
        _check_own(r, obj)
        r.state.assign(place_of_attribute(r, obj, name), value)


def _check_own(r: Reader, obj: Any) -> None:
    """Raises an error if an object must not change."""
    cure = "make a new one on each path, or choose between their attributes"
    if r.state.locked(obj):
        raise r.locked_error(obj, f"an attribute of {describe(obj)} changes that is one of several, depending on data; {cure}")


def _has_place(obj: Any, found: Any) -> bool:
    return isinstance(found, types.MemberDescriptorType) or type(obj).__dictoffset__ != 0 or not is_instance(obj)


def _no_place(obj: Any, name: str, found: Any) -> str:
    words = f"'{type(obj).__name__}' object"
    return f"{words} attribute '{name}' is read-only" if found is not None else f"{words} has no attribute '{name}'"


def delete_attr(r: Reader, obj: Any, name: str) -> None:
    """del obj.name."""
    if isinstance(obj, (type, types.ModuleType, *CODE)):
        raise UnsupportedError(f"deleting an attribute of {describe(obj)}; keep it in an object")
    found = found_in_class(type(obj), name)
    method = hook(obj, "__delattr__")
    if method is not None:
        r.call(method, [obj, name])
        return
    if _is_frozen(obj, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field '{name}'")
    if isinstance(found, property):
        if found.fdel is None:
            raise AttributeError(f"property '{name}' of '{type(obj).__name__}' object has no deleter")
        r.call(found.fdel, [obj])
        return
    deleter = python_method(found, "__delete__")
    if deleter is not None:
        r.call(deleter, [found, obj])
        return
    _check_own(r, obj)
    own = own_attr(r, obj, name)
    if own is UNDEFINED:
        raise AttributeError(_missing(obj, name, deleted=True))
    if items_are_attributes(obj):
        r.call(dict.__delitem__, [obj, name])
        return
    if isinstance(own, Maybe):
        raise_if(~own.defined.value, exc="AttributeError", message=_missing(obj, name, deleted=True))
    place = place_of_attribute(r, obj, name)
    rely_on_first(r, obj, name)
    r.state.assign(place, UNDEFINED)


def _is_frozen(obj: Any, name: str) -> bool:
    """Is an attribute of a frozen dataclass, or of an object of a class made of one?"""
    for cls in type(obj).__mro__:
        params = vars(cls).get("__dataclass_params__")
        if params is not None and params.frozen:
            return type(obj) is cls or any(f.name == name for f in dataclasses.fields(cls))
    return False


def place_of_attribute(r: Reader, obj: Any, name: str) -> Name | Attribute:
    """Where an attribute that is assigned is kept: for objects from outside, in the state of the program."""
    r.outside.note(obj)
    path = place_of(r, obj)
    given = r.captures.of_caller(obj)
    if given is not None:
        r.outside.hold(obj, given)
    if path is None:
        return Attribute(obj, name)
    now = UNDEFINED
    if name not in r.outside.names(obj) and name in own_names(obj):
        now = own_attr(r, obj, name)
        if _has_other(r, obj, name):  # which a call may find where this object's own is now
            r.captures.guard(path, "owns", name)
    return Name(r.outside.env(obj, path, "attr", name, now), name)
