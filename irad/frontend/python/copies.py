"""copy.copy and copy.deepcopy."""

from __future__ import annotations

import collections
import copy
from typing import Any

from irad.core.foreign import is_container, is_instance, is_mapped, is_value, is_written, own_dict, own_names
from irad.core.structured import Structured
from irad.errors import UnsupportedError
from irad.frontend.python.numbers import builtin
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, Closure, Text, describe, python_method, reads_traced
from irad.frontend.values.runs import Run


@builtin(copy.copy)
def copy_(r: Reader, x: Any) -> Any:
    if isinstance(x, (Array, Structured)) or is_mapped(x):
        return r.call(r.getattr(x, "copy"), [])
    own = python_method(x, "__copy__")
    if own is not None:
        return r.call(own, [x])
    if not _is_plain_instance(x):
        return x if isinstance(x, (Arr, Text)) else r.state.made(copy.copy(x))
    out = r.state.made(object.__new__(type(x)))
    for name in own_names(x):
        object.__setattr__(out, name, r.getattr(x, name))
    return out


def _is_plain_instance(x: Any) -> bool:
    """An object whose copy has the same attributes."""
    if (
        not is_instance(x)
        or isinstance(x, (type, BaseException))
        or is_container(x)
        or (type(x).__module__.split(".")[0] == "irad" and not is_written(type(x)))
    ):
        return False
    return type(x).__reduce_ex__ is object.__reduce_ex__ and type(x).__reduce__ is object.__reduce__


@builtin(copy.deepcopy)
def deepcopy_(r: Reader, x: Any, memo: Any = None) -> Any:
    """Arrays, containers and plain objects of them; what is met twice is copied once. Anything else by Python."""
    return _copied(r, x, {} if memo is None else memo)


def _copied(r: Reader, x: Any, memo: dict[int, Any]) -> Any:
    if isinstance(x, (Arr, Run, Closure, Text)) or is_value(x):
        return x  # the elements of a run are copies
    if id(x) in memo:
        return memo[id(x)]
    own = python_method(x, "__deepcopy__")
    if own is not None:
        out = r.call(own, [x, memo])
    elif isinstance(x, (Array, Structured)):
        out = copy_(r, x)
    elif type(x) is tuple:
        return tuple(_copied(r, v, memo) for v in x)
    elif type(x) is list:
        memo[id(x)] = out = r.state.made([])
        out.extend(_copied(r, v, memo) for v in x)
    elif type(x) is dict:
        memo[id(x)] = out = r.state.made({})
        out.update((k, _copied(r, v, memo)) for k, v in x.items())
    elif type(x) in (set, frozenset):
        out = r.state.made(type(x)(x))  # its elements are known
    elif type(x) is collections.deque:
        memo[id(x)] = out = r.state.made(collections.deque(maxlen=x.maxlen))
        out.extend(_copied(r, v, memo) for v in x)
    elif type(x) is collections.defaultdict:
        memo[id(x)] = out = r.state.made(collections.defaultdict(_copied(r, x.default_factory, memo)))
        out.update((k, _copied(r, v, memo)) for k, v in x.items())
    elif type(x) in (collections.OrderedDict, collections.Counter):
        memo[id(x)] = out = r.state.made(type(x)())
        for k, v in x.items():
            out[k] = _copied(r, v, memo)
    elif _is_plain_instance(x):
        memo[id(x)] = out = r.state.made(object.__new__(type(x)))
        for name in own_names(x):
            object.__setattr__(out, name, _copied(r, r.getattr(x, name), memo))
    elif reads_traced(list(own_dict(x).values())):
        raise UnsupportedError(f"copy.deepcopy of {describe(x)} that holds traced numbers: make it anew from copies of its parts")
    else:
        out = r.state.made(copy.deepcopy(x))
    memo[id(x)] = out
    return out
