"""Branches that depend on data: both sides are run from the same state, then their outcomes are merged into one `if`.

A jump (return, break, continue) sets a flag; what follows runs under the condition that no flag is set, or, where one
side always jumps, inside the other side. A side that always raises leaves no outcome to merge.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from irad.errors import IradError
from irad.frontend.arr import Arr, lift
from irad.frontend.merge import Ary, Bad, Joiner, Maker, Node, Opt, Same, Template, holes, leaves, zero
from irad.frontend.objects import UNDEFINED, Array, At, Cell, Either, Env, Maybe, StructureError
from irad.frontend.reader import Reader
from irad.frontend.state import Items, Name, Place, Region, Storage
from irad.ir import Builder, Graph, Node as IRNode, Value, current, emit
from irad.ops.constant import scalar
from irad.ops.control import if_, raise_if
from irad.ops.core import effects
from irad.ops.elementwise import logical_not, logical_or
from irad.types import BOOL

Live = frozenset[str] | None  # names of the running function that are read later; None: all


class Dead(Exception):
    """Unwinds a region that has raised."""


class Emitted(Exception):
    """Ends an attempt to run something at compile time: it is not static."""


class _Quiet(list[IRNode]):
    """The nodes of a builder in which nothing may be emitted."""

    def append(self, node: IRNode) -> None:
        raise Emitted

    def __iadd__(self, nodes: Any) -> Any:
        raise Emitted


# ---- regions -----------------------------------------------------------------------------------------------------


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


# ---- branches -----------------------------------------------------------------------------------------------------


def branch(r: Reader, cond: Arr, then: Callable[[], Any], orelse: Callable[[], Any], live: Live = None) -> Any:
    """Run one of two sides, by a traced bool; their merged result. Effects on the state are merged too."""
    a = run_region(r, then)
    b = run_region(r, orelse)
    return finish(r, cond, a, b, live)


def finish(r: Reader, cond: Arr, a: Region, b: Region, live: Live = None) -> Any:
    """Merge two sides that were run."""
    if a.dead and b.dead:
        emit(if_, cond.value, regions=[_graph(a), _graph(b)])
        raise Dead
    if a.dead or b.dead:
        _raising_side(cond, a if a.dead else b, a.dead)
        return absorb(r, b if a.dead else a)
    return Merge(r, cond, a, b, live).run()


def _graph(region: Region, results: Sequence[Value] = ()) -> Graph:
    return Graph((), tuple(region.nodes), tuple(results))


def _raising_side(cond: Arr, side: Region, when: bool) -> None:
    """A side that ends in a raise: one `raise_if` if nothing else happens in it, else an `if` around it."""
    c = cond.value if when else logical_not(cond.value)
    *before, last = side.nodes
    if last.op is raise_if and all(effects(n) == "none" for n in before) and len(before) < 16:
        constant = last.inputs[0]
        current().nodes += [n for n in before if constant not in n.outputs]
        raise_if(c, *last.inputs[1:], **last.attrs)
    else:
        emit(if_, c, regions=[_graph(side), Graph((), (), ())])


def branch_values(r: Reader, cond: Arr, then: Callable[[], list[Value]], orelse: Callable[[], list[Value]]) -> list[Value]:
    """An `if` over plain values, without effects on the state."""
    graphs = []
    for side in (then, orelse):
        with Builder() as b:
            results = side()
        graphs.append(Graph((), tuple(b.nodes), tuple(results)))
    return list(emit(if_, cond.value, regions=graphs))


@dataclass(eq=False)
class _Item:
    """Something to be merged: a place (None: the result of the branch), and what it is on the two sides."""

    place: Place | None
    a: Any
    b: Any
    template: Template

    def side(self, k: int) -> Any:
        """What it is on a side, whose state is in force."""
        if isinstance(self.place, Storage):
            return Array(self.place.owner)
        return self.b if k else self.a


class Merge:
    """The merge of two sides of a branch."""

    def __init__(self, r: Reader, cond: Arr, a: Region, b: Region, live: Live):
        self.r, self.cond, self.a, self.b, self.live = r, cond, a, b, live
        self.joiner = Joiner()
        self.partner: dict[int, Cell] = {}
        self.exports: list[tuple[Ary, int]] = []  # fresh arrays that must be seen on their own: (template, side)

    def run(self) -> Any:
        items = self._items()
        for t in {id(t): t for i in items for t in _arrays(i.template)}.values():
            self._pair(t)
        sides = [self._fill(region, items, k) for k, region in enumerate((self.a, self.b))]
        if not sides[0] and not any(effects(n) != "none" for region in (self.a, self.b) for n in region.nodes):
            outs: tuple[Value, ...] = ()
        else:
            outs = emit(if_, self.cond.value, regions=[_graph(self.a, sides[0]), _graph(self.b, sides[1])], hints=_hints(items))
        return self._place(items, list(outs))

    def _items(self) -> list[_Item]:
        places = {k: p for region in (self.a, self.b) for k, (p, _) in region.log.old.items()}
        items = []
        for place in places.values():
            if self._dead_name(place):
                continue
            a, b = self.a.value(place), self.b.value(place)
            items.append(_Item(place, a, b, self._template(place, a, b)))
        items.append(_Item(None, self.a.result, self.b.result, self.joiner.join(self.a.result, self.b.result)))
        return items

    def _dead_name(self, place: Place) -> bool:
        return (
            isinstance(place, Name) and self.live is not None and place.owner is self.r.frame.env and place.name not in self.live
        )

    def _template(self, place: Place, a: Any, b: Any) -> Template:
        if isinstance(place, Storage):
            whole = Array(place.owner)
            return Same(a) if a is b else Ary(whole.type, (whole, whole))
        t = self.joiner.join(a, b)
        if isinstance(place, Items) and isinstance(t, Bad):
            raise StructureError(
                f"a {type(place.owner).__name__} is changed under a condition that depends on data so that {t.message}; "
                "keep its length and types the same on both paths"
            )
        return t

    # ---- arrays ----

    def _pair(self, t: Ary) -> None:
        """Decide what a merged array is: one new array, or either of two that live on."""
        sides = (self.a, self.b)
        if t.pair[0] is t.pair[1]:
            return
        for k, (x, region) in enumerate(zip(t.pair, sides)):
            if isinstance(x, Array) and not self._visible(x, region):
                self.exports.append((t, k))

    def _fresh(self, x: Any, region: Region) -> bool:
        return isinstance(x, Array) and x.fresh_whole and self.r.state.born(x.cell) is region.builder

    def _visible(self, x: Array, region: Region) -> bool:
        """Can the array object be used outside the region?"""
        if isinstance(x, Either):
            return not region.defines(x.cond.value) and self._visible(x.left, region) and self._visible(x.right, region)
        if self.r.state.born(x.cell) is region.builder:
            return False
        return not any(region.defines(v) for s in x.steps if isinstance(s, At) for v in s.plan.operands)

    def _both_fresh(self, t: Ary) -> bool:
        x, y = t.pair
        if not (self._fresh(x, self.a) and self._fresh(y, self.b)):
            return False
        first = self.partner.setdefault(id(x.cell), y.cell)
        second = self.partner.setdefault(id(y.cell), x.cell)
        return first is y.cell and second is x.cell

    # ---- values ----

    def _fill(self, region: Region, items: list[_Item], side: int) -> list[Value]:
        """The values that a side yields, made at its end."""
        seen: set[int] = set()
        with region.builder, region.log.replayed():
            out = [v for i in items for v in leaves(i.template, i.side(side), self.r.read, seen)]
            for t, of in self.exports:
                out.append(self.r.value(t.pair[of]) if of == side else zero(t.type))
        return out

    def _place(self, items: list[_Item], outs: list[Value]) -> Any:
        n = len(outs) - len(self.exports)
        exported = {(id(t), k): v for (t, k), v in zip(self.exports, outs[n:])}
        maker = Maker(outs[:n], lambda t, v: self._array(t, v, exported), self.r.state.made)
        result = None
        for i in items:
            if i.place is None:
                result = maker.make(i.template)
            elif isinstance(i.place, Storage):
                self.r.state.assign(i.place, i.a if isinstance(i.template, Same) else next(maker.values))
            elif isinstance(i.place, Items):
                self.r.state.touch(i.place.owner)
                i.place.set(maker.make(i.template))
            else:
                self.r.state.assign(i.place, maker.make(i.template))
        return result

    def _array(self, t: Ary, value: Value, exported: dict[tuple[int, int], Value]) -> Array:
        x, y = t.pair
        if x is y or self._both_fresh(t):
            return Array(Cell(value))
        sides = [Array(Cell(exported[id(t), k])) if (id(t), k) in exported else s for k, s in enumerate((x, y))]
        return Either(self.cond, sides[0], sides[1], value)


def _arrays(t: Template) -> Iterator[Ary]:
    if isinstance(t, Ary):
        yield t
    elif isinstance(t, Opt):
        yield from _arrays(t.child)
    elif isinstance(t, Node):
        for k in t.kids:
            yield from _arrays(k)


def _hints(items: list[_Item]) -> list[str]:
    """Names for the values that an `if` or a loop yields."""
    out: list[str] = []
    seen: set[int] = set()
    for i in items:
        name = i.place.name if isinstance(i.place, Name) else i.place.owner.name if isinstance(i.place, Storage) else ""
        out += [str(name or "")] * len(holes(i.template, seen))
    return out


# ---- jumps ---------------------------------------------------------------------------------------------------------


def flag(env: Env, name: str) -> Any:
    """A jump flag: False, True or a traced bool."""
    return env.names[name]


def jumps(r: Reader) -> list[tuple[Env, str]]:
    """The flags that end the running block."""
    own = [(r.frame.loops[-1], "break"), (r.frame.loops[-1], "continue")] if r.frame.loops else []
    return [(r.frame.flags, "return"), *own]


def stopped(r: Reader) -> Any:
    """Has the running block been left: True, False, or a traced bool."""
    out: Any = False
    for env, name in jumps(r):
        f = flag(env, name)
        if f is True:
            return True
        if isinstance(f, Arr):
            out = f if out is False else Arr(logical_or(out.value, f.value), True)
    return out


def block(r: Reader, stmts: Sequence[ast.stmt]) -> None:
    """Run statements; those after a jump that data decides run under its negation."""
    for k, s in enumerate(stmts):
        rest = stmts[k + 1 :]
        if isinstance(s, ast.If):
            if if_statement(r, s, rest):
                return
        else:
            r.stmt(s)
        stop = stopped(r)
        if stop is True:
            return
        if isinstance(stop, Arr):
            if rest:
                under(r, stop, lambda rest=rest: block(r, rest), live_after(r, stmts[-1]))  # type: ignore[misc]
            return


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


def if_statement(r: Reader, s: ast.If, rest: Sequence[ast.stmt]) -> bool:
    """An `if` and, perhaps, the statements after it in its block; True if those have been run too."""
    r.at(s.test)
    try:
        cond = r.truth(r.expr(s.test))
    except IradError as e:
        raise e.at(r.loc(s.test)) from e.__cause__
    if not isinstance(cond, Arr):
        block(r, s.body if cond else s.orelse)
        return False
    last = rest[-1] if rest else s
    a = run_region(r, lambda: _arm(r, s.body))
    b = run_region(r, lambda: _arm(r, s.orelse))
    left = [x.dead or x.result is True for x in (a, b)]
    if rest and left[0] != left[1] and not (a.dead or b.dead):
        resume_region(r, b if left[0] else a, lambda: _arm(r, rest))
        finish(r, cond, _plain(a), _plain(b), live_after(r, last))
        return True
    finish(r, cond, _plain(a), _plain(b), live_after(r, s))
    return False


def _arm(r: Reader, stmts: Sequence[ast.stmt]) -> Any:
    block(r, stmts)
    return stopped(r)


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
    return Arr(logical_not(c.value), True)


def bool_value(x: Any) -> Value:
    """A bool, traced or not, as a value."""
    return x.value if isinstance(x, Arr) else scalar(bool(x), "bool")


__all__ = [
    "BOOL", "Dead", "Emitted", "IRNode", "Live", "UNDEFINED", "absorb", "block", "bool_value", "branch", "branch_values", "finish", "flag",
    "if_statement", "lift", "live_after", "loop_flags", "negated", "quietly", "raise_always", "resume_region", "run_region", "settle", "stopped", "under",
]  # fmt: skip
