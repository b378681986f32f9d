"""Regions: parts of the program that are run with a builder and a log of their own, to become graphs, or at compile time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from irad.errors import IradError
from irad.frontend.reader import Reader
from irad.frontend.state import Region
from irad.ir import Builder, Value, current
from irad.ir import Node as IRNode
from irad.ops.constant import scalar
from irad.ops.control import raise_if


class Dead(Exception):
    """Unwinds a region that has raised."""


class Emitted(Exception):
    """Ends an attempt to run something at compile time: it is not static."""


class _Quiet(list[IRNode]):
    """The nodes of a builder in which nothing may be emitted."""

    def append(self, node: IRNode) -> None:
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
        region = run_region(r, body, conditional=False)
    except (Emitted, IradError):
        del r.frames[depth:]
        for f, n in zip(r.frames, loops):
            del f.loops[n:]
        return False
    finally:
        r.quiet -= 1
    absorb(r, region)
    return True


def resume_region(r: Reader, region: Region, body: Callable[[], Any]) -> None:
    """Go on in a region from where it ended."""
    loc = current().loc
    with region.builder:
        region.builder.loc = loc
        r.state.logs.append(region.log)
        for key, (place, _) in region.log.old.items():
            place.set(region.log.new[key])
        try:
            with _conditional(r, True):
                region.dead, region.result = _run(r, body)
        finally:
            r.state.logs.pop()
            region.log.close()


def _run(r: Reader, body: Callable[[], Any]) -> tuple[bool, Any]:
    depth = len(r.frames)
    try:
        return False, body()
    except Dead:
        del r.frames[depth:]
        return True, None
    except IradError as e:
        if not isinstance(e, (IndexError, ZeroDivisionError)) or not r.conditional:
            raise
        del r.frames[depth:]
        kind = "IndexError" if isinstance(e, IndexError) else "ZeroDivisionError"
        raise_always(kind, e.message)
        return True, None


def raise_always(exc: str, message: str, operands: Sequence[Value] = ()) -> None:
    """Emit an unconditional raise."""
    raise_if(scalar(True, "bool"), *operands, exc=exc, message=message)


def absorb(r: Reader, region: Region) -> Any:
    """Make a region part of the current builder, as if it had been run here; its result."""
    outer = current()
    if region.nodes:
        outer.nodes += region.nodes
    r.state.joined[region.builder] = outer
    r.state.commit(region.log)
    if region.dead:
        raise Dead
    return region.result
