"""The public functions: `compile`, gradients and batches. Derivatives along directions are in irad.directional.

Every transform compiles. Outside of compiled code `grad(f)(x)` traces, differentiates and compiles `f` at the first call for
each structure and types of arguments; inside, it becomes an operation that the autodiff pass expands, so transforms nest.

What few programs need is imported by the functions that need it, when they are called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from irad.call.attached import call
from irad.core.by_name import arrived, carried, reduced, stands_for
from irad.core.once import import_later
from irad.errors import IradTypeError, IradValueError, shortened
from irad.frontend.syntax.source import carry
from irad.frontend.transforms.transform import OUTSIDE, Transform, Wrapper
from irad.options import DEFAULT, Given, Options, Which, frozen, mode_of, name_of, numbers_of, options, refuse_others

if TYPE_CHECKING:
    from typing import Unpack

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
        super().__init__(kind, plain_of(f), argnums, has_aux, mode, axes)
        self.options = options_of(f)
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
        """(result, pullback); the pullback takes a cotangent like the result and gives a tuple of cotangents. As `irad.vjp`."""
        return import_later("irad.directional").vjp(self, *args)  # type: ignore[no-any-return]

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
    return Compiled(plain_of(fn), argnums, given)


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

    `static`: positions or names of arguments whose numbers are constants of the compiled code, which is made anew for each value
    (strings, bools and other objects always are). `threads`: how many threads a call may use, instead of the default. `fastmath`:
    True, or names of `irad.options.FLAGS`: liberties with rounding and special values. `donate`: arguments whose arrays the
    caller does not use again: a result of the same dtype and shape takes their memory, and is the very array that was given.
    `check`: "memory" makes code that checks every access of its memory and never computes with what was not written (slow; to
    find faults of irad), "none" does not; None: as the environment variable IRAD_CHECK says. `memory_budget`: bytes that the
    values which a loop keeps for its backward may take; loops that would need more keep fewer states and run parts again. None: a
    few MiB, beyond which a loop runs once more. `dynamic`: True, arguments, or a dict of arguments and axes: extents that each
    call passes, for which code is not made anew.

    Raises IradTypeError if `f` is neither, IradValueError if an option names no argument or flag.

    >>> @irad.compile
    ... def loss(w, x, y):
    ...     return np.mean((x @ w - y) ** 2)
    >>> x, y = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, 4.0])
    >>> loss(np.ones(2), x, y)
    4.0
    >>> loss.value_and_grad(np.ones(2), x, y)
    (4.0, array([-2., -4.]))
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


def plain_of(f: Any) -> Any:
    """The function behind a compiled one."""
    if isinstance(f, Compiled):
        return f.__wrapped__
    if not callable(f):
        raise IradTypeError(f"a function is wanted, not {type(f).__name__}; write irad.grad(f)(x), not irad.grad(f(x))")
    return f


def options_of(f: Any) -> Options:
    """The options of a compiled function, which its transforms take over; else the defaults."""
    return f.options if isinstance(f, (Compiled, Function)) else DEFAULT


def grad(
    f: Callable[P, R], argnums: Numbers = 0, has_aux: bool = False, mode: str = "auto", argnames: Names = None
) -> Function[P, Any]:
    """The gradient of a function that returns one float, as a function of the same arguments.

    It has the structure, shapes and dtypes of the argument `argnums` (a tuple for several); an integer argument is
    promoted to float64. `argnames`: names instead of positions, keyword arguments included. With `has_aux` f returns
    (value, aux), and the gradient comes with aux. `mode`: see `value_and_grad`. Raises IradTypeError if the result is not
    one float, IradValueError if `argnums` is out of range or a name is no argument.

    >>> irad.grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    >>> irad.grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 5.0)
    (5.0, 2.0)
    """
    return Function("grad", f, numbers_of(argnums, argnames), has_aux, mode_of(mode))


def value_and_grad(
    f: Callable[P, R], argnums: Numbers = 0, has_aux: bool = False, mode: str = "auto", argnames: Names = None
) -> Function[P, tuple[R, Any]]:
    """As `grad`, giving (value, gradient) from one native call.

    `mode`: "reverse" or "forward" to insist; "auto" is forward for a few numbers through loops, where the backward would
    keep every trip's values, and reverse otherwise. With 5 to 8 numbers "forward" is worth a try: see docs/performance.md.

    >>> irad.value_and_grad(lambda p: p["a"] ** 2 + 3 * p["b"])({"a": 2.0, "b": 1.0})
    (7.0, {'a': 4.0, 'b': 3.0})
    """
    return Function("value_and_grad", f, numbers_of(argnums, argnames), has_aux, mode_of(mode))


def jacobian(
    f: Callable[P, Any], argnums: Numbers = 0, mode: str = "", sparse: bool = False, has_aux: bool = False, argnames: Names = None
) -> Callable[P, Any]:
    """Derivatives of every element of the result with respect to every element of the argument: shape result.shape + argument.shape.

    `mode`: "forward" or "reverse"; by default the one with fewer sweeps. Directions are lanes of one computation, and columns
    (or rows) that share no row (column) share a direction. `sparse`: SciPy sparse arrays of shape (result.size,
    argument.size) instead; their pattern, from the graph, holds what can depend, whatever the numbers are. `argnames` and
    `has_aux`: as for `grad`. Raises as `grad` does, but the result may be any tree of floats.

    >>> irad.jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 5.0]))
    array([[5., 0., 1.],
           [0., 5., 2.]])
    """
    return _function("jacobian", f, numbers_of(argnums, argnames), has_aux, mode_of(mode or "auto"), sparse)


def hessian(
    f: Callable[P, Any], argnums: Numbers = 0, sparse: bool = False, has_aux: bool = False, argnames: Names = None
) -> Callable[P, Any]:
    """Second derivatives of a function that returns one float, forward over reverse: shape argument.shape + argument.shape.

    `sparse`, `argnames`, `has_aux` and errors: as for `jacobian`.

    >>> irad.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]))
    array([[10.,  6.],
           [ 6.,  0.]])
    """
    return _function("hessian", f, numbers_of(argnums, argnames), has_aux, "", sparse)


def _function(kind: str, f: Any, numbers: Any, has_aux: bool, mode: str, sparse: bool) -> Any:
    if sparse and has_aux:
        raise IradValueError("sparse=True with has_aux=True: compute the auxiliary values by a call of their own")
    dense: Function[..., Any] = Function(kind, f, numbers, has_aux, mode)
    return import_later("irad.call.sparse").SparseFunction(dense, dense.options) if sparse else dense


def hvp(f: Callable[..., Any]) -> Function[..., Any]:
    """(x, v) -> Hessian of f at x times v, without making the Hessian. f returns one float; v is like x, and so is the result.

    >>> irad.hvp(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]), np.array([1.0, 0.0]))
    array([10.,  6.])
    """
    return Function("hvp", f)


def vmap(f: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Function[P, R]:
    """f for each element of a batch, as one computation on arrays with one axis more.

    `in_axes`: the axis of each positional argument that runs over the batch: an int for all, or a tuple with, for each
    argument, an int, None (shared by all elements) or a tuple, list or dict of those like the argument. Keyword
    arguments are batched along axis 0. `out_axes`: where the batch axis of the results goes. Control flow may differ
    between elements; arrays that f changes are changed inside only. Raises ShapeError if the batched extents differ,
    IradValueError if nothing is batched.

    >>> slope = irad.grad(lambda x, w: np.tanh(x @ w))
    >>> irad.vmap(slope, in_axes=(0, None))(np.zeros((3, 2)), np.array([1.0, 2.0]))
    array([[1., 2.],
           [1., 2.],
           [1., 2.]])
    """
    return Function("vmap", f, axes=(frozen(in_axes), frozen(out_axes)))


def checkpoint(f: Callable[P, R]) -> Function[P, R]:
    """f, whose values are computed again in the backward instead of being kept: less memory, more work. It takes and gives what f does.

    >>> def deep(x):
    ...     for _ in range(3):
    ...         x = irad.checkpoint(np.sin)(x)
    ...     return x
    >>> irad.grad(deep)(0.0)
    1.0
    """
    return Function("checkpoint", f)


OUTSIDE[Compiled.lower] = "it shows what is compiled; call it outside"
