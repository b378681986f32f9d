"""Calls of NumPy and scipy.special functions: by NumPy itself if everything is static, else through the table."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np

from irad.core.foreign import (
    found_in_class,
    is_container,
    is_foreign_array,
    is_instance,
    is_library,
    is_read,
    is_value,
    is_written,
    module_of,
)
from irad.core.once import import_later
from irad.errors import UnsupportedError
from irad.frontend.control.array_like import array_like, is_sequence
from irad.frontend.control.flow import branch
from irad.frontend.control.sequences import Range, Seq
from irad.frontend.numpy import views
from irad.frontend.numpy.table import lookup, nearest
from irad.frontend.reader import Reader
from irad.frontend.reading.given import by_name, refuse_unused
from irad.frontend.reading.methods import into
from irad.frontend.reading.packages import calling_back
from irad.frontend.reading.protocols import elements
from irad.frontend.reading.structured import call_structured
from irad.frontend.reading.written import call_written, in_library
from irad.frontend.registry import Written
from irad.frontend.values.arr import Arr, NeedStatic, is_traced
from irad.frontend.values.extents import decided_by_data
from irad.frontend.values.objects import Array, Either, Poison, describe, python_method
from irad.frontend.values.result_layout import of_call
from irad.frontend.values.runs import has_run
from irad.ops.intervals import dim_interval, interval


def is_hashable(fn: Any) -> bool:
    """Can a function be a key? Objects that are called (np.poly1d) need not have a hash."""
    try:
        hash(fn)
    except TypeError:
        return False
    return True


def hashed(table: dict[Any, Any], fn: Any) -> Any:
    return table.get(fn) if is_hashable(fn) else None


def among(functions: Set[Any], fn: Any) -> bool:
    return is_hashable(fn) and fn in functions


# functions whose results of rank 0 are arrays, not NumPy scalars
_ARRAY_RESULTS = {
    np.array, np.asarray, np.zeros, np.ones, np.full, np.empty, np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.copy,
    np.where, np.select, np.reshape, np.squeeze, np.broadcast_to, np.stack, np.choose, np.i0, np.atleast_1d, np.tril, np.triu,
}  # fmt: skip
_MAKERS = {np.zeros, np.ones, np.full, np.empty, np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.eye, np.identity}
_LARGE = 1024  # elements from which an array made of static numbers is made in the graph


def call_numpy(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a NumPy or scipy.special function; NotImplemented if fn is none."""
    changing = _changing(fn)
    if r.captures.array_classes and (lookup(fn) is not None or _is_numpy(fn) or changing is not None):
        classes = import_later("irad.frontend.reading.array_classes")
        if classes.holds([args, kwargs]):
            return classes.called(r, fn, args, kwargs)
    if changing is not None:
        return of_either(r, args, lambda *a: changing(r, *a, **kwargs))
    builder = lookup(fn)
    if builder is None and not _is_numpy(fn):
        return NotImplemented
    overridden = _overridden(r, fn, args, kwargs)
    if overridden is not NotImplemented:
        return overridden
    if among(_OF_OBJECTS, fn) and (len(args) > 1 or "dtype" in kwargs) and _asks_for_objects(fn, args, kwargs):
        made = import_later("irad.frontend.reading.object_arrays").make(r, fn, args, kwargs)
        if made is not NotImplemented:
            return made
    args, kwargs = by_name(fn, builder, args, kwargs)
    if isinstance(builder, Written):
        refuse_unused(_shown(fn), fn, builder, args, kwargs)
    if builder is None and isinstance(called := lookup(found_in_class(type(fn), "__call__")), Written):
        return call_written(r, called, [fn, *args], kwargs)  # an object of SciPy's
    if isinstance(builder, Written) and builder.always:
        return call_written(r, builder, args, kwargs)
    structured = call_structured(r, fn, args, kwargs) if is_hashable(fn) else NotImplemented
    if structured is not NotImplemented:
        return structured
    view = hashed(views.FUNCTIONS, fn)
    if view is not None and args and isinstance(args[0], Array):
        _fix_shape(r, fn, args, kwargs)
        return _call_view(r, view, args, kwargs)
    several = hashed(views.MANY, fn)
    if several is not None and any(isinstance(a, Array) for a in args):
        made = of_either(r, args, lambda *a: several(r, *a, **kwargs))
        if made is not NotImplemented:
            return made
    if builder is not None and not isinstance(builder, Written):
        refuse_unused(_shown(fn), fn, builder, args, kwargs)
    if among(_OF_MATRICES, fn) and args and isinstance(args[0], Array) and (most := _most_rows(args[0])) is not None:
        return r.call(import_later("irad.frontend.library.numpy.sized_matrices").FUNCTIONS[fn], [most, *args], kwargs)
    return _computed(r, fn, builder, args, kwargs)


_CHANGING = {"at", "copyto", "fill_diagonal", "put_along_axis", "putmask", "nan_to_num", "put", "place", "piecewise"}


def _changing(fn: Any) -> Any:
    """What a function does that changes an argument; None of any other."""
    if getattr(fn, "__name__", "") not in _CHANGING:
        return None
    return hashed(import_later("irad.frontend.reading.numpy_changes").CHANGES, fn)


def _computed(r: Reader, fn: Any, builder: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call that gives something new: by NumPy itself where no operand is traced, else by the builder, or read."""
    out, name = kwargs.pop("out", None), getattr(fn, "__name__", str(fn))
    if out is not None and kwargs.get("where", True) is not True:
        kwargs["out"] = r.operand(out[0] if isinstance(out, tuple) else out)
    if among(_OF_SHAPE, fn) and args and not isinstance(args[0], (Arr, Array)):
        args = [_shape_alone(r, args[0]), *args[1:]]
    operands = [function_operand(r, a, fn) for a in args]
    named = {k: function_operand(r, v, fn) for k, v in kwargs.items()}
    zero_d = among(_ARRAY_RESULTS, fn)
    if not (is_traced(operands) or is_traced(named)) and not (among(_MAKERS, fn) and _large(operands)):
        return into(r, out, r.wrap(_run(r, fn, operands, named), zero_d), name)
    if builder is None:
        raise _unknown(fn)
    if isinstance(builder, Written):
        return into(r, out, call_written(r, builder, args, kwargs), name)
    _fix_shape(r, fn, operands, named)
    return into(r, out, of_call(r.wrap(builder(*operands, **named), zero_d), fn, args, kwargs), name)


_OF_MATRICES = {getattr(np.linalg, n) for n in "solve inv det slogdet cholesky pinv lstsq eigvalsh eigh".split()}
_ROWS = 4096


def _most_rows(x: Array) -> int | None:
    """How many rows and columns a matrix has at most of which data decide how many; None of other arrays."""
    if len(x.shape) != 2 or all(isinstance(d, int) for d in x.shape) or not decided_by_data(*x.shape):
        return None
    most = max(dim_interval(d)[1] for d in x.shape)
    return int(most) if most <= _ROWS else None


_OF_OBJECTS = {np.array, np.asarray, np.empty, np.zeros, np.ones, np.full}


def _asks_for_objects(fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Is the dtype that is given object?"""
    place = 2 if fn is np.full else 1
    dtype = kwargs.get("dtype", args[place] if len(args) > place else None)
    named = isinstance(dtype, str) and dtype in ("O", "object")
    return dtype is object or dtype is np.object_ or named or (isinstance(dtype, np.dtype) and dtype.kind == "O")


def _overridden(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What an argument's class makes of a call of NumPy (`__array_ufunc__`, `__array_function__`); NotImplemented if none says."""
    name = "__array_ufunc__" if isinstance(fn, np.ufunc) else "__array_function__"
    if (
        name == "__array_ufunc__" and len(args) == 1 and in_library(type(args[0]))
    ):  # NumPy calls the method of that name of an object
        own = python_method(args[0], {"absolute": "__abs__", "negative": "__neg__"}.get(fn.__name__, fn.__name__))
        if own is not None:
            return r.call(own, [args[0]])
    for x in args:
        method = python_method(x, name)
        if method is None or (is_library(type(x).__module__) and not is_written(type(x))):
            continue
        given = (
            [fn, "__call__", *args] if name == "__array_ufunc__" else [fn, tuple({type(a) for a in args}), tuple(args), kwargs]
        )
        out = r.call(types.MethodType(method, x), given, kwargs if name == "__array_ufunc__" else {})
        if out is not NotImplemented:
            return out
    return NotImplemented


# where a function that makes an array takes the numbers that its shape depends on
_SHAPE_ARGUMENTS: dict[Any, tuple[Any, ...]] = {
    **{f: (0, "shape") for f in (np.zeros, np.ones, np.full, np.empty)}, np.eye: (0, 1, "N", "M"), np.identity: (0, "n"),
    np.arange: (0, 1, 2, "start", "stop", "step"), np.linspace: (2, "num"), np.indices: (0, "dimensions"), np.tri: (0, 1, "N", "M"),
    np.broadcast_to: (1, "shape"), type(np.r_).__getitem__: (1,), type(np.mgrid).__getitem__: (1,),
}  # fmt: skip


def _fixable(r: Reader, x: Arr) -> bool:
    """Is a number computed from what may be constants alone: scalar arguments, captured numbers and arrays of whole numbers?"""
    known = r.captures.fixable()
    return all(v in r.leaf_of or v in known for v in r.sources_of_number(x.value))


_MANY = 1 << 31  # what no axis reaches: a number of unknown origin may be larger


def _fix_shape(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    """A shape that is computed from number arguments alone makes them static, and one that nothing bounds captured arrays of whole
    numbers that it is computed from; other traced shapes are run-time extents."""
    for k in hashed(_SHAPE_ARGUMENTS, fn) or ():
        x = kwargs.get(k) if isinstance(k, str) else args[k] if k < len(args) else None
        parts = x if isinstance(x, (tuple, list)) else (x,)
        for n in (n for p in parts for n in ((p.start, p.stop, p.step) if isinstance(p, slice) else (p,))):
            if isinstance(n, Arr) and (r.from_arguments(n) or (interval(n.value)[1] > _MANY and _fixable(r, n))):
                raise NeedStatic(n, f"the shape that np.{fn.__name__} makes")


def _call_view(r: Reader, view: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    operands = [r.operand(a) for a in args[1:]]
    named = {k: r.operand(v) for k, v in kwargs.items()}
    return of_either(r, args[:1], lambda x: view(r, x, *operands, **named))


def of_either(r: Reader, args: list[Any], call: Callable[..., Any]) -> Any:
    """A call that gives or stores into views of its arguments: where one is an array or another by data, of the right one."""
    for k, x in enumerate(args):
        if isinstance(x, Either):
            side = lambda y, k=k: lambda: of_either(r, [*args[:k], y, *args[k + 1 :]], call)
            return branch(r, x.cond, side(x.left), side(x.right))
    return call(*args)


def function_operand(r: Reader, x: Any, fn: Any) -> Any:
    """An argument of a NumPy function; sequences of sequences become lists, objects what their `__array__` gives."""
    if isinstance(x, Range):
        x = array_like(r, x)
    if isinstance(x, Seq):
        return r.operand(r.items(x))
    if isinstance(x, (Arr, Array)):
        return r.operand(x)
    x = array_like(r, x)
    method = python_method(x, "__array__")
    if method is not None and is_read(type(x)) and not hasattr(type(x), "to_numpy"):
        return r.operand(r.call(method, [x]))
    x = _as_sequence(r, x, getattr(fn, "__name__", str(fn)))
    r.captures.hand(f"np.{getattr(fn, '__name__', fn)}", x)
    return r.operand(x)


# functions that ask of an array for its shape, and for its dtype if none is given
_OF_SHAPE = {np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.shape, np.size, np.ndim}


def _shape_alone(r: Reader, x: Any) -> Any:
    """A list of objects that NumPy takes as they are, as an array of their number; anything else as it is."""
    plain = type(x) in (list, tuple) and len(x) > 0 and all(_is_object(e) for e in x)
    own = ("__len__", "__getitem__", "__array__")
    if plain and not any(python_method(e, name) is not None for e in x for name in own):
        return r.wrap(np.zeros(len(x)))
    return x


def _as_sequence(r: Reader, x: Any, name: str) -> Any:
    """An object that NumPy takes for a sequence (`__len__` and `__getitem__`) as a list. Raises UnsupportedError for other objects,
    of which NumPy makes arrays of objects, and for items that are of one kind on one path and of another kind on the other."""
    if type(x) in (list, tuple):
        for e in x:
            if type(e) is Poison:
                raise e.error(f"an item that np.{name} reads")
        return type(x)(_as_sequence(r, e, name) for e in x) if any(_is_object(e) or type(e) in (list, tuple) for e in x) else x
    if not _is_object(x):
        return x
    if is_sequence(x):
        items = elements(r, x)
        return items if has_run(items) else [_as_sequence(r, e, name) for e in items]
    if hasattr(type(x), "__array__") and not hasattr(type(x), "to_numpy"):
        return r.call(r.getattr(x, "__array__"), [])
    r.captures.hand(f"np.{name}", x)
    raise UnsupportedError(
        f"np.{name} of {describe(x)}, of which NumPy makes an array of objects; give it the numbers and arrays, or the class __array__"
    )


def _is_object(x: Any) -> bool:
    """Is it an object of a class of the user's that is neither called nor an array?"""
    if not is_instance(x) or is_container(x) or hasattr(type(x), "to_numpy") or callable(x) or is_value(x) or is_foreign_array(x):
        return False
    return type(x).__module__.split(".")[0] != "irad" and not isinstance(x, (type, BaseException, np.ndarray, np.dtype))


def _large(operands: list[Any]) -> bool:
    shape = operands[0] if operands else ()
    if isinstance(shape, np.ndarray):
        return shape.size > _LARGE
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    total = 1
    for n in sizes:
        total *= n if isinstance(n, (int, np.integer)) else 1
    return total > _LARGE


def _run(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A NumPy function on static operands, by NumPy itself."""
    module = str(getattr(fn, "__module__", "") or "")
    if getattr(fn, "__name__", "") in ("load", "loadtxt", "genfromtxt", "fromfile", "fromregex") and module.startswith("numpy"):
        raise UnsupportedError(f"np.{fn.__name__} in compiled code would read the file once, at compile time; pass the array in")
    if module.startswith("numpy.random"):
        raise UnsupportedError(f"{module}.{getattr(fn, '__name__', fn)} in compiled code; call it outside and pass the result")
    if module.startswith("scipy.") and _draws(fn, args, kwargs):
        raise UnsupportedError(
            f"{module}.{fn.__name__} draws random numbers, in compiled code once, at compile time; give it a seed (rng=0), or call it "
            "outside and pass the result"
        )
    fn = hashed(_WRITTEN, fn) or fn
    with np.errstate(all="ignore"), calling_back(f"{module}.{getattr(fn, '__name__', fn)}"):
        return fn(*args, **kwargs)


def _draws(fn: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Does a function of SciPy draw from a generator that nobody has seeded? Those of sparse matrices do to begin an iteration only."""
    if fn.__module__.startswith("scipy.sparse") or getattr(fn, "__name__", "__").startswith("__"):
        return False
    try:
        takes = inspect.signature(fn)
        given = takes.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return False
    named = [n for n in ("rng", "random_state", "seed") if n in takes.parameters]
    return bool(named) and all(given.get(n) is None for n in named)


_WRITTEN = {np.empty: np.zeros, np.empty_like: np.zeros_like}  # what memory happens to hold is no part of a program


def _is_numpy(fn: Any) -> bool:
    module = module_of(fn) or getattr(type(fn), "__module__", "")
    if isinstance(getattr(fn, "__self__", None), np.ufunc):  # a method of a ufunc
        return True
    return isinstance(fn, np.ufunc) or str(module).split(".")[0] in ("numpy", "scipy") and not isinstance(fn, type)


def _shown(fn: Any) -> str:
    """A function's name as users write it, as far as it tells."""
    name = getattr(fn, "__name__", str(fn))
    module = str(getattr(fn, "__module__", "numpy") or "numpy")
    if isinstance(fn, np.ufunc) and getattr(np, name, None) is not fn:  # SciPy's say that they are NumPy's
        module = "scipy.special"
    owner = f"{fn.__self__.__name__}." if isinstance(getattr(fn, "__self__", None), np.ufunc) else ""
    return f"{'np' if module.split('.')[0] == 'numpy' else module}.{owner}{name}"


def _unknown(fn: Any) -> UnsupportedError:
    close = nearest(getattr(fn, "__name__", str(fn)))
    hint = f"; near it: {', '.join(close)}" if close else "; docs/numpy.md lists those that are"
    return UnsupportedError(f"{_shown(fn)} of traced arrays is not supported{hint}")
