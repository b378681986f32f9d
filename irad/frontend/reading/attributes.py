"""Attributes: of arrays and traced numbers through the table, of containers and instances by Python's rules."""

from __future__ import annotations

import collections
import sys
import types
from typing import Any

import numpy as np

from irad.core.foreign import CODE, found_in_class, is_library, is_mapped, is_value
from irad.core.once import import_later
from irad.core.random_streams import is_stream
from irad.core.structured import Bytes, Structured
from irad.errors import UnsupportedError
from irad.frontend.control.holders import exchange, names_of
from irad.frontend.control.sequences import Generator, Seq, Stream
from irad.frontend.control.special import class_name
from irad.frontend.control.stands import Stands
from irad.frontend.control.varying import split
from irad.frontend.numpy import views
from irad.frontend.numpy.table import ATTRIBUTES, METHODS, nearest
from irad.frontend.python.numbers import builtin
from irad.frontend.reader import Reader
from irad.frontend.reading.class_attributes import C_METHODS, has_attribute_dict, items_are_attributes, of_classes, set_class_attr
from irad.frontend.reading.instances import (
    assigned_value,
    attr_or,
    delete_attr,
    has_attr,
    instance_attr,
    rely_on_absence,
    set_instance_attr,
)
from irad.frontend.reading.methods import MUTATING
from irad.frontend.reading.structured import get_node_attr, set_node_attr
from irad.frontend.reading.subscripts import settled, store
from irad.frontend.syntax.source import code_of
from irad.frontend.values.arr import PYTHON, Arr
from irad.frontend.values.callables import Native
from irad.frontend.values.choices import OneOf, is_object
from irad.frontend.values.objects import (
    UNDEFINED,
    Array,
    Choice,
    Closure,
    Either,
    Method,
    Poison,
    Stand,
    Text,
    Varying,
    class_of_number,
)
from irad.frontend.values.runs import RunTuple
from irad.frontend.values.state import Name

_OF_CLOSURES = ("reader", "node", "frame", "env", "defaults", "kw_defaults", "born")  # attributes that the program does not see
_CONTAINERS = (list, dict, set, collections.deque)


def get_attr(r: Reader, obj: Any, name: str) -> Any:
    """obj.name. A program that catches the AttributeError relies on the absence."""
    try:
        return _attr(r, obj, name)
    except AttributeError:
        own = r.captures.originals.get(id(obj), obj)
        found = found_in_class(type(own), name)
        if isinstance(found, types.MemberDescriptorType):
            r.captures.without(own, name)  # a slot without a value
        elif found is None and not type(own).__module__.startswith("irad."):
            rely_on_absence(r, own, name)
        raise


def _attr(r: Reader, obj: Any, name: str) -> Any:
    if name == "__class__":
        return r.call(type, [obj])
    if name == "__dict__" and all(map(has_attribute_dict, obj.options if isinstance(obj, (Choice, OneOf)) else (obj,))):
        return obj if items_are_attributes(obj) else import_later("irad.frontend.reading.scopes").Attributes(obj)
    if name in ("write", "flush") and (obj is sys.stdout or obj is sys.stderr):
        return import_later("irad.frontend.reading.effects").of_stream(obj, name)
    if isinstance(obj, (Array, Arr)):
        return _array_attr(r, obj, name)
    if type(obj) is Varying:
        method = callable(getattr(np.ndarray, name, None))
        return Method(obj, name) if method else split(r, (obj,), lambda x: r.getattr(x, name))
    if type(obj) is Choice and all(map(is_object, obj.options)):
        return r.several().attribute(r, r.several().of_choice(r, obj), name)
    if type(obj) is Choice:
        method = any(callable(found_in_class(x if isinstance(x, type) else type(x), name)) for x in obj.options)
        return Method(obj, name) if method else split(r, (obj,), lambda x: r.getattr(x, name))
    if isinstance(obj, (Structured, Bytes)):
        return get_node_attr(r, obj, name)
    if isinstance(obj, Stand):
        return obj.attribute(r, name) if isinstance(obj, Stands) else r.several().attribute(r, obj, name)
    if isinstance(obj, Poison):
        raise obj.error("what is read here")
    if isinstance(obj, Closure) and name in _OF_CLOSURES:
        raise AttributeError(f"'function' object has no attribute '{name}'")
    if isinstance(obj, Closure) and name == "__code__":
        return code_of(obj.node, obj.frame.source)
    if type(obj) is RunTuple and not hasattr(tuple, name):
        raise AttributeError(f"'tuple' object has no attribute '{name}'")
    if isinstance(obj, Text) or (isinstance(obj, _CONTAINERS) and isinstance(found_in_class(type(obj), name), C_METHODS)):
        return Method(obj, name)
    if isinstance(obj, (Seq, Generator, Stream)):
        return _iterator_attr(r, obj, name)
    if isinstance(obj, types.ModuleType) and name in r.outside.names(vars(obj)):
        return assigned_value(obj, name, r.outside.names(vars(obj))[name])
    if isinstance(obj, type) and (found := of_classes(r, obj, name)) is not UNDEFINED:
        return found
    if isinstance(obj, types.ModuleType) or isinstance(obj, type):
        return _static_attr(r, obj, name)
    return instance_attr(r, obj, name)


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
        or (isinstance(x, Arr) and name == "is_integer")
        or (isinstance(content, np.ndarray) and callable(getattr(content, name, None)))
    ):
        return Method(x, name)
    if not hasattr(np.ndarray, name):
        elsewhere = import_later("irad.elsewhere")
        cls = class_of_number(x) if isinstance(x, Arr) else np.ndarray
        advice = elsewhere.advice(elsewhere.ATTRIBUTES, name)
        raise AttributeError(f"'numpy.{cls.__name__}' object has no attribute '{name}'{advice}")
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
    kind = PYTHON[x.name]
    if not hasattr(kind, name):
        raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
    return Method(x, name)


def _iterator_attr(r: Reader, it: Any, name: str) -> Any:
    if name in ("__next__", "__iter__"):
        return Native(lambda: r.call(next if name == "__next__" else iter, [it]))
    if name == "close" and it.state is not None:
        return Native(lambda: r.state.assign(Name(it.state, "gone"), True))
    if name == "send" and isinstance(it, Stream):
        return Native(lambda value: import_later("irad.frontend.reading.streams").send(r, it, value))
    if name in ("send", "throw"):
        raise UnsupportedError(f"generator.{name}() of this generator in compiled code; pass it what it needs as an argument")
    raise AttributeError(f"'{class_name(it)}' object has no attribute '{name}'")


def _static_attr(r: Reader, obj: Any, name: str) -> Any:
    """An attribute of a module or class."""
    out = getattr(obj, name)
    if is_stream(out):
        return r.captures.take(out, r.captures.origin(out))
    if is_library(_module_of(obj)) and (isinstance(out, types.BuiltinFunctionType) or _constant(out)):
        return r.captures.of_library(obj, name) if isinstance(obj, types.ModuleType) else out
    if isinstance(obj, type) and isinstance(out, types.BuiltinFunctionType):
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


_FLAGS = type(np.empty(0).flags)


def set_attr(r: Reader, obj: Any, name: str, value: Any) -> None:
    """obj.name = value."""
    if isinstance(obj, (Array, Arr)):
        if name == "shape" and isinstance(obj, Array):
            _set_shape(r, obj, value)
            return
        if name in ("real", "imag") and isinstance(obj, Array):
            store(r, views.BY_NAME[name](r, obj), Ellipsis, r.operand(value))
            return
        if name == "flat" and isinstance(obj, Array):
            import_later("irad.frontend.reading.flat").flat_of(obj).store(r, slice(None), value)
            return
        raise UnsupportedError(f"assigning attribute {name} of an array")
    if isinstance(obj, _FLAGS):
        raise UnsupportedError(f"a flag of an array is assigned; write x.setflags(write={value})")
    if isinstance(obj, (Structured, Bytes)):
        set_node_attr(r, obj, name, value)
        return
    if isinstance(obj, Stand):
        obj.assign(r, name, value) if isinstance(obj, Stands) else r.several().set_attribute(r, obj, name, value)
        return
    if type(obj) is Choice:
        r.several().set_attribute(r, r.several().of_choice(r, obj), name, value)
        return
    if isinstance(obj, types.ModuleType) and (not is_library(obj.__name__) or _added(r, obj, name)):
        r.state.assign(_module_variable(r, obj, name), value)
        return
    if isinstance(obj, type) and set_class_attr(r, obj, name, value):
        return
    if isinstance(obj, (type, types.ModuleType)):
        raise UnsupportedError(
            f"attribute {name} of the {'class' if isinstance(obj, type) else 'module'} {obj.__name__} is assigned; keep it in an object"
        )
    if is_mapped(obj) and not type(obj).MAPPED.__dictoffset__ and r.place(r.frame.source.node) is not None:
        raise AttributeError(f"'{type(obj).MAPPED.__name__}' object has no attribute '{name}'")
    set_instance_attr(r, obj, name, value)


def _added(r: Reader, module: types.ModuleType, name: str) -> bool:
    """Is an attribute one that the program itself has given to a module of a library, whose own functions do not ask for it?"""
    if name in r.outside.names(vars(module)) or not hasattr(module, name):
        return True
    now = getattr(module, name)
    return isinstance(now, (int, float, complex, np.generic, np.ndarray)) and name not in vars(module).get("__all__", (name,))


def _set_shape(r: Reader, x: Array, shape: Any) -> None:
    """x.shape = shape: whatever holds the array holds a view of it in another shape from now on."""
    if x.cell.outside and not x.steps:
        raise UnsupportedError("the shape of an array of the caller is assigned; write x = x.reshape(...)")
    new = views.reshape_method(r, x, shape)
    if new.cell is not x.cell:
        raise AttributeError(
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
        )
    exchange(r, x, new)
    gone_over = [seq for frame in r.frames for seq in frame.iterated]  # a loop that has just come to it comes to it once
    if (n := names_of(r, x)) > 1 or (n and not (gone_over and names_of(r, x, gone_over))):
        raise UnsupportedError("the shape of an array is assigned that is also kept elsewhere; write x = x.reshape(...)")


def _module_variable(r: Reader, module: types.ModuleType, name: str) -> Name:
    """The place of an attribute of a module, which is a global variable of the module's functions."""
    own, now = vars(module), UNDEFINED
    if name not in r.outside.names(own):
        if name in own:
            now = _static_attr(r, module, name)
        else:
            rely_on_absence(r, module, name)
    return Name(r.outside.env(own, r.captures.origin(module), "attr", name, now), name)


# ---- the builtins of the same names ---------------------------------------------------------------------------------------


@builtin(getattr)
def getattr_(r: Reader, obj: Any, name: str, *default: Any) -> Any:
    return attr_or(r, obj, name, default[0]) if default else r.getattr(obj, name)


@builtin(hasattr)
def hasattr_(r: Reader, obj: Any, name: str) -> Any:
    if isinstance(obj, (Array, Arr)):
        return hasattr(np.ndarray if isinstance(obj, Array) else class_of_number(obj), name)
    return has_attr(r, obj, name)


@builtin(setattr)
def setattr_(r: Reader, obj: Any, name: str, value: Any) -> None:
    r.setattr(obj, name, value)


@builtin(delattr)
def delattr_(r: Reader, obj: Any, name: str) -> None:
    delete_attr(r, obj, name)
