"""Results in memory of the caller's: `f(x, out=...)` and `f(x, out=..., accumulate=True)`.

What is compiled is a function around the called one that stores the result. So whatever is known of functions that
change their arguments holds: arrays given twice, memory that overlaps, stores before an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from irad.call.conditions import Leaves
from irad.call.fastcall import write
from irad.call.specialisation import Specialisation
from irad.codegen.call import machine as entry
from irad.core.foreign import with_article
from irad.core.tree import TreeDef
from irad.core.types import Type, dtype_name
from irad.errors import IradTypeError, IradValueError
from irad.frontend.trace import trace
from irad.frontend.values.guards import Path
from irad.frontend.values.traced import Result, Traced
from irad.options import Options, leaves_of, static_leaves

CALLED = Path("fn", (("cell", "fn"),))  # where the function around holds the called one
OWN = ("out", "accumulate")


def around(fn: Any) -> Callable[..., Any]:
    """fn as a function that stores its result."""

    def into(*args: Any, out: Any, accumulate: bool = False, **kwargs: Any) -> Any:
        return _store(out, fn(*args, **kwargs), accumulate)

    into.__name__ = f"{getattr(fn, '__name__', 'f')}_into"
    return into


def _store(out: Any, result: Any, accumulate: bool) -> Any:
    """Store a result in the arrays of `out`; what stands there as None is given back as it is."""
    if out is None:
        return result
    if isinstance(out, dict):
        return {k: _store(x, result[k], accumulate) for k, x in out.items()}
    if isinstance(out, tuple):
        return tuple([_store(x, r, accumulate) for x, r in zip(out, result)])
    if isinstance(out, list):
        return [_store(x, r, accumulate) for x, r in zip(out, result)]
    if accumulate:
        out[...] += result
    else:
        out[...] = result
    return out


class IntoSpecialisation(Specialisation):
    """The function around a called one, for one structure and types of its arguments and `out`."""

    def __init__(self, traced: Traced, options: Options, donate: Sequence[int]):
        super().__init__(traced, options, donate)
        self.holds = self._holds  # type: ignore[method-assign, assignment]

    def _holds(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> bool:
        return self.conditions.holds(around(fn), leaves, rest)

    def direct(self, fn: Any) -> entry.Program | None:
        self.entry = write(self.traced, self.conditions, self.native, around(fn), self.raiser, self.donated, CALLED)
        return self.entry

    def __call__(self, fn: Any, leaves: Leaves, rest: Sequence[Any], given: Any = ((), {})) -> Any:
        return super().__call__(around(fn), leaves, rest, given)

    def _exact(self, clash: str, fn: Any, given: Any) -> Any:
        raise IradValueError(
            "out shares memory with an argument, with an array that the function reads, or with another part of out; "
            "give it memory of its own, such as np.empty_like(...)"
        )


def specialise_into(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options) -> IntoSpecialisation:
    """Compile `fn(*args, **kwargs)` with `out` among the keywords.

    Raises IradTypeError or IradValueError if `out` is not like the result, shape and dtype included.
    """
    inner = {k: x for k, x in kwargs.items() if k not in OWN}
    if not isinstance(kwargs.get("accumulate", False), bool):
        raise IradTypeError(f"accumulate is True or False, not {kwargs['accumulate']!r}")
    plain = trace(fn, args, inner, static=static_leaves(fn, options, args, inner), rows=False)
    arrays = list(_checked(kwargs["out"], plain.out_tree, iter(plain.results), plain, "out"))
    if len({id(a) for a in arrays}) < len(arrays):
        raise IradValueError("out holds an array twice; each part of the result needs memory of its own")
    traced = trace(around(fn), args, kwargs, static=static_leaves(fn, options, args, kwargs))
    return IntoSpecialisation(traced, options, leaves_of(fn, options.donate, args, kwargs))


def _checked(out: Any, tree: TreeDef, results: Iterator[Result], plain: Traced, name: str) -> Iterator[np.ndarray]:
    """The arrays of `out`, which must be like the result."""
    if tree.cls is None:
        yield from _array(out, next(results), plain, name)
    elif out is None:
        for _ in range(tree.size):
            next(results)
    elif tree.cls is dict and type(out) is dict and set(out) == set(tree.meta):
        for k, child in zip(tree.meta, tree.children):
            yield from _checked(out[k], child, results, plain, f"{name}[{k!r}]")
    elif tree.cls in (tuple, list) and type(out) is tree.cls and len(out) == len(tree.children):
        for k, child in enumerate(tree.children):
            yield from _checked(out[k], child, results, plain, f"{name}[{k}]")
    else:
        raise IradTypeError(f"{name} must be like the result, {_shown(tree)}, or None; it is {_kind(out)}")


def _shown(tree: TreeDef) -> str:
    if tree.cls is TreeDef:
        return f"which is {tree.meta.value!r} there"
    if tree.cls is dict:
        return f"a dict with the keys {', '.join(map(repr, tree.meta))}"
    if tree.cls in (tuple, list):
        return f"{with_article(tree.cls.__name__)} of {len(tree.children)}"
    return f"a {getattr(tree.cls, '__name__', tree.cls)}, whose parts cannot be given (return a tuple or dict of arrays)"


def _kind(x: Any) -> str:
    if isinstance(x, Mapping):
        return f"{with_article(type(x).__name__)} with the keys {', '.join(map(repr, x))}"
    return with_article(type(x).__name__) + (f" of {len(x)}" if isinstance(x, (tuple, list)) else "")


def _array(out: Any, r: Result, plain: Traced, name: str) -> Iterator[np.ndarray]:
    if out is None:
        return
    t = _type(r, plain)
    if not t.static:
        raise IradValueError(f"{name}: the extents of this result are known at run time only; leave {name} None")
    if type(out) is not np.ndarray:
        advice = "; an array of shape () takes a number" if not t.shape else ""
        raise IradTypeError(f"{name} must be a NumPy array of {_words(t)}, not {_kind(out)}{advice}")
    if out.shape != t.shape or dtype_name(out.dtype) != t.dtype:
        raise IradValueError(f"{name} must have {_words(t)}, as the result; it has dtype {out.dtype} and shape {out.shape}")
    if not out.flags.c_contiguous:
        raise IradValueError(f"{name} must be C-contiguous; {name}[...] = f(...) stores a result in an array of any layout")
    if not out.flags.writeable:
        raise IradValueError(f"{name} is read-only")
    yield out


def _words(t: Type) -> str:
    return f"dtype {t.numpy} and shape {t.shape}"


def _type(r: Result, plain: Traced) -> Type:
    if r.kind == "static":
        raise IradValueError(f"the result is {r.value!r} whatever the arguments are; leave out None there")
    return plain.type_of(r)
