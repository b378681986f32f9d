"""Objects at the boundary: what never changes, what is followed item by item or attribute by attribute, what is an array of another
library, and what irad cannot look into."""

from __future__ import annotations

import collections
import ctypes
import enum
import functools
import re
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from irad.core.random_streams import is_stream
from irad.errors import IradTypeError

_HEAP_TYPE = 1 << 9  # the flag of classes that are not C's

VALUES: tuple[type, ...] = (
    str, bytes, int, float, complex, type(None), type(Ellipsis), type(NotImplemented), range, slice, enum.Enum, re.Pattern, re.Match,
    np.dtype, np.generic, np.errstate, np.finfo, np.iinfo, types.CodeType, types.GenericAlias, types.UnionType,
)  # fmt: skip
"""Classes whose objects never change."""

# The same of modules that not every program imports.
_MORE_VALUES = {
    ("fractions", "Fraction"), ("decimal", "Decimal"), ("_pydecimal", "Decimal"), ("pathlib", "PurePath"), ("uuid", "UUID"),
    ("pathlib._local", "PurePath"), ("typing", "_Final"), *(("datetime", name) for name in ("date", "time", "timedelta", "tzinfo")),
}  # fmt: skip


def is_value(x: Any) -> bool:
    """Can an object never change?"""
    return isinstance(x, VALUES) or any((k.__module__, k.__name__) in _MORE_VALUES for k in type(x).__mro__)


CACHE = type(functools.lru_cache(lambda: None))
"""What functools.cache and lru_cache make of a function."""

CODE: tuple[type, ...] = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType,
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, property, staticmethod, classmethod, functools.partial, np.ufunc, np.vectorize,
    type(np.r_), type(np.c_), type(np.s_), type(np.mgrid), type(np.ogrid),
)  # fmt: skip
"""Classes whose objects are code: which one it is, is what counts."""


_NOTHING = object()
_VERSION_TAG = 384  # where CPython keeps in a class a number that is another one after each change of it or of a base; 0: none
_DICT_VERSION = 24  # the same in a dict
_asked = threading.local()


def is_in_class(cls: type, name: str) -> bool:
    """Has a class or one of its bases something under a name? It may be None."""
    return _in_class(cls, name) is not _NOTHING


def found_in_class(cls: type, name: str) -> Any:
    """What a class or one of its bases has under a name, as it is; None if nothing."""
    found = _in_class(cls, name)
    return None if found is _NOTHING else found


def of_class(cls: type, name: str, default: Any = None) -> Any:
    """getattr(cls, name, default), of which a program relies on what it has found."""
    _in_class(cls, name)
    return getattr(cls, name, default)


def _in_class(cls: type, name: str) -> Any:
    found = next((vars(k)[name] for k in cls.__mro__ if name in vars(k)), _NOTHING)
    classes = getattr(_asked, "classes", None)
    if classes is not None and cls.__flags__ & _HEAP_TYPE and not is_library(cls.__module__):
        classes.setdefault(cls, {})[name] = _manner(found)
    return found


def _manner(found: Any) -> Any:
    """What of a thing that a class has decides how an attribute is found: nothing of data; of a function its code."""
    if isinstance(found, types.FunctionType):
        return found.__code__
    return found if found is _NOTHING or hasattr(type(found), "__get__") else None


@contextmanager
def asked_of_classes() -> Iterator[dict[type, dict[str, Any]]]:
    """While a function is read: what of the user's classes is asked for, by names, and what was found."""
    before, _asked.classes = getattr(_asked, "classes", None), {}
    try:
        yield _asked.classes
    finally:
        _asked.classes = before


class State:
    """What a program has found in a class of the user's, or in a module of a library. `tag`: the number of a state in which that is so; 0:
    none is known."""

    __slots__ = ("found", "owner", "tag")

    def __init__(self, owner: type | types.ModuleType, found: Mapping[str, Any]):
        self.owner, self.found, self.tag = owner, found, 0

    def holds(self) -> bool:
        """Is it so now? Asking runs no code of the user's."""
        if self.tag and version_tag(self.owner, False) == self.tag:
            return True
        tag = version_tag(self.owner, True)
        held = all(self._at(name) is found for name, found in self.found.items())
        self.tag = tag if held else 0
        return held

    def _at(self, name: str) -> Any:
        owner = self.owner
        return _manner(_in_class(owner, name)) if isinstance(owner, type) else vars(owner).get(name, _NOTHING)


def counter(owner: type | types.ModuleType) -> tuple[int, int]:
    """The address of the word in which CPython keeps the number of the state of a class or module, and which of its bits count."""
    if isinstance(owner, type):
        return id(owner) + _VERSION_TAG, 0xFFFFFFFF
    return id(vars(owner)) + _DICT_VERSION, -1


def version_tag(owner: type | types.ModuleType, wanted: bool) -> int:
    """The number of the state of a class or module; 0 if it has none. `wanted`: it is to get one if it can."""
    if wanted:
        if not _tags_known(isinstance(owner, type)):
            return 0
        if isinstance(owner, type):
            _lookup()(owner, "__module__")
    at, bits = counter(owner)
    return ctypes.c_int64.from_address(at).value & bits


@functools.cache
def _lookup() -> Any:
    """How Python looks for a name in a class, which gives the class a tag."""
    find = ctypes.pythonapi._PyType_Lookup
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.py_object]
    return find


@functools.cache
def _tags_known(of_classes: bool) -> bool:
    """Do classes, or modules, have tags where they are looked for?"""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    base = type("Base", (), {})
    cls, module, met = type("Probe", (base,), {}), types.ModuleType("probe"), []
    for k in range(3):
        _lookup()(cls, "__module__")
        met.append(version_tag(cls if of_classes else module, False))
        (base if k else cls).name = module.name = k  # type: ignore[attr-defined]
        met.append(version_tag(cls if of_classes else module, False))
    if of_classes:
        return met[1::2] == [0, 0, 0] and 0 not in met[::2] and len(set(met)) == 4
    return met[1:4:2] == met[2::2] and 0 not in met and len(set(met)) == 4


def is_foreign_array(x: Any) -> bool:
    """Is it another library's array (Torch on the CPU, JAX, ...) whose memory NumPy can look at?"""
    cls = type(x)
    if isinstance(x, (np.ndarray, np.generic, type, types.GenericAlias)) or cls.__module__ == "builtins":
        return False
    return hasattr(cls, "__dlpack__") or _has_interface(x)


def _has_interface(x: Any) -> bool:
    """Asked of the class, or of the object's own attributes: a `__getattr__` may answer to every name."""
    return hasattr(type(x), "__array_interface__") or "__array_interface__" in own_dict(x)


def is_sparse(x: Any) -> bool:
    """Is it a sparse matrix of SciPy's?"""
    return type(x).__module__.startswith("scipy.sparse.") and hasattr(x, "tocoo") and getattr(x, "ndim", 0) == 2


def as_array(x: Any) -> np.ndarray:
    """Another library's array as NumPy's, in the same memory. Raises IradTypeError where its memory cannot be looked at."""
    try:
        out = np.asarray(x) if _has_interface(x) else np.from_dlpack(x)
    except Exception as e:
        raise IradTypeError(
            f"{with_article(type(x).__name__)} is not an array in memory that NumPy can look at ({e}); {advice(x)}"
        ) from None
    if not isinstance(out, np.ndarray):
        raise IradTypeError(f"{with_article(type(x).__name__)} is not an array in memory that NumPy can look at; {advice(x)}")
    return out


def advice(x: Any) -> str:
    """What to write instead of a thing that irad cannot read."""
    root = type(x).__module__.split(".")[0]
    if isinstance(x, np.ndarray):
        return "pass np.asarray(x)"
    if hasattr(x, "to_numpy"):
        return "pass x.to_numpy()"
    if root == "torch":
        return "pass x.detach().cpu(), or call irad.to_torch(f), which autograd knows"
    if root in ("jax", "jaxlib", "tensorflow"):
        return "pass np.asarray(x), of x on the CPU and detached"
    if hasattr(x, "indptr") and hasattr(x, "data"):
        return "pass its arrays (x.data, x.indices, x.indptr), or x.toarray()"
    if hasattr(x, "__array__") or isinstance(x, (bytearray, memoryview)) or type(x).__module__ == "array":
        return "pass np.asarray(x)"
    return "pass numbers or arrays" if isinstance(x, (str, bytes)) or x is None else "pass the numbers and arrays in it"


def module_of(fn: Any) -> str:
    """The module in which a function is defined: functools.wraps gives a function the name of that which it wraps."""
    if isinstance(fn, types.FunctionType):
        return str(fn.__globals__.get("__name__", ""))
    return str(getattr(fn, "__module__", "") or "")


def is_library(module: str | None) -> bool:
    """Does a module belong to NumPy, SciPy, the standard library or irad, whose code is run and whose constants do not change?"""
    root = str(module).split(".")[0]
    return root in ("numpy", "scipy", "irad") or (root in sys.stdlib_module_names and root != "__main__")


def is_written(cls: type) -> bool:
    """Is it a class of irad's own library that is read, like those of the program?"""
    return cls.__module__.startswith("irad.frontend.library.")


def is_mapped(x: Any) -> bool:
    """Does an object of irad's library stand for a dict, set or list (`MAPPED` of its class)?"""
    return is_written(type(x)) and hasattr(type(x), "MAPPED")


def with_article(name: str) -> str:
    """The name of a class after "a" or "an"."""
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def describe_class(cls: Any) -> str:
    """A short name of the objects of a class, for error messages."""
    if not is_written(cls) or not hasattr(cls, "MAPPED"):
        return with_article(cls.__name__)
    return f"a {cls.MAPPED.__name__} whose {'elements' if cls.MAPPED in (list, set) else 'keys'} depend on data"


def is_read(cls: type) -> bool:
    """Are the methods of a class read, and not run?"""
    return not is_library(cls.__module__) or is_written(cls)


WRAPPERS = (collections.UserDict, collections.UserList, collections.UserString, collections.ChainMap)


def is_container(obj: Any) -> bool:
    """A container that is followed item by item."""
    cls = type(obj)
    if cls in (list, tuple, dict, set, frozenset, collections.deque, *WRAPPERS):
        return True
    if isinstance(obj, tuple) and hasattr(cls, "_fields"):
        return True
    items = isinstance(obj, (list, tuple, dict, set, frozenset))
    plain = not is_library(cls.__module__) or cls.__module__ == "collections"
    return items and plain and not any("__new__" in vars(k) for k in cls.__mro__ if not is_library(k.__module__))


def is_instance(obj: Any) -> bool:
    """An object that counts by the attributes that are read of it: of a class written in Python that is no library's."""
    cls = type(obj)
    if cls is types.SimpleNamespace or cls.__module__.split(".")[0] == "irad":
        return True
    return bool(cls.__flags__ & _HEAP_TYPE) and not is_library(cls.__module__)


def is_followed(obj: Any) -> bool:
    """Is an object read live: do its class and what is read of it count, and not which object it is?"""
    if is_value(obj) or isinstance(obj, CODE) or type(obj).__module__.split(".")[0] == "irad":
        return False
    if is_instance(obj) and not is_container(obj) and type(obj).__eq__ not in (object.__eq__, types.SimpleNamespace.__eq__):
        return False
    return is_container(obj) or is_instance(obj) or is_foreign_array(obj) or is_stream(obj)


def fill(new: Any, items: Iterable[tuple[Any, Any]]) -> Any:
    """Put items into a dict, whatever its class makes of `update`."""
    store: Any = collections.OrderedDict.__setitem__ if isinstance(new, collections.OrderedDict) else dict.__setitem__
    for k, v in items:
        store(new, k, v)
    return new


def copied_tuple(x: Any) -> Any:
    """A copy of a tuple of any class, with its attributes, whatever the class makes of `__new__`."""
    new = tuple.__new__(type(x), tuple.__iter__(x))
    for name, value in own_dict(x).items():
        object.__setattr__(new, name, value)
    return new


def own_names(x: Any) -> tuple[str, ...]:
    """Names of an object's own attributes, those of its slots among them."""
    return tuple(own_attributes(x))


def own_attributes(x: Any) -> dict[str, Any]:
    """An object's own attributes, those of its slots among them, as they are: no code of the user's is run."""
    found: dict[str, Any] = {}
    for k in type(x).__mro__ if hasattr(type(x), "__slots__") else ():
        own = vars(k)
        for name in own if "__slots__" in own else ():
            if isinstance(own[name], types.MemberDescriptorType):
                try:
                    found[name] = own[name].__get__(x, k)
                except AttributeError:
                    pass
    return found | own_dict(x)


def has(x: Any, name: str) -> bool:
    """Has something an attribute, without code of the user's that would give it?"""
    if not is_instance(x):
        return hasattr(x, name)
    if isinstance(x, type):
        return is_in_class(x, name) or is_in_class(type(x), name)
    found = found_in_class(type(x), name)
    return name in own_attributes(x) or (is_in_class(type(x), name) and not isinstance(found, types.MemberDescriptorType))


def own_dict(x: Any) -> dict[str, Any]:
    """The `__dict__` of an object; an empty one if it has none."""
    try:
        own = object.__getattribute__(x, "__dict__")
    except Exception:
        own = None
    if type(own) is dict:
        return own
    return _behind_property(x) if type(x).__dictoffset__ else {}


def _behind_property(x: Any) -> dict[str, Any]:
    """The attributes of an object whose class has a `__dict__` of its own, which hides them."""
    get = ctypes.pythonapi.PyObject_GenericGetDict
    get.argtypes, get.restype = (ctypes.py_object, ctypes.c_void_p), ctypes.py_object
    found: dict[str, Any] = get(x, None)
    return found


def base_method(x: Any, name: str) -> Any:
    """A method of a container as C code has it, bound to it, whatever the class of the user makes of it."""
    for k in type(x).__mro__:
        found = vars(k).get(name)
        if isinstance(found, _IN_C):
            return found.__get__(x, type(x))
    return getattr(x, name)


_IN_C = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)


def base_items(x: Any) -> Iterable[Any]:
    """What a container holds, whatever `__iter__` its class has."""
    return x if type(x) in _PLAIN else list(base_method(x, "__iter__")())


_PLAIN = (list, tuple, dict, set, frozenset, collections.deque)


def held(x: Any) -> Iterable[Any]:
    """What a list, tuple, dict or slice holds; nothing of what is none."""
    if isinstance(x, (list, tuple)):
        return base_items(x)
    return dict.values(x) if isinstance(x, dict) else (x.start, x.stop, x.step) if isinstance(x, slice) else ()


def with_each(f: Callable[[Any], Any], x: Any) -> Any:
    """A list, tuple, dict or slice with f of each thing in it; x itself where it is none."""
    if isinstance(x, tuple) and hasattr(x, "_make"):
        return x._make(map(f, x))
    if type(x) is dict:
        return {k: f(v) for k, v in x.items()}
    return type(x)(map(f, x)) if type(x) in (list, tuple) else slice(*map(f, held(x))) if isinstance(x, slice) else x
