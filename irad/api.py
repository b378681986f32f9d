"""The public functions: `compile` and the transforms.

Every transform compiles. Outside of compiled code `grad(f)(x)` traces, differentiates and compiles `f` at the first call for
each structure and types of arguments; inside, it becomes an operation that the autodiff pass expands, so transforms nest.

What few programs need is imported by the functions that need it, when they are called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from irad.call.attached import call
from irad.call.runtime import Cache, cache_of, code_key
from irad.call.specialisation import specialise
from irad.core.by_name import arrived, carried, reduced, stands_for
from irad.core.once import import_later
from irad.core.tree import map_leaves
from irad.errors import IradTypeError, IradValueError, shortened
from irad.frontend.syntax.source import carry
from irad.frontend.transforms.transform import OUTSIDE, Transform, Wrapper, bind
from irad.options import (
    DEFAULT,
    Given,
    Options,
    Which,
    frozen,
    mode_of,
    name_of,
    numbers_of,
    options,
    positions_of,
    refuse_others,
    static_leaves,
)

if TYPE_CHECKING:
    from typing import Unpack

    from irad.call.linear import Linear
    from irad.call.pullback import Pullback
    from irad.call.stages import Stages
    from irad.call.versions import Version

P = ParamSpec("P")  # what a function takes,
R = TypeVar("R")  # and what it returns
Numbers = int | str | Sequence[int | str]
Names = str | Sequence[str] | None


class Function(Transform, Generic[P, R]):
    """A transformed function: call it like the original. It is compiled with the options of a compiled original."""

    def __init__(self, kind: str, f: Any, argnums: Any = 0, has_aux: bool = False, mode: str = "", axes: Any = (0, 0)):
        super().__init__(kind, _plain(f), argnums, has_aux, mode, axes)
        self.options = _options(f)
        self.__module__ = getattr(self.fun, "__module__", None) or __name__  # where pickle looks for it

    def __reduce__(self) -> str | tuple[Any, ...]:
        fun, o = stands_for(self.fun, Compiled), self.options
        return reduced(
            self,
            self.fun,
            lambda: (_function_again, (carried(fun), o, self.kind, fun, self.argnums, self.has_aux, self.mode, self.axes)),
        )

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: Any, out: Any, accumulate: bool = False, **kwargs: Any) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return call(self, self, args, kwargs)

    def __repr__(self) -> str:
        by = f" by {self.argnums!r}" if self.kind in ("grad", "value_and_grad", "jacobian", "hessian") else ""
        return f"<irad.{self.kind} of {name_of(self.fun)}{by}>"


def _function_again(text: tuple[str, str] | None, given: Options, kind: str, fun: Any, *rest: Any) -> Function:
    """A function that was pickled."""
    if text is not None:
        carry(*text)
        arrived(fun, text)
    made: Function[..., Any] = Function(kind, fun, *rest)
    made.options = given
    return made


class Compiled(Wrapper, Generic[P, R]):
    """A compiled function. Call it like the original; `__wrapped__` is the original.

    `value_and_grad`: (value, gradient) of a function that returns one float; nothing is changed. `grad`: the gradient, like the
    argument `argnums`, or a tuple if `argnums` is one.
    """

    def __init__(self, fn: Callable[P, R], argnums: Any, options: Options = DEFAULT):
        self.__wrapped__ = fn
        self.argnums, self.options = argnums, options
        functools.update_wrapper(self, fn, updated=())
        self.value_and_grad: Function[P, tuple[R, Any]] = Function("value_and_grad", self, argnums)
        self.grad: Function[P, Any] = Function("grad", self, argnums)

    def __reduce__(self) -> str | tuple[Any, ...]:
        fn = stands_for(self.__wrapped__, Compiled)
        return reduced(self, fn, lambda: (_compiled_again, (carried(fn), fn, self.argnums, self.options)))

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: Any, out: Any, accumulate: bool = False, **kwargs: Any) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's value; arguments are changed where the function changes them."""
        return call(self, self.__wrapped__, args, kwargs)

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        """As a method: bound to the instance."""
        return self if obj is None else functools.partial(self, obj)

    def vjp(self, *args: Any) -> tuple[Any, Pullback]:
        """(result, pullback); the pullback takes a cotangent like the result and gives a tuple of cotangents."""
        return vjp(self, *args)

    def lower(self, *args: Any, grad: bool = False, **kwargs: Any) -> Stages:
        """What is compiled for these arguments: `.explain`, `.ir`, `.kernel`, `.llvm`, `.asm`, `.passes`. `grad`: of `value_and_grad`."""
        of = import_later("irad.call.stages").Stages.of
        try:
            return of(self.value_and_grad if grad else self.__wrapped__, args, kwargs, self.options)  # type: ignore[no-any-return]
        except Exception as e:
            raise shortened(e)  # noqa: B904

    @property
    def versions(self) -> list[Version]:
        """What it has been compiled for: its values, gradients, and both, each with types, seconds and bytes of code."""
        return import_later("irad.call.versions").of(self)  # type: ignore[no-any-return]

    def clear(self) -> None:
        """Let the compiled code go. Later calls compile anew, or load from disk."""
        import_later("irad.call.versions").clear(self)

    def __repr__(self) -> str:
        return f"<irad.compile of {name_of(self.__wrapped__)}: versions compiled: {len(self.versions)}>"


def _compiled_again(text: tuple[str, str] | None, fn: Any, argnums: Any, given: Options) -> Compiled:
    """A compiled function that was pickled."""
    if text is not None:
        carry(*text)
        arrived(fn, text)
    return Compiled(_plain(fn), argnums, given)


@overload
def compile(f: Callable[P, R], argnums: Numbers = 0, **options: Unpack[Given]) -> Compiled[P, R]: ...
@overload
def compile(f: None = None, argnums: Numbers = 0, **options: Unpack[Given]) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
@overload
def compile(f: dict[str, Any], argnums: Numbers = 0, **options: Unpack[Given]) -> Any: ...
def compile(
    f: Any = None,
    argnums: Numbers = 0,
    *,
    static: Which = None,
    threads: int | None = None,
    fastmath: bool | str | Iterable[str] = False,
    donate: Which = (),
    check: str | None = None,
    memory_budget: int | None = None,
    dynamic: bool | Which | Mapping[int | str, int | Iterable[int]] = None,
    **others: Any,
) -> Any:
    """Compile a Python function of NumPy arrays and numbers, or a textual graph that `load` has read.

    `argnums`: what `.grad` and `.value_and_grad` differentiate by: one position (one gradient) or several (a tuple).
    Usable as a decorator, with options too: `@irad.compile(threads=1)`. The result is called like `f` and has
    `.value_and_grad`, `.grad`, `.vjp` and `.lower`; the options hold for all of them, and for transforms of the result.
    Compilation happens at the first call for each structure and types of arguments.

    `static`: positions or names of arguments whose numbers are constants of the compiled code, which is made anew for each
    value (strings, bools and other objects always are). `threads`: how many threads a call may use, instead of the default.
    `fastmath`: True, or names of `irad.options.FLAGS`: liberties with rounding and special values. `donate`: arguments whose arrays the caller does not use again: a result of the same dtype and
    shape takes their memory, and is the very array that was given. `check`: "memory" makes code that checks every access of its
    memory and never computes with what was not written (slow; to find faults of irad), "none" does not; None: as the environment
    variable IRAD_CHECK says. `memory_budget`: bytes that the values which a loop keeps for its backward may take; loops that would
    need more keep fewer states and run parts again. None: a few MiB, beyond which a loop runs once more.
    `dynamic`: True, arguments, or a dict of arguments and axes: extents that each call passes, for which code is not made anew.

    Raises IradTypeError if `f` is neither, IradValueError if an option names no argument or flag.
    """
    refuse_others(others)
    numbers = numbers_of(argnums)
    if f is None:
        given: dict[str, Any] = {"static": static, "threads": threads, "fastmath": fastmath, "donate": donate, "check": check}
        return functools.partial(compile, argnums=argnums, memory_budget=memory_budget, dynamic=dynamic, **given)
    if isinstance(f, dict):
        if (static, donate, dynamic) != (None, (), None):
            raise IradValueError("static, donate and dynamic are for Python functions, not for graphs")
        compiled = import_later("irad.call.textual").compiled
        return compiled(f, numbers, options(None, threads, fastmath, None, None, check, memory_budget))
    if not callable(f):
        what = type(f).__name__
        raise IradTypeError(f"compile wants a function or a graph, not {what}; write irad.compile(f)(x), not irad.compile(f(x))")
    plain = f.__wrapped__ if isinstance(f, Compiled) else f
    return Compiled(plain, numbers, options(plain, threads, fastmath, static, donate, check, memory_budget, dynamic))


def _plain(f: Any) -> Any:
    """The function behind a compiled one."""
    if isinstance(f, Compiled):
        return f.__wrapped__
    if not callable(f):
        raise IradTypeError(f"a function is wanted, not {type(f).__name__}; write irad.grad(f)(x), not irad.grad(f(x))")
    return f


def _options(f: Any) -> Options:
    """Those of a compiled function, which its transforms take over."""
    return f.options if isinstance(f, (Compiled, Function)) else DEFAULT


def grad(
    f: Callable[P, R], argnums: Numbers = 0, has_aux: bool = False, mode: str = "auto", argnames: Names = None
) -> Function[P, Any]:
    """The gradient of a function that returns one float, as a function of the same arguments.

    It has the structure, shapes and dtypes of the argument `argnums` (a tuple for several); an integer argument is
    promoted to float64. `argnames`: names instead of positions, keyword arguments included. With `has_aux` f returns
    (value, aux), and the gradient comes with aux. `mode`: see `value_and_grad`. Raises IradTypeError if the result is not
    one float, IradValueError if `argnums` is out of range or a name is no argument.
    """
    return Function("grad", f, numbers_of(argnums, argnames), has_aux, mode_of(mode))


def value_and_grad(
    f: Callable[P, R], argnums: Numbers = 0, has_aux: bool = False, mode: str = "auto", argnames: Names = None
) -> Function[P, tuple[R, Any]]:
    """As `grad`, giving (value, gradient) from one native call.

    `mode`: "reverse" or "forward" to insist; "auto" is forward for a few numbers through loops, where the backward would
    keep every trip's values, and reverse otherwise. With 5 to 8 numbers "forward" is worth a try: see docs/performance.md.
    """
    return Function("value_and_grad", f, numbers_of(argnums, argnames), has_aux, mode_of(mode))


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(f(*primals), pullback). `pullback(cotangent)`, with a cotangent like the result, gives a tuple: one cotangent per primal.

    What the pullback needs is kept in memory of its own: changing arguments or results afterwards changes nothing. With
    `has_aux` f returns (value, aux), and what comes is (value, pullback, aux).
    """
    fn, given = _plain(f), _options(f)
    if not has_aux:
        make = lambda: Cache(import_later("irad.call.pullback").make_vjp(_joint_for(fn, given, False)), options=given)
        return cache_of(("vjp", given, code_key(fn)), make).run(fn, primals, {})
    fresh = lambda: Cache(import_later("irad.call.linear").make_vjp_aux(_joint_for(fn, given, True)), options=given)
    (out, aux), pullback = cache_of(("vjp, aux", given, code_key(fn)), fresh).run(fn, primals, {})
    return out, pullback, aux


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

    return joint


def _joint(fn: Any) -> Callable[[Any, Any], Any]:
    """fn as a function of its primals and a cotangent of its result."""

    def joint(primals: Any, cotangent: Any) -> Any:
        return _pulled(fn, primals, cotangent)

    return joint


def _pulled(fn: Any, primals: Any, cotangent: Any) -> Any:
    """fn(*primals) and the cotangents of the primals, of one run of fn: what it prints and calls back happens once."""
    out, pullback = vjp(fn, *primals)
    return out, pullback(cotangent)


def _joint_aux(fn: Any) -> Callable[[Any, Any], Any]:
    """As `_joint`, of a function that returns (value, aux)."""

    def joint(primals: Any, cotangent: Any) -> Any:
        out, pullback, aux = vjp(fn, *primals, has_aux=True)
        return (out, aux), pullback(cotangent)

    return joint


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """(f(*primals), directional derivative along `tangents`), by forward mode in one sweep.

    A tangent may be None: zero. With `has_aux` f returns (value, aux), and what comes is (value, tangent, aux).
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise IradTypeError("jvp wants tuples of primals and of tangents; write irad.jvp(f, (x,), (v,)) for one argument")
    fn, given = _plain(f), _options(f).without_donation()
    along = _along_aux(fn) if has_aux else _along(fn)

    def make(along: Any, args: Any, kwargs: Any, options: Options) -> Any:
        return specialise(along, args, kwargs, options, static=static_leaves(fn, options, args[0], {}))

    fresh = lambda: Cache(make if given.static else None, options=given)
    return cache_of(("jvp", has_aux, given, code_key(fn)), fresh).run(along, (tuple(primals), tuple(tangents)), {})


def _along(fn: Any) -> Callable[[Any, Any], Any]:
    """fn as a function of its primals and tangents of them."""

    def along(primals: Any, tangents: Any) -> Any:
        return jvp(fn, primals, tangents)

    return along


def _along_aux(fn: Any) -> Callable[[Any, Any], Any]:
    """As `_along`, of a function that returns (value, aux)."""

    def along(primals: Any, tangents: Any) -> Any:
        return jvp(fn, primals, tangents, has_aux=True)

    return along


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Linear]:
    """(f(*primals), f_jvp). `f_jvp(*tangents)`, one tangent like each primal, gives the tangent of the result.

    As `jvp`, with the work that does not depend on the tangents done once: for many directions at one point. Loops are run
    again with each tangent, which takes no memory for their values.
    """
    make_linear = import_later("irad.call.linear").make_linear
    fn, given = _plain(f), _options(f)
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


def jacobian(
    f: Callable[P, Any], argnums: Numbers = 0, mode: str = "", sparse: bool = False, has_aux: bool = False, argnames: Names = None
) -> Callable[P, Any]:
    """Derivatives of every element of the result by every element of the argument: shape result.shape + argument.shape.

    `mode`: "forward" or "reverse"; by default the one with fewer sweeps. Directions are lanes of one computation, and columns
    (or rows) that share no row (column) share a direction. `sparse`: SciPy sparse arrays of shape (result.size,
    argument.size) instead; their pattern, from the graph, holds what can depend, whatever the numbers are. `argnames` and
    `has_aux`: as for `grad`.
    """
    return _function("jacobian", f, numbers_of(argnums, argnames), has_aux, mode_of(mode or "auto"), sparse)


def hessian(
    f: Callable[P, Any], argnums: Numbers = 0, sparse: bool = False, has_aux: bool = False, argnames: Names = None
) -> Callable[P, Any]:
    """Second derivatives of a function that returns one float, forward over reverse.

    `sparse`, `argnames`, `has_aux`: as for `jacobian`.
    """
    return _function("hessian", f, numbers_of(argnums, argnames), has_aux, "", sparse)


def _function(kind: str, f: Any, numbers: Any, has_aux: bool, mode: str, sparse: bool) -> Any:
    if sparse and has_aux:
        raise IradValueError("sparse=True with has_aux=True: compute the auxiliary values by a call of their own")
    dense: Function[..., Any] = Function(kind, f, numbers, has_aux, mode)
    if not sparse:
        return dense
    return import_later("irad.call.sparse").SparseFunction(dense, dense.options)


def hvp(f: Callable[..., Any]) -> Function[..., Any]:
    """(x, v) -> Hessian of f at x times v, without making the Hessian."""
    return Function("hvp", f)


def vmap(f: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Function[P, R]:
    """f for each element of a batch, as one computation on arrays with one axis more.

    `in_axes`: the axis of each positional argument that runs over the batch: an int for all, or a tuple with, for each
    argument, an int, None (shared by all elements) or a tuple, list or dict of those like the argument. Keyword
    arguments are batched along axis 0. `out_axes`: where the batch axis of the results goes. Control flow may differ
    between elements; arrays that f changes are changed inside only. Raises ShapeError if the batched extents differ,
    IradValueError if nothing is batched.
    """
    return Function("vmap", f, axes=(frozen(in_axes), frozen(out_axes)))


def checkpoint(f: Callable[P, R]) -> Function[P, R]:
    """f, whose values are computed again in the backward instead of being kept."""
    return Function("checkpoint", f)


for _meant in (vjp, _pulled, _tangent, _value, jvp, linearize):
    bind(_meant, _meant.__name__.lstrip("_"))
OUTSIDE[Compiled.lower] = "it shows what is compiled; call it outside"
