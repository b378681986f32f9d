"""The verifier of the kernel form. What holds in every kernel:

- A name is bound once in its scope and the scopes around it, used only there and after its binding, and dies with its block.
- An index list has as many entries as its buffer or register tile has axes; indices are integers.
- Stored, assigned and combined values have the dtype of the buffer, variable or fold; conditions are bool.
- Only variables are assigned, only folds are combined into, with one value per component.
- vec loops do not nest; inside of one, scalar variables declared outside change by `linscan` only, and a fold declared outside
  is not read while the loop combines into it. A variable with lanes is used in vec loops with these lanes and one trip only.
- `full` and `unroll` loops have constant trip counts; steps are not 0, those of vec loops 1; lanes and copies are positive.
- `mix` is not used around a read-modify-write of a buffer: copies may collide.
- No element of a scratch buffer is read, or added to, before the text has stored to the buffer (which elements were written on which
  path is proved by irad.codegen.kernel.assigned, where code checks its memory, and in tests).
- Buffers that are `freed` are i64 and declared in the outermost block.
- Swapped buffers have equal dtypes and extents and lie outside of vec loops; views of them end with the swap, and with the start of
  a loop that swaps.
- What a call writes is a buffer; a raise with values has an error record (`err`, i64) to put them in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Const, Index, Kernel, Operand, Stmt, integer
from irad.codegen.kernel.show import show
from irad.core.affine import number, symbols
from irad.core.types import is_float
from irad.errors import VerifyError
from irad.ops.loop import fold_width

_BUFFERS = (kf.Param, kf.Buffer, kf.View, kf.Deref)
_KINDS = ("seq", "par", "unroll", "vec")


def verify(kernel: Kernel) -> None:
    """Raise VerifyError, with the statement at fault, unless the kernel keeps the rules above."""
    _Verifier(kernel).run()


class _Verifier:
    """`scope` maps names in scope to what they are: a dtype, "index", or the statement that declares them."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.swaps = any(isinstance(s, kf.Swap) for s in kf.walk(kernel.body))
        self.scope: dict[str, Any] = {}
        self.born: dict[str, int] = {}  # names in scope by when they were bound
        self.changes: list[tuple[str, Any]] = []  # names that this block and those around it bound, or ended with what they were
        self.at: Any = None
        self.unwritten: set[str] = set()  # scratch buffers that nothing has been stored to
        self.vec: kf.For | None = None
        self.start = 0  # names declared outside of the vec loop are older
        self.bound = 0
        self.depth = 0  # blocks around
        self.table: dict[type, Callable[[Any], None]] = {
            kf.Let: self.let, kf.Store: self.store, kf.Buffer: self.buffer, kf.View: self.view, kf.Deref: self.deref,
            kf.Var: self.var, kf.Assign: self.assign, kf.Fold: self.fold, kf.Combine: self.combine, kf.For: self.loop, kf.While: self.while_loop,
            kf.If: self.branch, kf.Call: self.call, kf.Parallel: self.parallel, kf.Raise: self.raise_if, kf.Swap: self.swap,
            kf.Prefetch: self.prefetch, kf.Begin: self.begin,
        }  # fmt: skip

    def fail(self, message: str) -> VerifyError:
        where = ""
        if self.at is not None:
            text = show(Kernel("f", [], [self.at])).splitlines()[1]
            where = f"\n  in kernel `{self.kernel.name}`: {text.strip()}"
        return VerifyError(message + where)

    def run(self) -> None:
        for p in self.kernel.params:
            self.bind(p.name, p.dtype if p.shape is None else p)
        for p in self.kernel.params:
            for n in p.shape or ():
                self.index(n)
        self.block(self.kernel.body)

    def block(self, body: Sequence[Stmt]) -> None:
        for s in body:
            self.at = s
            self.table[type(s)](s)

    @contextmanager
    def inner(self) -> Iterator[None]:
        """A block of its own: its names die at the end."""
        before = len(self.changes)
        self.depth += 1
        yield
        self.depth -= 1
        while len(self.changes) > before:
            name, what = self.changes.pop()
            if what is None:
                self.scope.pop(name)
            else:
                self.scope[name] = what

    # ---- names, operands, indices ----

    def bind(self, name: str, what: Any) -> None:
        if name in self.scope:
            raise self.fail(f"`{name}` is bound twice")
        self.scope[name] = what
        self.bound += 1
        self.born[name] = self.bound
        self.changes.append((name, None))

    def end(self, name: str) -> None:
        """A name is not in scope for the rest of the block."""
        self.changes.append((name, self.scope.pop(name)))

    def outside(self, name: str) -> bool:
        """Is a name declared outside of the vec loop?"""
        return name in self.scope and self.born[name] <= self.start

    def get(self, name: str, *kinds: type) -> Any:
        what = self.scope.get(name)
        if what is None:
            raise self.fail(f"`{name}` is not in scope")
        if not isinstance(what, kinds):
            raise self.fail(f"`{name}` is not a {' or '.join(k.__name__.lower() for k in kinds)}")
        return what

    def dtype(self, x: Operand) -> str:
        if isinstance(x, Const):
            return x.dtype
        if isinstance(x, str):
            what = self.get(x, str, kf.Var)
            self.whole(what)
            return what.dtype if isinstance(what, kf.Var) else "i64" if what == "index" else what
        self.index(x)
        return "i64"

    def index(self, x: Index) -> None:
        for name in symbols(integer(x)):
            d = self.dtype(name)
            if is_float(d) or d == "bool":
                raise self.fail(f"index `{name}` has dtype {d}, it must be an integer")

    def element(self, name: str, idx: Sequence[Index]) -> str:
        b = self.get(name, *_BUFFERS)
        for i in idx:
            self.index(i)
        axes = 1 if isinstance(b, kf.Deref) else len(b.shape)
        if len(idx) != axes:
            raise self.fail(f"`{name}` has {axes} axes but is indexed by {len(idx)} indices")
        return b.dtype or self.element_dtype(b)

    def element_dtype(self, b: Any) -> str:
        while b.dtype is None:
            b = self.get(b.buf, *_BUFFERS)
        return b.dtype

    def expect(self, what: str, dtype: str, found: str) -> None:
        if dtype != found:
            raise self.fail(f"{what} has dtype {dtype} but gets a value of dtype {found}")

    # ---- simple statements ----

    def let(self, s: kf.Let) -> None:
        e = s.expr
        if isinstance(e, kf.Apply):
            for a in e.args:
                self.dtype(a)
        elif isinstance(e, kf.Load):
            self.expect(f"`{s.name}`", s.dtype, self.element(e.buf, e.idx))
            self.read(e.buf)
        elif isinstance(e, kf.Part):
            self.part(s, e)
        else:
            v = self.get(e.var, kf.Var)
            self.expect("the carry of a linscan", v.dtype, self.dtype(e.x))
            self.expect("the carry of a linscan", v.dtype, self.dtype(e.k))
        self.bind(s.name, s.dtype)

    def part(self, s: kf.Let, e: kf.Part) -> None:
        f = self.get(e.fold, kf.Fold)
        if not 0 <= e.k < len(f.dtypes):
            raise self.fail(f"fold `{e.fold}` has {len(f.dtypes)} components, there is no part {e.k}")
        self.tile(f, e.idx)
        self.expect(f"`{s.name}`", s.dtype, f.dtypes[e.k])
        vec = self.vec if self.outside(e.fold) and not f.shape else None
        if vec and any(isinstance(c, kf.Combine) and c.fold == e.fold for c in kf.walk(vec.body)):
            raise self.fail(f"fold `{e.fold}` is read in the vec loop that combines into it; read it after the loop")

    def tile(self, f: kf.Fold, idx: Sequence[Index]) -> None:
        for i in idx:
            self.index(i)
        if len(idx) != len(f.shape):
            raise self.fail(f"fold `{f.name}` has {len(f.shape)} axes but is indexed by {len(idx)} indices")

    def store(self, s: kf.Store) -> None:
        self.expect(f"`{s.buf}`", self.element(s.buf, s.idx), self.dtype(s.value))
        if s.add:
            self.read(s.buf)
        self.unwritten.discard(s.buf)

    def read(self, buf: str) -> None:
        if buf in self.unwritten:
            raise self.fail(f"scratch buffer `{buf}` is read before anything is stored to it")

    def prefetch(self, s: kf.Prefetch) -> None:
        self.element(s.buf, s.idx)

    def begin(self, s: kf.Begin) -> None:
        self.element(s.buf, s.idx)
        self.index(s.size)

    def buffer(self, s: kf.Buffer) -> None:
        if s.freed and (s.dtype != "i64" or self.depth):
            raise self.fail(f"buffer `{s.name}` is freed with the kernel: it holds an address (i64) and lies in no inner block")
        self.bind(s.name, s)
        self.unwritten.add(s.name)

    def view(self, s: kf.View) -> None:
        self.get(s.buf, *_BUFFERS)
        self.unwritten.discard(s.buf)
        for n in (*s.shape, s.offset):
            self.index(n)
        self.bind(s.name, s)

    def deref(self, s: kf.Deref) -> None:
        self.expect("an address", "i64", self.element(s.buf, (s.idx,)))
        self.read(s.buf)
        if s.size is not None:
            self.index(s.size)
        self.bind(s.name, s)

    def var(self, s: kf.Var) -> None:
        self.expect(f"`{s.name}`", s.dtype, self.dtype(s.init))
        self.bind(s.name, s)

    def assign(self, s: kf.Assign) -> None:
        self.expect(f"`{s.name}`", self.get(s.name, kf.Var).dtype, self.dtype(s.value))
        var = self.get(s.name, kf.Var)
        self.whole(var)
        if self.vec and self.outside(s.name) and self.vec.lanes > 1 and var.lanes == 1:
            raise self.fail(
                f"variable `{s.name}` is declared outside of vec loop `{self.vec.var}`, whose iterations carry only folds"
            )

    def whole(self, var: Any) -> None:
        """A variable with lanes is used in vec loops over just these lanes."""
        if isinstance(var, kf.Var) and var.lanes > 1:
            v = self.vec
            if v is None or v.lanes != var.lanes or v.unroll != 1 or integer(v.hi) - integer(v.lo) != v.lanes:
                raise self.fail(f"variable `{var.name}` has {var.lanes} lanes: it is used in vec loops of one trip with so many")

    def fold(self, s: kf.Fold) -> None:
        if len(s.init) != len(s.dtypes):
            raise self.fail(f"fold `{s.name}` has {len(s.dtypes)} components but {len(s.init)} start values")
        for x, d in zip(s.init, s.dtypes):
            self.expect(f"fold `{s.name}`", d, self.dtype(x))
        if s.lanes < 1 or s.copies < 1 or any(n < 1 for n in s.shape):
            raise self.fail("lanes, copies and extents of a fold are positive")
        if len(s.dtypes) != fold_width(s.comb):
            raise self.fail(f"a fold by {s.comb} cannot have {len(s.dtypes)} components")
        self.bind(s.name, s)

    def combine(self, s: kf.Combine) -> None:
        f = self.get(s.fold, kf.Fold)
        if len(s.values) != len(f.dtypes):
            raise self.fail(f"fold `{s.fold}` has {len(f.dtypes)} components but is combined with {len(s.values)} values")
        for x, d in zip(s.values, f.dtypes):
            self.expect(f"fold `{s.fold}`", d, self.dtype(x))
        self.tile(f, s.idx)

    def swap(self, s: kf.Swap) -> None:
        a, b = (self.get(n, kf.Param, kf.Buffer, kf.View) for n in (s.a, s.b))
        self.unwritten -= {s.a, s.b}
        if a.dtype != b.dtype or [integer(n) for n in a.shape] != [integer(n) for n in b.shape]:
            raise self.fail(f"swapped buffers must have one dtype and shape: `{s.a}` and `{s.b}` differ")
        stale = self.views_of({s.a, s.b})
        if self.vec:
            raise self.fail("a swap stands outside of vec loops")
        for name in stale:
            self.end(name)

    def end_views(self, body: Sequence[Stmt]) -> None:
        """Views of what a block swaps end before it: after the swap, and in the second trip of a loop, they would be of another buffer."""
        swapped = {n for s in kf.walk(body) if isinstance(s, kf.Swap) for n in (s.a, s.b)} if self.swaps else set()
        for name in self.views_of(swapped):
            self.end(name)

    def views_of(self, bufs: set[str]) -> set[str]:
        """Views in scope of these buffers, and views of those."""
        if not bufs:
            return set()
        found = {name for name, what in self.scope.items() if isinstance(what, kf.View) and what.buf in bufs}
        return found | self.views_of(found)

    def call(self, s: kf.Call) -> None:
        for a in s.args:
            if not (isinstance(a, str) and isinstance(self.scope.get(a), _BUFFERS)):
                self.dtype(a)
        if len(s.args) != len(s.signature) - 1:
            raise self.fail(f"call of {s.symbol}: {len(s.args)} arguments for signature {s.signature}")
        for b in s.writes:
            self.get(b, *_BUFFERS)
        self.unwritten.difference_update(a for a in (*s.args, *s.writes) if isinstance(a, str))
        if s.name:
            self.bind(s.name, s.dtype or "i64")

    def parallel(self, s: kf.Parallel) -> None:
        self.index(s.trips)
        self.unwritten.difference_update(s.args)
        for a, (dtype, buffer) in zip(s.args, s.types, strict=True):
            self.expect(f"argument `{a}`", dtype, self.element_dtype(self.get(a, *_BUFFERS)) if buffer else self.dtype(a))
        if s.chunk < 1 or s.threads < 1:
            raise self.fail(f"{s.kernel} runs in chunks of {s.chunk} on {s.threads} threads")

    def raise_if(self, s: kf.Raise) -> None:
        self.expect("the condition of a raise", "bool", self.dtype(s.cond))
        if not s.values:
            return
        record = self.get("err", kf.Param)
        if record.dtype != "i64" or isinstance(record.shape[0], int) and record.shape[0] < len(s.values):
            raise self.fail(f"the error record `err` must be an i64 buffer of at least {len(s.values)} elements")
        for v in s.values:
            self.dtype(v)

    # ---- blocks ----

    def loop(self, s: kf.For) -> None:
        self.index(s.lo)
        self.index(s.hi)
        if s.kind not in _KINDS:
            raise self.fail(f"loop `{s.var}` has kind {s.kind!r}; there are {', '.join(_KINDS)}")
        if s.step == 0 or s.kind == "vec" and s.step != 1 or s.lanes < 1 or s.unroll < 1:
            raise self.fail(f"loop `{s.var}` has step {s.step}, lanes {s.lanes} and unroll {s.unroll}")
        trip = number(integer(s.hi) - integer(s.lo))
        if trip is None and (s.kind == "unroll" or s.full):
            raise self.fail(f"loop `{s.var}` is straight line: its trip count must be a constant")
        if s.mix and any(isinstance(x, kf.Store) and x.add for x in kf.walk(s.body)):
            raise self.fail(f"loop `{s.var}` interleaves its copies round a read-modify-write, where they may collide")
        if s.twice and not kf.repeatable(s.body):
            raise self.fail(f"loop `{s.var}` may run iterations twice, but they change what they read")
        if s.kind != "vec":
            return self.nested(s.body, s.var)
        if self.vec:
            raise self.fail(f"vec loop `{s.var}` lies inside vec loop `{self.vec.var}`")
        self.vec, self.start = s, self.bound
        self.nested(s.body, s.var)
        self.vec = None

    def nested(self, body: Sequence[Stmt], var: str | None = None) -> None:
        self.end_views(body)
        with self.inner():
            if var is not None:
                self.bind(var, "index")
            self.block(body)

    def while_loop(self, s: kf.While) -> None:
        self.end_views(s.body)
        with self.inner():
            self.block(s.test)
            self.at = s
            self.expect("the condition of a while", "bool", self.dtype(s.cond))
            self.block(s.body)

    def branch(self, s: kf.If) -> None:
        self.expect("the condition of an if", "bool", self.dtype(s.cond))
        self.nested(s.then)
        self.nested(s.orelse)
