"""Objects of subclasses of np.ndarray: their array, NumPy's functions and methods of them, and which class a result has.

What stands for such an object has the user's methods (irad.core.array_classes), which are read. Everything that np.ndarray itself does is
done here with the array alone; then NumPy says which results are of the class: the same call is made of small arrays of a class that
remembers where it comes from. So the rules are those of the NumPy that is installed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from irad.core.array_classes import ARRAY, ROOT, ArrayOfClass, has_stand_in, is_of_class, is_own, stand_in
from irad.core.foreign import base_items
from irad.core.once import import_later
from irad.core.types import DTYPES
from irad.errors import UnsupportedError
from irad.frontend.control.sequences import Seq
from irad.frontend.control.special import class_with, class_with_bases
from irad.frontend.numpy import views
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader
from irad.frontend.reading.logic import plain_contains
from irad.frontend.reading.subscripts import augmented
from irad.frontend.values.arr import Arr
from irad.frontend.values.captures import Captures
from irad.frontend.values.guards import Path
from irad.frontend.values.objects import Array, describe, found_in_class, python_method
from irad.frontend.values.state import Attribute

# ---- objects ---------------------------------------------------------------------------------------------------------


def made(r: Reader, cls: Any, array: Array, like: Any) -> ArrayOfClass:
    """An object of a subclass with an array, as NumPy makes it from `like` (None: from nothing): `__array_finalize__` is called."""
    follow(r.captures, cls)
    out = r.state.made(object.__new__(stand_in(cls)))
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
    out = object.__new__(stand_in(type(x)))
    own = {k: v for k, v in getattr(x, "__dict__", {}).items() if k != "_getitem" or not isinstance(x, np.matrix)}
    vars(out)[ARRAY] = array
    vars(out).update((k, captures.take(v, path.child("attr", k))) for k, v in own.items())
    return out


def new(r: Reader, cls: Any, shape: Any, dtype: Any = float, buffer: Any = None, offset: Any = 0, strides: Any = None, order: Any = None) -> Any:  # fmt: skip
    """np.ndarray.__new__ of a subclass."""
    if buffer is None:
        array = r.call(np.empty, [shape, dtype])
    elif offset != 0 or strides is not None:
        raise UnsupportedError(f"{cls.__name__} of a buffer with an offset or strides; take a view of the array: x[...].view({cls.__name__})")
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


# ---- operands and results -----------------------------------------------------------------------------------------------


def holds(x: Any) -> bool:
    """Is x such an object, or a list, tuple, dict or slice that holds one?"""
    if isinstance(x, ArrayOfClass):
        return True
    if isinstance(x, (list, tuple)):
        return any(map(holds, base_items(x)))
    if type(x) is dict:
        return any(map(holds, x.values()))
    return isinstance(x, slice) and any(map(holds, (x.start, x.stop, x.step)))


def plain(x: Any) -> Any:
    """x with the arrays alone."""
    if isinstance(x, ArrayOfClass):
        return x.array
    if not holds(x):
        return x
    if isinstance(x, slice):
        return slice(*map(plain, (x.start, x.stop, x.step)))
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return type(x)._make(map(plain, x)) if hasattr(x, "_make") else type(x)(map(plain, base_items(x)))  # type: ignore[union-attr]


def objects_in(x: Any) -> list[ArrayOfClass]:
    """The objects of subclasses in operands, in order."""
    if isinstance(x, ArrayOfClass):
        return [x]
    items = x.values() if type(x) is dict else base_items(x) if isinstance(x, (list, tuple)) else ()
    return [o for e in items for o in objects_in(e)]


class _Probe:
    """What makes arrays of classes like the user's, which remember which operand they come from."""

    def __init__(self, r: Reader) -> None:
        self.r = r
        self.operands: list[ArrayOfClass] = []
        self.given: list[Any] = []  # what stands for each

    def of(self, x: Any) -> Any:
        """An operand of the same kind, dtype and shape."""
        if isinstance(x, ArrayOfClass):
            out = _numbers(x.array).view(_class_like(x.array_class))
            out.tag = len(self.operands)
            self.operands.append(x)
            self.given.append(out)
            return out
        if isinstance(x, Array):
            content = self.r.read(x)
            return content if isinstance(content, np.ndarray) else _numbers(x)
        if isinstance(x, Arr):
            kind: Any = {"f64": float, "i64": int, "c128": complex, "bool": bool}[x.name] if x.weak else DTYPES[x.name].type
            return kind(1)
        if type(x) in (list, tuple):
            return type(x)(map(self.of, x))
        if isinstance(x, slice):
            return slice(*map(self.of, (x.start, x.stop, x.step)))
        return {k: self.of(v) for k, v in x.items()} if type(x) is dict else x

    def run(self, what: str, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result for such operands."""
        given, named = [self.of(a) for a in args], {k: self.of(v) for k, v in kwargs.items() if k != "out"}
        try:
            with np.errstate(all="ignore"):
                return fn(*given, **named)
        except Exception as e:
            raise UnsupportedError(
                f"which class {what} gives for {describe(self.operands[0])} could not be found out ({e}); "
                "give it the numbers: np.asarray(x)"
            ) from None

    def dressed(self, like: Any, out: Any) -> Any:
        """A result with the classes that NumPy gives it, which `like` shows."""
        for x, given in zip(self.operands, self.given):
            if like is given:
                return x
        if isinstance(like, tuple) and isinstance(out, tuple) and len(like) == len(out):
            found = [self.dressed(a, b) for a, b in zip(like, out)]
            return type(out)._make(found) if hasattr(out, "_make") else tuple(found)
        if isinstance(like, list) and isinstance(out, list) and len(like) == len(out):
            return self.r.state.made([self.dressed(a, b) for a, b in zip(like, out)])
        cls = getattr(type(like), "stands_for", np.matrix if type(like) is np.matrix else None)
        if cls is None:
            return out
        tag = getattr(like, "tag", None)
        parent = self.operands[tag] if tag is not None else next(x for x in self.operands if issubclass(x.array_class, cls))
        array = out if isinstance(out, Array) else self.r.wrap(self.r.operand(out), zero_d=True)
        if not isinstance(array, Array):  # a Python number
            array = self.r.call(np.asarray, [array])
        return made(self.r, cls, array, parent)


def _numbers(x: Array) -> np.ndarray:
    """Numbers in the place of an array: of its dtype and shape (3 where that depends on data), as matrices regular."""
    shape = tuple(d if isinstance(d, int) else 3 for d in x.shape)
    size = int(np.prod(shape, dtype=np.int64))
    out = (np.arange(size) * 0.7312 % 1.0 + 0.1).reshape(shape)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        out = out @ np.swapaxes(out, -1, -2) + np.eye(shape[-1])
    kind = x.type.numpy
    return (out > 0.5) if kind.kind == "b" else out.astype(kind) if kind.kind in "fc" else np.ones(shape, kind)


@cache
def _class_like(cls: Any) -> Any:
    """A class with the bases and priority of one of the user's, and no code of his."""
    bases = tuple(b if b in (np.ndarray, np.matrix) else _class_like(b) for b in cls.__bases__ if issubclass(b, np.ndarray))
    if cls is np.matrix:
        bases = (np.matrix,)

    def finalize(self: Any, x: Any) -> None:
        if isinstance(self, np.matrix):
            np.matrix.__array_finalize__(self, x)
        self.tag = getattr(x, "tag", None)

    content = {"__array_finalize__": finalize, "stands_for": cls}
    if "__array_priority__" in vars(cls):
        content["__array_priority__"] = vars(cls)["__array_priority__"]
    return type(cls.__name__, bases, content)


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
    probe = _Probe(r)
    return probe.dressed(probe.run(f"np.{getattr(fn, '__name__', fn)}", fn, *args, **kwargs), out)


def method_of_array(r: Reader, x: Array, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A method of a plain array with such objects among its arguments."""
    out = r.call(r.getattr(x, name), [plain(a) for a in args], {k: plain(v) for k, v in kwargs.items()})
    if out is None or name in _AS_THEY_ARE:
        return out
    if isinstance(target := kwargs.get("out"), ArrayOfClass):
        return target
    probe = _Probe(r)
    return probe.dressed(probe.run(f"method {name}", getattr(np.ndarray, name), x, *args, **kwargs), out)


def operation(r: Reader, name: str, *xs: Any) -> Any:
    """A Python operator as np.ndarray has it."""
    ufunc = _UFUNCS.get(name)
    if ufunc is not None:
        for x in objects_in(xs):
            method = python_method(x, "__array_ufunc__")
            if method is not None and not is_own(method):
                return called(r, ufunc, list(xs), {})
    rest = [x for x in xs if not isinstance(x, (ArrayOfClass, Array, Arr, list, tuple, int, float, complex, np.generic, np.ndarray))]
    out = r.operator(name, *map(plain, xs))
    if rest or not isinstance(out, (Array, Arr, np.generic)):
        return out
    probe = _Probe(r)
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
    augmented(r, name, x.array, plain(y))
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

    def call(r: Reader, x: ArrayOfClass, *args: Any, **kwargs: Any) -> Any:
        out = r.call(r.getattr(x.array, name), [plain(a) for a in args], {k: plain(v) for k, v in kwargs.items()})
        if isinstance(target := kwargs.get("out"), ArrayOfClass):
            return target
        if out is None or name in _CHANGING or name in _AS_THEY_ARE:
            return out
        probe = _Probe(r)
        return probe.dressed(probe.run(f"method {name}", getattr(np.ndarray, name), x, *args, **kwargs), out)

    return call


def _attribute(name: str) -> Callable[..., Any]:
    def get(r: Reader, x: ArrayOfClass) -> Any:
        out = r.getattr(x.array, name)
        if not isinstance(out, Array):
            return out
        probe = _Probe(r)
        return probe.dressed(probe.run(f"attribute {name}", lambda a: getattr(np.ndarray, name).__get__(a), x), out)

    return get


def _set(name: str) -> Callable[..., None]:
    def set_(r: Reader, x: ArrayOfClass, value: Any) -> None:
        if name == "shape":
            new = r.call(r.getattr(x.array, "reshape"), [value])
            r.state.assign(Attribute(x, ARRAY), new)
        else:
            r.setattr(x.array, name, plain(value))

    return set_


def _getitem(r: Reader, x: ArrayOfClass, key: Any) -> Any:
    out = r.getitem(x.array, plain(key))
    return made(r, x.array_class, out, x) if isinstance(out, Array) else out


def _setitem(r: Reader, x: ArrayOfClass, key: Any, value: Any) -> None:
    r.setitem(x.array, plain(key), plain(value))


def _view(r: Reader, x: ArrayOfClass, dtype: Any = None, type: Any = None) -> Any:
    if isinstance(dtype, _Type) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    return seen_as(r, x.array, x.array_class if type is None else type, x, dtype)


_Type = type


def seen_as(r: Reader, array: Array, cls: Any, like: Any, dtype: Any = None) -> Any:
    """array.view(cls)."""
    if not has_stand_in(cls):
        raise UnsupportedError(f"a view as {cls.__name__}; np.asarray(x) are the numbers")
    out = views.BY_NAME["view"](r, array, *([] if dtype is None else [dtype]))
    return out if cls is np.ndarray else made(r, cls, out, like)


def _array(r: Reader, x: ArrayOfClass, dtype: Any = None, copy: Any = None) -> Any:
    return r.call(np.array if copy else np.asarray, [views.at(r, x.array, Ellipsis)], {} if dtype is None else {"dtype": dtype})


def _copied(r: Reader, x: ArrayOfClass, memo: Any = None) -> Any:
    return made(r, x.array_class, r.call(r.getattr(x.array, "copy"), []), x)


def elements(r: Reader, x: ArrayOfClass) -> Seq:
    """What a loop goes over: x[0], x[1], ..., as the class gives them."""
    return Seq(r.call(len, [x.array]), lambda i: r.getitem(x, i))


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
    "__array_wrap__": lambda r, x, array, context=None, return_scalar=False: made(r, x.array_class, plain(array), x),
    "__array_ufunc__": lambda r, x, ufunc, method, *inputs, **kwargs: called(
        r, ufunc if method == "__call__" else getattr(ufunc, method), list(inputs), kwargs, False
    ) if holds([*inputs, *kwargs.values()]) else r.call(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs),
    "__array_function__": lambda r, x, fn, types, args, kwargs: called(r, fn, list(args), dict(kwargs), False),
    "__contains__": lambda r, x, y: plain_contains(r, x.array, plain(y)),
    "__iter__": lambda r, x: r.call(iter, [x]),
    "__len__": lambda r, x: r.call(len, [x.array]),
    "__bool__": lambda r, x: r.call(bool, [x.array]),
    "__float__": lambda r, x: r.call(float, [x.array]),
    "__int__": lambda r, x: r.call(int, [x.array]),
    "__complex__": lambda r, x: r.call(complex, [x.array]),
    "__divmod__": lambda r, x, y: (operation(r, "floordiv", x, y), operation(r, "mod", x, y)),
    "__rdivmod__": lambda r, x, y: (operation(r, "floordiv", y, x), operation(r, "mod", y, x)),
    "__str__": lambda r, x: r.call(str, [x.array]),
    "__format__": lambda r, x, spec="": r.call(format, [x.array, spec]),
}  # fmt: skip
for _name, _meaning in _OTHERS.items():
    if _name in vars(ROOT):
        BUILTINS[vars(ROOT)[_name]] = _meaning


def unbound(r: Reader, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """np.ndarray.sum(x), with such an object: what the base class does."""
    return r.call(vars(ROOT)[fn.__name__], list(args), kwargs)


__all__ = ["called", "is_of_class", "made", "new", "plain", "stand_for"]
