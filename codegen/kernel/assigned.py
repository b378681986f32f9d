"""What the ranges of the loops prove about the memory of a kernel: definite assignment, and iterations that do not meet.

- *read*: each element that is read from the kernel's own memory (scratch buffers, places of the arena) was written before,
  on every path, since the life of the memory began (`Begin`).
- *lanes*, *threads*: no iteration of a vec or a par loop touches what another one writes.

What cannot be proved is listed, not refused: code that checks its memory checks it at run time. A scratch buffer that is read
before anything is stored to it holds nothing but a pattern: that is an error of the compiler. A place of the arena may be carried along
before it holds anything, as the result of a function that has not returned yet.

The proofs compare pairs of accesses, so they run in tests and for code that checks its memory, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import integer
from irad.codegen.kernel.independence import Body, ByteAccess, Ranges, all_ranges, covered, disjoint, overlapping, span_of
from irad.codegen.kernel.show import show
from irad.core.affine import Integer, substitute, symbol
from irad.core.lazy_dataclass import dataclass, field, replace
from irad.core.types import DTYPES
from irad.errors import VerifyError

_NOWHERE = kf.For("", "seq", 0, 1)
Path = tuple[kf.Stmt, ...]


@dataclass
class Proofs:
    """How many of each kind there are, and what was not proved of them: kind, kernel, statement or loop, buffer."""

    total: dict[str, int] = field(default_factory=dict)
    unproven: list[tuple[str, str, str, str]] = field(default_factory=list)

    def note(self, kind: str, kernel: str, what: kf.Stmt, buf: str, proved: bool) -> None:
        self.total[kind] = self.total.get(kind, 0) + 1
        if not proved:
            self.unproven.append((kind, kernel, _line(what), buf))


def prove(kernels: Sequence[kf.Kernel]) -> Proofs:
    """What can be proved of kernels lowered with `lives`. Raises VerifyError where nothing was stored before a read."""
    proofs = Proofs()
    for k in kernels:
        _Kernel(k, proofs).run()
    return proofs


@dataclass
class _Seen:
    """An access of local memory: the life of the memory that it is in, and its statement."""

    access: ByteAccess
    life: int
    statement: kf.Stmt
    doubtful: bool = False  # a later trip of a loop finds it in another life


class _Kernel:
    def __init__(self, kernel: kf.Kernel, proofs: Proofs):
        self.kernel, self.proofs = kernel, proofs
        self.scope: dict[str, Any] = {p.name: p for p in kernel.params if p.shape is not None}
        self.arenas = {p.name for p in kernel.params if p.name == "arena"}
        self.seen: dict[str, list[_Seen]] = {}  # by buffer
        self.local: set[str] = set()
        self.opaque: set[str] = set()  # what changes places, or is in another's hands
        self.count = 0
        self.either: set[int] = set()  # lives that are one or another
        self.starts: dict[str, Integer] = {}  # loop variables that are counted from 0 here, and what they stand for

    def run(self) -> None:
        self.block(self.kernel.body, (), {}, {})
        for name, accesses in self.seen.items():
            if name in self.local:
                self.reads(name, accesses)

    # ---- collecting ------------------------------------------------------------------------------------------

    def block(self, body: Sequence[kf.Stmt], path: Path, lives: dict[str, int], ranges: Ranges) -> list[ByteAccess]:
        """The accesses of a block; `lives`: which life the memory of each buffer is in, changed as the block goes on."""
        out: list[ByteAccess] = []
        for s in body:
            if isinstance(s, kf.For):
                s = self.from_zero(s)
                found = self.inner(s.body, (*path, s), lives, {**ranges, s.var: span_of(s, ranges)})
                self.starts.pop(s.var, None)
                self.iterations(s, found, ranges)
                out += found
            elif isinstance(s, kf.If):
                out += self.inner(s.then, (*path, s), lives, ranges)
                out += self.inner(s.orelse, (*path, replace(s)), lives, ranges)
            elif isinstance(s, kf.While):
                out += self.inner([*s.test, *s.body], (*path, s), lives, ranges)
            else:
                out += self.statement(s, path, lives)
        return out

    def inner(self, body: Sequence[kf.Stmt], path: Path, lives: dict[str, int], ranges: Ranges) -> list[ByteAccess]:
        """A block that may run never, or more than once: what begins a life in it is in one or the other after it."""
        within = dict(lives)
        found = self.block(body, path, within, ranges)
        for name, life in list(lives.items()):
            if within[name] != life:
                self.join(name, life, within[name], lives, path)
        return found

    def join(self, name: str, before: int, after: int, lives: dict[str, int], path: Path) -> None:
        """A block has begun a new life: behind it, and in the next trip, all is written that was written whole in both lives."""
        whole = self.whole(name, after, path)
        for x in self.seen.get(name, ()):
            x.doubtful |= x.life == before and path[-1] in x.access.loops and not isinstance(path[-1], kf.If) and not whole
        both = whole and self.whole(name, before, path[:-1])
        self.begin(name, lives)
        self.either.add(lives[name])
        if both:
            self.fill(name, self.scope[name], 0, self.scope[name].shape[0], path[-1], path[:-1], lives[name])

    def whole(self, name: str, life: int, path: Path) -> bool:
        """Is every element of a buffer written in a life, as seen from the end of a block?"""
        size = self.scope[name].shape
        if len(size) != 1 or not isinstance(size[0], int) or name in self.opaque:
            return False
        writes = [x.access for x in self.seen.get(name, ()) if x.access.write and x.life == life]
        loop, width = kf.For("whole", "seq", 0, size[0]), DTYPES[self.scope[name].dtype].itemsize
        read = ByteAccess(name, integer("whole") * width, width, False, (*path, loop), self.count + 1)
        return covered(read, writes, all_ranges(_NOWHERE, [*writes, read], {}))

    def from_zero(self, s: kf.For) -> kf.For:
        """A loop of constant trip count whose start depends on loops around it, as one that starts at 0."""
        span, lo = integer(s.hi) - integer(s.lo), integer(s.lo)
        if not isinstance(span, int) or isinstance(lo, int):
            return s
        self.starts[s.var] = self.absolute(lo) + integer(s.var)
        return replace(s, lo=0, hi=span)

    def absolute(self, a: Integer) -> Integer:
        """An index in terms of the loops as they are counted here."""
        return substitute(a, lambda name: self.starts.get(name, symbol(name)))

    def statement(self, s: kf.Stmt, path: Path, lives: dict[str, int]) -> list[ByteAccess]:
        if isinstance(s, (kf.Buffer, kf.View, kf.Deref)):
            self.declare(s, lives)
        elif isinstance(s, kf.Begin):
            self.begin(s.buf, lives)
        elif isinstance(s, kf.Swap):
            self.opaque |= {s.a, s.b}
        elif isinstance(s, (kf.Call, kf.Parallel)):
            for name in s.writes:
                self.written(name, s, path, lives)
        elif isinstance(s, kf.Store) and _untyped(b := self.scope.get(s.buf)) and b is not None:
            self.opaque.add(self.root(s.buf))
        found = Body(_NOWHERE, self.scope).of(s, path)
        for a in found:
            self.count += 1
            a.order, a.at = self.count, self.absolute(a.at)
            self.seen.setdefault(a.buf, []).append(_Seen(a, lives.get(a.buf, 0), s))
        return list(found)

    def root(self, name: str) -> str:
        """The buffer that an untyped view is of."""
        while _untyped(b := self.scope.get(name)) and b is not None:
            name = b.buf
        return name

    def declare(self, s: Any, lives: dict[str, int]) -> None:
        self.scope[s.name] = s
        if isinstance(s, (kf.Buffer, kf.Deref)) and s.name == "arena":
            self.arenas.add(s.name)
        elif isinstance(s, kf.Buffer) and not s.freed or isinstance(s, kf.View) and s.dtype is not None and s.buf in self.arenas:
            self.local.add(s.name)
            self.begin(s.name, lives)

    def begin(self, name: str, lives: dict[str, int]) -> None:
        self.count += 1
        lives[name] = self.count

    def written(self, name: str, s: kf.Stmt, path: Path, lives: Mapping[str, int]) -> None:
        """An outside function writes all of a buffer, or of a view of one."""
        b = self.scope.get(name)
        shape: tuple[kf.Index, ...] = getattr(b, "shape", ())
        base = name
        start: Integer = 0
        while isinstance(b, kf.View) and b.dtype is None:
            base, start = b.buf, start + integer(b.offset)
            b = self.scope.get(base)
        to = self.scope.get(base)
        if base not in self.local or len(shape) != 1 or to is None:
            self.opaque.add(base)
            return
        self.fill(base, to, start, shape[0], s, path, lives.get(base, 0))

    def fill(self, name: str, b: Any, start: Integer, size: kf.Index, s: kf.Stmt, path: Path, life: int) -> None:
        """Note that `size` elements are written at once."""
        self.count += 1
        width, var = DTYPES[b.dtype].itemsize, f"written {self.count}"
        a = ByteAccess(name, (start + integer(var)) * width, width, True, (*path, kf.For(var, "seq", 0, size)), self.count)
        self.seen.setdefault(name, []).append(_Seen(a, life, s))

    # ---- proofs ----------------------------------------------------------------------------------------------

    def reads(self, name: str, found: Sequence[_Seen]) -> None:
        ranges = all_ranges(_NOWHERE, [x.access for x in found], {})
        for x in found:
            if x.access.write:
                continue
            before = [y.access for y in found if y.access.write and y.life == x.life and y.access.order < x.access.order]
            certain = isinstance(self.scope[name], kf.Buffer) and not any(
                isinstance(s, (kf.If, kf.While)) for s in x.access.loops
            )
            if not before and certain and name not in self.opaque and x.life not in self.either:
                raise VerifyError(
                    f"in kernel `{self.kernel.name}`, `{name}` is read before anything is stored to it: {_line(x.statement)}"
                )
            proved = name not in self.opaque and not x.doubtful and covered(x.access, before, ranges)
            proved = proved or not x.doubtful and self.whole_before(name, x)
            self.proofs.note("read", self.kernel.name, x.statement, name, proved)

    def whole_before(self, name: str, x: _Seen) -> bool:
        """Is all of the buffer written before a read? Where in it the read looks is another question: that of bounds."""
        later = self.seen[name]
        self.seen[name] = [y for y in later if y.access.order < x.access.order]
        found = self.whole(name, x.life, x.access.loops)
        self.seen[name] = later
        return found

    def iterations(self, s: kf.For, found: Sequence[ByteAccess], outer: Ranges) -> None:
        """Do the iterations of a loop that does not run in order not meet in memory that they write?"""
        if s.kind not in ("vec", "par") or s.kind == "vec" and s.lanes == 1 or not found:
            return
        inside = {x.name for x in kf.walk(s.body) if isinstance(x, kf.Buffer)}
        own = [replace(a, loops=a.loops[_depth(a, s) + 1 :]) for a in found if a.buf not in inside]
        groups: dict[str, list[ByteAccess]] = {}
        for a in own:
            groups.setdefault(a.buf, []).append(a)
        known = {name: g for name, g in groups.items() if not _untyped(self.scope.get(name))}
        ranges = all_ranges(s, own, outer)
        for group in overlapping(known, self.scope, ranges):
            if s.kind == "vec" and all(a.add for a in group):
                continue  # lanes that meet add one after another
            kind = "lanes" if s.kind == "vec" else "threads"
            self.proofs.note(kind, self.kernel.name, s, group[0].buf, disjoint(group, s, ranges))


def _depth(a: ByteAccess, s: kf.For) -> int:
    return next(k for k, l in enumerate(a.loops) if l is s)


def _untyped(b: Any) -> bool:
    return b is None or isinstance(b, kf.View) and b.dtype is None


def _line(s: kf.Stmt) -> str:
    return show(kf.Kernel("f", [], [s])).splitlines()[1].strip()
