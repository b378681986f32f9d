"""Lowering of `sort` and `argsort`: a stable radix sort, one kernel per dtype, called for each line of the array.

Keys are unsigned integers in the order of the elements. Long lines are sorted by a few digits only, the highest of their
distances from the least key, from the last to the first (LSD radix sort; Knuth, The Art of Computer Programming, volume 3,
5.2.5); insertion then puts right what these digits do not tell. Where that moves many elements, all digits are used. In sorting
order NaN stands last, and -0.0 and 0.0 are equal, as in NumPy: `argsort`, which moves the positions along with the keys, gives
both one key; `sort` writes zeros and NaN in their old order at the end.
"""

from __future__ import annotations

import numpy as np

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import (
    Apply,
    Assign,
    Buffer,
    Call,
    Const,
    For,
    If,
    Kernel,
    Let,
    Load,
    Param,
    Stmt,
    Store,
    Swap,
    Var,
    View,
    While,
    integer,
)
from irad.codegen.lower.graph import KernelBuilder, rule
from irad.codegen.lower.scratch import Scratch
from irad.core.affine import Integer
from irad.core.ir import Node
from irad.core.types import DTYPES, bits, is_float, is_signed

SHORT = 64  # elements up to which a line is sorted by insertion alone
DIGIT = 8  # bits
SOME, MORE = 3, 4  # digits that tell most elements of lines of up to 2**12 from each other, and of longer ones
MOVES = 8  # moves by insertion for each element, up to which it goes on


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
    work = [scratch.array("u64", n, "keys") for _ in range(2)]
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
    params = [
        Param("x", dtype, (n * s,)), Param("y", "i64" if positions else dtype, (n * s,)), *[Param(v, "u64", (n,)) for v in "ab"],
        *[Param(v, "i64", (n,)) for v in "pq" if positions], Param("n", "i64", None), Param("s", "i64", None),
    ]  # fmt: skip
    if positions:
        store: list[Stmt] = [
            For("m", "seq", 0, n, [Let("out", "i64", Load("p", ("m",))), Store("y", (integer("m") * s,), "out")])
        ]
    else:
        store = _elements(dtype)
    body: list[Stmt] = [
        View("bits", "x", (n * s,), 0, _unsigned(dtype)),
        Buffer("count", "i64", (1 << DIGIT,)),
        *_keys(dtype, positions),
        Let("is_long_line", "bool", Apply("gt", (n, Const(SHORT, "i64")))),
        *_sorted(positions),
        *store,
    ]
    return Kernel(name, params, body, polled=False)


def _unsigned(dtype: str) -> str:
    return f"u{8 * DTYPES[dtype].itemsize}"


def _u64(value: int) -> Const:
    return Const(value, "u64")


def _keys(dtype: str, positions: bool) -> list[Stmt]:
    """Fill a with the keys, p with the positions; `least` and `most`: the range of the keys.

    For sorted floats, `zeros` counts -0.0, `below` what is less, and `nans` NaN.
    """
    kind, top = _unsigned(dtype), 1 << bits(dtype) - 1
    find: list[Stmt] = [Let("element", kind, Load("bits", (integer("k") * integer("s"),)))]
    bit = lambda value: Const(value, kind)
    counted = is_float(dtype) and not positions
    if is_float(dtype):
        infinity = int(np.array(np.inf, DTYPES[dtype]).view(DTYPES[kind]))
        find += [
            Let("sign", kind, Apply("right_shift", ("element", bit(bits(dtype) - 1)))),
            Let("all_ones", kind, Apply("sub", (bit(0), "sign"))),
            Let("flip", kind, Apply("bitwise_or", ("all_ones", bit(top)))),
            Let("flipped", kind, Apply("bitwise_xor", ("element", "flip"))),
            Let("size", kind, Apply("bitwise_and", ("element", bit(top - 1)))),
            Let("is_nan", "bool", Apply("gt", ("size", bit(infinity)))),
            Let("number", kind, Apply("select", ("is_nan", bit(2 * top - 1), "flipped"))),
            Let("is_zero", "bool", Apply("eq", ("element", bit(top)))),
            Let("with_zero", kind, Apply("select", ("is_zero", bit(top), "number"))),
        ]
    elif is_signed(dtype):
        find.append(Let("shifted", kind, Apply("bitwise_xor", ("element", bit(top)))))
    short = ("with_zero" if positions else "number") if is_float(dtype) else "shifted" if is_signed(dtype) else "element"
    find += [
        Let("key", "u64", Apply("cast", (short,))),
        Store("a", ("k",), "key"),
        *([Store("p", ("k",), integer("k"))] if positions else []),
        *_accumulate("least", "u64", "minimum", "key"),
        *_accumulate("most", "u64", "maximum", "key"),
    ]
    counts: list[Stmt] = []
    if counted:
        find.append(Let("is_below", "bool", Apply("lt", ("number", bit(top - 1)))))
        for name, test in (("zeros", "is_zero"), ("below", "is_below"), ("nans", "is_nan")):
            counts.append(Var(name, "i64", Const(0, "i64")))
            find += [Let(f"{test}_1", "i64", Apply("cast", (test,))), *_accumulate(name, "i64", "add", f"{test}_1")]
    return [Var("least", "u64", _u64(2**64 - 1)), Var("most", "u64", _u64(0)), *counts, For("k", "seq", 0, integer("n"), find)]


def _accumulate(var: str, dtype: str, op: str, value: str) -> list[Stmt]:
    return [Let(f"{var}_and", dtype, Apply(op, (var, value))), Assign(var, f"{var}_and")]


def _sorted(positions: bool) -> list[Stmt]:
    """Sort a by some digits and by insertion; again by all digits, if insertion did not come to its end."""
    n = integer("n")
    digits = lambda k: _u64(k * DIGIT)
    bits_below: list[Stmt] = [
        Let("above", "u64", Apply("right_shift", ("width", "end"))),
        Let("differs", "bool", Apply("ne", ("above", _u64(0)))),
        Let("grows", "bool", Apply("logical_and", ("differs", "is_long_line"))),
    ]
    return [
        Let("width", "u64", Apply("sub", ("most", "least"))),
        Var("end", "u64", _u64(0)),  # keys from the least one on have fewer bits than this; 0 for short lines
        While(bits_below, "grows", [Let("end_4", "u64", Apply("add", ("end", _u64(4)))), Assign("end", "end_4")]),
        Let("is_large", "bool", Apply("gt", (n, Const(1 << 12, "i64")))),
        Let("told", "u64", Apply("select", ("is_large", digits(MORE), digits(SOME)))),
        Let("last", "u64", Apply("maximum", ("end", "told"))),
        Let("rest", "u64", Apply("sub", ("last", "told"))),
        Var("start", "u64", "rest"),
        Let("squared", "i64", Apply("mul", (n, n))),
        Let("linear", "i64", Apply("mul", (n, Const(MOVES, "i64")))),
        Let("allowed", "i64", Apply("select", ("is_long_line", "linear", "squared"))),
        Var("again", "i64", Const(1, "i64")),
        While(
            [Let("unsorted", "bool", Apply("ne", ("again", Const(0, "i64"))))],
            "unsorted",
            [
                Var("shift", "u64", "start"),
                While([Let("digits_left", "bool", Apply("lt", ("shift", "end")))], "digits_left", _pass(positions)),
                Var("budget", "i64", "allowed"),
                *_insertion(positions),
                Let("spent", "bool", Apply("le", ("budget", Const(0, "i64")))),
                Let("skipped", "bool", Apply("ne", ("start", _u64(0)))),
                Let("unfinished", "bool", Apply("logical_and", ("spent", "skipped"))),
                Let("once_more", "i64", Apply("cast", ("unfinished",))),
                Assign("again", "once_more"),
                Assign("start", _u64(0)),
            ],
        ),
    ]


def _pass(positions: bool) -> list[Stmt]:
    """Move the keys from a to b, in the order of one digit; equal ones keep their order."""
    n, one, size = integer("n"), Const(1, "i64"), 1 << DIGIT

    def digit(name: str, k: str) -> list[Stmt]:
        return [
            Let(f"{name}_key", "u64", Load("a", (k,))),
            Let(f"{name}_above", "u64", Apply("sub", (f"{name}_key", "least"))),
            Let(f"{name}_high", "u64", Apply("right_shift", (f"{name}_above", "shift"))),
            Let(f"{name}_digit", "u64", Apply("bitwise_and", (f"{name}_high", _u64(size - 1)))),
            Let(name, "i64", Apply("cast", (f"{name}_digit",))),
        ]

    def increased(name: str, at: str) -> list[Stmt]:
        return [
            Let(name, "i64", Load("count", (at,))),
            Let(f"{name}_1", "i64", Apply("add", (name, one))),
            Store("count", (at,), f"{name}_1"),
        ]

    move: list[Stmt] = [Store("b", ("to",), "d_key")]
    if positions:
        move += [Let("place", "i64", Load("p", ("k4",))), Store("q", ("to",), "place")]
    return [
        For("k1", "seq", 0, size, [Store("count", ("k1",), Const(0, "i64"))]),
        For("k2", "seq", 0, n, [*digit("c", "k2"), *increased("so_far", "c")]),
        Var("total", "i64", Const(0, "i64")),
        For("k3", "seq", 0, size, [
            Let("many", "i64", Load("count", ("k3",))),
            Store("count", ("k3",), "total"),
            *_accumulate("total", "i64", "add", "many"),
        ]),
        For("k4", "seq", 0, n, [*digit("d", "k4"), *increased("to", "d"), *move]),
        Swap("a", "b"),
        *([Swap("p", "q")] if positions else []),
        Let("next_shift", "u64", Apply("add", ("shift", _u64(DIGIT)))),
        Assign("shift", "next_shift"),
    ]  # fmt: skip


def _insertion(positions: bool) -> list[Stmt]:
    """Sort a by insertion; each move takes one from the budget, and where it is spent nothing more is moved."""
    zero, one = Const(0, "i64"), Const(1, "i64")
    test: list[Stmt] = [
        Let("not_first", "bool", Apply("gt", ("j", zero))),
        Let("left", "i64", Apply("sub", ("j", one))),
        Let("before", "i64", Apply("maximum", ("left", zero))),
        Let("prev", "u64", Load("a", ("before",))),
        Let("smaller", "bool", Apply("lt", ("inserted", "prev"))),
        Let("funded", "bool", Apply("gt", ("budget", zero))),
        Let("moves", "bool", Apply("logical_and", ("not_first", "smaller"))),
        Let("go", "bool", Apply("logical_and", ("moves", "funded"))),
    ]
    shift: list[Stmt] = [
        Let("at", "i64", Apply("sub", ("j", one))),
        Let("larger", "u64", Load("a", ("at",))),
        Store("a", ("j",), "larger"),
    ]
    first: list[Stmt] = [Let("inserted", "u64", Load("a", ("i",)))]
    last: list[Stmt] = [Store("a", ("j",), "inserted")]
    if positions:
        first.append(Let("its_place", "i64", Load("p", ("i",))))
        shift += [Let("moved", "i64", Load("p", ("at",))), Store("p", ("j",), "moved")]
        last.append(Store("p", ("j",), "its_place"))
    shift += [Assign("j", "at"), Let("left_over", "i64", Apply("sub", ("budget", one))), Assign("budget", "left_over")]
    return [For("i", "seq", 1, integer("n"), [*first, Var("j", "i64", integer("i")), While(test, "go", shift), *last])]


def _elements(dtype: str) -> list[Stmt]:
    """The elements of the sorted keys, in y."""
    n, s, kind, top = integer("n"), integer("s"), _unsigned(dtype), 1 << bits(dtype) - 1
    make: list[Stmt] = [Let("long_key", "u64", Load("a", ("m",))), Let("of_key", kind, Apply("cast", ("long_key",)))]
    if is_float(dtype):
        make += [
            Let("is_positive", kind, Apply("right_shift", ("of_key", Const(bits(dtype) - 1, kind)))),
            Let("inverted", kind, Apply("sub", ("is_positive", Const(1, kind)))),
            Let("back", kind, Apply("bitwise_or", ("inverted", Const(top, kind)))),
            Let("out", kind, Apply("bitwise_xor", ("of_key", "back"))),
        ]
    elif is_signed(dtype):
        make.append(Let("out", kind, Apply("bitwise_xor", ("of_key", Const(top, kind)))))
    out = "out" if is_float(dtype) or is_signed(dtype) else "of_key"
    stored: list[Stmt] = [
        View("to_bits", "y", (n * s,), 0, kind),
        For("m", "seq", 0, n, [*make, Store("to_bits", (integer("m") * s,), out)]),
    ]
    if not is_float(dtype):
        return stored
    infinity = int(np.array(np.inf, DTYPES[dtype]).view(DTYPES[kind]))
    return [
        *stored,
        *_in_old_order("zero", "zeros", "below", dtype, "eq", 0),
        Let("numbers", "i64", Apply("sub", (n, "nans"))),
        *_in_old_order("nan", "nans", "numbers", dtype, "gt", infinity),
    ]


def _in_old_order(name: str, count: str, start: str, dtype: str, test: str, size: int) -> list[Stmt]:
    """Where there are any (`count`): elements whose bits without the sign pass the test, as they stand in x, from `start` on in y."""
    n, s, kind, top = integer("n"), integer("s"), _unsigned(dtype), 1 << bits(dtype) - 1
    store: list[Stmt] = [
        Store("to_bits", (integer(f"{name}_at") * s,), f"{name}_bits"),
        Let(f"{name}_next", "i64", Apply("add", (f"{name}_at", Const(1, "i64")))),
        Assign(f"{name}_at", f"{name}_next"),
    ]
    return [
        Let(f"any_{name}", "bool", Apply("gt", (count, Const(0, "i64")))),
        Let(f"{name}_trips", "i64", Apply("select", (f"any_{name}", n, Const(0, "i64")))),
        Var(f"{name}_at", "i64", start),
        For(f"{name}_k", "seq", 0, f"{name}_trips", [
            Let(f"{name}_bits", kind, Load("bits", (integer(f"{name}_k") * s,))),
            Let(f"{name}_size", kind, Apply("bitwise_and", (f"{name}_bits", Const(top - 1, kind)))),
            Let(f"is_{name}_bits", "bool", Apply(test, (f"{name}_size", Const(size, kind)))),
            If(f"is_{name}_bits", store),
        ]),
    ]  # fmt: skip
