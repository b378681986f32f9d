"""Derivatives along directions: `vjp` goes backward, `jvp` and `linearize` forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from irad.api import options_of, plain_of
from irad.call.runtime import Cache, cache_of, code_key
from irad.call.specialisation import specialise
from irad.core.once import import_later
from irad.core.tree import map_leaves
from irad.errors import IradTypeError
from irad.frontend.transforms.transform import bind, derivative
from irad.options import Options, positions_of, static_leaves

if TYPE_CHECKING:
    from irad.call.linear import Linear


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(f(*primals), pullback). `pullback(cotangent)`, with a cotangent like the result, gives a tuple: one cotangent per primal.

    What the pullback needs is kept in memory of its own: changing arguments or results afterwards changes nothing. With `has_aux`
    f returns (value, aux), and what comes is (value, pullback, aux). Raises IradTypeError if the cotangent is not like the
    result.

    >>> out, pullback = irad.vjp(lambda x, a: a * x**2, np.array([1.0, 2.0]), 3.0)
    >>> pullback(np.ones(2))
    (array([ 6., 12.]), 5.0)
    """
    fn, given = plain_of(f), options_of(f)
    make = lambda: Cache(import_later("irad.call.pullback").make_vjp(_joint_for(fn, given, has_aux), has_aux), options=given)
    out, pullback = cache_of(("vjp, aux" if has_aux else "vjp", given, code_key(fn)), make).run(fn, primals, {})
    return (out[0], pullback, out[1]) if has_aux else (out, pullback)


def _joint_for(fn: Any, given: Options, has_aux: bool) -> Any:
    """How `joint` of functions like fn is made."""
    static = positions_of(fn, given.static)
    if static:
        return lambda fn: _joint_static(fn, static, has_aux)
    return _joint_aux if has_aux else _joint


def _joint_static(fn: Any, static: Sequence[int], has_aux: bool) -> Callable[[Any, Any], Any]:
    """As `_joint` or `_joint_aux`; no derivative is taken by static arguments, and their cotangents are 0."""

    def joint(primals: Any, cotangent: Any) -> Any:
        rest = [k for k in range(len(primals)) if k not in static]
        bound = lambda *xs: fn(*[xs[rest.index(k)] if k in rest else x for k, x in enumerate(primals)])
        if has_aux:
            value, pullback, aux = vjp(bound, *[primals[k] for k in rest], has_aux=True)
            out, cts = (value, aux), pullback(cotangent)
        else:
            out, cts = _pulled(bound, [primals[k] for k in rest], cotangent)
        return out, tuple([cts[rest.index(k)] if k in rest else map_leaves(lambda _: 0.0, x) for k, x in enumerate(primals)])

    return derivative(joint)


def _joint(fn: Any) -> Callable[[Any, Any], Any]:
    """fn as a function of its primals and a cotangent of its result."""

    def joint(primals: Any, cotangent: Any) -> Any:
        return _pulled(fn, primals, cotangent)

    return derivative(joint)


def _pulled(fn: Any, primals: Any, cotangent: Any) -> Any:
    """fn(*primals) and the cotangents of the primals, of one run of fn: what it prints and calls back happens once."""
    out, pullback = vjp(fn, *primals)
    return out, pullback(cotangent)


def _joint_aux(fn: Any) -> Callable[[Any, Any], Any]:
    """As `_joint`, of a function that returns (value, aux)."""

    def joint(primals: Any, cotangent: Any) -> Any:
        out, pullback, aux = vjp(fn, *primals, has_aux=True)
        return (out, aux), pullback(cotangent)

    return derivative(joint)


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """(f(*primals), directional derivative along `tangents`), by forward mode in one sweep.

    `primals`, `tangents`: tuples with an entry for each argument, a tangent with the structure and shapes of its primal; None is zero.
    With `has_aux` f returns (value, aux), and what comes is (value, tangent, aux). Raises IradTypeError if they do not fit.

    >>> irad.jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, None))
    (10.0, 5.0)
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise IradTypeError("jvp wants tuples of primals and of tangents; write irad.jvp(f, (x,), (v,)) for one argument")
    fn, given = plain_of(f), options_of(f).without_donation()
    along = _along_aux(fn) if has_aux else _along(fn)

    def make(along: Any, args: Any, kwargs: Any, options: Options) -> Any:
        return specialise(along, args, kwargs, options, static=static_leaves(fn, options, args[0], {}))

    fresh = lambda: Cache(make if given.static else None, options=given)
    return cache_of(("jvp", has_aux, given, code_key(fn)), fresh).run(along, (tuple(primals), tuple(tangents)), {})


def _along(fn: Any) -> Callable[[Any, Any], Any]:
    """fn as a function of its primals and tangents of them."""

    def along(primals: Any, tangents: Any) -> Any:
        return jvp(fn, primals, tangents)

    return derivative(along)


def _along_aux(fn: Any) -> Callable[[Any, Any], Any]:
    """As `_along`, of a function that returns (value, aux)."""

    def along(primals: Any, tangents: Any) -> Any:
        return jvp(fn, primals, tangents, has_aux=True)

    return derivative(along)


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Linear]:
    """(f(*primals), f_jvp). `f_jvp(*tangents)`, one tangent like each primal, gives the tangent of the result.

    As `jvp`, with the work that does not depend on the tangents done once: for many directions at one point. Loops are run
    again with each tangent, which takes no memory for their values.

    >>> value, along = irad.linearize(lambda x: np.sum(x**2), np.array([1.0, 2.0]))
    >>> value, along(np.array([1.0, 0.0])), along(np.array([0.0, 1.0]))
    (5.0, 2.0, 4.0)
    """
    make_linear = import_later("irad.call.linear").make_linear
    fn, given = plain_of(f), options_of(f)
    static = positions_of(fn, given.static)
    beside = (lambda fn: _beside_static(fn, static)) if static else _beside
    fresh = lambda: Cache(make_linear(beside), options=given)
    result: tuple[Any, Linear] = cache_of(("linearize", given, code_key(fn)), fresh).run(fn, primals, {})
    return result


def _beside_static(fn: Any, static: Sequence[int]) -> Callable[[Any, Any], Any]:
    """As `_beside`; the tangents of static arguments do not count."""

    def beside(primals: Any, tangents: Any) -> Any:
        tangent = _tangent(fn, primals, tuple([None if k in static else t for k, t in enumerate(tangents)]))
        return _value(fn, primals), tangent

    return beside


def _value(fn: Any, primals: Any) -> Any:
    """The result of a function; what it stores nobody sees."""
    return fn(*primals)


def _tangent(fn: Any, primals: Any, tangents: Any) -> Any:
    """The tangent of a function whose result is computed beside it, with what it prints."""
    return jvp(fn, primals, tangents)[1]


def _beside(fn: Any) -> Callable[[Any, Any], Any]:
    """fn's result, which no tangent has a part in, and its tangent, as a function of primals and tangents."""

    def beside(primals: Any, tangents: Any) -> Any:
        return _value(fn, primals), _tangent(fn, primals, tangents)

    return beside


for _meant in (vjp, _pulled, _tangent, _value, jvp, linearize):
    bind(_meant, _meant.__name__.lstrip("_"))
