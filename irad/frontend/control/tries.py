"""try: exceptions that the program may raise depending on data are caught where they arise.

Each statement of a try block runs in a region. Where that holds a `raise_if` whose exception a handler catches, what comes before
it runs always, and then there is a branch: the handler on one side, the rest of the statement on the other. The handler ends by
setting a flag that leaves the try block, as `break` leaves a loop.
"""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from irad.core.ir import Graph, Node, current, walk, within
from irad.errors import Loc, UnsupportedError
from irad.frontend.activations import HELD, WHOLE, Final, Restart, RunningTry
from irad.frontend.control.flow import block, branch, finish, flag, jumps, stopped, unless_stopped
from irad.frontend.control.raised import called_by, exception_of, exceptions_of, is_limit, kind_of, raising
from irad.frontend.control.regions import Dead, absorb, as_python, run_region
from irad.frontend.reader import Reader, statement
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import UNDEFINED, Env
from irad.frontend.values.state import Name, Region
from irad.ops.control import call as call_op
from irad.ops.control import raise_if
from irad.ops.core import effects

CAUGHT = (
    "code inside try may raise here depending on data, in a place where compiled code cannot catch it: in a comprehension, in a "
    "recursive function, in the head of a loop, or before a print in the same statement; test the condition "
    "with if, or leave the try out here and catch what the compiled function raises"
)

_THROUGH = (
    "an exception that may be raised here depending on data is caught further out, and what runs on its way (a finally clause that "
    "leaves its block or belongs to a called function, or the exit of a with) cannot be followed; test the condition with if instead"
)

_REPLACED = (
    "{} may raise or print after code that may raise depending on data, and compiled code cannot say here whether that has raised; "
    "test the condition with if instead"
)


@statement(ast.Try)
def try_(r: Reader, s: ast.Try) -> None:
    through = any(f.guards for f in r.frames[:-1])
    if s.finalbody and (through or r.whole or any(isinstance(n, _JUMPS) for stmt in s.finalbody for n in ast.walk(stmt))):
        _caught_whole(r, s)
        return
    before, depth = len(current().nodes), len(r.frames)
    with pending(r, s) as final:
        try:
            _block(r, s)
        except (Restart, Dead):
            raise
        except BaseException as e:
            if as_python(e) is None:
                raise
            del r.frames[depth:]
            del r.frame.loops[final.loops :]
            r.frame.finals.remove(final)
            _finally(r, s.finalbody)
            raise
    done = flag(final.env, "done")
    run = lambda: _finally(r, s.finalbody)
    last(r, before, "finally", lambda: branch(r, done, lambda: None, run) if isinstance(done, Arr) else done or run())


_JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise)


def _caught_whole(r: Reader, s: ast.Try) -> None:
    """A block with a finally clause that leaves it or raises, which takes the place of what the block raises, or of which a handler around
    a call sees what it changes: all that the block raises is caught."""
    caught_whole(r, _with_handler(s), s.finalbody)


def caught_whole(r: Reader, s: ast.Try, at_end: list[ast.stmt]) -> None:
    """A block with its handlers, and what runs after it if these have caught nothing."""
    caught = _guarded(r, s)
    run = lambda: _finally(r, at_end)
    branch(r, caught, lambda: None, run) if isinstance(caught, Arr) else caught or run()


@functools.cache
def _with_handler(s: ast.Try) -> ast.Try:
    inner: list[ast.stmt] = [ast.Try(s.body, s.handlers, s.orelse, [])] if s.handlers else s.body
    handler = ast.ExceptHandler(None, None, [*s.finalbody, ast.Raise()])
    out = ast.Try(inner, [handler], [], [])
    for n in (out, *inner, handler, handler.body[-1]):
        ast.copy_location(n, s) if not hasattr(n, "lineno") else None
    return out


def _block(r: Reader, s: ast.Try) -> None:
    """The block, its handlers and its else clause."""
    if not s.handlers:
        block(r, s.body)
        return
    caught = _guarded(r, s)
    if s.orelse and caught is not True:
        run = lambda: unless_stopped(r, s.orelse)
        branch(r, caught, lambda: None, run) if isinstance(caught, Arr) else run()


@contextlib.contextmanager
def pending(r: Reader, s: ast.Try | ast.With) -> Iterator[Final]:
    """While a block runs after which something has to run, however it is left."""
    frame = r.frame
    final = Final(s, r.state.made(Env({"done": False})), len(frame.guards), len(frame.loops))
    frame.finals.append(final)
    try:
        yield final
    finally:
        if final in frame.finals:
            frame.finals.remove(final)


def last(r: Reader, before: int, what: str, run: Callable[[], Any]) -> None:
    """Run what comes after a block, however it is left. Where the nodes from `before` on raise, a function that calls this one may catch
    that: so it may change variables of this function only. Nor may it raise something else in place of that."""
    inside = current().nodes[before:]
    _run_last(r, before, what, run)
    after = current().nodes[before + len(inside) :]
    if next(exceptions_of(r, inside), None) is None:
        return
    if next(exceptions_of(r, after), None) is None and not any(effects(n) == "io" and not n.outputs for n in within(after)):
        return
    if not r.whole:
        raise Restart(frozenset({WHOLE}))
    raise UnsupportedError(_REPLACED.format(what))


def _run_last(r: Reader, before: int, what: str, run: Callable[[], Any]) -> None:
    with nothing_stored(r, before, what):
        through = any(f.guards for f in r.frames[:-1])
        if not through or not any(n.op is raise_if for n in within(current().nodes[before:])):
            run()
            return
        region = run_region(r, run, conditional=False)
        for key, (place, old) in region.log.old.items():
            if not (isinstance(place, Name) and place.owner is r.frame.env) and region.log.new[key] is not old:
                raise UnsupportedError(_THROUGH)
        absorb(r, region)


def _leave(r: Reader, number: int) -> None:
    """An exception leaves all blocks within try number `number`: what has to run then runs before its handler."""
    frame = r.frame
    guards, loops, finals = frame.guards, frame.loops, frame.finals
    for k in reversed(range(len(finals))):
        final = finals[k]
        if final.guards <= number or isinstance(final.statement, ast.Try) and not final.statement.finalbody:
            continue
        if isinstance(final.statement, ast.With):
            raise UnsupportedError(_THROUGH)
        frame.guards, frame.loops, frame.finals = guards[: final.guards], loops[: final.loops], finals[:k]
        before = [flag(env, name) for env, name in jumps(r)]
        block(r, final.statement.finalbody)
        if any(flag(env, name) is not f for f, (env, name) in zip(before, jumps(r))):
            raise UnsupportedError(_THROUGH)
        r.state.assign(Name(final.env, "done"), True)
    frame.guards, frame.loops, frame.finals = guards, loops, finals


def _guarded(r: Reader, s: ast.Try) -> Any:
    """Run the block with its handlers in force; was an exception caught: a bool, or a traced one."""
    env = r.state.made(Env({"caught": False}))
    guard = RunningTry(s, env, len(r.frame.loops))
    depth, loops, frame = len(r.frames), len(r.frame.loops), r.frame
    frame.guards.append(guard)
    try:
        block(r, s.body)
    except (Restart, Dead):
        raise
    except BaseException as e:
        seen = as_python(e)
        if seen is None:
            raise
        del r.frames[depth:]
        del r.frame.loops[loops:]
        frame.guards.remove(guard)
        if not _handled(r, s, seen):
            raise
        return True
    finally:
        if guard in frame.guards:
            frame.guards.remove(guard)
    return flag(env, "caught")


def _handled(r: Reader, s: ast.Try, e: BaseException) -> bool:
    """Run the handler of an exception, if there is one."""
    h = _handler(r, s, type(e))
    if h is None:
        return False
    if h.type is not None:
        r.expr(h.type)
    if h.name is not None:
        r.state.assign(Name(r.frame.env, h.name), e)
    r.handling.append(e)
    try:
        block(r, h.body)
    finally:
        r.handling.pop()
        if h.name is not None:
            r.state.assign(Name(r.frame.env, h.name), UNDEFINED)  # Python deletes it
    return True


def _handler(r: Reader, s: ast.Try, kind: type[BaseException]) -> ast.ExceptHandler | None:
    for h in s.handlers:
        if issubclass(kind, _caught_by(r, h)):
            return h
    return None


def _caught_by(r: Reader, h: ast.ExceptHandler) -> Any:
    """The class of what a handler catches, or a tuple of such. Python looks for it only when something is raised: if there is no such
    name, that error takes the place of whatever was raised."""
    try:
        return BaseException if h.type is None else r.expr(h.type)
    except (AttributeError, NameError):
        return BaseException


def _finally(r: Reader, stmts: list[ast.stmt]) -> None:
    """A finally clause runs even if the block has been left; a jump of its own takes the place of that one."""
    left = [(Name(env, name), flag(env, name)) for env, name in jumps(r) if flag(env, name) is not False]
    for place, _ in left:
        r.state.assign(place, False)
    block(r, stmts)
    own = stopped(r)
    again = lambda: r.state.change(left)
    branch(r, own, lambda: None, again) if isinstance(own, Arr) else own or again()


@contextlib.contextmanager
def nothing_stored(r: Reader, before: int, what: str) -> Iterator[None]:
    """What runs here, Python runs too if the nodes from `before` on raise: it must not store what the caller would see then."""
    may_raise, contents = any(effects(n) != "none" for n in current().nodes[before:]), r.kept.contents()
    yield
    if may_raise and any(contents.get(k) is not x for k, x in r.kept.contents().items()):
        raise UnsupportedError(
            f"{what} stores into an array of the caller after code that may raise depending on data, and an exception raised by "
            "compiled code ends it; put it around the call"
        )


# ---- one statement -------------------------------------------------------------------------------------------------------


def guarded(r: Reader, run: Callable[[], Any], then: Callable[[], Any]) -> bool:
    """Run a simple statement with the handlers of the running function in force; True if `then`, what follows it in its

    block, has been run too: where the statement may raise, it goes on in the branch in which it did not.
    """
    depth, loops, raised = len(r.frames), len(r.frame.loops), list[BaseException]()

    def body() -> Any:
        try:
            return run()
        except Exception as e:
            if r.conditional or isinstance(e, Dead) or as_python(e) is None:
                raise
            del r.frames[depth:]
            del r.frame.loops[loops:]
            raised.append(e)

    with _dated(r):
        region = run_region(r, body, conditional=False)
    found = _catch(r, region, None, (lambda: _raised(r, raised[0])) if raised else then)
    if raised and not found:
        raise raised[0]
    return found


@contextlib.contextmanager
def _dated(r: Reader) -> Iterator[None]:
    """Logs keep their history for a while."""
    before, r.state.dated = r.state.dated, True
    try:
        yield
    finally:
        r.state.dated = before


def _raised(r: Reader, e: BaseException) -> None:
    """A statement raises e, after what may raise depending on data: the innermost handler runs where that has not raised."""
    seen = as_python(e)
    number = None if seen is None else _guard_for(r, type(seen))
    if seen is None or number is None:
        raise e
    _handle(r, seen, number)


def head(r: Reader, run: Callable[[], Any]) -> Any:
    """What `run` gives, the head of a compound statement: it may not raise what a handler catches."""
    if not r.frame.guards:
        return run()
    before = len(current().nodes)
    out = run()
    if may_be_caught(r, current().nodes[before:]):
        raise UnsupportedError(CAUGHT)
    return out


def may_be_caught(r: Reader, nodes: list[Node]) -> bool:
    """Does a handler in force catch what these nodes raise, or the functions that they call?"""
    if not r.frame.guards:
        return False
    called = called_by(r, nodes)
    for record in r.records:
        if record.name in called and not record.done:
            record.tried += [(c, nodes[-1].loc) for c in _caught_classes(r)]
    return any(_guard_of(r, n) is not None for n in raising(r, nodes, called))


def caught_around(r: Reader) -> tuple[type[BaseException], ...]:
    """What the handlers around a call of the running function catch, in whatever function they are."""
    found: dict[type[BaseException], None] = {}
    frames = r.frames
    for k in range(1, len(frames)):
        if frames[k - 1].guards:
            r.frames = frames[:k]  # the classes are names of that function
            try:
                found |= dict.fromkeys(_caught_classes(r))
            finally:
                r.frames = frames
    return tuple(found)


def _caught_classes(r: Reader) -> list[type[BaseException]]:
    """What the handlers in force catch."""
    classes = [_caught_by(r, h) for g in r.frame.guards for h in g.statement.handlers]
    return [c for x in classes for c in (x if isinstance(x, tuple) else (x,))]


def check_tried(r: Reader, graph: Graph, tried: list[tuple[type[BaseException], Loc | None]]) -> None:
    """Raise UnsupportedError if a function raises what a handler around a call of it, in itself, would catch."""
    for n in walk(graph):
        for cls, loc in tried if n.op is raise_if else ():
            if not is_limit(n) and issubclass(kind_of(r, n), cls):
                raise UnsupportedError(CAUGHT, loc)


def _guard_of(r: Reader, n: Node) -> int | None:
    """The number of the innermost try around that catches what a `raise_if` raises, if Python raises that too."""
    return None if is_limit(n) else _guard_for(r, kind_of(r, n))


def _guard_for(r: Reader, kind: type[BaseException]) -> int | None:
    for k in reversed(range(len(r.frame.guards))):
        if _handler(r, r.frame.guards[k].statement, kind) is not None:
            return k
    return None


def _catch(r: Reader, region: Region, found: Node | None, then: Callable[[], Any]) -> bool:
    """Let the handlers catch what a region raises; the rest of it goes into the current builder. `found`: what did before."""
    for k, n in enumerate(region.nodes):
        if n.op is raise_if:
            number = _guard_of(r, n)
            if number is not None:
                _caught(r, region, k, number, then)
                return True
        elif (n.regions or n.op is call_op) and may_be_caught(r, [n]):
            if not r.holds:
                raise Restart(frozenset({HELD}))
            raise UnsupportedError(CAUGHT, n.loc)
    absorb(r, region)
    if found is not None:
        then()
    return found is not None


def _caught(r: Reader, region: Region, k: int, number: int, then: Callable[[], Any]) -> None:
    """Node k of a region raises what try number `number` catches."""
    nodes, n = list(region.nodes), region.nodes[k]
    if any(effects(m) == "io" for m in nodes[k:]):
        raise UnsupportedError(CAUGHT, n.loc)
    current().nodes += nodes[:k]
    region.builder.nodes = nodes[k + 1 :]
    done = region.log.at(k)
    region.log.history = [(max(0, at - k - 1), place, value) for at, place, value in region.log.history]

    def handle() -> None:
        r.state.change(done)
        _handle(r, exception_of(r, n), number)

    if region.dead and k == len(nodes) - 1:  # it always raises
        region.dead = False
        absorb_changes(r, region)
        _handle(r, exception_of(r, n), number)
        return
    side = run_region(r, handle)
    rest = run_region(r, lambda: _catch(r, region, n, then))
    side.result = rest.result = None
    finish(r, Arr(n.inputs[0], True), side, rest)


def absorb_changes(r: Reader, region: Region) -> None:
    """Nothing of a statement that raised has come about, but for what it did before: that is in the log."""
    r.state.joined[region.builder] = current()
    r.state.commit(region.log, len(current().nodes))


def _handle(r: Reader, e: BaseException, number: int) -> None:
    """Run the handler of try `number`, and leave its block."""
    frame = r.frame
    _leave(r, number)
    guard, inner, loops, finals = frame.guards[number], frame.guards[number:], frame.loops, frame.finals
    del frame.guards[number:]
    frame.loops, frame.finals = loops[: guard.loops], [f for f in finals if f.guards <= number]
    try:
        _handled(r, guard.statement, e)
    finally:
        frame.guards += inner
        frame.loops, frame.finals = loops, finals
    r.state.assign(Name(guard.env, "caught"), True)
