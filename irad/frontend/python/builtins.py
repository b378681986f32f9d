"""Python's builtins (and parts of functools and itertools) on sequences and objects."""

from __future__ import annotations

import collections
import functools
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.array_classes import ArrayOfClass, array_in, class_behind, is_own
from irad.core.foreign import is_library, is_mapped, is_read, is_written, module_of
from irad.core.once import COMPILER, import_later
from irad.core.structured import Bytes, Structured
from irad.errors import PythonTypeError, UnsupportedError
from irad.frontend.control.generators import listed, made, opened, uncounted, until
from irad.frontend.control.sequences import (
    Generator,
    Seq,
    Stream,
    collected,
    enumerate_,
    enumerated,
    iterate,
    iterator,
    map_,
    next_,
    positions_of,
    reversed_,
    traced_range,
    used_up,
    zip_,
)
from irad.frontend.control.special import class_name, full_name, key, rely_on, rely_on_bases, special_method, with_keys
from irad.frontend.control.stands import Stands
from irad.frontend.python.itertools import filter_
from irad.frontend.python.numbers import BUILTINS, builtin
from irad.frontend.python.text_pieces import together
from irad.frontend.python.texts import needs_reading, shown, static_text, template_of
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, from_dim
from irad.frontend.values.choices import on_paths
from irad.frontend.values.objects import Array, Closure, Method, Text, class_of_number, python_method
from irad.frontend.values.runs import RunTuple, has_run, length_of
from irad.ops.control import print_, raise_if

# ---- sequences ------------------------------------------------------------------------------------------------------------

BUILTINS.update(
    (fn, lambda r, *args, _made=made, **kwargs: iterator(r, _made(r, *args, **kwargs)))
    for fn, made in {
        enumerate: enumerate_,
        zip: zip_,
        reversed: reversed_,
        map: map_,
        filter: filter_,
        np.ndindex: positions_of,
        np.ndenumerate: enumerated,
    }.items()
)
BUILTINS[next] = next_


@builtin(range)
def range_(r: Reader, *args: Any) -> Any:
    args = tuple(_index(r, a) for a in args)
    return traced_range(r, args) if any(isinstance(a, Arr) for a in args) else range(*args)


def _index(r: Reader, a: Any) -> Any:
    if isinstance(a, Array):
        content = r.operand(a)
        return Arr(content.value) if isinstance(content, Arr) else content.item()
    if isinstance(a, Arr) and a.name[0] not in "iu":
        raise PythonTypeError(f"'{'float' if a.name[0] == 'f' else a.name}' object cannot be interpreted as an integer")
    return a


def _own_length(r: Reader, n: Any) -> Any:
    """What `__len__` of the user's gives, as len() takes it."""
    if isinstance(n, Arr) and n.name[0] not in "biu" or not isinstance(n, Arr) and not hasattr(type(n), "__index__"):
        raise TypeError(f"'{full_name(n)}' object cannot be interpreted as an integer")
    n = r.call(int, [n])
    negative = r.truth(r.operator("lt", n, 0))
    if isinstance(negative, Arr):
        raise_if(negative.value, exc="ValueError", message="__len__() should return >= 0")
    elif negative:
        raise ValueError("__len__() should return >= 0")
    return n


@builtin(len)
def len_(r: Reader, obj: Any) -> Any:
    if isinstance(obj, Structured) and obj.layout.scalar:
        return len(obj.children)
    if isinstance(obj, (Array, Structured, Bytes)):
        if not obj.shape:
            raise TypeError("len() of unsized object")
        return from_dim(obj.shape[0])
    if isinstance(obj, Seq):
        if obj.state is not None:
            raise TypeError(f"object of type '{class_name(obj)}' has no len()")
        return obj.length
    if isinstance(obj, Stands):
        return obj.length(r)
    if isinstance(obj, Text):
        return r.chosen_items().of_choice(r, obj, len)
    if has_run(obj):
        return from_dim(length_of(obj))
    if isinstance(obj, Arr):
        raise TypeError(f"object of type '{'float' if obj.name == 'f64' else 'int'}' has no len()")
    if isinstance(obj, ArrayOfClass) and is_own(python_method(obj, "__len__")):
        return r.call(len, [array_in(obj)])
    method = special_method(r, obj, "__len__")
    if method is not None and is_read(type(obj)):
        return _own_length(r, r.call(method, []))
    if r.captures.opaque(obj):
        r.captures.hand("len()", obj)
    return len(obj)


@builtin(list)
def list_(r: Reader, obj: Any = ()) -> Any:
    if has_run(obj):
        return r.state.made(list(obj))
    if is_written(type(obj)) and hasattr(type(obj), "listed"):
        return r.call(r.getattr(obj, "listed"), [])
    obj = opened(r, obj)
    stream = uncounted(r, obj)
    if stream is None:
        return r.state.made(_all(r, obj))
    return made(r, listed, obj) if isinstance(obj, Seq) else collected(r, stream)


def _all(r: Reader, obj: Any) -> list[Any]:
    """The elements of an iterable, of which none are left if it is an iterator."""
    out = r.items(obj)
    used_up(r, obj)
    return out


def _any_number(r: Reader, obj: Any) -> list[Any]:
    """The elements of an iterable, of which data may decide how many there are."""
    stream = uncounted(r, opened(r, obj))
    return _all(r, obj) if stream is None else collected(r, stream)  # type: ignore[no-any-return]


@builtin(tuple)
def tuple_(r: Reader, obj: Any = ()) -> Any:
    if (
        has_run(obj)
        or (is_written(type(obj)) and hasattr(type(obj), "listed"))
        or uncounted(r, obj := opened(r, obj)) is not None
    ):
        items = list_(r, obj)
        if not has_run(items):
            return tuple(r.items(items))
        out = r.state.made(RunTuple(items))
        r.state.lock(out)
        return out
    return tuple(_all(r, obj))


@builtin(dict)
def dict_(r: Reader, obj: Any = (), /, **kwargs: Any) -> Any:
    obj = obj.whole(r) if isinstance(obj, Stands) else obj
    if isinstance(obj, dict):
        return r.state.made(dict(obj) | kwargs)
    if is_mapped(obj) and issubclass(type(obj).MAPPED, dict):
        out = r.call(r.getattr(obj, "as_dict"), [])
        r.call(r.getattr(out, "update"), [kwargs]) if kwargs else None
        return out
    stream = uncounted(r, opened(r, obj))
    out = with_keys(r, dict, collected(r, stream) if stream is not None else [r.items(pair) for pair in r.items(obj)])
    out.update(kwargs) if isinstance(out, dict) else r.call(r.getattr(out, "update"), [kwargs])
    return out


@builtin(set)
def set_(r: Reader, obj: Any = ()) -> Any:
    items = _any_number(r, obj)
    return r.state.made(set(obj)) if _is_table(obj, items) else with_keys(r, set, items)


@builtin(collections.Counter)
def counter_(r: Reader, obj: Any = (), /, **kwargs: Any) -> Any:
    counts = isinstance(obj, dict) or (is_mapped(obj) and issubclass(type(obj).MAPPED, dict))
    out = with_keys(r, collections.Counter, obj if counts else _any_number(r, obj))
    r.call(r.getattr(out, "update"), [kwargs]) if kwargs else None
    return out


@builtin(frozenset)
def frozenset_(r: Reader, obj: Any = ()) -> Any:
    items = _elements(r, obj)
    return frozenset(obj if _is_table(obj, items) else items)


def _is_table(obj: Any, items: list[Any]) -> bool:
    """Are these the elements of a set or dict? Of one that is made of another the order depends on more than on the order there."""
    return type(obj) in (set, frozenset, dict) and [*obj] == items


def _elements(r: Reader, obj: Any) -> list[Any]:
    items = r.items(obj)
    return [key(r, r.operand(x), "an element of a set") for x in items]


@builtin(iter)
def iter_(r: Reader, obj: Any, *sentinel: Any) -> Any:
    if sentinel:
        return made(r, until, obj, *sentinel)
    obj = opened(r, obj)
    return (
        obj
        if isinstance(obj, (Generator, Stream)) or (isinstance(obj, Seq) and obj.state is not None)
        else iterator(r, iterate(r, obj))
    )


@builtin(sorted)
def sorted_(r: Reader, obj: Any, *, key: Any = None, reverse: Any = False) -> Any:
    with COMPILER:
        from irad.frontend.python.sorted import ordered  # few programs need it, and it is built on this module
    return ordered(r, obj, key, reverse)


@builtin(functools.reduce)
def reduce_(r: Reader, func: Any, obj: Any, *initial: Any) -> Any:
    items = [*initial, *r.items(obj)]
    if not items:
        raise TypeError("reduce() of empty iterable with no initial value")
    total = items[0]
    for x in items[1:]:
        total = r.call(func, [total, x])
    return total


# ---- questions about objects ------------------------------------------------------------------------------------------------------------


def class_of(x: Any) -> type:
    """The class that Python would see."""
    if isinstance(x, Array):
        return np.ndarray
    if isinstance(x, Structured):
        return x.layout.cls
    if isinstance(x, Bytes):
        return x.dtype.type if x.scalar else np.ndarray
    if isinstance(x, Arr):
        return class_of_number(x)
    if isinstance(x, Text):
        return str
    if isinstance(x, Closure):
        return types.FunctionType
    if isinstance(x, Stands):
        return x.cls
    if isinstance(x, ArrayOfClass):
        return class_behind(x)
    if isinstance(x, RunTuple):
        return tuple
    return types.BuiltinMethodType if isinstance(x, Method) else type(x)


def _possible_classes(x: Any) -> set[type]:
    """The classes that Python may see: more than one of a number that differs from path to path."""
    seen = class_of_number(x)
    if not isinstance(x, Arr) or not x.mixed:
        return {seen}
    if x.weak:
        return {seen, bool}
    return {seen, {"f": float, "c": complex, "b": bool}.get(x.name[0], int)}


_STANDS = "the class of an object of a library that compiled code makes for itself is asked for; keep a flag that says what it is"


@builtin(isinstance)
def isinstance_(r: Reader, obj: Any, cls: Any) -> Any:
    if (shown := _shown_class(obj)) is not None:
        return issubclass(shown, cls) or isinstance(obj, cls)
    if not isinstance(obj, (Array, Arr, Text, Closure, Method, Structured, Bytes, Stands, ArrayOfClass, RunTuple)):
        rely_on_bases(r, type(obj))
        if is_written(type(obj)) and not isinstance(obj, cls) and any(map(_may_be_of, cls if isinstance(cls, tuple) else (cls,))):
            raise UnsupportedError(_STANDS)
        return isinstance(obj, cls)
    if isinstance(obj, Arr) and obj.by is not None:
        a, b = (issubclass(class_of(x), cls) for x in on_paths(obj))
        return a if a == b else Arr(obj.by[0] if a else ~obj.by[0], True)
    if isinstance(obj, Arr) and obj.mixed:
        answers = {issubclass(c, cls) for c in _possible_classes(obj)}
        if len(answers) > 1:
            raise UnsupportedError(
                "isinstance() of a number that is of one class on one path and of another class on the other; name both classes, "
                "or make it float(...) on both"
            )
    return issubclass(class_of(obj), cls)


@builtin(issubclass)
def issubclass_(r: Reader, cls: Any, bases: Any) -> bool:
    rely_on_bases(r, cls)
    return issubclass(cls, bases)


@builtin(type)
def type_(r: Reader, *args: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], Arr) and (args[0].mixed or args[0].by is not None):
        raise UnsupportedError(
            "type() of a number that is of one class on one path and of another class on the other; make it float(...) on both"
        )
    if len(args) != 1:
        return type(*args)
    shown = _shown_class(args[0])
    if shown is None and is_written(type(args[0])) and not is_library(module_of(r.frame.globals_of)):
        raise UnsupportedError(_STANDS)
    return shown or class_of(args[0])


def _may_be_of(cls: Any) -> bool:
    """May what stands for an object of a library be of a class, for all that is known of it?"""
    module = str(getattr(cls, "__module__", ""))
    return is_library(module) and module.split(".")[0] not in ("builtins", "numpy", "collections", "numbers", "irad")


def _shown_class(obj: Any) -> type | None:
    """The class that the program sees of an object of irad's library that stands for one of another library."""
    if not is_written(type(obj)):
        return None
    shown = getattr(type(obj), "shown_class", None)
    return shown(obj) if shown is not None else getattr(type(obj), "MAPPED", None)


@builtin(callable)
def callable_(r: Reader, obj: Any) -> bool:
    return not isinstance(obj, (Array, Arr, Text)) and callable(obj)


@builtin(hash)
def hash_(r: Reader, obj: Any) -> Any:
    """hash(obj) of a number or a tuple of numbers, or of what is known at compile time: a text, tuple, or an object."""
    if isinstance(obj, (Arr, Array, Structured, Bytes)) and not isinstance(obj, Arr):
        raise TypeError("unhashable type: 'numpy.ndarray'")
    method = python_method(obj, "__hash__")
    if method is not None and not is_library(method.__module__) and method.__code__.co_filename != "<string>":
        rely_on(r, type(obj), "__hash__")
        return r.call(method, [obj])
    if isinstance(obj, (Arr, tuple)) and (numbers := import_later("irad.frontend.reading.keyed")).hashed_(r, obj):
        return numbers.hash_of_(r, obj)
    return hash(key(r, obj, "what hash() is given"))


@builtin(id)
def id_(r: Reader, obj: Any) -> int:
    raise UnsupportedError("id() in compiled code; compare with 'is'")


@builtin(str)
def str_(r: Reader, obj: Any = "") -> Any:
    return shown(r, obj) if needs_reading(obj) else static_text(r, obj)


@builtin(repr)
def repr_(r: Reader, obj: Any) -> Any:
    return shown(r, obj, "r") if needs_reading(obj) else static_text(r, obj, "__repr__")


@builtin(format)
def format_(r: Reader, value: Any, spec: str = "") -> Any:
    return shown(r, value, "", spec)


@builtin(print)
def print__(r: Reader, *args: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: bool = False) -> None:
    """print at run time, at each call."""
    if file is sys.stderr and file is not None:
        r.call(r.getattr(file, "write"), [together([printed(r, args, sep), "\n" if end is None else end])])
        return
    if file is not None and file is not sys.stdout:
        raise UnsupportedError("print(file=...) in compiled code: print to standard output or sys.stderr")
    text = template_of(together([printed(r, args, sep), "\n" if end is None else end]))
    print_(*(o.value for o in text.operands), text=text.template)


def printed(r: Reader, args: Sequence[Any], sep: Any = " ") -> Text | str:
    """What print shows of its arguments."""
    gap = " " if sep is None else sep
    return together([t for k, a in enumerate(args) for t in (([gap] if k else []) + [str_(r, a)])])


@builtin(np.nditer)
def nditer_(r: Reader, *args: Any, **kwargs: Any) -> Any:
    return import_later("irad.frontend.reading.nditer").nditer(r, *args, **kwargs)


@builtin(np.frompyfunc)
def frompyfunc_(r: Reader, func: Any, /, nin: int, nout: int, **kwargs: Any) -> Any:
    """A function on each element; its results are numbers, not Python objects."""
    return np.vectorize(func)


@builtin(np.seterr)
def seterr_(r: Reader, **kwargs: Any) -> Any:
    """What was set before, as it is when the function is read; compiled code looks at none of it."""
    errstate_(r, **kwargs)
    return r.state.made(dict(np.geterr()))


@builtin(np.errstate)
def errstate_(r: Reader, *args: Any, **kwargs: Any) -> np.errstate:
    """Compiled code warns of nothing, which is what "ignore" says."""
    return unwatched(np.errstate(*args, **kwargs))


def unwatched(state: np.errstate) -> np.errstate:
    """The same, which asks for no exceptions and calls: compiled code makes none of them."""
    for k in ("all", "divide", "over", "under", "invalid"):
        v = getattr(state, f"_{k}", None) or getattr(state, "kwargs", {}).get(k)  # the latter in NumPy 1
        if v in ("raise", "call"):
            raise UnsupportedError(
                f"np.errstate({k}={v!r}): compiled code tells of no floating-point errors; test the numbers: "
                "if not np.all(np.isfinite(x)): raise FloatingPointError(...)"
            )
    return state


@builtin(globals)
def globals_(r: Reader) -> Any:
    return import_later("irad.frontend.reading.scopes").Globals(r.frame.globals_of)


@builtin(vars)
def vars_(r: Reader, *args: Any) -> Any:
    if len(args) != 1 or isinstance(args[0], types.ModuleType):
        introspection(r)
    return r.getattr(args[0], "__dict__")


builtin(eval)(lambda r, *args: import_later("irad.frontend.reading.scopes").evaluated(r, *args))


@builtin(locals, exec, compile)
def introspection(r: Reader, *args: Any, **kwargs: Any) -> Any:
    raise UnsupportedError(
        "locals(), vars() of all variables, exec and eval are not supported in compiled code: write what they would run or give"
    )
