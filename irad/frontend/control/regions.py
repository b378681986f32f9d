"""Regions: parts of the program that are run with a builder and a log of their own, to become graphs, or at compile time."""

from __future__ import annotations

import builtins
import dis
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from irad.core.ir import Builder, Node, Value, current, within
from irad.errors import IradError, PythonTypeError, PythonValueError, UnsupportedError
from irad.frontend.control.templates import Template
from irad.frontend.reader import OWN, Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, Cell, Choice, Closure, Maybe, Nullable, Poison, Stand
from irad.frontend.values.runs import Run
from irad.frontend.values.state import Region
from irad.ops.constant import scalar
from irad.ops.control import raise_if
from irad.ops.intervals import learn
from irad.ops.text import PARTS, escaped

_UNKNOWN = "what the function returns is not known yet"
_NUMBERS = itertools.count(1)  # of exceptions that are kept; programs may be put together


class Dead(Exception):
    """Unwinds a region that has raised."""


class Emitted(Exception):
    """Ends an attempt to run something at compile time: it is not static."""


class _Quiet(list[Node]):
    """The nodes of a builder in which nothing may be emitted."""

    def append(self, node: Node) -> None:
        raise Emitted

    def __iadd__(self, nodes: Any) -> Any:  # type: ignore[misc]
        raise Emitted


def run_region(r: Reader, body: Callable[[], Any], conditional: bool = True) -> Region:
    """Run something with a builder and a log of its own; the state is as before afterwards.

    `conditional`: whether it will run depends on data, so an exception in it must be raised at run time.
    """
    if r.quiet and conditional:
        raise Emitted
    region = Region(Builder(), None)  # type: ignore[arg-type]
    if r.quiet:
        region.builder.nodes = _Quiet()
    with region.builder, r.state.logged(region.builder) as log, _conditional(r, conditional):
        region.log = log
        region.dead, region.result = _run(r, body)
    return region


@contextmanager
def _conditional(r: Reader, more: bool) -> Iterator[None]:
    r.conditional += more
    try:
        yield
    finally:
        r.conditional -= more


def quietly(r: Reader, body: Callable[[], None]) -> bool:
    """Run something at compile time; False, and nothing changed, if it would emit a node or needs a traced number."""
    depth = len(r.frames)
    loops = [len(f.loops) for f in r.frames]
    r.quiet += 1
    try:
        ends = Ends(body)
        region = run_region(r, ends, conditional=False)
    except (Emitted, IradError):
        del r.frames[depth:]
        for f, n in zip(r.frames, loops):
            del f.loops[n:]
        return False
    finally:
        r.quiet -= 1
    absorb(r, region)
    ends.passed_on(None)
    return True


class Ends:
    """A body, and the exception of the program by which it has ended, to be raised when the region is closed."""

    def __init__(self, body: Callable[[], Any]):
        self.body = body
        self.raised: Exception | None = None

    def __call__(self) -> Any:
        try:
            return self.body()
        except Exception as e:
            if isinstance(e, (IradError, Dead)) or as_python(e) is None:
                raise
            self.raised = e
            return None

    def passed_on(self, result: Any) -> Any:
        if self.raised is not None:
            raise self.raised
        return result


def resume_region(r: Reader, region: Region, body: Callable[[], Any]) -> None:
    """Go on in a region from where it ended."""
    loc = current().loc
    with region.builder:
        region.builder.loc = loc
        r.state.logs.append(region.log)
        for key, (place, _) in region.log.old.items():
            place.set(region.log.new[key])
        r.state.turned(region.log)
        try:
            with _conditional(r, True):
                region.dead, region.result = _run(r, body)
        finally:
            r.state.logs.pop()
            region.log.close()
            r.state.turned(region.log)


def _run(r: Reader, body: Callable[[], Any]) -> tuple[bool, Any]:
    depth = len(r.frames)
    try:
        return False, body()
    except Dead:
        del r.frames[depth:]
        return True, None
    except (Exception, SystemExit) as e:
        if not r.conditional or not (of_the_program(e) or isinstance(e, _IF_TRIED) and any(f.guards for f in r.frames)):
            raise
        del r.frames[depth:]
        raise_as(r, e)
        return True, None


def at_run_time(r: Reader, body: Callable[[], Any]) -> Any:
    """What a side of a branch gives that the program did not write: what Python would raise there is raised if it is taken."""
    try:
        return body()
    except _IF_TRIED as e:
        raise_as(r, e)
        raise Dead from None


_OF_PYTHON = (IndexError, ZeroDivisionError, OverflowError)  # errors of irad that Python raises too, where the line is reached
_IF_TRIED = (PythonTypeError, PythonValueError)  # and those that are said at compile time, unless a `try` is around


def of_the_program(e: BaseException) -> bool:
    """Would Python raise it, running the program (rather than irad, which cannot compile it)?"""
    if isinstance(e, IradError):
        return isinstance(e, _OF_PYTHON)
    if isinstance(e, (RecursionError, NotImplementedError)):  # irad's own come by other ways than a statement of the program
        return getattr(e, _SAID, False)
    return not isinstance(e, Emitted) and not type(e).__module__.startswith("irad.") and not _slip(e)


_STAND_INS = (Arr, Array, Cell, Choice, Closure, Maybe, Nullable, Poison, Run, Stand, Template, Value)  # what stands for values


def _slip(e: BaseException) -> bool:
    """Is it a mistake of irad's own: an attribute or a name that its code does not find, or Python's words on what stands for a value?

    An exception of the program is raised by a statement of irad's, or by a call on the program's behalf.
    """
    tb = e.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is None or not tb.tb_frame.f_code.co_filename.startswith(OWN):
        return False
    operation = dis.opname[tb.tb_frame.f_code.co_code[tb.tb_lasti]]
    if isinstance(e, (AttributeError, NameError)):
        return operation.startswith(("LOAD_", "STORE_", "DELETE_"))
    named = {f"'{c.__name__}' object" for kind in _STAND_INS for c in (kind, *kind.__subclasses__())}
    return isinstance(e, TypeError) and operation != "RAISE_VARARGS" and any(name in str(e) for name in named)


_SAID = "_irad_said"  # an attribute of exceptions that a `raise` of the program names


def said(e: BaseException) -> BaseException:
    """The exception of a `raise` in the program."""
    setattr(e, _SAID, True)
    return e


def as_python(e: BaseException) -> BaseException | None:
    """What a handler of the program sees of an exception; None of what only a compiler raises."""
    if not isinstance(e, IradError):
        return None if isinstance(e, Exception) and not of_the_program(e) else e
    kind = _python_kind(e)
    return None if kind is None else kind(e.message)


def _python_kind(e: IradError) -> type[Exception] | None:
    """The class of the exception that Python raises where irad raises this; None where Python raises none."""
    for kinds, shown in ((_OF_PYTHON, _OF_PYTHON), (_IF_TRIED, (TypeError, ValueError))):
        for kind, python in zip(kinds, shown):
            if isinstance(e, kind):
                return python
    return None


def raise_as(r: Reader, e: BaseException) -> None:
    """Emit an unconditional raise of what the program raised while it was read."""
    if isinstance(e, IradError):
        current().loc = e.loc or current().loc
        kind = _python_kind(e)
        assert kind is not None
        raise_always(kind.__name__, escaped(e.message))
    else:
        raise_always(*known_exception(r, e))


def known_exception(r: Reader, e: BaseException) -> tuple[str, str]:
    """Name and message template of an exception whose arguments are known now; where the two do not tell all, it is kept."""
    name, text = type(e).__qualname__, str(e.args[0]) if len(e.args) == 1 else str(e)
    plain = getattr(builtins, name, None) is type(e) and (not e.args or (len(e.args) == 1 and type(e.args[0]) is str))
    if plain and (e.args or not text):
        return name, escaped(text) if e.args else ""
    return kept_exception(r, e), escaped(text)


def kept_exception(r: Reader, e: BaseException | type[BaseException]) -> str:
    """The name in the program of an exception, or class of exceptions, that is looked up when it is raised."""
    name = e.__qualname__ if isinstance(e, type) else type(e).__qualname__
    if not isinstance(e, type) or r.exceptions.get(name, e) is not e or hasattr(builtins, name):
        name = f"{name}.{next(_NUMBERS)}"
    r.exceptions[name] = e
    return name


def raise_always(exc: str, message: str, operands: Sequence[Value] = ()) -> None:
    """Emit an unconditional raise."""
    raise_if(scalar(True, "bool"), *operands, exc=exc, message=message)


def always_raises(region: Region, what: str) -> IradError:
    """The error for a region that raises whatever the data: says what it raises, and where."""
    last = next((n for n in reversed(region.nodes) if n.op is raise_if), None)
    if last is None:
        return UnsupportedError(f"{what} always raises an exception")
    said = last.attrs["message"].replace(PARTS, ", ")
    return UnsupportedError(
        f"{what} always raises {last.attrs['exc'].partition('.')[0]}" + (f": {said}" if said else ""), last.loc
    )


class EveryTripRaises(UnsupportedError):
    """Each trip of a loop raises an exception, whatever the data. `nodes`: what a trip does before, and the raise."""

    def __init__(self, region: Region):
        found = always_raises(region, "every trip of this loop")
        super().__init__(found.message, found.loc)
        self.nodes = list(region.nodes)


def assume_no_return() -> Dead:
    """Let what calls a recursive function whose result is not known yet count as not returning; the exception to raise."""
    raise_always("RecursionError", _UNKNOWN)
    return Dead()


def undecided(region: Region) -> bool:
    """Does a region not return only because what a recursive function returns is not known yet?"""
    return region.dead and any(n.op is raise_if and n.attrs["message"] == _UNKNOWN for n in within(region.nodes))


def dead_end(region: Region, what: str) -> Exception:
    """The exception for a region that must return, and does not."""
    return assume_no_return() if undecided(region) else always_raises(region, what)


def attempt(r: Reader, body: Callable[[], Any]) -> Any:
    """Run something that may fail without leaving a trace. What the program raises is no failure: what it has done before stays."""
    depth = len(r.frames[-1].loops)
    ends = Ends(body)
    region = run_region(r, ends, conditional=False)
    del r.frames[-1].loops[depth:]
    return ends.passed_on(absorb(r, region))


def absorb(r: Reader, region: Region) -> Any:
    """Make a region part of the current builder, as if it had been run here; its result."""
    outer = current()
    before = len(outer.nodes)
    if region.nodes:
        outer.nodes += region.nodes
        learn(region.builder)
    r.state.joined[region.builder] = outer
    r.state.commit(region.log, before)
    if region.dead:
        raise Dead
    return region.result
