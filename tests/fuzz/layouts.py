"""Programs of views, stores and casts, for all dtypes and memory layouts: Fortran order, negative and zero strides, arguments that
overlap or may not be written, empty, of rank 0, misaligned and byte-swapped ones.

The oracle is plain NumPy on arrays of the same layout that share memory in the same way: values, dtypes, shapes, what the arguments
and all of their memory hold afterwards, which results may not be written, and exceptions by their type.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import irad
from irad.errors import IradError
from irad.validation.agreement import agree
from irad.validation.validate import python_outcome
from tests.fuzz.case import Case, Fault

FEATURES = (
    "order",
    "strides",
    "overlap",
    "read_only",
    "views",
    "stores",
    "gathers",
    "reductions",
    "casts",
    "small_dtypes",
    "odd",
    "numbers",
)
SIZES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)
WIDE = ("float64", "float32", "int64", "complex128")
SMALL = ("float16", "complex64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool")

# ---- what the programs call ---------------------------------------------------------------------------------------------


def numbers(dtype: str, shape: int | Sequence[int], seed: int) -> Any:
    """Small numbers, each exact in the dtype."""
    r = np.random.default_rng(seed)
    low = 0 if np.dtype(dtype).kind in "ub" else -3
    return np.asarray(r.integers(low, 5, shape) * (0.5 if np.dtype(dtype).kind in "fc" else 1)).astype(dtype)


def read_only(x: np.ndarray) -> np.ndarray:
    out = x.view()
    out.flags.writeable = False
    return out


def misaligned(x: np.ndarray) -> np.ndarray:
    """The numbers at an odd address."""
    raw = np.zeros(x.nbytes + 1, np.uint8)
    out = raw[1:].view(x.dtype).reshape(x.shape)
    out[...] = x
    return out


def swapped(x: np.ndarray) -> np.ndarray:
    """The numbers in the other byte order."""
    return x.astype(x.dtype.newbyteorder())


def compared(f: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> None:
    """f compiled does what f does, twice: the second call runs without Python. `make` makes the arguments, then their memory."""
    c = irad.compile(f)
    for _ in range(2):
        (*mine, memory), (*theirs, other) = make(), make()
        want = python_outcome(lambda theirs=theirs: f(*theirs))
        try:
            got = python_outcome(lambda mine=mine: c(*mine))
        except IradError as e:
            if isinstance(want, str) and _meant(e, want):
                return
            raise
        if isinstance(want, str) and isinstance(got, str) and "ValueError" in got and not all(x.flags.writeable for x in theirs):
            continue  # irad looks at all that will be written before it starts
        if found := agree([got, mine, memory], [want, theirs, other], lambda: [0.0] * 100):
            raise Fault(f"{found}\nirad: {got!r}\nNumPy: {want!r}\nmemory: {memory!r}\nNumPy's: {other!r}")


def _meant(e: IradError, want: str) -> bool:
    """Is irad's exception of the type that NumPy raises, or of one above it?"""
    names = {k.__name__ for k in type(e).__mro__}
    return bool(names & {want.removeprefix("raises "), *_ABOVE.get(want.removeprefix("raises "), ())})


_ABOVE = {"UFuncTypeError": ("TypeError",), "_UFuncOutputCastingError": ("TypeError",), "_UFuncNoLoopError": ("TypeError",), "AxisError": ("ValueError", "IndexError")}  # fmt: skip

# ---- the programs -----------------------------------------------------------------------------------------------------------


class Program:
    """One random function of two arrays. `ranks`: the variables, with their numbers of axes as far as they are known."""

    def __init__(self, seed: int, features: frozenset[str]):
        self.r, self.has = random.Random(seed), features
        self.lines: list[str] = []
        self.ranks: dict[str, int] = {}
        self.fresh = 0
        self.extreme = False  # may there be infinities and the like, which no integer is?

    def pick(self, *options: str) -> str:
        return self.r.choice(options)

    def dtype(self) -> str:
        return self.r.choice(SMALL if "small_dtypes" in self.has and self.r.random() < 0.6 else WIDE)

    # arguments

    def make(self) -> list[str]:
        """The function `make`."""
        n, m = self.r.choice(SIZES), self.r.choice(SIZES[:9])
        self.shape = self.r.choice([(n,), (m, n), (n, m), (2, m, 3), ()] if self.r.random() < 0.9 else [(m, m)])
        kind = self.dtype()
        lines = ["def make():"]
        if "overlap" in self.has and self.shape and self.shape[0] and self.r.random() < 0.4:
            more = (self.shape[0] + 1, *self.shape[1:])
            lines += [f"    b = numbers({kind!r}, {more}, 1)", f"    return b[:-1], b[{self.pick('1:', ':-1', ':0:-1')}], [b]"]
        else:
            xs = [self.layout(kind if k == 0 or self.r.random() < 0.7 else self.dtype(), k + 1) for k in range(2)]
            lines += [f"    x, x_memory = {xs[0]}", f"    y, y_memory = {xs[1]}", "    return x, y, [x_memory, y_memory]"]
        self.closed = any("read_only" in line or "broadcast_to" in line for line in lines)
        self.ranks = {"x": len(self.shape), "y": len(self.shape)}
        return lines

    def layout(self, dtype: str, seed: int) -> str:
        """An array of the shape, and the memory that it is a part of."""
        shape = self.shape
        forms = [f"(b := numbers({dtype!r}, {shape}, {seed})), b"]
        every = ", ".join(["::2"] * len(shape))
        back = ", ".join(["::-1"] * len(shape))
        if not shape:
            return self.pick(
                f"(b := np.array(numbers({dtype!r}, (), {seed}))), b", f"(b := numbers({dtype!r}, 3, {seed}))[1, ...], b"
            )
        doubled = tuple(2 * d for d in shape)
        if shape and "order" in self.has:
            forms += [f"(b := np.asfortranarray(numbers({dtype!r}, {shape}, {seed}))), b"]
            forms += [f"(b := numbers({dtype!r}, {shape[::-1]}, {seed})).T, b"]
        if shape and "strides" in self.has:
            forms += [
                f"(b := numbers({dtype!r}, {doubled}, {seed}))[{every}], b",
                f"(b := numbers({dtype!r}, {shape}, {seed}))[{back}], b",
            ]
            forms += [f"np.broadcast_to(b := numbers({dtype!r}, {shape[-1:]}, {seed}), {shape}), b"]
        if "read_only" in self.has:
            forms += [f"read_only(b := numbers({dtype!r}, {shape}, {seed})), b"]
        if "odd" in self.has and shape:
            forms += [f"(b := {self.pick(*['misaligned'] * 7, 'swapped')}(numbers({dtype!r}, {shape}, {seed}))), b"]
        return self.r.choice(forms)

    # statements

    def new(self, expression: str, rank: int) -> None:
        name = f"v{self.fresh}"
        self.fresh += 1
        self.lines.append(f"    {name} = {expression}")
        self.ranks[name] = rank

    def statement(self) -> None:
        kinds: list[Callable[[str, int], None]] = [self.elementwise]
        kinds += [self.view] * 3 * ("views" in self.has) + [self.store] * 3 * ("stores" in self.has)
        kinds += (
            [self.gather] * ("gathers" in self.has)
            + [self.reduction] * ("reductions" in self.has)
            + [self.cast] * ("casts" in self.has)
            + [self.number] * ("numbers" in self.has)
        )
        name = self.r.choice(list(self.ranks))
        self.r.choice(kinds)(name, self.ranks[name])

    def elementwise(self, a: str, rank: int) -> None:
        same = [b for b, k in self.ranks.items() if k == rank]
        b = self.r.choice(same)
        self.new(
            self.pick(
                f"{a} + {b}", f"{a} * {b}", f"{a} - 1", f"np.where({a} > 1, {a}, {b})", f"np.maximum({a}, {b})", f"abs({a})", f"{a} * 2",
                f"{a} > {b}", f"np.square({a})",
            ),
            rank,
        )  # fmt: skip

    def view(self, a: str, rank: int) -> None:
        forms: list[tuple[str, int]] = [
            (f"{a}.reshape(-1)", 1),
            (f"{a}.ravel()", 1),
            (f"np.ravel({a}, {self.pick('C', 'F', 'K', 'A')!r})", 1),
        ]
        forms += [
            (f"{a}[None]", rank + 1),
            (f"{a}.T", rank),
            (f"np.asarray({a})", rank),
            (f"{a}.astype({a}.dtype, copy=False)", rank),
            (self.pick(f"np.conj({a})", f"{a}.conj()", f"np.real({a})", f"{a}.real", f"np.real_if_close({a})"), rank),
            (f"irad.stop_gradient({a})", rank),
            (f"np.expand_dims({a}, 0)", rank + 1),
        ]
        if rank:
            key = self.pick("1:", "::2", "::-1", ":-1", "2:1", "...")
            forms += [(f"{a}[{key}]", rank), (f"np.flip({a})", rank), (f"{a}[..., None]", rank + 1), (f"{a}.view()", rank)]
            forms += [(f"np.broadcast_to({a}, (2,) + {a}.shape)", rank + 1), (f"np.ascontiguousarray({a})", rank)]
        if rank > 1:
            forms += [
                (f"{a}[:, {self.pick('0', '-1')}]", rank - 1),
                (f"np.diagonal({a})", rank - 1),
                (f"{a}.swapaxes(0, 1)", rank),
            ]
            forms += [(f"{a}[:, ::-1]", rank), (f"np.moveaxis({a}, 0, -1)", rank), (f"np.einsum('ij...->ji...', {a})", rank)]
        self.new(*self.r.choice(forms))

    def store(self, a: str, rank: int) -> None:
        value = self.pick("1", "3", "2", "0")
        forms = [f"{a}[...] = {value}", f"{a} += {value}", f"{a} *= 2", f"{a}[{a} > 1] = {value}", f"{a}.fill({value})"]
        forms += [f"np.copyto({a}, {value})", f"np.putmask({a}, {a} > 1, {value})"]
        if rank:
            key = self.pick("1:", "::2", "::-1", "0", "-1", "[0, 0]", "[0, -1]", "2:1")
            forms += [f"{a}[{key}] = {value}", f"{a}[{key}] += {value}", f"{a}[::-1] = {a}", f"{a}.put([0, -1], {value})"]
            if not self.closed:  # np.add.at does not look whether an array may be written
                forms += [f"np.add.at({a}, [0, 0], {value})"]
            forms += [f"{a}[1:] = {a}[:-1]", f"{a}.sort()", f"np.negative({a}, out={a})"]
            forms += [f"np.negative({a}, {a})", f"np.add({a}, {a}, {a})", f"np.multiply({a}, {value}, {a})"]
        if rank == 2:
            forms += [f"np.fill_diagonal({a}, {value})"]
        self.lines.append("    " + self.r.choice(forms))

    def number(self, a: str, rank: int) -> None:
        """One number into an element that may not hold it; a float beyond an unsigned integer has no value in C."""
        if rank and not self.closed:
            big = self.pick("1.5", "70000.0", "-40000.0", "1e19", 'np.float64("nan")', 'np.float64("inf")')
            b = self.r.choice(list(self.ranks))
            self.extreme = True
            self.lines.append(
                f"    if {a}.dtype.kind != 'u':\n        {a}[{', '.join([self.pick('0', '-1')] * rank)}] = {b}.sum() * {big}"
            )

    def gather(self, a: str, rank: int) -> None:
        if rank:
            forms = [(f"{a}[[0, -1, 0]]", rank), (f"np.take({a}, [0, 1], axis=0)", rank), (f"{a}[{a} > 0]", 1)]
            forms += [(f"{a}[:, [0, 0]]", rank)] if rank > 1 else []
            self.new(*self.r.choice(forms))

    def reduction(self, a: str, rank: int) -> None:
        if rank:
            most = ("max", "min", "argmax") if 0 not in self.shape else ()
            name = self.pick("sum", "prod", "any", "cumsum", "all", *most)
            axis = self.r.randrange(rank)
            self.new(f"{a}.{name}(axis={axis})", rank if name == "cumsum" else rank - 1)

    def cast(self, a: str, rank: int) -> None:
        real = [t for t in (*WIDE, *SMALL) if "complex" not in t and "uint" not in t]  # a negative float has no unsigned value
        real = [t for t in real if "int" not in t] if self.extreme else real
        self.new(f"{a}.astype({self.r.choice(real)!r})", rank)


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    has = frozenset(FEATURES) if features is None else features
    p = Program(seed, has)
    make = p.make()
    for _ in range(p.r.randrange(2, 8)):
        p.statement()
    shown = p.r.sample(list(p.ranks), min(len(p.ranks), 3))
    body = ["def f(x, y):", *p.lines, f"    return {', '.join(shown)},"]
    head = [
        "import numpy as np",
        "import irad",
        "from tests.fuzz.layouts import compared, misaligned, numbers, read_only, swapped",
        "",
        "",
    ]
    source = "\n".join([*head, *make, "", "", *body, "", "", "def main():", "    compared(f, make)", ""])
    return Case("layouts", seed, source, has)
