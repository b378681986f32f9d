"""Attributes: of arrays and traced numbers through the table, of containers and instances by Python's rules."""

from __future__ import annotations

import collections
import functools
import types
from typing import Any

import numpy as np

from irad.core.foreign import CODE, is_container, is_instance, is_library, is_value, own_names
from irad.core.once import import_later
from irad.core.random_streams import is_stream
from irad.core.structured import Bytes, Structured
from irad.errors import UnsupportedError
from irad.frontend.control.sequences import Generator, Seq, Stream
from irad.frontend.control.stands import Stands
from irad.frontend.control.varying import split
from irad.frontend.numpy import views
from irad.frontend.numpy.table import ATTRIBUTES, METHODS, nearest
from irad.frontend.reader import Reader
from irad.frontend.reading.methods import MUTATING
from irad.frontend.reading.structured import get_node_attr, set_node_attr
from irad.frontend.reading.subscripts import settled, store
from irad.frontend.values.arr import Arr
from irad.frontend.values.callables import Native
from irad.frontend.values.guards import Path
from irad.frontend.values.objects import (
    UNDEFINED,
    Array,
    Either,
    Maybe,
    Method,
    Poison,
    Text,
    Varying,
    holds_traced,
    python_method,
)
from irad.frontend.values.state import Attribute, Name
from irad.ops.control import raise_if

_CONTAINERS = (list, dict, set, collections.deque)
_C_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def get_attr(r: Reader, obj: Any, name: str) -> Any:
    """obj.name."""
    if name == "__class__":
        return r.call(type, [obj])
    if isinstance(obj, (Array, Arr)):
        return _array_attr(r, obj, name)
    if type(obj) is Varying:
        method = callable(getattr(np.ndarray, name, None))
        return Method(obj, name) if method else split(r, (obj,), lambda x: r.getattr(x, name))
    if isinstance(obj, (Structured, Bytes)):
        return get_node_attr(r, obj, name)
    if isinstance(obj, Stands):
        return obj.attribute(r, name)
    if isinstance(obj, Text) or (isinstance(obj, _CONTAINERS) and isinstance(getattr(type(obj), name, None), _C_METHODS)):
        return Method(obj, name)
    if isinstance(obj, (Seq, Generator, Stream)):
        return _iterator_attr(r, obj, name)
    if isinstance(obj, types.ModuleType) and name in r.outside.names(vars(obj)):
        return _assigned(r, obj, name, r.outside.names(vars(obj))[name])
    if isinstance(obj, types.ModuleType) or isinstance(obj, type):
        return _static_attr(r, obj, name)
    return _instance_attr(r, obj, name)


def _array_attr(r: Reader, x: Any, name: str) -> Any:
    if isinstance(x, Array) and name in views.ATTRIBUTES:
        if isinstance(x, Either):
            return settled(r, x, lambda a: views.BY_NAME[name](r, a))
        return views.BY_NAME[name](r, x)
    if name == "flat" and isinstance(x, Array):
        return import_later("irad.frontend.reading.flat").flat_of(x)
    if name == "strides" and isinstance(x, Array):
        return views.strides_in_bytes(x)
    content = r.operand(x)
    if isinstance(content, Arr) and content.weak:
        return _python_number_attr(content, name)
    if name in ATTRIBUTES:
        out = ATTRIBUTES[name](content) if isinstance(content, Arr) else getattr(content, name)
        return r.wrap(out, zero_d=isinstance(x, Array))
    if (
        name in METHODS
        or name in views.BY_NAME
        or name in MUTATING
        or (isinstance(content, np.ndarray) and callable(getattr(content, name, None)))
    ):
        return Method(x, name)
    if not hasattr(np.ndarray, name):
        raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
    if not isinstance(content, Arr):
        return r.wrap(getattr(content, name))
    close = nearest(name)
    raise UnsupportedError(
        f"ndarray.{name} is not supported in compiled code" + (f"; near it: {', '.join(close)}" if close else "")
    )


def _python_number_attr(x: Arr, name: str) -> Any:
    if x.name == "c128" and name in ("real", "imag"):
        return ATTRIBUTES[name](x)
    if name in ("real", "numerator") and x.name != "c128":
        return x
    if name == "imag":
        return 0.0 if x.name == "f64" else 0
    if name == "denominator" and x.name not in ("f64", "c128"):
        return 1
    kind = {"f64": float, "i64": int, "bool": bool, "c128": complex}[x.name]
    if not hasattr(kind, name):
        raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
    return Method(x, name)


def _iterator_attr(r: Reader, it: Any, name: str) -> Any:
    if name in ("__next__", "__iter__"):
        return Native(lambda: r.call(next if name == "__next__" else iter, [it]))
    if name == "close" and it.state is not None:
        return Native(lambda: r.state.assign(Name(it.state, "gone"), True))
    if name in ("send", "throw"):
        raise UnsupportedError(
            f"generator.{name}() in compiled code: nothing is sent into a generator; pass it what it needs as an argument"
        )
    raise AttributeError(f"an iterator has no attribute '{name}'")


def _static_attr(r: Reader, obj: Any, name: str) -> Any:
    """An attribute of a module or class."""
    out = getattr(obj, name)
    if is_stream(out):
        return r.captures.take(out, r.captures.origin(out))
    if isinstance(out, types.BuiltinFunctionType) or (is_library(_module_of(obj)) and _constant(out)):
        return out
    path = r.captures.origin(obj).child("attr", name)
    if isinstance(out, types.MethodType) or (isinstance(obj, type) and isinstance(out, types.FunctionType)):
        found, f = (path.child("func"), out.__func__) if isinstance(out, types.MethodType) else (path, out)
        r.captures.note(f, found)
        if isinstance(f, types.FunctionType):
            r.captures.guard(found, "code", f.__code__)
        return out
    return r.captures.take(out, path)


def _constant(x: Any) -> bool:
    """Is an attribute of a library's module or class what it will be at the next call?"""
    if is_value(x) or isinstance(x, CODE) or type(x).__module__.split(".")[0] in ("numpy", "scipy", "irad"):
        return True
    return callable(x) or (isinstance(x, (tuple, frozenset)) and all(map(_constant, x)))


def _module_of(obj: Any) -> str:
    return obj.__name__ if isinstance(obj, types.ModuleType) else str(getattr(obj, "__module__", ""))


def _instance_attr(r: Reader, obj: Any, name: str) -> Any:
    """An attribute of any other object: own data first captured, then methods, properties and data of its class."""
    assigned = r.outside.names(obj)
    if name in assigned:
        return _assigned(r, obj, name, assigned[name])
    found = _of_class(obj, name)
    library = is_library(type(obj).__module__)
    path = _place(r, obj)
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType) and not library:
        r.captures.guard(r.captures.origin(type(obj)).child("attr", name), "is", found)
        return r.call(found.fget, [obj])
    own = getattr(obj, "__dict__", None)
    if own is not None and name in own and not _decides(found):
        if isinstance(own[name], Poison):
            raise own[name].error(f"the attribute '{name}'")
        return own[name] if path is None else r.captures.take(own[name], path.child("attr", name))
    if isinstance(found, types.FunctionType):
        note_method(r, obj, name, found)
        return types.MethodType(found, obj)
    if found is None and python_method(obj, "__getattr__") is not None:
        if path is not None:
            r.captures.guard(path, "attributes", own_names(obj))
        return r.call(python_method(obj, "__getattr__"), [obj, name])
    if isinstance(found, functools.cached_property):
        value = r.call(found.func, [obj])
        if path is None:
            r.state.assign(Attribute(obj, name), value)
        return value
    getter = None if library else python_method(found, "__get__")
    if getter is not None:
        return r.call(getter, [found, obj, type(obj)])
    value = getattr(obj, name)
    if isinstance(found, _C_METHODS) or (library and is_value(obj)):
        return value
    if found is not None and not library and (callable(value) or not hasattr(type(found), "__get__")):
        # a static or class method, a function kept as data; data of the class
        return r.captures.take(value, (path or r.captures.origin(type(obj))).child("attr", name))
    return value if path is None else r.captures.take(value, path.child("attr", name))


def _assigned(r: Reader, obj: Any, name: str, value: Any) -> Any:
    """An attribute of an object from outside that the program has assigned, checked to be there."""
    message = f"'{type(obj).__name__}' object has no attribute '{name}'"
    if value is UNDEFINED:
        raise AttributeError(message)
    if isinstance(value, Poison):
        raise value.error(f"attribute {name}")
    if isinstance(value, Maybe):
        raise_if(~value.defined.value, exc="AttributeError", message=message)
        return value.value
    return value


def _of_class(obj: Any, name: str) -> Any:
    """What the class of an object has under a name; None if nothing."""
    return next((vars(k)[name] for k in type(obj).__mro__ if name in vars(k)), None)


def _decides(found: Any) -> bool:
    """Does a descriptor of the class go before the object's own attribute?"""
    return hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")


def _place(r: Reader, obj: Any) -> Path | None:
    """Where an object was found; one that was neither made by the program nor found by a path is itself."""
    found = r.captures.path(obj)
    if found is not None or not is_instance(obj) or id(obj) in r.captures.originals or r.captures.inputs.get(id(obj)) is obj:
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


def set_attr(r: Reader, obj: Any, name: str, value: Any) -> None:
    """obj.name = value."""
    if isinstance(obj, (Array, Arr)):
        if name == "shape" and isinstance(obj, Array):
            raise UnsupportedError("assigning x.shape; write x = x.reshape(...)")
        if name in ("real", "imag") and isinstance(obj, Array):
            store(r, views.BY_NAME[name](r, obj), Ellipsis, r.operand(value))
            return
        if name == "flat" and isinstance(obj, Array):
            import_later("irad.frontend.reading.flat").flat_of(obj).store(r, slice(None), value)
            return
        raise UnsupportedError(f"assigning attribute {name} of an array")
    if isinstance(obj, (Structured, Bytes)):
        set_node_attr(r, obj, name, value)
        return
    if isinstance(obj, Stands):
        obj.assign(r, name, value)
        return
    if isinstance(obj, (type, types.ModuleType)):
        raise UnsupportedError(
            f"attribute {name} of the {'class' if isinstance(obj, type) else 'module'} {obj.__name__} is assigned; keep it in an object"
        )
    if r.state.locked(obj):
        raise r.locked_error(
            obj,
            f"an attribute of a {type(obj).__name__} is assigned that is one of several, depending on data; "
            "make a new one on each path, or choose between their attributes",
        )
    found = next((vars(k)[name] for k in type(obj).__mro__ if name in vars(k)), None)
    if isinstance(found, property):
        if found.fset is None:
            raise AttributeError(f"property '{name}' of '{type(obj).__name__}' object has no setter")
        r.call(found.fset, [obj, value])
        return
    method = python_method(obj, "__setattr__")
    if method is not None and method.__module__ != "dataclasses":
        r.call(method, [obj, name, value])
    elif getattr(type(obj), "__dataclass_params__", None) is not None and type(obj).__dataclass_params__.frozen:
        raise AttributeError(f"cannot assign to field '{name}'")
    else:
        r.state.assign(place_of_attribute(r, obj, name), value)


def place_of_attribute(r: Reader, obj: Any, name: str) -> Name | Attribute:
    """Where an attribute that is assigned is kept: for objects from outside, in the state of the program."""
    path = _place(r, obj)
    given = r.captures.given.get(id(obj)) if r.captures.inputs.get(id(obj)) is obj else None
    if given is not None:
        r.outside.hold(obj, given)
    if path is None:
        return Attribute(obj, name)
    now = UNDEFINED
    if name not in r.outside.names(obj) and name in own_names(obj):
        now = _instance_attr(r, obj, name)
    return Name(r.outside.env(obj, path, "attr", name, now), name)
