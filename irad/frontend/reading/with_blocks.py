"""with: context managers of the program's classes, of `contextlib`, and generator functions made into such."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.foreign import of_class
from irad.core.ir import current
from irad.core.lazy_dataclass import dataclass
from irad.errors import UnsupportedError
from irad.frontend.activations import WHOLE, Restart
from irad.frontend.control.flow import block
from irad.frontend.control.generators import run
from irad.frontend.control.regions import Dead, as_python, run_region
from irad.frontend.control.sequences import Stream
from irad.frontend.control.stands import Stands
from irad.frontend.control.tries import caught_whole, exceptions_of, last, pending
from irad.frontend.python.builtins import unwatched
from irad.frontend.python.numbers import builtin
from irad.frontend.reader import Reader, statement
from irad.frontend.reading.statements import assign
from irad.frontend.values.arr import Arr
from irad.frontend.values.callables import Native
from irad.frontend.values.objects import describe, is_traced_deep


@dataclass(frozen=True, eq=False)
class GeneratorContext:
    """What a function of `contextlib.contextmanager` gives: its generator."""

    stream: Stream


@dataclass(frozen=True, eq=False)
class Entered:
    """contextlib.nullcontext(x), which may be traced."""

    value: Any = None


@builtin(contextlib._GeneratorContextManager)
def context_(r: Reader, func: Any, args: Any, kwds: Any) -> GeneratorContext:
    return GeneratorContext(r.call(func, list(args), dict(kwds)))


@builtin(contextlib.nullcontext)
def nullcontext_(r: Reader, enter_result: Any = None) -> Entered:
    return Entered(enter_result)


@statement(ast.With)
def with_(r: Reader, s: ast.With) -> None:
    _within(r, s, s.items)


def _within(r: Reader, s: ast.With, items: list[ast.withitem]) -> None:
    """The block, in the managers of `items`."""
    if not items:
        block(r, s.body)
        return
    item, inner = items[0], items[1:]
    manager = r.expr(item.context_expr)
    r.at(item.context_expr)

    def body(value: Any) -> None:
        if item.optional_vars is not None:
            assign(r, item.optional_vars, value)
        _within(r, s, inner)

    if isinstance(manager, Entered):
        body(manager.value)
    elif isinstance(manager, np.errstate):
        unwatched(manager)
        body(None)
    elif isinstance(manager, Stands):
        value = manager.call(r, "__enter__", [], {})
        try:
            body(value)
        finally:
            manager.leave(r)
    elif isinstance(manager, contextlib.suppress):
        _suppressed(r, s, manager, inner)
    elif isinstance(manager, GeneratorContext):
        with pending(r, s):
            _generated(r, manager.stream, body)
    elif r.whole or any(f.guards for f in r.frames):
        _caught_whole(r, s, manager, item, inner)
    else:
        _managed(r, s, manager, body)


def decorated(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`np.errstate(...)` called with a function, or a function that was made so outside."""
    if isinstance(fn, np.errstate):
        unwatched(fn)
        return args[0]
    unwatched(fn.__closure__[fn.__code__.co_freevars.index("self")].cell_contents)
    path, bare = r.captures.path(fn), fn.__wrapped__
    return r.call(bare if path is None else r.captures.take(bare, path.child("wrapped")), args, kwargs)


def _suppressed(r: Reader, s: ast.With, manager: contextlib.suppress, inner: list[ast.withitem]) -> None:
    """with suppress(E): the block, in the managers after it, of a try whose handler does nothing."""
    r.stmt(_tried(s, inner, ast.Constant(manager._exceptions), []))  # type: ignore[attr-defined]


def _tried(s: ast.With, inner: list[ast.withitem], what: ast.expr | None, handled: list[ast.stmt]) -> ast.Try:
    """A try with the block of a with, in the managers of `inner`, and one handler."""
    block: list[ast.stmt] = [ast.copy_location(ast.With(inner, s.body), s)] if inner else s.body
    made = ast.copy_location(ast.Try(block, [ast.ExceptHandler(what, None, handled)], [], []), s)
    return ast.fix_missing_locations(made)


def _caught_whole(r: Reader, s: ast.With, manager: Any, item: ast.withitem, inner: list[ast.withitem]) -> None:
    """A block whose manager is asked at run time about what it raises: all of that is caught, and raised again unless it is swallowed."""
    value = r.call(r.getattr(_with_code(manager), "__enter__"), [])
    leave = lambda *e: r.call(r.getattr(manager, "__exit__"), list(e) or [None, None, None])
    if item.optional_vars is not None:
        assign(r, item.optional_vars, value)
    call = lambda f: ast.Call(ast.Constant(Native(f)), [], [])  # type: ignore[arg-type]
    at_end, asked = call(leave), call(lambda: leave(type(r.handling[-1]), r.handling[-1], None))
    ended = ast.fix_missing_locations(ast.copy_location(ast.Expr(at_end), s))
    caught_whole(r, _tried(s, inner, None, [ast.If(ast.UnaryOp(ast.Not(), asked), [ast.Raise()], [])]), [ended])


def _with_code(manager: Any) -> Any:
    if getattr(of_class(type(manager), "__enter__"), "__code__", None) is None:
        raise UnsupportedError(f"with {describe(manager)} in compiled code; put it around the call")
    return manager


def _generated(r: Reader, stream: Stream, body: Callable[[Any], None]) -> None:
    """The body runs at the yield of a generator."""
    count = 0

    def consume(value: Any) -> bool:
        nonlocal count
        count += 1
        if count > 1:
            raise RuntimeError("generator didn't stop")
        body(value)
        return False

    run(r, stream.frame, consume, thrown=True)
    if not count:
        raise RuntimeError("generator didn't yield")


def _managed(r: Reader, s: ast.With, manager: Any, body: Callable[[Any], None]) -> None:
    """An object with `__enter__` and `__exit__` written in Python."""
    before, depth, loops = len(current().nodes), len(r.frames), len(r.frame.loops)
    value = r.call(r.getattr(_with_code(manager), "__enter__"), [])
    leave = lambda *e: r.call(r.getattr(manager, "__exit__"), list(e) or [None, None, None])
    try:
        with pending(r, s):
            body(value)
    except Exception as e:
        seen = None if isinstance(e, Dead) else as_python(e)
        if seen is None:
            raise
        del r.frames[depth:]
        del r.frame.loops[loops:]
        swallowed = r.truth(leave(type(seen), seen, None))
        if isinstance(swallowed, Arr):
            raise UnsupportedError("whether this __exit__ swallows the exception depends on data; use try and except") from None
        if not swallowed:
            raise
        return
    _check_swallowed(r, leave, current().nodes[before:])
    last(r, before, "__exit__", leave)


def _check_swallowed(r: Reader, leave: Callable[..., Any], nodes: list[Any]) -> None:
    """Read it again where __exit__ would swallow an exception that depends on data, or raise another one: it has to be asked at run time."""
    for e in exceptions_of(r, nodes):
        asked = run_region(r, lambda: leave(type(e), e, None))  # noqa: B023
        if asked.dead or is_traced_deep(asked.result) or r.truth(asked.result) is not False:
            raise Restart(frozenset({WHOLE}))
