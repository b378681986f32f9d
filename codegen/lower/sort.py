"""Lowering of `sort` and `argsort`: a stable merge sort, one kernel per dtype, called for each line of the array.

Runs of `RUN` elements are sorted by insertion, then merged bottom-up between two lines of working memory. The merge has no
branch on the data. In sorting order NaN stands last, and -0.0 and 0.0 are equal, as in NumPy. `argsort` moves the positions
along with the keys, which keeps the memory accesses in order.
"""

from __future__ import annotations

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import (
    Apply,
    Assign,
    Call,
    Const,
    For,
    Kernel,
    Let,
    Load,
    Param,
    Stmt,
    Store,
    Swap,
    Var,
    While,
    integer,
)
from irad.codegen.lower.graph import KernelBuilder, rule
from irad.codegen.lower.scratch import Scratch
from irad.core.affine import Integer
from irad.core.ir import Node
from irad.core.types import is_float

RUN = 8  # elements that are sorted by insertion


@rule("sort")
def _sort(f: KernelBuilder, node: Node) -> None:
    _lines(f, node, positions=False)


@rule("argsort")
def _argsort(f: KernelBuilder, node: Node) -> None:
    _lines(f, node, positions=True)


def _lines(f: KernelBuilder, node: Node, positions: bool) -> None:
    """A call for each line along the axis; `positions`: the result is the order, not the sorted elements."""
    (x,), (y,) = node.inputs, node.outputs
    axis, dims, strides = node.attrs["axis"], [f.dim(d) for d in x.type.shape], f.strides(x)
    if any(d == 0 for d in dims):
        return
    n, step, dtype = dims[axis], strides[axis], x.type.dtype
    scratch = Scratch(f)
    work = [scratch.array(dtype, n, "keys") for _ in range(2)]
    if positions:
        work += [scratch.array("i64", n, "order") for _ in range(2)]
    at: Integer = 0
    names = {}
    for k, stride in enumerate(strides):
        if k != axis:
            names[k] = f.fresh("i")
            at = at + integer(names[k]) * stride
    a, b, source, target = f.address(x), f.address(y), f.fresh("line"), f.fresh("line")
    args = (source, target, *work, n, step)
    signature = ("i64", *["ptr"] * (len(args) - 2), "i64", "i64")
    body: list[Stmt] = [
        kf.View(source, a.buf, (n * step,), a.offset + at),
        kf.View(target, b.buf, (n * step,), b.offset + at),
        Call(_kernel(f, dtype, positions), args, signature, f.fresh("status"), "i64", writes=(target, *work)),
    ]
    for k in reversed(names):
        body = [For(names[k], "seq", 0, dims[k], body)]
    f.block += body
    scratch.free()


def _kernel(f: KernelBuilder, dtype: str, positions: bool) -> str:
    """The sorting kernel of a dtype, made when first asked for."""
    name = f"irad_{'argsort' if positions else 'sort'}_{dtype}"
    if all(k.name != name for k in f.out.kernels) and name not in f.out.functions.values():
        f.out.functions[name] = name
        f.out.kernels.append(kernel(name, dtype, positions))
    return name


def kernel(name: str, dtype: str, positions: bool = False) -> Kernel:
    """`name`(x, y, a, b[, p, q], n, s): the n elements of x, s apart, sorted into y; a, b, p and q are working memory."""
    n, s = integer("n"), integer("s")
    lines = [("a", "b"), ("p", "q")] if positions else [("a", "b")]
    params = [
        Param("x", dtype, (n * s,)), Param("y", "i64" if positions else dtype, (n * s,)), *[Param(v, dtype, (n,)) for v in "ab"],
        *[Param(v, "i64", (n,)) for v in "pq" if positions], Param("n", "i64", None), Param("s", "i64", None),
    ]  # fmt: skip
    load: list[Stmt] = [Let("v", dtype, Load("x", (integer("k") * s,))), Store("a", ("k",), "v")]
    if positions:
        load.append(Store("p", ("k",), integer("k")))
    result, kind = lines[-1][0], "i64" if positions else dtype
    store: list[Stmt] = [Let("out", kind, Load(result, ("m",))), Store("y", (integer("m") * s,), "out")]
    body: list[Stmt] = [
        For("k", "seq", 0, n, load),
        For("r", "seq", 0, n, _insertion(dtype, positions), step=RUN),
        *_merges(dtype, lines),
        For("m", "seq", 0, n, store),
    ]
    return Kernel(name, params, body, polled=False)


def _less(name: str, x: str, y: str, dtype: str) -> list[Stmt]:
    """x before y: smaller, or a number where y is NaN."""
    if not is_float(dtype):
        return [Let(name, "bool", Apply("lt", (x, y)))]
    return [
        Let(f"{name}_0", "bool", Apply("eq", (x, x))),
        Let(f"{name}_1", "bool", Apply("ge", (x, y))),
        Let(f"{name}_2", "bool", Apply("logical_not", (f"{name}_1",))),
        Let(name, "bool", Apply("logical_and", (f"{name}_0", f"{name}_2"))),
    ]


def _insertion(dtype: str, positions: bool) -> list[Stmt]:
    """Sort a[r : r + RUN]."""
    one = Const(1, "i64")
    test: list[Stmt] = [
        Let("more", "bool", Apply("gt", ("j", integer("r")))),
        Let("left", "i64", Apply("sub", ("j", one))),
        Let("before", "i64", Apply("maximum", ("left", integer("r")))),
        Let("prev", dtype, Load("a", ("before",))),
        *_less("smaller", "key", "prev", dtype),
        Let("go", "bool", Apply("logical_and", ("more", "smaller"))),
    ]
    shift: list[Stmt] = [
        Let("at", "i64", Apply("sub", ("j", one))),
        Let("larger", dtype, Load("a", ("at",))),
        Store("a", ("j",), "larger"),
    ]
    first: list[Stmt] = [Let("key", dtype, Load("a", ("i",)))]
    last: list[Stmt] = [Store("a", ("j",), "key")]
    if positions:
        first.append(Let("place", "i64", Load("p", ("i",))))
        shift += [Let("moved", "i64", Load("p", ("at",))), Store("p", ("j",), "moved")]
        last.append(Store("p", ("j",), "place"))
    shift.append(Assign("j", "at"))
    each: list[Stmt] = [*first, Var("j", "i64", integer("i")), While(test, "go", shift), *last]
    return [
        Let("end", "i64", Apply("minimum", (integer("r") + RUN, integer("n")))),
        For("i", "seq", integer("r") + 1, "end", each),
    ]


def _merges(dtype: str, lines: list[tuple[str, str]]) -> list[Stmt]:
    """Merge neighbouring runs until there is one; the result is in the first line of each pair."""
    n, two = integer("n"), Const(2, "i64")
    pairs: list[Stmt] = [
        Let("lo", "i64", Apply("mul", (integer("t"), "double"))),
        Let("lo_w", "i64", Apply("add", ("lo", "width"))),
        Let("mid", "i64", Apply("minimum", ("lo_w", n))),
        Let("lo_d", "i64", Apply("add", ("lo", "double"))),
        Let("hi", "i64", Apply("minimum", ("lo_d", n))),
        Var("u", "i64", "lo"),
        Var("w", "i64", "mid"),
        Var("o", "i64", "lo"),
        _merge_two(dtype, lines),
        _rest("u", "mid", dtype, lines),
        _rest("w", "hi", dtype, lines),
    ]
    level: list[Stmt] = [
        Let("double", "i64", Apply("mul", ("width", two))),
        Let("reach", "i64", Apply("add", (n - 1, "double"))),
        Let("count", "i64", Apply("floor_divide", ("reach", "double"))),
        For("t", "seq", 0, "count", pairs),
        *[Swap(*pair) for pair in lines],
        Assign("width", "double"),
    ]
    return [
        Var("width", "i64", Const(RUN, "i64")),
        While([Let("unmerged", "bool", Apply("lt", ("width", n)))], "unmerged", level),
    ]


def _merge_two(dtype: str, lines: list[tuple[str, str]]) -> While:
    """While both runs have elements: the smaller one goes on, the left one of equals."""
    test: list[Stmt] = [
        Let("any_left", "bool", Apply("lt", ("u", "mid"))),
        Let("any_right", "bool", Apply("lt", ("w", "hi"))),
        Let("both", "bool", Apply("logical_and", ("any_left", "any_right"))),
    ]
    body: list[Stmt] = [
        Let("l", dtype, Load("a", ("u",))),
        Let("g", dtype, Load("a", ("w",))),
        *_less("take", "g", "l", dtype),
        Let("next", dtype, Apply("select", ("take", "g", "l"))),
        Store(lines[0][1], ("o",), "next"),
        *_moved_position(lines[1:]),
        Let("right", "i64", Apply("cast", ("take",))),
        Let("u_2", "i64", Apply("add", ("u", Const(1, "i64")))),
        Let("u_3", "i64", Apply("sub", ("u_2", "right"))),
        Let("w_2", "i64", Apply("add", ("w", "right"))),
        *_next("o_2"),
        Assign("u", "u_3"),
        Assign("w", "w_2"),
    ]
    return While(test, "both", body)


def _moved_position(lines: list[tuple[str, str]]) -> list[Stmt]:
    return [
        s
        for a, b in lines
        for s in (Let("from", "i64", Apply("select", ("take", "w", "u"))), *_move("place", a, b, "from", "i64"))
    ]


def _move(name: str, a: str, b: str, at: str, dtype: str) -> list[Stmt]:
    return [Let(name, dtype, Load(a, (at,))), Store(b, ("o",), name)]


def _next(name: str) -> list[Stmt]:
    return [Let(name, "i64", Apply("add", ("o", Const(1, "i64")))), Assign("o", name)]


def _rest(at: str, end: str, dtype: str, lines: list[tuple[str, str]]) -> While:
    """What is left of one run."""
    moves = [s for k, (a, b) in enumerate(lines) for s in _move(f"{at}_c{k}", a, b, at, "i64" if k else dtype)]
    step: list[Stmt] = [
        Let(f"{at}_next", "i64", Apply("add", (at, Const(1, "i64")))),
        Assign(at, f"{at}_next"),
        *_next(f"{at}_o"),
    ]
    return While([Let(f"more_{at}", "bool", Apply("lt", (at, end)))], f"more_{at}", [*moves, *step])
