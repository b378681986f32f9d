"""Branches that depend on data: both sides are run from the same state, then their outcomes are merged into one `if`.

A jump (return, break, continue) sets a flag; what follows runs under the condition that no flag is set, or, where one
side always jumps, inside the other side. A side that always raises leaves no outcome to merge.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from irad.core.ir import Builder, Graph, Value, current, emit
from irad.errors import IradError, UnsupportedError
from irad.frontend.activations import HELD, Rest, Restart
from irad.frontend.control.branches import Live, Merge, graph_of
from irad.frontend.control.facts import learn
from irad.frontend.control.regions import Dead, absorb, resume_region, run_region
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Env, Maybe
from irad.frontend.values.state import Name, Place, Region
from irad.ops.constant import scalar
from irad.ops.control import if_, raise_if
from irad.ops.core import effects, kept

# ---- branches -----------------------------------------------------------------------------------------------------


def branch(r: Reader, cond: Arr, then: Callable[[], Any], orelse: Callable[[], Any], live: Live = None) -> Any:
    """Run one of two sides, by a traced bool; their merged result. Effects on the state are merged too."""
    a = run_region(r, then)
    b = run_region(r, orelse)
    return finish(r, cond, a, b, live)


def by_halves(r: Reader, at: Arr, numbers: range, f: Callable[[int], Any]) -> Any:
    """f(k) of the number that `at` is, which is one of these: a branch for each half of them."""
    if len(numbers) == 1:
        return f(numbers[0])
    half = len(numbers) // 2
    lower, upper = numbers[:half], numbers[half:]
    return branch(r, r.operator("lt", at, upper[0]), lambda: by_halves(r, at, lower, f), lambda: by_halves(r, at, upper, f))


def finish(r: Reader, cond: Arr, a: Region, b: Region, live: Live = None) -> Any:
    """Merge two sides that were run."""
    if a.dead and b.dead:
        emit(if_, cond.value, regions=[graph_of(a), graph_of(b)])
        raise Dead
    if a.dead or b.dead:
        side = a if a.dead else b
        with _seen_by_handlers(r, cond if a.dead else Arr(~cond.value, True), side, live):
            _raising_side(cond, side, a.dead)
        return absorb(r, b if a.dead else a)
    return Merge(r, cond, a, b, live).run()


@contextmanager
def _seen_by_handlers(r: Reader, cond: Arr, side: Region, live: Live) -> Iterator[None]:
    """What a called function changes before it raises, a handler further out sees: the changes are there where the check is, if that
    fires, and are taken back after it."""
    changes = [p for k, (p, old) in side.log.old.items() if side.log.new[k] is not old and not _of_frame(r, p)]
    if not changes or not any(f.guards for f in r.frames[:-1]):
        yield
        return
    if any(effects(n) != "none" for n in side.nodes[:-1]) or side.nodes[-1].op is not raise_if:
        if not r.holds:
            raise Restart(frozenset({HELD}))
        raise UnsupportedError(
            "a called function changes what a try around its call may see, and then raises, depending on data, after what may raise "
            "too; make the change and the check in statements of their own, the check first"
        )
    moved = Region(Builder(), side.log)
    current().nodes += side.nodes[:-1]
    r.state.joined[side.builder] = current()
    side.builder.nodes = side.nodes[-1:]
    before = [(p, p.get()) for p in changes]
    Merge(r, cond, moved, run_region(r, lambda: None), live).run()
    yield
    r.state.change(before)


def _of_frame(r: Reader, p: Place) -> bool:
    """Is it a variable of the running function, which ends if it raises?"""
    return isinstance(p, Name) and p.owner is r.frame.env


def _raising_side(cond: Arr, side: Region, when: bool) -> None:
    """A side that ends in a raise: one `raise_if` if nothing else happens in it, else an `if` around it."""
    c = cond.value if when else ~cond.value
    *before, last = side.nodes
    plain = last.op is raise_if and all(effects(n) == "none" for n in before) and len(before) < 16
    if plain and not any(v in n.outputs for v in kept(last).values() for n in before):  # or the stores would always be made
        constant = last.inputs[0]
        current().nodes += [n for n in before if constant not in n.outputs]
        raise_if(c, *last.inputs[1:], **{"keeps": (), **last.attrs})
    else:
        emit(if_, c, regions=[graph_of(side), Graph((), (), ())])


def branch_values(cond: Arr, then: Callable[[], list[Value]], orelse: Callable[[], list[Value]]) -> list[Value]:
    """An `if` over plain values, without effects on the state."""
    graphs = []
    for side in (then, orelse):
        with Builder() as b:
            results = side()
        graphs.append(Graph((), tuple(b.nodes), tuple(results)))
    return list(emit(if_, cond.value, regions=graphs))


# ---- jumps ---------------------------------------------------------------------------------------------------------


def flag(env: Env, name: str) -> Any:
    """A jump flag: False, True or a traced bool."""
    return env.names[name]


def jumps(r: Reader) -> list[tuple[Env, str]]:
    """The flags that end the running block."""
    own = [(r.frame.loops[-1], "break"), (r.frame.loops[-1], "continue")] if r.frame.loops else []
    return [(r.frame.flags, "return"), *((g.env, "caught") for g in r.frame.guards), *own]


def stopped(r: Reader) -> Any:
    """Has the running block been left: True, False, or a traced bool."""
    out: Any = False
    for env, name in jumps(r):
        f = flag(env, name)
        if f is True:
            return True
        if isinstance(f, Arr):
            out = f if out is False else Arr(out.value | f.value, True)
    return out


def block(r: Reader, stmts: Sequence[ast.stmt]) -> None:
    """Run statements; those after a jump that data decides run under its negation."""
    frame, before = r.frame, r.frame.running
    try:
        for k, s in enumerate(stmts):
            frame.running = s
            try:
                if _step(r, s, stmts[k + 1 :]):
                    return
            except IradError as e:
                raise e.at(r.place(s)) from e.__cause__
    finally:
        frame.running = before


def _step(r: Reader, s: ast.stmt, rest: Sequence[ast.stmt]) -> bool:
    """Run a statement and, if data decides whether they are reached, those after it; True if the block is done."""
    follow = lambda: unless_stopped(r, rest) if rest else None
    if r.frame.guards and not isinstance(s, _COMPOUND):
        if r.guarded(lambda: r.stmt(s), follow):
            return True
    elif isinstance(s, (ast.If, ast.For, ast.While)):
        if _with_rest(r, s, rest, follow):
            return True
    else:
        r.stmt(s)
    stop = stopped(r)
    if isinstance(stop, Arr) and rest:
        under(r, stop, lambda: block(r, rest), live_after(r, rest[-1]))
    return stop is not False


_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Match, ast.Try, ast.FunctionDef)


def _with_rest(r: Reader, s: ast.stmt, rest: Sequence[ast.stmt], follow: Callable[[], Any]) -> bool:
    """A statement that may run what follows it in its block; True if it has."""
    frame, before = r.frame, r.frame.rest
    mine = frame.rest = Rest(s, follow, live_after(r, rest[-1] if rest else s), before)
    try:
        if isinstance(s, ast.If):
            return _if(r, s, rest, follow) or mine.taken
        r.stmt(s)
        return mine.taken
    finally:
        frame.rest = before


def _if(r: Reader, s: ast.If, rest: Sequence[ast.stmt], follow: Callable[[], Any]) -> bool:
    """An `if`, whose test a try block around may guard; True if what follows it in its block has been run too."""

    def test() -> Any:
        r.at(s.test)
        try:
            return r.condition(s.test)
        except IradError as e:
            raise e.at(r.place(s.test)) from e.__cause__

    if not r.frame.guards:
        return if_statement(r, s, rest, test())
    box: list[Any] = []

    def go_on() -> None:
        if not if_statement(r, s, rest, box[-1]):
            follow()

    return r.guarded(lambda: box.append(test()), go_on) or if_statement(r, s, rest, box[-1])


def under(r: Reader, stop: Arr, body: Callable[[], Any], live: Live) -> None:
    """Run `body` unless `stop`."""
    branch(r, stop, lambda: settle(r), body, live)


def settle(r: Reader) -> None:
    """On the path where we have stopped: if a single flag can be the reason it is set, and the result is there."""
    traced = [(env, name) for env, name in jumps(r) if isinstance(flag(env, name), Arr)]
    if len(traced) == 1:
        env, name = traced[0]
        r.state.assign(Name(env, name), True)
        value = env.names.get("value")
        if name == "return" and isinstance(value, Maybe):
            r.state.assign(Name(env, "value"), value.value)


def live_after(r: Reader, s: ast.stmt) -> Live:
    return r.frame.liveness.after.get(s)


def if_statement(r: Reader, s: ast.If, rest: Sequence[ast.stmt], cond: Any) -> bool:
    """An `if` and, perhaps, the statements after it in its block; True if those have been run too."""
    if not isinstance(cond, Arr):
        mine = r.frame.rest
        if mine is not None and mine.stmt is s:
            mine.plain = True
        block(r, s.body if cond else s.orelse)
        return False
    last = rest[-1] if rest else s
    a = run_region(r, lambda: _arm(r, s.body, cond, True))
    b = run_region(r, lambda: _arm(r, s.orelse, cond, False))
    left = [x.dead or x.result is True for x in (a, b)]
    if rest and left[0] != left[1] and not (a.dead or b.dead):
        resume_region(r, b if left[0] else a, lambda: _rest(r, rest))
        finish(r, cond, _plain(a), _plain(b), live_after(r, last))
        return True
    finish(r, cond, _plain(a), _plain(b), live_after(r, s))
    return False


def _arm(r: Reader, stmts: Sequence[ast.stmt], cond: Arr, truth: bool) -> Any:
    learn(r, cond, truth)
    block(r, stmts)
    return stopped(r)


def _rest(r: Reader, stmts: Sequence[ast.stmt]) -> Any:
    """Go on after an arm that may have jumped."""
    unless_stopped(r, stmts)
    return stopped(r)


def unless_stopped(r: Reader, stmts: Sequence[ast.stmt]) -> None:
    """Run statements unless the running block has been left."""
    stop = stopped(r)
    if isinstance(stop, Arr):
        under(r, stop, lambda: block(r, stmts), live_after(r, stmts[-1]))
    elif stop is False:
        block(r, stmts)


def _plain(region: Region) -> Region:
    region.result = None
    return region


@contextmanager
def loop_flags(r: Reader) -> Iterator[Env]:
    """The flags of a loop, while its body runs."""
    env = r.state.made(Env({"break": False, "continue": False, "done": False}))
    r.frame.loops.append(env)
    try:
        yield env
    finally:
        r.frame.loops.pop()


def negated(c: Arr) -> Arr:
    return Arr(~c.value, True)


def inverse(x: Any) -> Any:
    """not x, of a bool, traced or not."""
    return negated(x) if isinstance(x, Arr) else not x


def bool_value(x: Any) -> Value:
    """A bool, traced or not, as a value."""
    return x.value if isinstance(x, Arr) else scalar(bool(x), "bool")


def conjunction(a: Any, b: Any) -> Any:
    """a and b of bools, both evaluated."""
    if isinstance(a, Arr) and isinstance(b, Arr):
        return Arr(a.value & b.value, True)
    return (b if a else False) if not isinstance(a, Arr) else (a if b else False)


def disjunction(a: Any, b: Any) -> Any:
    """a or b of bools, both evaluated."""
    if isinstance(a, Arr) and isinstance(b, Arr):
        return Arr(a.value | b.value, True)
    return (True if a else b) if not isinstance(a, Arr) else (True if b else a)
