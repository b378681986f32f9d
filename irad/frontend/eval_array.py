"""Indexing, attributes, methods and in-place operators of arrays, and of everything else that is indexed."""

from __future__ import annotations

import collections
import operator
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.errors import IradTypeError, UnsupportedError
from irad.frontend import views
from irad.frontend.arr import Arr, NeedStatic, lift, static_int
from irad.frontend.eval_expr import _python_method as python_method
from irad.frontend.flow import branch, branch_values
from irad.frontend.objects import Array, Either, Method, StructureError, Text, describe, is_number, is_traced_deep
from irad.frontend.reader import Reader
from irad.frontend.state import Attribute, Storage
from irad.frontend.table import ATTRIBUTES, METHODS, OPERATORS, augitem, check_same_kind, getitem, nearest, setitem
from irad.ir import Value
from irad.ops.intervals import interval

# ---- reading ---------------------------------------------------------------------------------------------------------


def get_item(r: Reader, obj: Any, key: Any) -> Any:
    """obj[key]."""
    if isinstance(obj, Array):
        return array_item(r, obj, r.operand(key))
    if isinstance(obj, Arr):
        return r.wrap(getitem(obj, r.operand(key)), zero_d=True) if key in ((), Ellipsis) else _not_indexable(obj)
    method = python_method(obj, "__getitem__")
    if method is not None:
        return r.call(method, [obj, key])
    if isinstance(key, Array):
        key = r.operand(key)
        key = Arr(key.value) if isinstance(key, Arr) and not key.shape else key.item() if isinstance(key, np.ndarray) else key
    if isinstance(key, Arr):
        return _traced_position(r, obj, key)
    if isinstance(key, slice) and is_traced_deep(key):
        key = slice(
            *(None if k is None else static_int(k, "a bound of a slice of a list") for k in (key.start, key.stop, key.step))
        )
    out = obj[key]
    return r.state.made(out) if isinstance(key, slice) else out


def _not_indexable(obj: Any) -> Any:
    raise IradTypeError(f"{describe(obj)} is not subscriptable")


def _traced_position(r: Reader, obj: Any, key: Arr) -> Any:
    """A traced index into a list or tuple: of numbers, they become an array; else the index must be known."""
    lo, hi = interval(key.value)
    if lo == hi:
        return obj[int(lo)]
    if isinstance(obj, (list, tuple, range)) and len(obj) and all(map(is_number, obj)):
        python = all(x.weak if isinstance(x, Arr) else type(x) in (bool, int, float) for x in obj)
        kinds = {x.name if isinstance(x, Arr) else type(x) for x in obj}
        if len(kinds) == 1:
            item = getitem(lift(r.operand(list(obj))), key)
            return Arr(item.value, python)
    what = "a key of a dict" if isinstance(obj, dict) else f"an index into a {type(obj).__name__}"
    raise NeedStatic(key, what)


def array_item(r: Reader, x: Array, key: Any) -> Any:
    """x[key]: a NumPy scalar, a view, or for index arrays and masks a copy."""
    if isinstance(x, Either):
        return _settled(r, x, lambda a: array_item(r, a, key))
    if not views.is_basic(key):
        return r.wrap(_concrete(r, x, key, operator.getitem) or getitem(r.operand(x), key), zero_d=True)
    if _is_position(x, key):
        found = _concrete(r, x, key, operator.getitem)
        return found if found is not None else getitem(r.operand(x), key)
    return views.at(r, x, key)


def _is_position(x: Array, key: Any) -> bool:
    """Does the key name a single element?"""
    items = key if isinstance(key, tuple) else (key,)
    return len(items) == len(x.shape) and all(isinstance(k, (int, np.integer, Arr)) for k in items)


def _concrete(r: Reader, x: Array, key: Any, f: Callable[..., Any]) -> Any:
    content = r.read(x)
    return f(content, key) if isinstance(content, np.ndarray) and not is_traced_deep(key) else None


def _settled(r: Reader, x: Either, f: Callable[[Array], Any]) -> Any:
    """f on the array that x is."""
    return branch(r, x.cond, lambda: f(x.left), lambda: f(x.right))


# ---- storing ----------------------------------------------------------------------------------------------------------


def set_item(r: Reader, obj: Any, key: Any, value: Any) -> None:
    """obj[key] = value."""
    if isinstance(obj, Array):
        store(r, obj, r.operand(key), r.operand(value))
        return
    method = python_method(obj, "__setitem__")
    if method is not None:
        r.call(method, [obj, key, value])
    elif isinstance(obj, (list, dict)) or hasattr(obj, "__setitem__"):
        position = static_int(key, f"an index into a {type(obj).__name__}") if isinstance(key, Arr) else key
        change(r, obj)
        obj[position] = value
    else:
        raise IradTypeError(f"{describe(obj)} does not support item assignment")


def change(r: Reader, container: Any) -> None:
    """Check that a container may be changed, and log it."""
    original = r.captures.originals.get(id(container))
    if original is not None or r.captures.path(container) is not None:
        raise UnsupportedError(
            f"a {type(container).__name__} from outside the function is changed; return the new value, "
            "or change the arrays in it in place (x[...] = ...)"
        )
    r.state.touch(container)


def writable(x: Array) -> None:
    if x.frozen:
        raise UnsupportedError(x.frozen) if "read-only" not in x.frozen else ReadOnlyError(x.frozen)


class ReadOnlyError(UnsupportedError, ValueError):
    """A store into a read-only array."""


def store(r: Reader, x: Array, key: Any, value: Any) -> None:
    """x[key] = value; `value` and `key` are operands (read before anything is stored)."""
    writable(x)
    if isinstance(x, Either):
        branch(r, x.cond, lambda: store(r, x.left, key, value), lambda: store(r, x.right, key, value))
        return
    content = r.read(x)
    if isinstance(content, np.ndarray) and not is_traced_deep(key) and not is_traced_deep(value):
        put(r, x, _stored(r, x, content, key, value))
        return
    _check_stored(value)
    put(r, x, Arr(setitem(lift(content), key, value)))


def _check_stored(value: Any) -> None:
    if isinstance(value, (Text, str)) or value is None:
        raise IradTypeError(f"{describe(value)} cannot be stored into an array of numbers")


def _stored(r: Reader, x: Array, content: np.ndarray, key: Any, value: Any) -> np.ndarray:
    """A store at compile time; storage that this log owns already is changed in place."""
    mine = not x.steps and x.cell.owner is r.state.log and content is x.cell.content
    out = content if mine else content.copy()
    with np.errstate(all="ignore"):
        out[key] = value
    if not x.steps:
        x.cell.owner = r.state.log
    return out


def put(r: Reader, x: Array, new: Any) -> None:
    """Replace the whole content of an array, through its steps."""
    if x.cell.moved:
        raise StructureError(x.cell.moved)
    content = x.replaced(new) if x.steps else new
    x.cell.written = True
    r.state.assign(Storage(x.cell), content.value if isinstance(content, Arr) else content)


def augmented_item(r: Reader, obj: Any, key: Any, name: str, value: Any) -> None:
    """obj[key] op= value."""
    if not isinstance(obj, Array):
        old = r.getitem(obj, key)
        r.setitem(obj, key, augmented(r, name, old, value))
        return
    k, v = r.operand(key), r.operand(value)
    _augment_array(r, obj, k, name, v)


def _augment_array(r: Reader, x: Array, key: Any, name: str, v: Any) -> None:
    writable(x)
    if isinstance(x, Either):
        branch(r, x.cond, lambda: _augment_array(r, x.left, key, name, v), lambda: _augment_array(r, x.right, key, name, v))
        return
    content = r.read(x)
    if isinstance(content, np.ndarray) and not is_traced_deep(key) and not is_traced_deep(v):
        out = content.copy()
        with np.errstate(all="ignore"):
            out[key] = getattr(operator, _INPLACE[name])(out[key], v)
        put(r, x, out)
    else:
        put(r, x, Arr(augitem(lift(content), key, name, v)))


_INPLACE = {
    "add": "iadd", "sub": "isub", "mul": "imul", "truediv": "itruediv", "floordiv": "ifloordiv", "mod": "imod", "pow": "ipow",
    "matmul": "imatmul", "and_": "iand", "or_": "ior", "xor": "ixor", "lshift": "ilshift", "rshift": "irshift",
}  # fmt: skip


def augmented(r: Reader, name: str, old: Any, value: Any) -> Any:
    """The object that a variable is bound to after `old op= value`: arrays and lists change in place."""
    if isinstance(old, Array):
        _augment_array(r, old, Ellipsis, name, r.operand(value))
        return old
    method = python_method(old, f"__{_INPLACE[name].rstrip('_')}__")
    if method is not None:
        return r.call(method, [old, value])
    if isinstance(old, list) and name == "add":
        change(r, old)
        old.extend(r.items(value))
        return old
    if isinstance(old, (dict, set)) and not isinstance(value, (Arr, Array)):
        change(r, old)
        return getattr(operator, _INPLACE[name])(old, value)
    return r.operator(name, old, value)


# ---- attributes and methods -----------------------------------------------------------------------------------------------


_CONTAINERS = (list, dict, set, collections.deque)
_C_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def get_attr(r: Reader, obj: Any, name: str) -> Any:
    """obj.name."""
    if isinstance(obj, (Array, Arr)):
        return _array_attr(r, obj, name)
    if isinstance(obj, Text) or (isinstance(obj, _CONTAINERS) and isinstance(getattr(type(obj), name, None), _C_METHODS)):
        return Method(obj, name)
    if isinstance(obj, types.ModuleType) or isinstance(obj, type):
        return _static_attr(r, obj, name)
    return _instance_attr(r, obj, name)


def _array_attr(r: Reader, x: Any, name: str) -> Any:
    if isinstance(x, Array) and name in views.BY_NAME and name not in METHODS:
        if isinstance(x, Either):
            return _settled(r, x, lambda a: views.BY_NAME[name](r, a))
        return views.BY_NAME[name](r, x)
    content = r.operand(x)
    if isinstance(content, Arr) and content.weak:
        return _python_number_attr(content, name)
    if name in ATTRIBUTES:
        out = ATTRIBUTES[name](content) if isinstance(content, Arr) else getattr(content, name)
        return r.wrap(out, zero_d=isinstance(x, Array))
    if (
        name in METHODS
        or name in views.BY_NAME
        or name in _MUTATING
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
    if name in ("real", "numerator"):
        return x
    if name == "imag":
        return 0.0 if x.name == "f64" else 0
    if name == "denominator" and x.name != "f64":
        return 1
    kind = {"f64": float, "i64": int, "bool": bool}[x.name]
    if not hasattr(kind, name):
        raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
    return Method(x, name)


def _static_attr(r: Reader, obj: Any, name: str) -> Any:
    out = getattr(obj, name)
    path = r.captures.path(obj)
    if path is None or isinstance(out, types.BuiltinFunctionType) or _foreign(obj):
        return out
    if isinstance(out, types.MethodType) or isinstance(obj, type) and isinstance(vars(obj).get(name), staticmethod):
        r.captures.note(
            getattr(out, "__func__", out),
            path.child("attr", name).child("func") if isinstance(out, types.MethodType) else path.child("attr", name),
        )
        return out
    return r.captures.take(out, path.child("attr", name))


def _foreign(obj: Any) -> bool:
    """A module of NumPy, SciPy or the standard library: its constants do not change."""
    module = obj.__name__ if isinstance(obj, types.ModuleType) else getattr(obj, "__module__", "")
    root = str(module).split(".")[0]
    return is_library(root)


def is_library(root: str) -> bool:
    return root in ("numpy", "scipy", "irad") or root in sys.stdlib_module_names and root != "__main__"


def _instance_attr(r: Reader, obj: Any, name: str) -> Any:
    """An attribute of any other object: own data first captured, then methods and properties of its class."""
    found = next((vars(k)[name] for k in type(obj).__mro__ if name in vars(k)), None)
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        note_class(r, obj)
        return r.call(found.fget, [obj])
    own = getattr(obj, "__dict__", None)
    if own is not None and name in own:
        value = own[name]
        path = r.captures.path(obj)
        return value if path is None else r.captures.take(value, path.child("attr", name))
    if isinstance(found, types.FunctionType):
        note_class(r, obj)
        return types.MethodType(found, obj)
    if found is None and python_method(obj, "__getattr__") is not None:
        return r.call(python_method(obj, "__getattr__"), [obj, name])
    value = getattr(obj, name)
    path = r.captures.path(obj)
    simple = path is not None and not callable(value) and not _foreign(type(obj))
    return r.captures.take(value, path.child("attr", name)) if simple and path is not None else value


def note_class(r: Reader, obj: Any) -> None:
    """Methods of a captured object's class are found through the object."""
    path = r.captures.path(obj)
    if path is not None:
        for cls in type(obj).__mro__:
            for name, f in vars(cls).items():
                if isinstance(f, types.FunctionType):
                    r.captures.note(f, path.child("attr", name).child("func"))


def set_attr(r: Reader, obj: Any, name: str, value: Any) -> None:
    """obj.name = value."""
    if isinstance(obj, (Array, Arr)):
        if name == "shape" and isinstance(obj, Array):
            raise UnsupportedError("assigning x.shape; write x = x.reshape(...)")
        raise UnsupportedError(f"assigning attribute {name} of an array")
    if r.captures.path(obj) is not None:
        raise UnsupportedError(
            f"attribute {name} of an object from outside the function is assigned; return the new value, "
            "or store into an array attribute in place (self.x[...] = ...)"
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
        r.state.assign(Attribute(obj, name), value)


def call_method(r: Reader, m: Method, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A method of an array, a traced number, a list, dict or set."""
    x = m.owner
    if not isinstance(x, (Array, Arr)):
        return _container_method(r, m, list(args), kwargs)
    operands = [r.operand(a) for a in args]
    named = {k: r.operand(v) for k, v in kwargs.items() if k != "out"}
    if isinstance(x, Array) and isinstance(x, Either):
        return _settled(r, x, lambda a: call_method(r, Method(a, m.name), args, kwargs))
    if isinstance(x, Array) and m.name in views.BY_NAME:
        return views.BY_NAME[m.name](r, x, *operands, **named)
    if m.name in _MUTATING and isinstance(x, Array):
        return _MUTATING[m.name](r, x, *operands, **named)
    content = r.operand(x)
    if not isinstance(content, Arr) and not is_traced_deep([*operands, *named.values()]):
        with np.errstate(all="ignore"):
            out = r.wrap(getattr(content, m.name)(*operands, **named), zero_d=m.name in _ARRAYS)
    elif m.name in METHODS:
        if isinstance(content, Arr) and content.weak:
            content = Arr(content.value) if m.name not in _PYTHON else content
        out = r.wrap(METHODS[m.name](content, *operands, **named), zero_d=m.name in _ARRAYS)
    else:
        return _python_method_of_number(r, content, m.name, operands)
    return into(r, kwargs.get("out"), out)


_ARRAYS = {"astype", "copy", "reshape", "squeeze", "round", "clip", "view", "conj"}
_PYTHON = {"is_integer", "bit_length", "conjugate"}


def into(r: Reader, out: Any, result: Any) -> Any:
    """The `out=` argument of a function: store the result there, and give that array."""
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if target is None:
        return result
    if isinstance(target, tuple):
        return tuple(into(r, t, x) for t, x in zip(target, result))
    if not isinstance(target, Array):
        raise IradTypeError(f"out= must be an array, got {describe(target)}")
    value = r.operand(result)
    if isinstance(value, Arr):
        check_same_kind(value.name, target.type.dtype, "out")
    store(r, target, Ellipsis, value)
    return target


def _python_method_of_number(r: Reader, x: Any, name: str, args: Sequence[Any]) -> Any:
    if name in ("conjugate", "conj"):
        return x
    if name == "is_integer" and isinstance(x, Arr):
        return r.operator("eq", x, r.call(np.floor, [x])) if x.name == "f64" else True
    if isinstance(x, Arr) and name == "item" and not args:
        return Arr(x.value, True)
    raise UnsupportedError(f"method {name} of {describe(x)} is not supported in compiled code")


def _fill(r: Reader, x: Array, value: Any) -> None:
    store(r, x, Ellipsis, value)


def _sort(r: Reader, x: Array, *args: Any, **kwargs: Any) -> None:
    store(r, x, Ellipsis, r.operand(r.call(np.sort, [x, *args], kwargs)))


def _put(r: Reader, x: Array, indices: Any, values: Any, mode: str = "raise") -> None:
    store(r, views.reshaped(r, x, (x.type.size,)), indices, values)


_MUTATING: dict[str, Callable[..., Any]] = {"fill": _fill, "sort": _sort, "put": _put}

_CHANGES = {
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add", "discard",
    "appendleft", "popleft", "extendleft", "rotate", "difference_update", "intersection_update",
}  # fmt: skip


def _container_method(r: Reader, m: Method, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A method of a list, dict, set... run as Python runs it; changes are logged."""
    owner = m.owner
    if isinstance(owner, Text):
        raise UnsupportedError("a string that depends on data can only be concatenated, printed, or raised")
    if m.name in _CHANGES:
        change(r, owner)
    if m.name == "extend":
        owner.extend(r.items(args[0]))
        return None
    if m.name == "sort" or (m.name in ("index", "count", "remove") and is_traced_deep([owner, args])):
        return _sorted_in_place(r, owner, kwargs) if m.name == "sort" else _search(r, m.name, owner, args)
    args = [
        static_int(a, f"an argument of {m.name}") if isinstance(a, Arr) and m.name in ("pop", "insert") and k == 0 else a
        for k, a in enumerate(args)
    ]
    out = getattr(owner, m.name)(*args, **kwargs)
    return r.state.made(out) if m.name == "copy" else out


def _sorted_in_place(r: Reader, owner: list[Any], kwargs: dict[str, Any]) -> None:
    owner[:] = r.call(sorted, [list(owner)], kwargs)


def _search(r: Reader, name: str, owner: Any, args: list[Any]) -> Any:
    if name == "count" and isinstance(owner, (list, tuple)):
        total: Any = 0
        for x in owner:
            total = r.operator("add", total, r.call(int, [r.operator("eq", x, args[0])]))
        return total
    raise UnsupportedError(f"list.{name} with traced numbers; use an array and np.argmax(x == value), say")


def choose(r: Reader, cond: Arr, a: list[Any], b: list[Any]) -> list[Value]:
    """Whole contents, by a traced bool."""
    side = lambda xs: lambda: [x if isinstance(x, Value) else lift(x).value for x in xs]
    return branch_values(r, cond, side(a), side(b))


__all__ = [
    "OPERATORS", "augmented", "augmented_item", "call_method", "choose", "get_attr", "get_item", "into", "put", "set_attr", "set_item",
    "store",
]  # fmt: skip
