"""Calls of what is implemented in C or belongs to a library: run by Python if everything is static."""

from __future__ import annotations

import collections
import itertools
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from irad.core.array_classes import ArrayOfClass
from irad.core.foreign import CACHE, base_items, is_instance, is_library
from irad.core.once import import_later as imported
from irad.core.random_streams import is_stream
from irad.errors import UnsupportedError
from irad.frontend.control.holders import known_apart
from irad.frontend.control.sequences import Seq, iterator
from irad.frontend.python.text_pieces import METHODS as TEXT_METHODS
from irad.frontend.python.texts import needs_reading
from irad.frontend.reader import Reader
from irad.frontend.reading.host_calls import host_call
from irad.frontend.reading.methods import call_method
from irad.frontend.reading.packages import calling_back
from irad.frontend.reading.watched import Watched
from irad.frontend.reading.written import in_library
from irad.frontend.values.callables import Callback
from irad.frontend.values.objects import UNDEFINED, Array, Method, Poison, Text, is_traced_deep

_LONGEST = 1_000_000
_OWN = (list, dict, set, collections.deque, collections.OrderedDict)

# modules whose functions give another result each time
_IMPURE = {
    "random", "time", "secrets", "uuid", "_random", "os", "posix", "nt", "io", "_io", "glob", "shutil", "tempfile", "subprocess",
    "socket", "_socket", "urllib", "http", "platform", "getpass", "locale", "threading", "_thread", "multiprocessing", "logging",
    "contextvars", "gc", "inspect",
}  # fmt: skip
# and such functions of others
_NOW = {"now", "today", "utcnow", "cwd", "home", "exists", "is_file", "is_dir", "read_text", "read_bytes", "stat", "iterdir", "glob", "rglob",
        "resolve", "expanduser", "touch", "mkdir", "unlink", "write_text", "write_bytes", "open"}  # fmt: skip
_NOW_MODULES = {"datetime", "_datetime", "pathlib", "posixpath", "ntpath", "genericpath"}
_FILES = {
    "load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "open_memmap", "save", "savetxt", "savez", "seterr",
    "geterr",
}  # fmt: skip


def call_builtin(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function implemented in C."""
    owner = getattr(fn, "__self__", None)
    if is_stream(owner):
        return r.call(r.getattr(r.captures.take(owner, r.captures.origin(owner)), fn.__name__), args, kwargs)
    if isinstance(owner, CACHE) and fn.__name__ == "cache_clear":  # compiled code keeps nothing in it, but others may
        return _cleared(owner)
    if isinstance(owner, _OWN) and not isinstance(owner, type):
        return call_method(r, Method(owner, fn.__name__), args, kwargs)
    if (isinstance(owner, tuple) and (is_instance(owner) or fn.__name__ in ("index", "count"))) or _is_tuples(fn, args):
        return _of_tuple(r, fn, owner, args, kwargs)
    if getattr(fn, "__objclass__", None) in _OWN and args and isinstance(args[0], _OWN):
        return call_method(r, Method(args[0], fn.__name__), args[1:], kwargs)  # list.append(xs, x)
    if getattr(fn, "__objclass__", None) is np.ndarray and args and isinstance(args[0], Array):
        return r.call(r.getattr(args[0], fn.__name__), args[1:], kwargs)  # np.ndarray.sum(x)
    if getattr(fn, "__objclass__", None) is np.ndarray and args and isinstance(args[0], ArrayOfClass):
        return imported("irad.frontend.reading.array_classes").unbound(r, fn, args, kwargs)
    if isinstance(owner, str) and fn.__name__ in TEXT_METHODS and (fn.__name__ == "join" or needs_reading([args, kwargs])):
        return imported("irad.frontend.python.text_formats").TEXT_METHODS[fn.__name__](r, owner, args, kwargs)
    if is_traced_deep(args) or is_traced_deep(kwargs):
        _known_text([*args, *kwargs.values()])
        if isinstance(owner, np.ndarray):  # a method bound to an array from outside
            path = r.captures.path(fn)
            array = r.wrap(owner) if path is None else r.captures.take(owner, path.child("self"))
            return r.call(r.getattr(array, fn.__name__), args, kwargs)
        return r.without_source(fn, args, kwargs, "it is implemented in C")
    return run_native(r, fn, args, kwargs)


def _cleared(cache: Any) -> None:
    """cache_clear() of what functools.lru_cache made, at each call."""

    def run() -> list[Any]:
        cache.cache_clear()
        return []

    host_call(("cache_clear", cache), run, (), ())


def _is_tuples(fn: Any, args: list[Any]) -> bool:
    return getattr(fn, "__objclass__", None) is tuple and bool(args) and isinstance(args[0], tuple)


def _of_tuple(r: Reader, fn: Any, owner: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A method of tuples, called by that of a class made of them (super().__getitem__(k), tuple.__getitem__(self, k))."""
    owner, args = (args[0], args[1:]) if owner is None else (owner, args)
    return call_method(r, Method(owner, fn.__name__), args, kwargs)


def _known_text(xs: Iterable[Any]) -> None:
    """What is implemented in C and is given text wants its characters."""
    for x in xs:
        if isinstance(x, Text):
            raise x.unknown()
        if isinstance(x, (list, tuple)):
            _known_text(x)


def run_native(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Let Python run something static."""
    module = str(getattr(fn, "__module__", "") or "")
    root = module.split(".")[0]
    owner = getattr(fn, "__self__", None)
    if _differs(fn, module, owner):
        shown = f"{module.lstrip('_')}{'.' * bool(module)}{getattr(fn, '__qualname__', fn)}"
        words = f"{shown} gives another result at each call, but here it would run once, at compile time; "
        words += "call it outside and pass the result as an argument"
        if shown.startswith(_TIMES_OF_DAY):  # it may be kept, and not be used
            return Poison(words)
        raise UnsupportedError(words)
    if type(owner).__name__ == "SeedSequence" and (
        r.captures.path(owner) is not None or r.conditional or any(f.loops for f in r.frames)
    ):
        raise UnsupportedError(
            "SeedSequence.spawn in a loop or branch, or of a SeedSequence from outside; spawn all at once, or outside"
        )
    if fn is open or fn is input:
        raise UnsupportedError(f"{fn.__name__}() in compiled code: read the data outside and pass it as an argument")
    if fn is breakpoint:
        raise UnsupportedError(
            "breakpoint() in compiled code: debug the plain function, c.__wrapped__(x); print works in compiled code"
        )
    if root == "irad":  # our own, which know what they are given
        return fn(*args, **kwargs)
    found = _asked(r, fn, [*([] if owner is None else [owner]), *args], kwargs)
    if found is not UNDEFINED:
        return found
    if not in_library(r.frame.globals_of):  # whose functions hand on what they do not look into
        given = [*([] if owner is None else [owner]), *args, *kwargs.values()]
        r.captures.hand(_name_of(fn), *given)
        if objs := list(_objects(given)):
            imported("irad.frontend.reading.unread").rely_on_methods(r.captures, r.closures, _name_of(fn), objs)
    for x in (owner, *args):
        if isinstance(x, (tuple, frozenset, *_OWN)):
            for y in args:
                known_apart(r, y, x)
    with (
        Watched(r, _name_of(fn), [owner, *args, *kwargs.values()]) as watched,
        np.errstate(all="ignore"),
        calling_back(_name_of(fn)),
    ):
        operands = [_callback(r, watched.lend(a)) for a in args]
        out = fn(*operands, **{k: _callback(r, watched.lend(v)) for k, v in kwargs.items()})
        made_now = isinstance(out, Iterator) and type(out).__module__ in ("builtins", "itertools")
        return _iterated(r, out, watched) if made_now else watched.back(out)


def _objects(given: Iterable[Any]) -> Iterator[Any]:
    """The objects of the program in what a function is given."""
    for x in given:
        if isinstance(x, (list, tuple, set, frozenset, collections.deque, dict)):
            yield from _objects([*base_items(x), *(dict.values(x) if isinstance(x, dict) else ())])
        if is_instance(x) and not isinstance(x, type):
            yield x


_ASKED = {"get", "getint", "getfloat", "getboolean", "has_option", "has_section", "sections", "options"}


def _asked(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a ConfigParser from outside says now: asked again at each call. UNDEFINED of any other call."""
    name = getattr(fn, "__name__", "")
    if name not in _ASKED or kwargs or not args or type(args[0]).__module__ != "configparser":
        return UNDEFINED
    config, *texts = args
    path = r.captures.path(config)
    if path is None or not all(type(a) is str for a in texts):
        return UNDEFINED
    try:
        out = getattr(config, name)(*texts)
    except Exception as e:
        if type(e).__module__ != "configparser":
            raise
        return UNDEFINED
    r.captures.guard(path, "type", type(config))
    return r.captures.take(out, path.child("asked", (name, *texts)))


_TIMES_OF_DAY = ("datetime.", "date.", "time.strftime", "time.ctime", "time.asctime", "time.localtime", "time.gmtime")


def _differs(fn: Any, module: str, owner: Any) -> bool:
    """Does a function depend on more than its arguments, or do more than give a result?"""
    of_class = owner.__module__ if isinstance(owner, type) else type(owner).__module__
    roots = {module.split(".")[0], of_class.split(".")[0]}
    name = getattr(fn, "__name__", "")
    if of_class == "numpy.random.bit_generator" and name == "spawn":  # of a SeedSequence: known, as its seed is
        return False
    return (
        bool(roots & _IMPURE)
        or (bool(roots & _NOW_MODULES) and name in _NOW)
        or ("numpy" in roots and (name in _FILES or "numpy.random" in module or "numpy.random" in of_class))
    )


def _name_of(fn: Any) -> str:
    name = str(getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or type(fn).__name__)
    return name if name.startswith("<") else f"{name}()"


def _iterated(r: Reader, it: Iterator[Any], watched: Watched) -> Seq:
    """An iterator that Python made, as one that the program moves."""
    found = list(itertools.islice(it, _LONGEST + 1))
    if len(found) > _LONGEST:
        raise UnsupportedError(f"{type(it).__name__} gives more than {_LONGEST} elements at compile time")
    return iterator(r, Seq(len(found), lambda i: watched.back(found[i]), False))


def _callback(r: Reader, x: Any) -> Any:
    """A function handed to native code comes back to the reader when it is called."""
    if isinstance(x, types.FunctionType) and not is_library(x.__module__):
        return Callback(r, x)
    if isinstance(x, Seq):
        return r.items(x)
    return x


# functions of Python that keep nothing that they are given
_LOOK = (len, max, min, sum, sorted, any, all, list, tuple, set, dict, float, int, abs, bool, range)


def looks(fn: Any) -> bool:
    """Does a function of Python or NumPy keep nothing of its arguments? What NumPy makes of a copy is a copy."""
    return any(fn is f for f in _LOOK) or isinstance(fn, np.ufunc) or type(fn) is type(np.sum)
