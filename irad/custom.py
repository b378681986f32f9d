"""Derivatives of your own, constants for derivatives, and calls of Python from compiled code.

@irad.custom_vjp                                    @irad.custom_jvp
def f(x): ...                                       def f(x): ...
f.defvjp(fwd, bwd)                                  f.defjvp(rule)

irad.stop_gradient(x)                               irad.callback(g, np.zeros(3), vjp=rule)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from irad.core.by_name import reduced
from irad.core.tree import TreeDef, flatten
from irad.core.types import DTYPES, Type, dtype_name, type_of
from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.reader import Reader
from irad.frontend.transforms.custom import (
    Special,
    apply_callback,
    apply_custom_jvp,
    apply_custom_vjp,
    apply_stop_gradient,
    differentiable_callback,
    positional,
)
from irad.frontend.transforms.linearise import is_leaf, kind_of
from irad.frontend.transforms.transform import CALLS
from irad.ops.custom import HostFunction


@contextmanager
def _reading_rule(r: Reader, custom: Any) -> Iterator[None]:
    """A function with a rule is being read, its rule too: it would not end if that called the function again."""
    if sum(c is custom for c in r.rules) > 1:
        name = _name(custom.fun)
        raise UnsupportedError(f"{name}, or its rule, calls {name} itself: call the function without its rule, {name}.fun(...)")
    r.rules.append(custom)
    try:
        yield
    finally:
        r.rules.pop()


class _WithRule(Special):
    """A function and, once it is given, a rule; called outside of compiled code it is the function itself."""

    def __init__(self, fun: Callable[..., Any]):
        self.fun = _function(fun, type(self).__name__)
        functools.update_wrapper(self, fun, updated=())

    def __reduce__(self) -> str | tuple[Any, ...]:
        return reduced(self, self.fun, lambda: (_again, (type(self), vars(self))))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        """As a method, bound to the instance."""
        return self if obj is None else functools.partial(self, obj)


class custom_vjp(_WithRule):  # noqa: N801  (a decorator)
    """A function whose reverse derivative is given by `defvjp`; forward mode is its transpose.

    Outside of compiled code and where nothing is differentiated it is the function itself. Keyword arguments are allowed;
    those that have a position count as positional for the rule. Raises UnsupportedError where it is differentiated without a rule.

    >>> @irad.custom_vjp
    ... def clipped(x):
    ...     return np.minimum(x, 1.0)
    >>> _ = clipped.defvjp(lambda x: (clipped.fun(x), None), lambda _, ct: (ct,))  # straight through
    >>> irad.grad(lambda x: np.sum(clipped(x)))(np.array([0.5, 3.0]))
    array([1., 1.])
    """

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> custom_vjp:
        """`fwd(*args, **kwargs) -> (result, residuals)` and `bwd(residuals, ct) -> tuple of cotangents`.

        The residuals are any tree. `ct` is nested like the result. `bwd` returns one cotangent per positional argument, nested
        like it; None is zero, and the right thing for an argument that is no float.
        """
        self.fwd, self.bwd = _function(fwd, "defvjp"), _function(bwd, "defvjp")
        return self

    def apply(self, r: Reader, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.fwd is None:
            raise UnsupportedError(f"{_name(self.fun)} has no rule yet: call {_name(self.fun)}.defvjp(fwd, bwd)")
        args, kwargs = positional(self.fun, args, kwargs)
        with _reading_rule(r, self):
            return apply_custom_vjp(r, self.part(r, "fun"), self.part(r, "fwd"), self.part(r, "bwd"), args, kwargs)


class custom_jvp(_WithRule):  # noqa: N801
    """A function whose forward derivative is given by `defjvp`; reverse mode is its transpose. Otherwise as `custom_vjp`.

    >>> @irad.custom_jvp
    ... def root(x):
    ...     return np.sqrt(x)
    >>> @root.defjvp
    ... def rule(primals, tangents):
    ...     y = root.fun(primals[0])
    ...     return y, 0.5 * tangents[0] / (y + 1e-9)
    >>> irad.grad(root)(4.0)
    0.249...
    """

    rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> custom_jvp:
        """`rule(primals, tangents, **kwargs) -> (result, tangent of the result)`; it must be linear in the tangents.

        `primals` and `tangents` are tuples with an entry per positional argument; the tangent of what is no float is 0.0.
        """
        self.rule = _function(rule, "defjvp")
        return self

    def apply(self, r: Reader, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.rule is None:
            raise UnsupportedError(f"{_name(self.fun)} has no rule yet: call {_name(self.fun)}.defjvp(rule)")
        args, kwargs = positional(self.fun, args, kwargs)
        with _reading_rule(r, self):
            return apply_custom_jvp(r, self.part(r, "fun"), self.part(r, "rule"), args, kwargs)


def _again(cls: type, state: dict[str, Any]) -> Any:
    """A function with a rule that was pickled."""
    made: Any = object.__new__(cls)
    vars(made).update(state)
    return made


def stop_gradient(x: Any) -> Any:
    """x (a tree), a constant for every derivative. Outside of compiled code: x itself.

    >>> irad.grad(lambda x: x * irad.stop_gradient(x))(3.0)
    3.0
    """
    return x


class Callback(Special):
    """A Python function that compiled code may call. Made by `callback`."""

    def __init__(self, fun: Callable[..., Any], result_types: Any, vjp: Callable[..., Any] | None, pure: bool):
        self.fun, self.pure, self.vjp = _function(fun, "callback"), pure, vjp
        self._given = fun, result_types, vjp, pure
        leaves, self.tree = flatten(result_types, lambda x: isinstance(x, (type, np.dtype, int, float, np.ndarray, np.generic)))
        made = [_result_type(x) for x in leaves]
        self.types, self.kinds = tuple(t for t, _ in made), [k for _, k in made]
        self._hosts: dict[Any, HostFunction] = {}
        functools.update_wrapper(self, fun, updated=())

    def __reduce__(self) -> str | tuple[Any, ...]:
        return reduced(self, self.fun, lambda: (Callback, self._given))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself, its result checked."""
        leaves = HostFunction(lambda: self._results(self.fun(*args, **kwargs)), self.types, _name(self.fun))()
        return self.tree.unflatten([_as(x, k) for x, k in zip(leaves, self.kinds)])

    def apply(self, r: Reader, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.vjp is None:
            return self._emit(r, args, kwargs)
        args, kwargs = positional(self.fun, args, kwargs)
        return differentiable_callback(r, lambda a, k: self._emit(r, a, k), self.part(r, "vjp"), args, kwargs)

    def _emit(self, r: Reader, args: list[Any], kwargs: dict[str, Any]) -> Any:
        path = r.captures.path(self)
        if path is not None:  # the code holds the function itself: another one of the same code may have other captured values
            r.captures.guard(path, "is", self)
        if not self.pure:
            r.captures.callbacks[_name(self.fun)] = self.fun
        leaves, tree = flatten((tuple(args), kwargs), is_leaf)
        kinds = tuple(map(kind_of, leaves))
        key = tree, kinds
        if key not in self._hosts:
            self._hosts[key] = HostFunction(functools.partial(self._run, tree, kinds), self.types, _name(self.fun))
        return apply_callback(r, self._hosts[key], self.pure, leaves, self.kinds, self.tree)

    def _run(self, tree: TreeDef, kinds: Sequence[str], *arrays: np.ndarray) -> list[Any]:
        """The call on the host: arguments as the function would have got them from Python."""
        args, kwargs = tree.unflatten([_as(x, k) for x, k in zip(arrays, kinds)])
        return self._results(self.fun(*args, **kwargs))

    def _results(self, out: Any) -> list[Any]:
        leaves, tree = flatten(out)
        if tree != self.tree:
            raise IradTypeError(f"callback {_name(self.fun)} returned {tree!r}; its result_types promise {self.tree!r}")
        return leaves


def callback(f: Callable[..., Any], result_types: Any, vjp: Callable[..., Any] | None = None, pure: bool = False) -> Callback:
    """Any Python function as one that compiled code can call: it runs in the interpreter, with the GIL taken.

    `result_types`: a tree like the result, of examples (`np.zeros(3)`, `0.0`) and dtypes (scalars); None if it returns None.
    `vjp(ct, *args) -> tuple of cotangents` makes it differentiable; it is compiled (wrap it in a callback to run it in Python).
    Calls happen in program order, once each; with `pure=True` they may be left out, repeated or moved. Arrays are given as
    copies. What the function raises comes out of the compiled code; a result of another type is an IradTypeError.

    >>> table = {0: 1.5, 1: 2.5}
    >>> look_up = irad.callback(lambda k: table[k], 0.0)
    >>> irad.grad(lambda x, k: x * look_up(k))(2.0, 1)
    2.5
    """
    return Callback(f, result_types, vjp, pure)


def _function(f: Any, what: str) -> Callable[..., Any]:
    if not callable(f):
        raise IradTypeError(f"{what} wants a function, not {type(f).__name__}")
    return f  # type: ignore[no-any-return]


def _name(f: Any) -> str:
    return str(getattr(f, "__name__", "f"))


def _as(x: np.ndarray, kind: str) -> Any:
    return x if kind == "array" else x[()] if kind == "generic" else x.item()


def _result_type(x: Any) -> tuple[Type, str]:
    """The type that a leaf of `result_types` stands for, and what the leaf will be: "array", "generic" or "number"."""
    if isinstance(x, (type, np.dtype)):
        if x in (int, float, bool):
            return type_of(x()), "number"  # type: ignore[operator]
        name = dtype_name(x)
        if name is None:
            raise IradTypeError(f"result_types: dtype {x!r} is not supported; supported: {', '.join(map(str, DTYPES.values()))}")
        return Type(name), "generic"
    return type_of(x), "array" if isinstance(x, np.ndarray) else "generic" if isinstance(x, np.generic) else "number"


def _made_inside(r: Reader, *args: Any, **kwargs: Any) -> Any:
    raise UnsupportedError("irad.callback in compiled code: make it outside, `host = irad.callback(...)`, and call host(...)")


CALLS[stop_gradient] = apply_stop_gradient
CALLS[callback] = _made_inside
