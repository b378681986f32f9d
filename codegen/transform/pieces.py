"""Long kernels call pieces of themselves: LLVM allocates registers in time that grows with the square of a function's length.

    a; b; c; d      ->      def k_piece0(buffers, numbers, x_out): a; b; x_out[0] = x
                            k_piece0(..., x_out); x = x_out[0]; c; d

A piece is a run of statements of one block. Numbers go to it by value. What it computes and the rest reads, and variables that it
assigns, come back through buffers of one element. Views, and memory at addresses that buffers hold, are named anew in it, so that
what overlaps is seen there as it is here. What a fold or a swap of the surroundings takes part in stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.check import verify
from irad.codegen.kernel.form import integer
from irad.codegen.kernel.mentions import assigned, bound, names, reads_of
from irad.codegen.llvm_text import MEMORY
from irad.core.affine import symbols
from irad.core.lazy_dataclass import dataclass, replace

LONG = 4000  # statements of a kernel, above which it is cut
PIECE = 1600  # statements of a piece, about
_DECLARING = (kf.Let, kf.Var, kf.Call, kf.Fold, kf.Buffer, kf.View, kf.Deref)
LANES = 3  # a statement in a loop over lanes is so many: there is a loop, and what is left of it

Scope = Mapping[str, Any]


def in_pieces(kernels: Sequence[kf.Kernel]) -> list[kf.Kernel]:
    """The kernels, with more of them where some are long. Those that may call themselves stay: of the machine stack they were promised
    no more than their own frames."""
    out: list[kf.Kernel] = []
    for k in kernels:
        if _weight(k.body) > LONG and not any(p.name == "depth" for p in k.params):
            verify(k)  # as a whole: what is stored in a piece is not seen from outside
            c = _Cutter(k)
            body = c.block(k.body, {p.name: p.dtype if p.shape is None else p for p in k.params})
            out += [replace(k, body=[*c.cells, *body]), *c.made]
        else:
            out.append(k)
    return out


@dataclass
class _Run:
    """Statements that stay together: a fold that one of them declares is used up to the last of them."""

    start: int  # where in its block
    body: list[kf.Stmt]
    weight: int
    movable: bool


class _Cutter:
    def __init__(self, kernel: kf.Kernel):
        self.kernel = kernel
        self.made: list[kf.Kernel] = []
        self.cells: list[kf.Buffer] = []
        self.known: dict[int, tuple[kf.Stmt, frozenset[str]]] = {}  # by their ids: statements and the names in them
        self.empty: set[str] = set()  # scratch buffers that hold nothing yet
        self.swapped = {n for s in kf.walk(kernel.body) if isinstance(s, kf.Swap) for n in (s.a, s.b)}

    def mentioned(self, body: Iterable[kf.Stmt]) -> set[str]:
        """All names in statements, declared or used."""
        return set().union(*map(self._of, body))

    def _of(self, s: kf.Stmt) -> frozenset[str]:
        if id(s) not in self.known:
            inside = (self._of(x) for block in kf.blocks(s) for x in block)
            self.known[id(s)] = s, frozenset(_own_names(s)).union(*inside)
        return self.known[id(s)][1]

    def block(self, body: Sequence[kf.Stmt], outside: Scope) -> list[kf.Stmt]:
        """A block in pieces."""
        scope = dict(outside)
        out: list[kf.Stmt] = []
        shorter = []
        inner = dict(scope)
        empty = set(self.empty)  # before the statement that is reached below
        filled: list[set[str]] = []  # what each statement takes away from that
        for s in body:
            filled.append(self.empty & self.mentioned([s]))
            shorter.append(self.statement(s, inner))
            _declare(s, inner)
            self.empty -= self.mentioned([s])
            if isinstance(s, kf.Buffer):
                self.empty.add(s.name)
        runs = self.runs(shorter, scope)
        last = {n: k for k, r in enumerate(runs) for n in self.mentioned(r.body)}  # the last run that mentions a name
        start = 0
        while start < len(runs):
            end, weight = start, 0
            while end < len(runs) and runs[end].movable and (end == start or weight + runs[end].weight <= PIECE):
                weight += runs[end].weight
                end += 1
            whole = [s for r in runs[start : max(end, start + 1)] for s in r.body]
            cut = end > start and weight > PIECE // 4
            later = frozenset(n for s in whole if isinstance(s, _DECLARING) and (n := s.name) and last[n] >= end)
            done = self.piece(whole, scope, later, frozenset(empty)) if cut else whole
            for s in done:
                _declare(s, scope)
            for k, s in enumerate(whole, runs[start].start):
                empty -= filled[k]
                if isinstance(s, kf.Buffer):
                    empty.add(s.name)
            out += done
            start = max(end, start + 1)
        return out

    def statement(self, s: kf.Stmt, scope: Scope) -> kf.Stmt:
        """A statement that is longer than a piece is cut inside."""
        if _weight([s]) <= PIECE or not isinstance(s, (kf.For, kf.If, kf.While)):
            return s
        if isinstance(s, kf.For):
            return replace(s, body=self.block(s.body, {**scope, s.var: "i64"})) if s.kind == "seq" else s
        if isinstance(s, kf.If):
            return replace(s, then=self.block(s.then, scope), orelse=self.block(s.orelse, scope))
        tested = dict(scope)
        for t in s.test:
            _declare(t, tested)
        return replace(s, body=self.block(s.body, tested))

    # ---- what may move ---------------------------------------------------------------------------------------

    def runs(self, body: Sequence[kf.Stmt], outside: Scope) -> list[_Run]:
        scope = dict(outside)
        for s in body:
            _declare(s, scope)
        tied = {n for n, what in scope.items() if isinstance(what, kf.Fold) or _moves(what, scope)}
        last: dict[str, int] = {}  # where what stays together with its uses is used last
        for k, s in enumerate(body):
            last.update(dict.fromkeys(tied.intersection(self.mentioned([s])), k))
        out: list[_Run] = []
        until = -1
        for k, s in enumerate(body):
            if k > until:
                out.append(_Run(k, [], 0, True))
            out[-1].body.append(s)
            out[-1].weight += _weight([s])
            until = max(until, last.get(s.name, k) if isinstance(s, (kf.Fold, kf.View, kf.Deref)) else k)
        for r in out:
            r.movable = self.movable(r.body, scope, tied)
        return out

    def movable(self, body: Sequence[kf.Stmt], scope: Scope, tied: set[str]) -> bool:
        """Does nothing of it take part in folds, swaps, places that vary or variables of lanes of the surroundings?"""
        own = {s.name for s in body if isinstance(s, _DECLARING)}
        if bound(body) & self.swapped or any(isinstance(s, kf.Var) and s.lanes > 1 for s in body):
            return False
        if any(isinstance(s, kf.Swap) and not {s.a, s.b} <= bound(body) for s in kf.walk(body)):
            return False
        return not any(n in tied or self.stays(n, scope) for n in self.mentioned(body) - own)

    def stays(self, n: str, scope: Scope) -> bool:
        """May a name of the surroundings be used there only?"""
        what = scope.get(n)
        if isinstance(what, _Wide):
            return True
        if n in self.swapped and not _is_slot(what):
            return True
        while isinstance(what, (kf.View, kf.Deref)):
            if what.buf in self.swapped:
                return True
            what = scope.get(what.buf)
        return False

    # ---- a piece ---------------------------------------------------------------------------------------------

    def piece(self, body: list[kf.Stmt], scope: Scope, later: frozenset[str], empty: frozenset[str]) -> list[kf.Stmt]:
        """The call of a new kernel that runs these statements. `later`: which of the names that they declare are mentioned behind
        them; `empty`: buffers that hold nothing before them."""
        name = f"{self.kernel.name}_piece{len(self.made)}"
        scope = {**scope, **{c.name: c for c in self.cells}}
        again = _again(body, later)
        later |= {_base(s) for s in again}
        kept = [s for s in body if isinstance(s, kf.Buffer) and s.name in later]  # their memory lasts longer than the piece
        body = [s for s in body if not (isinstance(s, kf.Buffer) and s.name in later)]
        scope.update((_name(s), s) for s in kept)
        numbers: list[Any] = [s for s in body if isinstance(s, (kf.Let, kf.Var, kf.Call)) and s.name]
        own = {s.name: s for s in numbers}
        wanted = later | {x for s in again for x in _extents(s)}
        given = {n: _dtype(s) for n, s in own.items() if n in wanted}
        changed = [n for n in sorted(assigned(body) | _scanned(body)) if isinstance(scope.get(n), _Variable)]
        cells = {n: self.cell(d) for n, d in given.items()} | {n: self.cell(scope[n].dtype) for n in changed}
        params, head = self.surroundings(body, scope)
        start: list[kf.Stmt] = []
        for p in [p for p in params if p.name in changed]:
            params.remove(p)
            start += [kf.Let(f"{p.name}_in", p.dtype, kf.Load(cells[p.name].name, (0,))), kf.Var(p.name, p.dtype, f"{p.name}_in")]
        end = [kf.Store(c.name, (0,), n) for n, c in cells.items()]
        params += [kf.Param(c.name, c.dtype, (1,)) for c in cells.values()]
        self.made.append(kf.Kernel(name, params, [*start, *head, *body, *end]))
        before, writes = _writes([*head, *body], scope, empty | {_name(s) for s in kept}, f"{name}_at")
        before += [kf.Store(cells[n].name, (0,), n) for n in changed]
        signature = ("i64", *("ptr" if p.shape is not None else MEMORY[p.dtype] for p in params))
        writes = (*writes, *(c.name for c in cells.values()))
        call = kf.Call(name, tuple(p.name for p in params), signature, f"{name}_status", "i64", writes=writes, check=True)
        back: list[kf.Stmt] = []
        for n, c in cells.items():
            new = f"{n}_out{len(self.made)}" if n in changed or isinstance(own[n], kf.Var) else n
            back.append(kf.Let(new, c.dtype, kf.Load(c.name, (0,))))
            if n in changed:
                back.append(kf.Assign(n, new))
            elif new != n:
                back.append(kf.Var(n, c.dtype, new))
        return [*kept, *before, call, *back, *again]

    def surroundings(self, body: Sequence[kf.Stmt], scope: Scope) -> tuple[list[kf.Param], list[kf.Stmt]]:
        """Parameters of a piece, and what it declares first, for the names that it mentions.

        A view is declared again, and so is memory at an address for which there are several names. Other addresses are passed.
        """
        params: dict[str, kf.Param] = {}
        head: dict[str, kf.Stmt] = {}
        found = sorted(self.mentioned(body))
        reached = [s.family for s in (*map(scope.get, found), *kf.walk(body)) if isinstance(s, kf.Deref)]

        def take(n: str) -> None:
            what = scope.get(n)
            if what is None or isinstance(what, _Wide) or n in params or n in head:
                return
            if isinstance(what, (str, _Variable)):
                params[n] = kf.Param(n, what if isinstance(what, str) else what.dtype, None)
                return
            for x in _extents(what):
                take(x)
            if isinstance(what, kf.Deref) and reached.count(what.family) == 1:
                params[n] = kf.Param(n, what.dtype, (kf.ANY if what.size is None else what.size,))
            elif isinstance(what, (kf.View, kf.Deref)) and n not in self.swapped:
                take(what.buf)
                head[n] = what
            else:
                params[n] = kf.Param(n, what.dtype, what.shape, getattr(what, "least", 0))

        for n in found:
            take(n)
        return list(params.values()), list(head.values())

    def cell(self, dtype: str) -> kf.Buffer:
        """Memory of one number, which lasts as long as the kernel."""
        out = kf.Buffer(f"{self.kernel.name}_cell{len(self.cells)}", dtype, (1,))
        self.cells.append(out)
        return out


@dataclass(frozen=True)
class _Variable:
    """In a scope: a number that is assigned."""

    dtype: str


@dataclass(frozen=True)
class _Wide:
    """In a scope: a variable with a number for each lane."""

    dtype: str


def _weight(body: Sequence[kf.Stmt]) -> int:
    own = lambda s: LANES if isinstance(s, kf.For) and s.kind == "vec" else 1
    return sum(1 + own(s) * sum(map(_weight, kf.blocks(s))) for s in body)


def _declare(s: kf.Stmt, scope: dict[str, Any]) -> None:
    if isinstance(s, kf.Let):
        scope[s.name] = s.dtype
    elif isinstance(s, kf.Var):
        scope[s.name] = _Wide(s.dtype) if s.lanes > 1 else _Variable(s.dtype)
    elif isinstance(s, kf.Call) and s.name:
        scope[s.name] = _dtype(s)
    elif isinstance(s, (kf.Buffer, kf.Deref, kf.Fold, kf.View)):
        scope[s.name] = s


def _dtype(s: Any) -> str:
    return s.dtype or "i64"


def _is_slot(what: Any) -> bool:
    """Memory that no other name overlaps but views of it."""
    return isinstance(what, (kf.Param, kf.Buffer)) or isinstance(what, kf.View) and what.dtype is not None


def _moves(what: Any, scope: Scope) -> bool:
    """Is it a name for memory at a place that a variable says?"""
    while isinstance(what, (kf.View, kf.Deref)):
        if any(isinstance(scope.get(x), _Variable) for x in _extents(what)):
            return True
        what = scope.get(what.buf)
    return False


def _name(s: Any) -> str:
    return str(s.name)


def _base(s: Any) -> str:
    return str(s.buf)


def _own_names(s: kf.Stmt) -> Iterator[str]:
    """The names in a statement, declared or used, without those of the statements in it."""
    if hasattr(s, "name"):
        yield from names(s.name)
    yield from reads_of(s)
    if isinstance(s, kf.Swap):
        yield from (s.a, s.b)
    elif isinstance(s, (kf.Call, kf.Parallel)):
        yield from s.writes
        yield from symbols(integer(s.trips)) if isinstance(s, kf.Parallel) else ()
    elif isinstance(s, kf.Raise):
        yield "err"
    elif isinstance(s, kf.For):
        yield s.var


def _scanned(body: Iterable[kf.Stmt]) -> set[str]:
    return {s.expr.var for s in kf.walk(body) if isinstance(s, kf.Let) and isinstance(s.expr, kf.LinScan)}


def _extents(what: Any) -> Iterator[str]:
    """The numbers that a name for memory depends on."""
    for n in (*getattr(what, "shape", ()), getattr(what, "offset", 0), getattr(what, "idx", 0), getattr(what, "size", None) or 0):
        yield from symbols(integer(n))
    yield from symbols(integer(getattr(what, "least", 0)))


def _again(body: Sequence[kf.Stmt], later: frozenset[str]) -> list[kf.Stmt]:
    """Views and addresses that are declared in a piece and mentioned behind it, which are declared again behind it."""
    wanted = set(later)
    out: list[kf.Stmt] = []
    for s in reversed(body):
        if isinstance(s, (kf.View, kf.Deref)) and s.name in wanted:
            out.append(s)
            wanted.add(s.buf)
    return out[::-1]


def _writes(body: Sequence[kf.Stmt], scope: Scope, empty: frozenset[str], tag: str) -> tuple[list[kf.Stmt], tuple[str, ...]]:
    """The buffers of the surroundings that a piece may change, under every name; and names that are needed for those that have none.

    What is reached through a buffer that is `empty` before the piece was not reached before."""
    inside = list(kf.walk(body))
    named = {s.name: s for s in inside if isinstance(s, (kf.View, kf.Deref))}
    stored = {s.buf for s in inside if isinstance(s, kf.Store)}
    stored |= {b for s in inside if isinstance(s, (kf.Call, kf.Parallel)) for b in s.writes}
    before: dict[str, kf.Stmt] = {}
    out: set[str] = set()
    outer: dict[str, list[str]] = {}
    reached: set[str] = set()
    for n, what in scope.items():
        if isinstance(what, kf.Deref):
            outer.setdefault(what.family, []).append(n)
    for n in sorted(stored):
        s = named.get(n)
        out.add(n)
        while isinstance(s, kf.View):
            out.add(s.buf)
            s = named.get(s.buf)
        if isinstance(s, kf.Deref):
            family = s.family
            if family in outer:
                reached.add(family)
            elif s.buf in scope and s.buf not in empty and all(x in scope for x in _extents(s)):
                before.setdefault(family, replace(s, name=f"{tag}{len(before)}"))
    out = out.union(*map(outer.__getitem__, reached))
    return list(before.values()), (*sorted(out & scope.keys()), *map(_name, before.values()))
