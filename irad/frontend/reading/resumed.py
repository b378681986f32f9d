"""Generators whose elements are taken one at a time: `next(g)`, `g.send(x)`, and all but the first argument of `zip`.

A generator is suspended at a yield, which is kept in the state as a path in its syntax tree; taking an element runs its statements from
there to the next yield. So which yield comes next must not depend on data, but whether the generator has ended may. The functions
here are in continuation-passing style: what follows a test by data runs in a branch of it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from irad.core.lazy_dataclass import replace
from irad.errors import UnsupportedError
from irad.frontend.activations import Activation
from irad.frontend.control.flow import block, branch, disjunction, flag, loop_flags, settle, stopped, unless_stopped
from irad.frontend.control.generators import Undecided, as_stream, hand_all
from irad.frontend.control.sequences import ENDED, SENT, Seq, element, iterate, iterator, position
from irad.frontend.reader import Reader
from irad.frontend.reading.statements import assign, run_over
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Choice, Env, Poison
from irad.frontend.values.state import Name

_POINT = "point"
_MOST = 2  # tests by data between two yields
Next = Callable[[], Any]

_DEPENDS = (
    "which yield of this generator comes next depends on data, and its elements are taken one by one here (by next(), or as a second "
    "argument of zip); go over it in a for loop"
)


def advance(r: Reader, frame: Activation, state: Env, then: Callable[[Any], Any], ended: Next) -> Any:
    """then(the next element), or ended() if there is none."""
    position(state)  # refused where it was gone over
    point = state.names[_POINT]
    if isinstance(point, (Choice, Poison)):
        raise Undecided(_DEPENDS)
    if point == ENDED:
        return ended()
    return _Step(r, frame, state, then, ended).run(point)


def take(r: Reader, it: Any, then: Callable[[Any], Any], ended: Next) -> Any:
    """The same of any iterator."""
    stream = as_stream(it)
    if stream is not None:
        return stream.advance(then, ended)
    assert isinstance(it, Seq) and it.state is not None
    at = it.state.names["at"]
    over = r.operator("ge", at, it.length)

    def go_on() -> Any:
        r.state.assign(Name(it.state, "at"), r.operator("add", at, 1))
        return then(element(it, at))

    if isinstance(over, Arr):
        return branch(r, over, ended, go_on)
    return ended() if over else go_on()


def take_all(r: Reader, its: list[Any], then: Callable[[list[Any]], Any], ended: Next) -> Any:
    """An element of each of several iterators, up to the first that has ended."""
    if not its:
        return then([])
    return take(r, its[0], lambda x: take_all(r, its[1:], lambda xs: then([x, *xs]), ended), ended)


class _Step:
    """One element's worth of a generator."""

    def __init__(self, r: Reader, frame: Activation, state: Env, then: Callable[[Any], Any], ended: Next):
        self.r, self.state, self.then, self.ended, self.consumer = r, state, then, ended, r.frame
        self.frame = replace(frame, flags=r.state.made(Env({"return": False})), loops=[], guards=[], finals=[])
        self.frame.consume = None
        self.depends = 0  # tests by data that were met on the way

    def run(self, point: tuple[Any, ...]) -> Any:
        body: list[ast.stmt] = self.frame.liveness.node.body  # type: ignore[assignment]
        with self.r.activation(self.frame):
            return self._resume(body, (), point, self._end) if point else self._block(body, 0, (), self._end)

    def _outside(self, f: Callable[[], Any]) -> Any:
        loops, self.frame.loops = self.frame.loops, []
        try:
            with self.r.activation(self.consumer):
                return f()
        finally:
            self.frame.loops = loops

    def _end(self) -> Any:
        self.r.state.assign(Name(self.state, _POINT), ENDED)
        return self._outside(self.ended)

    def _suspend(self, path: tuple[Any, ...], value: Any) -> Any:
        self.r.state.assign(Name(self.state, _POINT), path)
        return self._outside(lambda: self.then(value))

    # ---- statements from a place on ----

    def _block(self, stmts: list[ast.stmt], start: int, path: tuple[Any, ...], after: Next) -> Any:
        for k in range(start, len(stmts)):
            s, rest = stmts[k], functools.partial(self._block, stmts, k + 1, path, after)
            if _yields(s):
                return self._statement(s, (*path, k), rest)
            block(self.r, [s])
            stop = stopped(self.r)
            if isinstance(stop, Arr):
                self._depend()
                return branch(self.r, stop, self._jump, rest)
            if stop:
                return self._jump()
        return after()

    def _depend(self) -> None:
        self.depends += 1
        if self.depends > _MOST:
            raise Undecided(_DEPENDS)

    def _jump(self) -> Any:
        """The running block has been left by a return, a break or a continue."""
        settle(self.r)
        if flag(self.frame.flags, "return") is True:
            return self._end()
        if not self.frame.loops or any(isinstance(flag(self.frame.loops[-1], n), Arr) for n in ("break", "continue")):
            raise Undecided(_DEPENDS)
        env = self.frame.loops[-1]
        if flag(env, "break") is True:
            return env.names["left"]()
        self.r.state.assign(Name(env, "continue"), False)
        return env.names["again"]()

    def _statement(self, s: ast.stmt, path: tuple[Any, ...], after: Next) -> Any:
        """A statement with a yield in it."""
        if isinstance(s, ast.If):
            self.r.at(s.test)
            test = self.r.truth(self.r.perhaps(s.test))
            sides = [functools.partial(self._block, b, 0, (*path, f), after) for f, b in (("body", s.body), ("orelse", s.orelse))]
            if isinstance(test, Arr):
                self._depend()
                return branch(self.r, test, sides[0], sides[1])
            return sides[0 if test else 1]()
        if isinstance(s, ast.While):
            return self._while(s, path, after)
        if isinstance(s, ast.For):
            self._begin(path, self.r.expr(s.iter))
            return self._for(s, path, after)
        taken = _taken(s)
        if isinstance(taken, ast.Yield):
            value = None if taken.value is None else self.r.perhaps(taken.value)
            return self._suspend(path, value)
        if isinstance(taken, ast.YieldFrom):
            self._begin(path, self.r.expr(taken.value))
            return self._from(path, after)
        raise UnsupportedError(
            "a yield in this place, of a generator whose elements are taken one by one; go over it in a for loop"
        )

    def _while(self, s: ast.While, path: tuple[Any, ...], after: Next) -> Any:
        self.r.at(s.test)
        test = self.r.truth(self.r.perhaps(s.test))
        enter = lambda: self._trip(s, path, after)
        done = functools.partial(self._block, s.orelse, 0, (*path, "orelse"), after)
        if isinstance(test, Arr):
            self._depend()
            return branch(self.r, test, enter, done)
        return enter() if test else done()

    def _for(self, s: ast.For, path: tuple[Any, ...], after: Next) -> Any:
        def enter(x: Any) -> Any:
            assign(self.r, s.target, x)
            return self._trip(s, path, after)

        done = functools.partial(self._block, s.orelse, 0, (*path, "orelse"), after)
        return take(self.r, self.state.names[_key(path)], enter, done)

    def _trip(self, s: ast.For | ast.While, path: tuple[Any, ...], after: Next) -> Any:
        return self._in_loop(s, path, after, lambda again: self._block(s.body, 0, (*path, "body"), again))

    def _in_loop(self, s: ast.For | ast.While, path: tuple[Any, ...], after: Next, run: Callable[[Next], Any]) -> Any:
        """Run a part of a trip; what follows it, follows outside of the loop or in its next trip."""
        outer = self.frame.loops

        def outside(f: Next) -> Next:
            def call() -> Any:
                inner, self.frame.loops = self.frame.loops, outer
                try:
                    return f()
                finally:
                    self.frame.loops = inner

            return call

        again = outside(lambda: (self._while if isinstance(s, ast.While) else self._for)(s, path, after))  # type: ignore[arg-type]
        flags = Env({"break": False, "continue": False, "done": False, "again": again, "left": outside(after)})
        self.frame.loops = [*outer, self.r.state.made(flags)]
        try:
            return run(again)
        finally:
            self.frame.loops = outer

    def _from(self, path: tuple[Any, ...], after: Next) -> Any:
        return take(self.r, self.state.names[_key(path)], lambda x: self._suspend(path, x), after)

    def _begin(self, path: tuple[Any, ...], iterable: Any) -> None:
        """Note what a loop goes over."""
        it = iterable if as_stream(iterable) or getattr(iterable, "state", None) else iterator(self.r, iterate(self.r, iterable))
        self.r.state.assign(Name(self.state, _key(path)), it)

    # ---- from the yield at which it is suspended ----

    def _resume(self, stmts: list[ast.stmt], path: tuple[Any, ...], point: tuple[Any, ...], after: Next) -> Any:
        k, inner = point[0], point[1:]
        s, here = stmts[k], (*path, k)
        rest = functools.partial(self._block, stmts, k + 1, path, after)
        if inner:
            field = inner[0]
            go_on = functools.partial(self._resume, getattr(s, field), (*here, field), inner[1:])
            if isinstance(s, (ast.For, ast.While)) and field == "body":
                return self._in_loop(s, here, rest, go_on)
            return go_on(rest)
        sent = self.state.names.get(SENT)
        if sent is not None:
            self.r.state.assign(Name(self.state, SENT), None)
        if isinstance(_taken(s), ast.YieldFrom):
            if sent is not None:
                raise UnsupportedError("send() to a generator that stands in a `yield from`; send it to the inner one")
            return self._from(here, rest)
        if isinstance(s, ast.Assign):
            for t in s.targets:
                assign(self.r, t, sent)
        return rest()


def go_on(r: Reader, state: Env) -> None:
    """Run what is left of a generator that was suspended, in its own loops."""
    point = state.names[_POINT]
    if isinstance(point, (Choice, Poison)):
        raise Undecided(_DEPENDS)
    if point != ENDED:
        _rest(r, state, r.frame.liveness.node.body, (), point)  # type: ignore[arg-type]


def _rest(r: Reader, state: Env, stmts: list[ast.stmt], path: tuple[Any, ...], point: tuple[Any, ...]) -> None:
    k, inner = point[0], point[1:]
    s, here = stmts[k], (*path, k)
    if inner and isinstance(s, (ast.For, ast.While)) and inner[0] == "body":
        with loop_flags(r) as flags:
            _rest(r, state, s.body, (*here, "body"), inner[1:])
            left = disjunction(flag(flags, "break"), flag(r.frame.flags, "return"))
        again = lambda: block(r, [s]) if isinstance(s, ast.While) else run_over(r, s, state.names[_key(here)])
        if isinstance(left, Arr):
            branch(r, left, lambda: None, again)
        elif not left:
            again()
    elif inner:
        _rest(r, state, getattr(s, inner[0]), (*here, inner[0]), inner[1:])
    elif isinstance(_taken(s), ast.YieldFrom):
        hand_all(r, s, state.names[_key(here)])
    elif isinstance(s, ast.Assign):
        for t in s.targets:
            assign(r, t, None)
    if stmts[k + 1 :]:
        unless_stopped(r, stmts[k + 1 :])


def _key(path: tuple[Any, ...]) -> str:
    """The name in the state of what a loop goes over."""
    return "over " + " ".join(map(str, path))


def _taken(s: ast.stmt) -> ast.expr | None:
    """The yield that a statement is, if its value is assigned or dropped."""
    e = s.value if isinstance(s, (ast.Expr, ast.Assign)) else None
    return e if isinstance(e, (ast.Yield, ast.YieldFrom)) else None


@functools.cache
def _yields(s: ast.stmt) -> bool:
    """Is there a yield in a statement?"""
    todo: list[ast.AST] = [s]
    while todo:
        n = todo.pop()
        if isinstance(n, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(n, (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)):
            todo += ast.iter_child_nodes(n)
    return False
