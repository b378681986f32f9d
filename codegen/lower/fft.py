"""Lowering of `fft`: Stockham's self-sorting transform along each axis, from passes that are kernels of their own.

n is a product of small radices r. A pass of radix r takes sub-transforms of length r m, of which s lie side by side, to r
times as many of length m (decimation in frequency; C. Van Loan, Computational Frameworks for the FFT, 1992, section 1.7):

    y[q + s (r p + t)] = w(r m)^(p t)  sum over j < r of w(r)^(j t) x[q + s (p + m j)],    w(n) = exp(-2 pi i / n)

for p < m and q < s; after the last pass the elements stand in order. The lanes are along q, or along p in the first pass over
lines whose elements lie side by side. Other axes are transformed in strips of columns: what lies side by side from the outset
counts as q. A transform with the other sign is this one with real and imaginary parts exchanged.

An extent with a large prime factor is left to NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, For, Index, Kernel, Let, Load, Operand, Param, Stmt, Store, integer
from irad.codegen.lower.graph import Address, KernelBuilder, rule
from irad.codegen.lower.host import host_op
from irad.codegen.lower.scratch import Scratch
from irad.core.affine import Integer
from irad.core.ir import Node
from irad.core.types import DTYPES
from irad.ops.fft import roots

PRIME = 13  # the largest factor that a pass is made for: it takes a number of operations that grows with the square
LANES = 8
STRIP = 1 << 18  # bytes of working memory for a strip of columns, but where rows of two cache lines take more
LINES = 128  # bytes of two cache lines
Complex = tuple[Operand, Operand]
Parts = tuple[str, str]  # the buffers of real and imaginary parts


def radices(n: int) -> list[int]:
    """Factors of n in the order of the passes: 8 first, which fills the lanes of all later passes. Empty: a prime factor is too large."""
    found, twos = [], 0
    for p in (2, 3, 5, 7, 11, PRIME):
        while n % p == 0:
            n //= p
            found += [p] if p > 2 else []
            twos += p == 2
    if n > 1:
        return []
    fours = {0: 0, 1: 2, 2: 1}[twos % 3] if twos > 1 else 0
    eights = (twos - 2 * fours) // 3
    return [8] * eights + found + [4] * fours + [2] * (twos == 1) or [1]


# ---- one pass ------------------------------------------------------------------------------------------------------------------


class _Straight:
    """Straight line code on complex numbers."""

    def __init__(self, dtype: str):
        self.dtype, self.body = dtype, list[Stmt]()

    def let(self, expr: kf.Expr) -> str:
        name = f"v{len(self.body)}"
        self.body.append(Let(name, self.dtype, expr, contract=isinstance(expr, Apply)))
        return name

    def add(self, a: Complex, b: Complex) -> Complex:
        return self.let(Apply("add", (a[0], b[0]))), self.let(Apply("add", (a[1], b[1])))

    def sub(self, a: Complex, b: Complex) -> Complex:
        return self.let(Apply("sub", (a[0], b[0]))), self.let(Apply("sub", (a[1], b[1])))

    def scaled(self, a: Complex, c: float) -> Complex:
        return self.let(Apply("mul", (a[0], Const(c, self.dtype)))), self.let(Apply("mul", (a[1], Const(c, self.dtype))))

    def over_i(self, a: Complex) -> Complex:
        """-i a."""
        return a[1], self.let(Apply("neg", (a[0],)))

    def times(self, a: Complex, b: Complex) -> Complex:
        """a * b."""
        rr, ii, ri, ir = (self.let(Apply("mul", (a[j], b[k]))) for j, k in ((0, 0), (1, 1), (0, 1), (1, 0)))
        return self.let(Apply("sub", (rr, ii))), self.let(Apply("add", (ri, ir)))

    def turned(self, a: Complex, k: int, n: int) -> Complex:
        """a * w(n)^k."""
        if k == 0:
            return a
        if 4 * k == n:
            return self.over_i(a)
        if 8 * k == n:
            return self.scaled(self.add(a, self.over_i(a)), math.sqrt(0.5))
        if 8 * k == 3 * n:
            return self.scaled(self.sub(self.over_i(a), a), math.sqrt(0.5))
        c, s = roots(n)
        return self.times(a, (Const(float(c[k]), self.dtype), Const(-float(s[k]), self.dtype)))

    def transform(self, xs: Sequence[Complex]) -> list[Complex]:
        """The transform of a few numbers."""
        r = len(xs)
        if r == 1:
            return list(xs)
        return self._halves(xs) if r % 2 == 0 else self._pairs(xs)

    def _halves(self, xs: Sequence[Complex]) -> list[Complex]:
        """The transform from those of the elements with even and with odd numbers."""
        r = len(xs)
        even, odd = self.transform(xs[::2]), self.transform(xs[1::2])
        odd = [self.turned(z, k, r) for k, z in enumerate(odd)]
        return [self.add(a, b) for a, b in zip(even, odd)] + [self.sub(a, b) for a, b in zip(even, odd)]

    def _pairs(self, xs: Sequence[Complex]) -> list[Complex]:
        """The transform from sums and differences of elements j and r - j: sums have the cosines, differences the sines."""
        r, first = len(xs), xs[0]
        pairs = [(self.add(a, b), self.sub(a, b)) for a, b in zip(xs[1:], xs[:0:-1])][: r // 2]
        c, s = roots(r)
        out = [first] * r
        for total, _ in pairs:
            out[0] = self.add(out[0], total)
        for t in range(1, r // 2 + 1):
            even, odd = first, None
            for j, (total, difference) in enumerate(pairs, 1):
                even = self.add(even, self.scaled(total, float(c[j * t % r])))
                term = self.scaled(difference, float(s[j * t % r]))
                odd = term if odd is None else self.add(odd, term)
            assert odd is not None
            out[t], out[r - t] = self.add(even, self.over_i(odd)), self.sub(even, self.over_i(odd))
        return out


def kernel(name: str, dtype: str, r: int, along: str) -> Kernel:
    """One pass; `along`: what the lanes go along, "q", "p", or "last" for q in the last pass, which has m = 1 and no factors.

    `name`(xr, xi, yr, yi, wr, wi, m, k, c, xs, xq, ys, yq): q = (number below k, column below c). Element (p, q) of x starts at
    p xs + q[0] xq + q[1], that of y at p ys + q[0] yq + q[1]. w holds the factors, (r - 1, m).
    """
    m, k, c, xs, xq, ys, yq = map(integer, ("m", "k", "c", "xs", "xq", "ys", "yq"))
    p, q, i = integer("p"), integer("q"), integer("i")
    code = _Straight(dtype)
    x_at, y_at = p * xs + q * xq + i, p * r * ys + q * yq + i

    def load(parts: str, at: Integer) -> Complex:
        return code.let(Load(f"{parts}r", (at,))), code.let(Load(f"{parts}i", (at,)))

    out = code.transform([load("x", x_at + m * xs * j) for j in range(r)])
    for t, z in enumerate(out):
        if t and along != "last":
            z = code.times(z, load("w", p + m * (t - 1)))
        code.body += [Store(f"y{part}", (y_at + ys * t,), v) for part, v in zip("ri", z)]
    body = code.body
    if along == "p":
        body = [For("q", "seq", 0, 1, [For("i", "seq", 0, 1, [For("p", "vec", 0, m, body, lanes=LANES)])])]
    else:
        body = [For("p", "seq", 0, m, [For("q", "seq", 0, k, [For("i", "vec", 0, c, body, lanes=LANES)])])]
    buffers = [("x", m * xs * r), ("y", m * ys * r), ("w", m * (r - 1) if r > 1 else integer(1))]
    params = [Param(f"{b}{part}", dtype, (size,)) for b, size in buffers for part in "ri"]
    return Kernel(name, [*params, *[Param(v, "i64", None) for v in SIZES]], body, polled=False)


SIZES = ("m", "k", "c", "xs", "xq", "ys", "yq")


class _Passes:
    """The passes of one transform. `apart`: they shall not read what they write, though it is transformed in place."""

    def __init__(self, f: KernelBuilder, dtype: str, n: int, apart: bool):
        self.f, self.dtype, self.n, self.radices = f, dtype, n, radices(n)
        if apart and len(self.radices) == 1:
            self.radices.insert(0, 1)
        m, self.factors = n, list[Parts]()
        for r in self.radices:
            m //= r
            self.factors.append(self._factors(r, m))

    def _factors(self, r: int, m: int) -> Parts:
        """w(r m)^(p t) for t from 1 on, p < m."""
        if r == 1 or m == 1:
            one = self.f.constant(np.ones(1, DTYPES[self.dtype]))
            return one, one
        c, s = roots(r * m)
        at = np.outer(np.arange(1, r), np.arange(m))
        return self.f.constant(c[at].astype(DTYPES[self.dtype])), self.f.constant(-s[at].astype(DTYPES[self.dtype]))

    def lines(self, x: Parts, y: Parts, work: Sequence[Parts], columns: Integer, step: int) -> None:
        """Transform lines side by side, `columns` of them, whose elements are `step` apart."""
        last, m, s = len(self.radices) - 1, self.n, integer(1)
        for k, r in enumerate(self.radices):
            m //= r
            source, target = x if k == 0 else work[k % 2], y if k == last else work[(k + 1) % 2]
            together = columns * s  # the elements of q, side by side within
            xs = step if k == 0 else together
            if k < last:
                sizes: tuple[Index, ...] = (m, 1, together, xs, 1, together, 1)
            elif columns == step:
                sizes = 1, 1, together, xs, 1, together, 1
            else:
                sizes = 1, s, columns, xs, columns, s * step, step
            self._pass(r, "last" if k == last else "p" if together == 1 else "q", (*source, *target, *self.factors[k]), sizes)
            s = s * r

    def _pass(self, r: int, along: str, buffers: tuple[str, ...], sizes: tuple[Index, ...]) -> None:
        f, name = self.f, f"irad_fft{r}_{along}_{self.dtype}"
        if name not in f.out.functions:
            f.out.functions[name] = name
            f.out.kernels.append(kernel(name, self.dtype, r, along))
        signature = ("i64", *["ptr"] * len(buffers), *["i64"] * len(sizes))
        f.block.append(kf.Call(name, (*buffers, *sizes), signature, f.fresh("status"), "i64", writes=buffers[2:4]))


# ---- the op --------------------------------------------------------------------------------------------------------------------


@rule("fft")
def _fft(f: KernelBuilder, node: Node) -> None:
    dims = [d for d in map(f.dim, node.inputs[0].type.shape) if isinstance(d, int)]
    axes = node.attrs["axes"]
    if not axes or len(dims) < node.inputs[0].type.rank or not all(radices(dims[k]) for k in axes):
        return host_op(f, node)
    if not math.prod(dims):
        return None
    order = slice(None) if node.attrs["sign"] < 0 else slice(None, None, -1)
    x, y = ([f.address(v) for v in vs][order] for vs in (node.inputs, node.outputs))
    for k in reversed(axes):
        _axis(f, node.inputs[0].type.dtype, dims, k, x, y)
        x = y
    return None


def _axis(f: KernelBuilder, dtype: str, dims: list[int], axis: int, x: list[Address], y: list[Address]) -> None:
    """Transform along one axis, from x to y or within y."""
    n, outer, inner = dims[axis], math.prod(dims[:axis]), math.prod(dims[axis + 1 :])
    if n == 1 and x is y:
        return
    passes, scratch = _Passes(f, dtype, n, x is y), Scratch(f)
    widest = max(STRIP // (4 * n), LINES) // f.itemsize(dtype)
    width = -(-inner // -(-inner // widest))  # strips of about one width
    work = [(scratch.array(dtype, n * width), scratch.array(dtype, n * width)) for _ in range(2)]
    o, i = f.fresh("o"), f.fresh("i")
    at = integer(o) * (n * inner) + integer(i)

    def view(p: Address) -> str:
        name = f.fresh("line")
        f.block.append(kf.View(name, p.buf, (n * inner,), p.offset + at))
        return name

    def strip() -> None:
        left = integer(f.let(Apply("minimum", (inner - integer(i), Const(width, "i64"))), "i64")) if inner % width else width
        source, target = ((view(a), view(b)) for a, b in (x, y))
        passes.lines(source, target, work, left, inner)

    f.block.append(For(o, "seq", 0, outer, [For(i, "seq", 0, inner, f.within(strip), step=width)]))
    scratch.free()
