"""The kernel form: the scheduled, imperative form between the graph and LLVM text.

Explicit loops, lanes, masks, tiles and buffer accesses; every scheduling decision can be read in it. A kernel is a list
of statements; operands are names (of a `Let`, a `Var`, a loop variable, a parameter), `Const`s or affine integers.

    seq     iterations in order          par     independent but for folds declared outside (chunks merge in order)
    unroll  straight line, the variable a constant          vec     `lanes` iterations a trip, carrying nothing but folds

Buffers with different names never overlap while both are live; that is the planner's promise to the emitter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, Union

from irad.core.affine import Affine, Integer, symbol
from irad.core.lazy_dataclass import dataclass, field, replace

GROW_NAME = "irad_grow"  # the support function that kernels call where a tape is full, see irad.codegen.lower.tape
POLL = "irad_poll"  # the call that looks whether a signal has arrived
ANY = 1 << 40  # the extent of a buffer of run-time extent: more than there can be
Index = Union[int, str, Affine]  # a number, a name, or an affine integer over names


def integer(x: Index) -> Integer:
    """An index as an integer."""
    return symbol(x) if isinstance(x, str) else x


@dataclass(frozen=True)
class Const:
    """A literal of a dtype."""

    value: Any
    dtype: str


Operand = Union[str, Const, Index]


# ---- expressions of a Let --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Apply:
    """An elementwise op of the op table (`sin`, `add`, `select`, `lt`, ...) on operands; `cast` has its target in Let.dtype."""

    op: str
    args: tuple[Operand, ...]


@dataclass(frozen=True)
class Load:
    """buf[idx]: an element, or `lanes` of them in a vec loop; an index may be the name of an integer Let (a gather)."""

    buf: str
    idx: tuple[Index, ...]


@dataclass(frozen=True)
class Part:
    """Component k of a fold (or element `idx` of a tiled one); outside the vec loops it is the reduced scalar."""

    fold: str
    k: int = 0
    idx: tuple[Index, ...] = ()


@dataclass(frozen=True)
class LinScan:
    """y[l] = k*y[l-1] + x[l] along the lanes, y[-1] the carry `var`, which takes the last y. Re-associates."""

    var: str
    k: Operand
    x: Operand


Expr = Union[Apply, Load, Part, LinScan]


# ---- statements ------------------------------------------------------------------------------------------------


@dataclass
class Let:
    """`contract`: an add, sub or mul may become one fma with its neighbour (derivative code; never what NumPy computes)."""

    name: str
    dtype: str
    expr: Expr
    contract: bool = False


@dataclass
class Store:
    """buf[idx] = value; with `add`, buf[idx] += value (a vector index may collide: lanes then add one after another)."""

    buf: str
    idx: tuple[Index, ...]
    value: Operand
    add: bool = False


@dataclass
class Buffer:
    """Scratch memory in the kernel's frame, 64-byte aligned; constant extents, small.

    With `freed` its first element is 0 or the address of memory that the C library gets back however the kernel is left.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    freed: bool = False


@dataclass
class View:
    """`name` is another shape or start of the memory of `buf`: element 0 of it is element `offset` of buf (flat).

    Without `dtype` it overlaps buf and the other views of it. With one it is a slot of its own (of an arena): the planner
    promises that it overlaps nothing that is live at the same time. `least`: elements that each array in the slot has, which may
    be a form over numbers that are bound at the beginning of the kernel.
    """

    name: str
    buf: str
    shape: tuple[Index, ...]
    offset: Index = 0
    dtype: str | None = None  # None: as buf; else the bytes are read as this dtype and `offset` counts in it
    least: Integer = 0


@dataclass
class Deref:
    """`name` is memory of a dtype (one axis) at the address that element `idx` of the i64 buffer `buf` holds.

    Names for one element of one buffer may overlap; the memory of different addresses does not. `size`: its extent, if known.
    """

    name: str
    buf: str
    idx: Index
    dtype: str
    size: Index | None = None

    @property
    def family(self) -> str:
        """Memory reached through one address overlaps itself, whatever it is called."""
        return f"*{self.buf}[{self.idx}]"


@dataclass
class Begin:
    """`size` elements of `buf` from `idx` on begin a new life: what they held is not read again.

    It is there in code that checks its memory only (irad.codegen.transform.memory_check), where it fills them with a pattern.
    """

    buf: str
    idx: tuple[Index, ...]
    size: Index


@dataclass
class Var:
    """A mutable scalar (a loop carry). Lives in registers.

    With `lanes` a vector, read and assigned in vec loops of so many lanes and one trip only, each lane its own element.
    """

    name: str
    dtype: str
    init: Operand
    lanes: int = 1


@dataclass
class Assign:
    name: str
    value: Operand


@dataclass
class Fold:
    """An accumulator: `comb` is an elementwise op (add, mul, maximum, ...) or "argmax"/"argmin" over (value, index).

    Inside vec loops it is widened to the loop's lanes; at their exit it is reduced. With a shape it is a register tile.
    """

    name: str
    comb: str
    dtypes: tuple[str, ...]
    init: tuple[Operand, ...]
    shape: tuple[int, ...] = ()
    lanes: int = 1
    copies: int = 1


@dataclass
class Combine:
    """fold[idx] (op)= values; `ordered` (argmax, argmin): the index is never below those folded before it (cheaper)."""

    fold: str
    values: tuple[Operand, ...]
    idx: tuple[Index, ...] = ()
    ordered: bool = False


@dataclass
class For:
    var: str
    kind: str  # seq, par, unroll, vec
    lo: Index
    hi: Index
    body: list[Stmt] = field(default_factory=list)
    step: int = 1  # seq, par, unroll; negative goes down
    lanes: int = 1  # vec
    unroll: int = 1  # vec: bodies per trip
    mix: bool = False  # interleave the bodies
    full: bool = False  # vec with constant bounds: straight line
    twice: bool = False  # vec: iterations may run twice: of constant bounds, the last vector may start within the one before it
    most: int | None = None  # trips (of a vec loop: elements) that it makes at most, where only the run counts them


@dataclass
class While:
    """Runs `test`, stops where `cond` is false, else runs `body`; the Vars assigned in both are the carries."""

    test: list[Stmt]
    cond: Operand
    body: list[Stmt]


@dataclass
class If:
    """A branch. Inside vec loops only with a condition that is the same for all lanes."""

    cond: Operand
    then: list[Stmt]
    orelse: list[Stmt] = field(default_factory=list)


@dataclass
class Call:
    """Call of an outside function (imported symbol) or of another kernel; a buffer's name passes its address.

    `signature` is LLVM's: result type, then argument types, e.g. ("void", "i64", "double", "ptr"); a result is bound to `name`.
    With `check` (a kernel's i64 status) a result other than 0 is returned at once.
    """

    symbol: str
    args: tuple[Operand, ...]
    signature: tuple[str, ...]
    name: str | None = None
    dtype: str | None = None
    writes: tuple[str, ...] = ()  # buffers that the callee may change
    check: bool = False


@dataclass
class Parallel:
    """Run `kernel(*args, from, to)` over all of [0, trips), in chunks, on as many as `threads` threads (irad.codegen.libraries.pool).

    `args` are buffers and numbers, `types` their dtypes and whether they are buffers; no chunk touches what another one writes.
    """

    kernel: str
    args: tuple[str, ...]
    types: tuple[tuple[str, bool], ...]
    trips: Index
    chunk: int
    threads: int
    writes: tuple[str, ...] = ()


@dataclass
class Raise:
    """Where `cond` holds: store `values` (as i64, or the bits of an f64) in the error record and return `code` from the kernel.

    The error record is the i64 buffer parameter named `err`. In a vec loop the first lane for which `cond` holds decides.
    """

    cond: Operand
    code: int
    values: tuple[Operand, ...] = ()


@dataclass
class Swap:
    """Exchange the memory of two buffers of one type."""

    a: str
    b: str


@dataclass
class Prefetch:
    buf: str
    idx: tuple[Index, ...]


Stmt = Union[
    Let, Store, Buffer, View, Deref, Begin, Var, Assign, Fold, Combine, For, While, If, Call, Parallel, Raise, Swap, Prefetch
]


@dataclass
class Param:
    """A parameter of a kernel: a buffer with extents, or (shape None) a scalar passed by value. For `least` see View."""

    name: str
    dtype: str
    shape: tuple[Index, ...] | None
    least: Integer = 0  # elements that it has, where `shape` does not say


@dataclass
class Kernel:
    """`define i64 name(params...)`; returns 0, or the code of the `Raise` that fired. Scalar results are stored to buffers of shape ()."""

    name: str
    params: list[Param]
    body: list[Stmt]
    polled: bool = True  # may its long loops stop for a signal?


def walk(body: Iterable[Stmt]) -> Iterable[Stmt]:
    """Every statement, nested ones included."""
    stack = [iter(body)]
    while stack:
        for s in stack[-1]:
            yield s
            if type(s) in _BLOCKS:
                stack += map(iter, reversed(blocks(s)))
                break
        else:
            stack.pop()


def blocks(s: Stmt) -> list[list[Stmt]]:
    """The blocks of statements in a statement, in order."""
    return [getattr(s, part) for part in _BLOCKS.get(type(s), ())]


def repeatable(body: Sequence[Stmt]) -> bool:
    """Is it all the same whether statements run once or twice? They give and store numbers, and read nothing that they store."""
    inside = list(walk(body))
    stored = {s.buf for s in inside if isinstance(s, Store)}
    return all(
        (isinstance(s, Store) and not s.add)
        or (isinstance(s, Let) and not isinstance(s.expr, LinScan) and not (isinstance(s.expr, Load) and s.expr.buf in stored))
        or isinstance(s, Raise)
        for s in inside
    )


def with_blocks(s: Stmt, change: Callable[[list[Stmt]], list[Stmt]]) -> Stmt:
    """The statement with change(block) for each block of statements in it, in order; the very statement if it holds none."""
    parts = _BLOCKS.get(type(s))
    return replace(s, **{part: change(getattr(s, part)) for part in parts}) if parts else s


def rewritten(body: Iterable[Stmt], change: Callable[[Stmt], Stmt]) -> list[Stmt]:
    """The statements with change(s) for each that holds no others."""
    inside = lambda block: rewritten(block, change)
    return [with_blocks(s, inside) if type(s) in _BLOCKS else change(s) for s in body]


def exchanged(body: Iterable[Stmt], new: Mapping[int, Sequence[Stmt]]) -> list[Stmt]:
    """The statements with others in place of some, by their ids."""
    out: list[Stmt] = []
    for s in body:
        out += new[id(s)] if id(s) in new else [with_blocks(s, lambda block: exchanged(block, new))]
    return out


def count(s: For) -> Integer:
    """The trips of a loop whose step is 1 or -1; where it is below 0, there are none."""
    return (integer(s.hi) - integer(s.lo)) * s.step


def most_trips(s: For) -> float:
    """Like `trips`; where they are known at run time only, the most that there can be."""
    found = trips(s)
    return float(s.most) if found == inf and s.most is not None else found


def trips(s: For) -> float:
    """Iterations (of a vec loop: elements); inf if they are known at run time only."""
    span = integer(s.hi) - integer(s.lo)
    return max(0, -(-span // s.step)) if isinstance(span, int) else inf


_BLOCKS = {For: ("body",), While: ("test", "body"), If: ("then", "orelse")}
