"""Objects of subclasses of np.ndarray: their array, NumPy's functions and methods of them, and which class a result has.

What stands for such an object has the user's methods (irad.core.array_classes), which are read. Everything that np.ndarray itself does is
done here with the array alone; then NumPy says which results are of the class (irad.frontend.reading.array_probes).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np

from irad.core.array_classes import (
    ARRAY,
    ROOT,
    ArrayOfClass,
    array_in,
    attributes_of,
    class_behind,
    has_stand_in,
    is_of_class,
    is_own,
    stand_in,
)
from irad.core.foreign import found_in_class
from irad.core.once import import_later
from irad.errors import UnsupportedError
from irad.frontend.control.sequences import Seq
from irad.frontend.control.special import class_with, class_with_bases
from irad.frontend.numpy import views
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader
from irad.frontend.reading.array_probes import Probe, holds, objects_in, plain
from irad.frontend.reading.logic import plain_contains
from irad.frontend.reading.subscripts import augmented
from irad.frontend.values.arr import Arr
from irad.frontend.values.captures import Captures
from irad.frontend.values.guards import Path
from irad.frontend.values.objects import Array, describe, python_method
from irad.frontend.values.state import Attribute

# ---- objects ---------------------------------------------------------------------------------------------------------


def made(r: Reader, cls: Any, array: Array, like: Any) -> ArrayOfClass:
    """An object of a subclass with an array, as NumPy makes it from `like` (None: from nothing): `__array_finalize__` is called."""
    follow(r.captures, cls)
    out: ArrayOfClass = r.state.made(object.__new__(stand_in(cls)))
    if issubclass(cls, np.matrix):
        array = _of_two_axes(r, array)
    vars(out)[ARRAY] = array
    finalize = python_method(out, "__array_finalize__")
    if finalize is not None and not is_own(finalize):
        r.call(finalize, [out, like])
    return out


def _of_two_axes(r: Reader, x: Array) -> Array:
    """An array as one of two axes, as a np.matrix has it: a row, or without axes of one element."""
    n = len(x.shape)
    if n == 2:
        return x
    shape = tuple(r.getattr(x, "shape"))
    kept = (1, 1) if n == 0 else (1, *shape) if n == 1 else tuple(d for d in shape if isinstance(d, Arr) or d != 1)
    if n > 2 and len(kept) > 2:
        raise ValueError("shape too large to be a matrix.")
    return r.call(r.getattr(x, "reshape"), [(*(1,) * (2 - len(kept)), *kept)])  # type: ignore[no-any-return]


def follow(captures: Captures, cls: Any) -> None:
    """The program relies on what a class has, and on its bases."""
    if cls in captures.array_classes:
        return
    captures.array_classes.add(cls)
    if issubclass(cls, np.matrix):
        import_later("irad.frontend.reading.np_matrix")  # what its methods mean
    if any(vars(k).get("__slots__") for k in cls.__mro__):
        raise UnsupportedError(
            f"{cls.__name__}, a subclass of np.ndarray, has __slots__: leave them out, or make a class that has the array as an attribute"
        )
    class_with_bases(captures, cls)
    for k in cls.__mro__[: cls.__mro__.index(np.matrix if issubclass(cls, np.matrix) else np.ndarray)]:
        for name in vars(k):
            if name not in ("__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__"):
                class_with(captures, cls, name)


def stand_for(captures: Captures, x: np.ndarray, path: Path, array: Array) -> ArrayOfClass:
    """What stands for an object from outside: its array, and attributes that are read at each call."""
    captures.guard(path, "type", type(x))
    follow(captures, type(x))
    out: ArrayOfClass = object.__new__(stand_in(type(x)))
    vars(out)[ARRAY] = array
    vars(out).update((k, captures.take(v, path.child("attr", k))) for k, v in attributes_of(x).items())
    return out


def new(r: Reader, cls: Any, shape: Any, dtype: Any = float, buffer: Any = None, offset: Any = 0, strides: Any = None, order: Any = None) -> Any:  # fmt: skip
    """np.ndarray.__new__ of a subclass."""
    if buffer is None:
        array = r.call(np.empty, [shape, dtype])
    elif offset != 0 or strides is not None:
        raise UnsupportedError(
            f"{cls.__name__} of a buffer with an offset or strides; take a view of the array: x[...].view({cls.__name__})"
        )
    else:
        given = plain(buffer)
        if not isinstance(given, Array) or given.type.numpy != np.dtype(dtype):
            raise UnsupportedError(
                f"{cls.__name__} of the memory of {describe(given)} as numbers of {np.dtype(dtype)}; write np.asarray(x, {np.dtype(dtype)})"
                f".view({cls.__name__})"
            )
        array = r.call(r.getattr(given, "reshape"), [shape], {"order": order or "C"})
        if buffer is array:
            array = views.at(r, array, Ellipsis)
    return made(r, cls, array, None)


# ---- functions and operators ---------------------------------------------------------------------------------------------

# NumPy's functions that call the method of their first argument
_BY_METHOD = {
    getattr(np, fn): fn if fn not in ("amax", "amin") else fn[1:]
    for fn in ("sum", "prod", "amax", "amin", "any", "all", "mean", "std", "var", "argmax", "argmin", "argsort", "choose", "clip",
               "compress", "cumsum", "cumprod", "nonzero", "repeat", "reshape", "round", "searchsorted", "squeeze", "swapaxes", "take",
               "transpose", "max", "min")
}  # fmt: skip


def called(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any], asked: bool = True) -> Any:
    """A call of NumPy with such objects. `asked`: by the protocols `__array_ufunc__` and `__array_function__`, where a class has them."""
    given = objects_in([*args, *kwargs.values()])
    ufunc = fn if isinstance(fn, np.ufunc) else getattr(fn, "__self__", None)
    is_ufunc = isinstance(ufunc, np.ufunc)
    name = "__array_ufunc__" if is_ufunc else "__array_function__"
    for x in sorted(given, key=lambda x: -len(type(x).__mro__)) if asked else ():
        method = python_method(x, name)
        if method is not None and not is_own(method):
            how = "__call__" if fn is ufunc else fn.__name__
            parts = [x, ufunc, how, *args] if is_ufunc else [x, fn, tuple({type(a) for a in given}), tuple(args), kwargs]
            out = r.call(method, parts, kwargs if is_ufunc else {})
            if out is not NotImplemented:
                return out
    wraps = next((m for x in given if (m := python_method(x, "__array_wrap__")) is not None and not is_own(m)), None)
    if wraps is not None:
        raise UnsupportedError(
            f"{describe(given[0])} with an __array_wrap__ of its own in {getattr(fn, '__name__', fn)}; give its class __array_finalize__ or "
            "__array_ufunc__ instead"
        )
    own = _BY_METHOD.get(fn) if not is_ufunc else None
    if own is not None and args and isinstance(args[0], ArrayOfClass):
        found = found_in_class(type(args[0]), own)
        if found is not vars(ROOT)[own]:
            return r.call(r.getattr(args[0], own), args[1:], kwargs)
    out = r.call(fn, [plain(a) for a in args], {k: plain(v) for k, v in kwargs.items()})
    if isinstance(target := kwargs.get("out"), ArrayOfClass):
        return target
    if out is None or any(callable(a) and not isinstance(a, type) for a in args):
        return out
    probe = Probe(r, made)
    return probe.dressed(probe.run(f"np.{getattr(fn, '__name__', fn)}", fn, *args, **kwargs), out)


def method_of_array(r: Reader, x: Array, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A method of a plain array with such objects among its arguments."""
    return _by_method(r, x, x, name, args, kwargs, _AS_THEY_ARE)


def _by_method(r: Reader, array: Array, x: Any, name: str, args: Any, kwargs: dict[str, Any], plainly: Set[str]) -> Any:
    """What a method of x gives, whose array this is; as it is of the methods in `plainly`, else of the class that NumPy makes it of."""
    out = r.call(r.getattr(array, name), [plain(a) for a in args], {k: plain(v) for k, v in kwargs.items()})
    if isinstance(target := kwargs.get("out"), ArrayOfClass):
        return target
    if out is None or name in plainly:
        return out
    probe = Probe(r, made)
    return probe.dressed(probe.run(f"method {name}", getattr(np.ndarray, name), x, *args, **kwargs), out)


def operation(r: Reader, name: str, *xs: Any) -> Any:
    """A Python operator as np.ndarray has it."""
    ufunc = _UFUNCS.get(name)
    if ufunc is not None:
        for x in objects_in(xs):
            method = python_method(x, "__array_ufunc__")
            if method is not None and not is_own(method):
                return called(r, ufunc, list(xs), {})
    rest = [
        x for x in xs if not isinstance(x, (ArrayOfClass, Array, Arr, list, tuple, int, float, complex, np.generic, np.ndarray))
    ]
    out = r.operator(name, *map(plain, xs))
    if rest or not isinstance(out, (Array, Arr, np.generic)):
        return out
    probe = Probe(r, made)
    return probe.dressed(probe.run(f"operator {name.rstrip('_')}", getattr(operator, name), *xs), out)


_UFUNCS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide, "mod": np.remainder,
    "pow": np.power, "matmul": np.matmul, "and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal, "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}  # fmt: skip


def _binary(name: str) -> None:
    base = name.rstrip("_")
    own = vars(ROOT)
    BUILTINS[own[f"__{base}__"]] = lambda r, x, y: operation(r, name, x, y)
    if f"__r{base}__" in own:
        BUILTINS[own[f"__r{base}__"]] = lambda r, x, y: operation(r, name, y, x)
    if f"__i{base}__" in own:
        BUILTINS[own[f"__i{base}__"]] = lambda r, x, y: _in_place(r, name, x, y)


def _in_place(r: Reader, name: str, x: ArrayOfClass, y: Any) -> ArrayOfClass:
    augmented(r, name, array_in(x), plain(y))
    return x


for _name in _UFUNCS:
    if _name in ("neg", "pos", "abs", "invert"):
        BUILTINS[vars(ROOT)[f"__{_name}__"]] = lambda r, x, _n=_name: operation(r, _n, x)
    else:
        _binary(_name)


# ---- methods and attributes ------------------------------------------------------------------------------------------------

_CHANGING = {"sort", "fill", "put", "partition", "itemset", "setflags", "resize", "setfield", "byteswap"}
_AS_THEY_ARE = {"item", "tolist", "tobytes", "tofile", "dump", "dumps", "__len__", "__bool__", "__float__", "__int__", "__complex__", "__index__"}  # fmt: skip


def _method(name: str) -> Callable[..., Any]:
    """A method as np.ndarray has it."""

    return lambda r, x, *args, **kwargs: _by_method(r, array_in(x), x, name, args, kwargs, _CHANGING | _AS_THEY_ARE)


def _attribute(name: str) -> Callable[..., Any]:
    def get(r: Reader, x: ArrayOfClass) -> Any:
        out = r.getattr(array_in(x), name)
        if not isinstance(out, Array):
            return out
        probe = Probe(r, made)
        return probe.dressed(probe.run(f"attribute {name}", lambda a: getattr(np.ndarray, name).__get__(a), x), out)

    return get


def _set(name: str) -> Callable[..., None]:
    def set_(r: Reader, x: ArrayOfClass, value: Any) -> None:
        if name == "shape":
            if not r.state.is_made(x):
                raise UnsupportedError(f"the shape of {describe(x)} from outside is assigned; write x = x.reshape(...)")
            new = r.call(r.getattr(array_in(x), "reshape"), [value])
            r.state.assign(Attribute(x, ARRAY), new)
        else:
            r.setattr(array_in(x), name, plain(value))

    return set_


def _getitem(r: Reader, x: ArrayOfClass, key: Any) -> Any:
    out = r.getitem(array_in(x), plain(key))
    return made(r, class_behind(x), out, x) if isinstance(out, Array) else out


def _setitem(r: Reader, x: ArrayOfClass, key: Any, value: Any) -> None:
    items = key if type(key) is tuple else (key,)
    sliced = any(k is None or isinstance(k, slice) for k in items) or len(items) < len(array_in(x).shape)
    if sliced and key is not Ellipsis and views.is_basic(r.operand(plain(key))):
        if found_in_class(type(x), "__getitem__") is not vars(ROOT)["__getitem__"]:  # NumPy stores into what the class gives
            part = r.getitem(x, key)
            r.setitem(plain(part), Ellipsis, plain(value))
            return
    r.setitem(array_in(x), plain(key), plain(value))


def _view(r: Reader, x: ArrayOfClass, dtype: Any = None, type: Any = None) -> Any:
    if isinstance(dtype, _Type) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    return seen_as(r, array_in(x), class_behind(x) if type is None else type, x, dtype)


_Type = type


def seen_as(r: Reader, array: Array, cls: Any, like: Any, dtype: Any = None) -> Any:
    """array.view(cls)."""
    if not has_stand_in(cls):
        raise UnsupportedError(f"a view as {cls.__name__}; np.asarray(x) are the numbers")
    out = views.BY_NAME["view"](r, array, *([] if dtype is None else [dtype]))
    return out if cls is np.ndarray else made(r, cls, out, like)


def _array(r: Reader, x: ArrayOfClass, dtype: Any = None, copy: Any = None) -> Any:
    return r.call(
        np.array if copy else np.asarray, [views.at(r, array_in(x), Ellipsis)], {} if dtype is None else {"dtype": dtype}
    )


def _copied(r: Reader, x: ArrayOfClass, memo: Any = None) -> Any:
    return made(r, class_behind(x), r.call(r.getattr(array_in(x), "copy"), []), x)


def elements(r: Reader, x: ArrayOfClass) -> Seq:
    """What a loop goes over: x[0], x[1], ..., as the class gives them."""
    return Seq(r.call(len, [array_in(x)]), lambda i: r.getitem(x, i))


def _refused(name: str) -> Callable[..., Any]:
    def refuse(r: Reader, x: ArrayOfClass, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"{name} of {describe(x)}, a subclass of np.ndarray; use its array: np.asarray(x)")

    return refuse


for _name, _found in vars(ROOT).items():
    if isinstance(_found, property):
        BUILTINS[_found.fget] = _attribute(_name)
        BUILTINS[_found.fset] = _set(_name)
    elif is_own(_found) and _found not in BUILTINS:
        BUILTINS[_found] = _method(_name) if not _name.startswith("__") or _name in _AS_THEY_ARE else _refused(_name)

_OTHERS: dict[str, Callable[..., Any]] = {
    "__getitem__": _getitem,
    "__setitem__": _setitem,
    "view": _view,
    "__array__": _array,
    "__copy__": _copied,
    "__deepcopy__": _copied,
    "copy": lambda r, x, order="C": _copied(r, x),
    "__array_finalize__": lambda r, x, obj=None: None,
    "__array_wrap__": lambda r, x, array, context=None, return_scalar=False: made(r, class_behind(x), plain(array), x),
    "__array_ufunc__": lambda r, x, ufunc, method, *inputs, **kwargs: called(
        r, ufunc if method == "__call__" else getattr(ufunc, method), list(inputs), kwargs, False
    ) if holds([*inputs, *kwargs.values()]) else r.call(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs),
    "__array_function__": lambda r, x, fn, types, args, kwargs: called(r, fn, list(args), dict(kwargs), False),
    "__contains__": lambda r, x, y: plain_contains(r, array_in(x), plain(y)),
    "__iter__": lambda r, x: r.call(iter, [x]),
    "__len__": lambda r, x: r.call(len, [array_in(x)]),
    "__bool__": lambda r, x: r.call(bool, [array_in(x)]),
    "__float__": lambda r, x: r.call(float, [array_in(x)]),
    "__int__": lambda r, x: r.call(int, [array_in(x)]),
    "__complex__": lambda r, x: r.call(complex, [array_in(x)]),
    "__divmod__": lambda r, x, y: (operation(r, "floordiv", x, y), operation(r, "mod", x, y)),
    "__rdivmod__": lambda r, x, y: (operation(r, "floordiv", y, x), operation(r, "mod", y, x)),
    "__str__": lambda r, x: r.call(str, [array_in(x)]),
    "__format__": lambda r, x, spec="": r.call(format, [array_in(x), spec]),
}  # fmt: skip
for _name, _meaning in _OTHERS.items():
    if _name in vars(ROOT):
        BUILTINS[vars(ROOT)[_name]] = _meaning


def unbound(r: Reader, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """np.ndarray.sum(x), with such an object: what the base class does."""
    return r.call(vars(ROOT)[fn.__name__], list(args), kwargs)


__all__ = ["called", "is_of_class", "made", "new", "plain", "stand_for"]
