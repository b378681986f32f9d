"""Arguments that NumPy's and SciPy's functions take in another way than their builders.

`out`, and what stands at another place, is given to the builder by name. What a builder has no use for is refused, unless it is
the default or changes nothing: an argument that is left out without a word would be a wrong number.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.registry import Written

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# functions in C and methods of ufuncs, which tell their signatures in some versions of NumPy only
_IN_C = {np.dot: ("a", "b", "out"), np.concatenate: ("arrays", "axis", "out")}
_OF_UFUNCS = {
    "reduce": ("array", "axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("array", "axis", "dtype", "out"),
    "reduceat": ("array", "indices", "axis", "dtype", "out"),
}


@cache
def _names(fn: Any) -> tuple[str, ...]:
    """The names of a function's parameters that may be given by position; () where it does not tell."""
    if isinstance(getattr(fn, "__self__", None), np.ufunc):
        return _OF_UFUNCS.get(fn.__name__, ())
    if fn in _IN_C:
        return _IN_C[fn]
    try:
        return tuple(p.name for p in inspect.signature(fn).parameters.values() if p.kind in _BY_POSITION)
    except (TypeError, ValueError):
        return ()


@cache
def _first_by_name(fn: Any, builder: Callable[..., Any] | None) -> int:
    """How many arguments stand at one place in both: those after them are given to the builder by name."""
    theirs = _names(fn)
    if "out" in theirs:
        theirs = theirs[: theirs.index("out")]
    if not isinstance(builder, Written):
        return len(theirs)
    parameters = inspect.signature(builder).parameters.values()
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return len(theirs)
    ours = [p.name for p in parameters if p.kind in _BY_POSITION]
    for k, name in enumerate(theirs):
        if k == len(ours) or ours[k] != name and (name in ours or ours[k] in theirs):
            return k
    return len(theirs)


def by_name(
    fn: Any, builder: Callable[..., Any] | None, args: list[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call of a function of NumPy or SciPy as its builder takes them: `out`, and what may follow it, by name."""
    if isinstance(fn, np.ufunc):
        if len(args) <= fn.nin or len(args) > fn.nargs:
            return args, kwargs
        _refuse_twice(fn.__name__, ["out"], kwargs)
        return args[: fn.nin], {**kwargs, "out": (*args[fn.nin :], *[None] * (fn.nargs - len(args)))}
    try:
        theirs, first = _names(fn), _first_by_name(fn, builder)
    except TypeError:  # an object without a hash
        return args, kwargs
    return _named(fn.__name__, theirs, first, args, kwargs) if first < len(args) <= len(theirs) else (args, kwargs)


@cache
def _names_of_method(name: str) -> tuple[str, ...]:
    """The names of the parameters of a method of arrays: those of the function of that name, without the array."""
    fn = getattr(np, name, None)
    return () if fn is None or isinstance(fn, np.ufunc) else tuple(n for n in _names(fn) if n != "a")


def method_by_name(name: str, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """`by_name` for a method of arrays."""
    theirs = _names_of_method(name)
    if "out" not in theirs or not theirs.index("out") < len(args) <= len(theirs):
        return args, kwargs
    return _named(name, theirs, theirs.index("out"), args, kwargs)


def _named(
    name: str, theirs: tuple[str, ...], first: int, args: list[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    given = dict(zip(theirs[first:], args[first:]))
    _refuse_twice(name, given, kwargs)
    return args[:first], {**given, **kwargs}


def _refuse_twice(name: str, given: Any, kwargs: dict[str, Any]) -> None:
    for k in given:
        if k in kwargs:
            raise IradTypeError(f"{name}() got multiple values for argument '{k}'")


# ---- what a builder has no use for ---------------------------------------------------------------------------------------------

# Names of arguments that change no result: memory order and classes, room and checks, algorithms, tolerances that are always met.
_NO_EFFECT = frozenset((
    "order subok like device copy requirements casting optimize overwrite_input hermitian kind assume_unique verbose writeable out where "
    "overwrite_a overwrite_b overwrite_ab overwrite_x overwrite_data check_finite lapack_driver lwork workers plan blocksize prefilter "
    "lower checks seed method tol jac hess hessp options fprime fprime2 Dfun col_deriv vectorized xtol ftol gtol rtol maxfev max_nfev "
    "maxiter band epsfcn factor diag x_scale f_scale diff_step tr_solver tr_options jac_sparsity h0 hmax hmin ixpr mxstep mxhnil mxordn "
    "mxords ml mu printmessg tcrit wvar wopts maxp1 limlst irlen solver solver_args limit epsabs epsrel maxfun"
).split())  # fmt: skip
_PLAIN = (bool, int, float, str, type(None))


class _Unused(NamedTuple):
    """The parameters of a builder that it does not read, with their defaults; whether it reads further arguments at all."""

    names: Mapping[str, Any]
    takes: frozenset[str]  # the names that it takes
    rest: bool | None  # further keywords: None: it takes none; False: it does not read them
    positions: bool  # it takes further positions and does not read them


@cache
def _unused(builder: Callable[..., Any]) -> _Unused:
    fn = inspect.unwrap(builder.fn if isinstance(builder, Written) else builder)
    code = getattr(fn, "__code__", None)
    parameters = inspect.signature(fn).parameters
    read = {*code.co_cellvars, *code.co_freevars} if code else set(parameters)
    for i in dis.get_instructions(code) if code else ():
        if i.opname.startswith(("LOAD_FAST", "LOAD_CLOSURE", "LOAD_DEREF", "STORE_FAST_LOAD_FAST")):
            read |= {*i.argval} if isinstance(i.argval, tuple) else {i.argval}
    named = {p.name: p.default for p in parameters.values() if p.kind in (*_BY_POSITION, inspect.Parameter.KEYWORD_ONLY)}
    of_kind = lambda kind: next((p.name in read for p in parameters.values() if p.kind is kind), None)
    names = {k: d for k, d in named.items() if k not in read and k not in _NO_EFFECT and d is not inspect.Parameter.empty}
    positions = isinstance(builder, Written) and of_kind(inspect.Parameter.VAR_POSITIONAL) is False
    return _Unused(names, frozenset(named), of_kind(inspect.Parameter.VAR_KEYWORD), positions)


def refuse_unused(shown: str, fn: Any, builder: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    """Raise UnsupportedError for an argument that the builder does not read, IradTypeError for one that the function has not."""
    unused = _unused(builder)
    if unused.positions and len(args) > len(unused.takes):
        raise UnsupportedError(f"{shown}: the arguments after the first {len(unused.takes)} are not supported; leave them out")
    for k, v in kwargs.items():
        if k in unused.takes or k in _NO_EFFECT or unused.rest:
            continue
        default = _default(fn, k)
        if unused.rest is None and default is inspect.Parameter.empty:
            raise IradTypeError(f"{shown}() got an unexpected keyword argument '{k}'")
        if not _same(v, None if default is inspect.Parameter.empty else default):
            raise _ignored(shown, k)
    if unused.names:
        given = {**dict(zip(inspect.signature(builder).parameters, args)), **kwargs}
        for k, default in unused.names.items():
            if k in given and not _same(given[k], default):
                raise _ignored(shown, k)


def _default(fn: Any, name: str) -> Any:
    """The default that a function of NumPy or SciPy has for an argument; `empty` if it takes none of that name, or does not tell."""
    if isinstance(fn, np.ufunc):
        return None if name in ("axes", "axis", "keepdims", "dtype", "signature") else inspect.Parameter.empty
    try:
        found = inspect.signature(fn).parameters.get(name)
    except (TypeError, ValueError):
        return inspect.Parameter.empty
    return inspect.Parameter.empty if found is None else found.default


def _same(x: Any, default: Any) -> bool:
    return x is default or isinstance(x, _PLAIN) and isinstance(default, _PLAIN) and x == default


def _ignored(shown: str, name: str) -> UnsupportedError:
    return UnsupportedError(
        f"{shown} with {name}= is not supported in compiled code; leave it out, or write it with other functions"
    )
