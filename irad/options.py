"""What `irad.compile` can be told: `Options`, checked when the function is wrapped, part of what finds its compiled code."""

from __future__ import annotations

import functools
import inspect
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

import numpy as np

from irad.core.lazy_dataclass import dataclass
from irad.core.once import import_later
from irad.core.tree import flatten
from irad.errors import IradTypeError, IradValueError
from irad.frontend.transforms.transform import Transform

# Liberties with floating point, beyond what derivatives may do anyway; docs/accuracy.md says what each is for.
FLAGS = {
    "contract": "a*b + c may be rounded once, as a fused multiply-add",
    "reassoc": "sums and products may be re-associated",
    "reciprocal": "x/y may become x * (1/y)",
    "nnan": "no operand or result is NaN",
    "ninf": "no operand or result is infinite",
    "nsz": "the sign of a zero does not matter",
}

CHECKS = ("memory", "none")  # what compiled code may check beside what it computes; docs/options.md says how

Which = int | str | Iterable[int | str] | None  # arguments, by position or name
Sizes = bool | tuple[tuple[int | str, tuple[int, ...] | None], ...] | None  # arguments and axes of them, None for all


class Given(TypedDict, total=False):
    """The keywords of `irad.compile`, for type checkers."""

    static: Which
    threads: int | None
    fastmath: bool | str | Iterable[str]
    donate: Which
    check: str | None
    memory_budget: int | None
    dynamic: bool | Which | Mapping[int | str, int | Iterable[int]]


@dataclass(eq=False, frozen=True)
class Options:
    """Equal options are one object. `static`, `donate`: positions and names of arguments; `dynamic`: those with axes,
    True for all of them, or None for what varies."""

    threads: int | None = None
    fastmath: frozenset[str] = frozenset()
    static: tuple[int | str, ...] = ()
    donate: tuple[int | str, ...] = ()
    check: str | None = None
    memory_budget: int | None = None
    dynamic: Sizes = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _interned, (self.threads, self.fastmath, self.static, self.donate, self.check, self.memory_budget, self.dynamic)

    def without_donation(self) -> Options:
        """For what keeps its arguments."""
        if not self.donate:
            return self
        return _interned(self.threads, self.fastmath, self.static, (), self.check, self.memory_budget, self.dynamic)


@functools.cache
def _interned(
    threads: int | None,
    fastmath: frozenset[str],
    static: tuple[int | str, ...],
    donate: tuple[int | str, ...],
    check: str | None,
    memory_budget: int | None,
    dynamic: Sizes,
) -> Options:
    return Options(threads, fastmath, static, donate, check, memory_budget, dynamic)


DEFAULT = _interned(None, frozenset(), (), (), None, None, None)


def options(
    f: Any,
    threads: Any,
    fastmath: Any,
    static: Which,
    donate: Which,
    check: Any = None,
    memory_budget: Any = None,
    dynamic: Any = None,
) -> Options:
    """The options for a function, checked. Raises IradTypeError or IradValueError, naming the option that is wrong."""
    which = _arguments(f, static, "static"), _arguments(f, donate, "donate")
    return _interned(_threads(threads), flags(fastmath), *which, _check(check), _memory_budget(memory_budget), _sizes(f, dynamic))


def _sizes(f: Any, dynamic: Any) -> Sizes:
    """The option `dynamic`."""
    if dynamic is None or isinstance(dynamic, bool):
        return dynamic
    names = _arguments(f, dynamic, "dynamic")
    if not isinstance(dynamic, Mapping):
        return tuple((k, None) for k in names)
    found: list[tuple[int | str, tuple[int, ...] | None]] = []
    for k in names:
        axes = list(dynamic[k]) if isinstance(dynamic[k], Iterable) else [dynamic[k]]
        if any(not isinstance(a, int) or isinstance(a, bool) for a in axes):
            raise IradTypeError(f"dynamic: an axis of {k!r}, or several, not {dynamic[k]!r}")
        found.append((k, tuple(axes)))
    return tuple(found)


def _memory_budget(budget: Any) -> int | None:
    if budget is None:
        return None
    whole = isinstance(budget, (int, float, np.number)) and not isinstance(budget, bool) and budget >= 1 and budget == int(budget)
    if not whole:
        raise IradValueError(f"memory_budget: a positive number of bytes, or None for the default, not {budget!r}")
    return int(budget)


def _check(check: Any) -> str | None:
    if check is not None and check not in CHECKS:
        raise IradValueError(f"check: one of {', '.join(map(repr, CHECKS))}, or None for what IRAD_CHECK says, not {check!r}")
    return None if check is None else str(check)


def checks_memory(given: Options) -> bool:
    """Is code made now to check its memory? Where the options do not say it, the environment variable IRAD_CHECK does."""
    check = (os.environ.get("IRAD_CHECK") or "none") if given.check is None else given.check
    if check not in CHECKS:
        raise IradValueError(f"IRAD_CHECK: one of {', '.join(CHECKS)}, not {check!r}")
    return check == "memory"


def _threads(threads: Any) -> int | None:
    if threads is None:
        return None
    try:
        n = operator.index(threads)
    except TypeError:
        n = 0
    if n < 1 or isinstance(threads, bool):
        raise IradValueError(f"threads: a positive number of threads, or None for the default, not {threads!r}")
    return n


def flags(fastmath: Any) -> frozenset[str]:
    """The flags that a value of `fastmath` stands for."""
    if fastmath is None or isinstance(fastmath, bool):
        return frozenset(FLAGS) if fastmath else frozenset()
    given = [fastmath] if isinstance(fastmath, str) else fastmath
    if not isinstance(given, Iterable):
        raise IradTypeError(f"fastmath: a bool, or names of flags, not {fastmath!r}")
    found = list(given)
    for name in found:
        if name not in FLAGS:
            raise IradValueError(f"fastmath: there is no flag {name!r}; there are {', '.join(FLAGS)}")
    return frozenset(found)


def _arguments(f: Any, which: Which, option: str) -> tuple[int | str, ...]:
    """Positions and names of arguments, each once, in order. Those that the function cannot have are an error."""
    if not isinstance(which, (int, str, Iterable)) and which is not None:
        raise IradTypeError(f"{option}: positions or names of arguments, not {which!r}")
    found = [which] if isinstance(which, (int, str)) else list(which or ())
    for k in found:
        if isinstance(k, bool) or not isinstance(k, (int, str)):
            raise IradTypeError(f"{option}: positions or names of arguments, not {k!r}")
    names, others, more, keywords = parameters(f)
    for k in found:
        known = 0 <= k and (more or k < len(names)) if isinstance(k, int) else k in (*names, *others) or keywords
        if not known:
            takes = ", ".join((*names, *others)) or "no arguments"
            what = f"no argument at position {k}" if isinstance(k, int) else f"no argument {k!r}"
            raise IradValueError(f"{option}: {getattr(f, '__name__', 'the function')} has {what}; it takes {takes}")
    return tuple(dict.fromkeys(found))


def parameters(f: Any) -> tuple[list[str], list[str], bool, bool]:
    """Names of the parameters with and without a position; can there be more positional arguments, or other names?"""
    while isinstance(f, Transform):
        if f.kind == "hvp":  # (x, v), not the arguments of the function
            return [], [], True, False
        f = f.fun
    try:
        found = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return [], [], True, True
    placed = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    more = any(p.kind is p.VAR_POSITIONAL for p in found)
    keywords = any(p.kind is p.VAR_KEYWORD for p in found)
    return placed, [p.name for p in found if p.kind is p.KEYWORD_ONLY], more, keywords


def takes(f: Any, name: str) -> bool:
    """Can a function have an argument of that name?"""
    placed, others, _, keywords = parameters(f)
    return keywords or name in placed or name in others


def positions_of(f: Any, which: tuple[int | str, ...]) -> tuple[int, ...]:
    """Positions of those arguments that have one."""
    names = parameters(f)[0] if which else []
    found = [names.index(k) if isinstance(k, str) else k for k in which if isinstance(k, int) or k in names]
    return tuple(sorted(set(found)))


def leaves_of(f: Any, which: tuple[int | str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
    """Numbers of the leaves, in flattened order, of those arguments of a call that are there."""
    if not which:
        return []
    names = parameters(f)[0]
    wanted = set(which) | {names[k] for k in which if isinstance(k, int) and k < len(names)}
    wanted |= {names.index(k) for k in which if isinstance(k, str) and k in names}
    placed, by_name = flatten((args, kwargs))[1].children
    at = 0
    found: list[int] = []
    for key, tree in zip([*range(len(args)), *kwargs], (*placed.children, *by_name.children), strict=True):
        if key in wanted:
            found += range(at, at + tree.size)
        at += tree.size
    return found


def static_leaves(f: Any, given: Options, args: tuple[Any, ...], kwargs: dict[str, Any]) -> frozenset[int]:
    """Numbers of the leaves that are constants by option. Raises IradTypeError for an array, whose elements may change."""
    found = leaves_of(f, given.static, args, kwargs)
    leaves = flatten((args, kwargs))[0] if found else []
    for k in found:
        if isinstance(leaves[k], np.ndarray):
            named = ", ".join(map(repr, given.static))
            raise IradTypeError(
                f"static: {named} of {getattr(f, '__name__', 'the function')} is or holds an array; only numbers can be static"
            )
    return frozenset(found)


def refuse_others(given: Iterable[str]) -> None:
    """Raise TypeError for keywords that `irad.compile` does not have, with what to write instead of other packages' ones."""
    for name in given:
        elsewhere = import_later("irad.elsewhere")
        known = ["argnums", *Options.__annotations__]
        instead = elsewhere.advice(elsewhere.OPTIONS, name) or elsewhere.misspelt(name, known) or "; docs/options.md lists them"
        raise IradTypeError(f"compile() got an unexpected keyword argument {name!r}{instead}")


def numbers_of(argnums: Any, argnames: Any = None) -> Any:
    """Positions or names of the arguments to differentiate by: one, or a tuple."""
    if argnames is not None:
        if argnums != 0:
            raise IradValueError("argnums or argnames, not both; a tuple in argnums may mix positions and names")
        argnums = argnames
    single = isinstance(argnums, (int, str))
    many = (argnums,) if single or not isinstance(argnums, (list, tuple)) else argnums
    if any(isinstance(k, bool) or not isinstance(k, (int, str)) for k in many):
        shown = repr(argnums) if argnums is None or isinstance(argnums, (bool, float)) else f"of type {type(argnums).__name__}"
        raise IradTypeError(
            f"argnums is a position, a name, or a tuple of them, not {shown}; "
            "the function's own arguments come in a call of their own: irad.grad(f)(x)"
        )
    numbers = argnums if single else tuple(many)
    if isinstance(numbers, tuple) and len(set(numbers)) < len(numbers):
        raise IradValueError(f"argnums {argnums} names an argument twice")
    return numbers


def mode_of(mode: str) -> str:
    """A mode of differentiation as transforms keep it: "" to let the shapes decide."""
    if mode not in ("auto", "forward", "reverse"):
        raise IradValueError(f"mode must be 'auto', 'forward' or 'reverse', not {mode!r}")
    return "" if mode == "auto" else mode


def frozen(axes: Any) -> Any:
    """Lists of axes as tuples."""
    return tuple(map(frozen, axes)) if isinstance(axes, (list, tuple)) else axes


def name_of(f: Any) -> str:
    """What a function is called, for people."""
    return getattr(f, "__name__", None) or type(f).__name__
