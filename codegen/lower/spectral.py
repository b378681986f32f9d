"""Lowering of QR, singular values and symmetric eigenvalues to NumPy's LAPACK; see irad.codegen.lower.linalg."""

from __future__ import annotations

from collections.abc import Sequence

from irad.codegen.kernel.form import Apply, Const, For, Let, Load, Stmt, Store, integer
from irad.codegen.lower.control import fill
from irad.codegen.lower.graph import KernelBuilder
from irad.codegen.lower.linalg import One, Places, Ptr, Routines, extents, routine
from irad.core.affine import Integer
from irad.core.ir import Node, Value


@routine("qr", "qr_parts", empty=lambda f, node: _identities(f, node.outputs[: len(node.inputs)]))
def _qr(r: Routines, node: Node, m: int, n: int) -> One:
    k = m if node.attrs["full"] else n
    (a,), (q, rr) = r.split(node.inputs, "z"), r.split(node.outputs, "zz")
    work, tau = r.array(m * k, "columns"), r.array(n, "tau")
    space, _, _ = r.workspace("geqrf", m, n, Ptr(work), m, Ptr(tau), "work", -1)
    more, _, _ = r.workspace("orgqr", m, k, n, Ptr(work), m, Ptr(tau), "work", -1)

    def one(t: Integer) -> None:
        r.move(r.rows(a, t, m, n), r.columns(work, m), m, n)
        r.call("geqrf", m, n, Ptr(work), m, Ptr(tau), *space, Ptr(r.info))
        r.move(r.columns(work, m), r.rows(rr, t, k, n), k, n, keep="upper")
        r.call("orgqr", m, k, n, Ptr(work), m, Ptr(tau), *more, Ptr(r.info))
        r.move(r.columns(work, m), r.rows(q, t, m, k), m, k)

    return one


def _identities(f: KernelBuilder, parts: Sequence[Value]) -> None:
    """Identity matrices, where there is nothing to factorise."""
    for k, v in enumerate(parts):
        batch, m, n = extents(v)
        if not batch * m * n:
            continue
        fill(f, v, Const(0, v.type.dtype))
        t, i = f.fresh("t"), f.fresh("i")
        place = f.address(v)
        at = place.offset + integer(t) * (m * n) + integer(i) * (n + 1)
        if k == 0:
            f.block.append(
                For(t, "seq", 0, batch, [For(i, "seq", 0, min(m, n), [Store(place.buf, (at,), Const(1, v.type.dtype))])])
            )


def _rwork(m: int, n: int, vectors: bool) -> int:
    """Real numbers that gesdd of complex matrices works with."""
    k, wide = min(m, n), max(m, n)
    return max(5 * k * k + 7 * k, 2 * wide * k + 2 * k * k + k) if vectors else 7 * k


def _no_vectors(f: KernelBuilder, node: Node) -> None:
    width = len(node.inputs)
    for parts in (node.outputs[:width], node.outputs[width + 1 : 2 * width + 1]):
        _identities(f, parts)


@routine("svd", "svd_parts", info=True, empty=_no_vectors)
def _svd(r: Routines, node: Node, m: int, n: int) -> One:
    (a,), (u, (s,), vt, _) = r.split(node.inputs, "z"), r.split(node.outputs, "z1z1")
    columns, rows, k = int(u[0].type.shape[-1]), int(vt[0].type.shape[-2]), min(m, n)  # type: ignore[arg-type]
    work, left, right = r.array(m * n, "columns"), r.array(m * columns, "left"), r.array(rows * n, "right")
    rwork = [Ptr(r.reals(_rwork(m, n, True), "rwork"))] * (r.width - 1)
    sizes = "A" if node.attrs["full"] else "S", m, n, Ptr(work), m
    sides = Ptr(left), m, Ptr(right), rows
    space, _, _ = r.workspace("gesdd", *sizes, Ptr(work), *sides, "work", -1, *rwork, "iwork")
    whole = Ptr(r.integers(8 * k, "iwork"))

    def one(t: Integer) -> None:
        r.move(r.rows(a, t, m, n), r.columns(work, m), m, n)
        r.call("gesdd", *sizes, Ptr(r.matrix(s, t, k)), *sides, *space, *rwork, whole, Ptr(r.info))
        r.move(r.columns(left, m), r.rows(u, t, m, columns), m, columns)
        r.move(r.columns(right, rows), r.rows(vt, t, rows, n), rows, n)

    return one


@routine("svdvals", "svdvals_parts", info=True)
def _svdvals(r: Routines, node: Node, m: int, n: int) -> One:
    s, _ = node.outputs
    (a,), k = r.split(node.inputs, "z"), min(m, n)
    work, none = r.array(m * n, "columns"), Ptr(r.array(1, "none"))
    rwork = [Ptr(r.reals(_rwork(m, n, False), "rwork"))] * (r.width - 1)
    space, _, _ = r.workspace("gesdd", "N", m, n, Ptr(work), m, Ptr(work), none, m, none, n, "work", -1, *rwork, "iwork")
    whole = Ptr(r.integers(8 * k, "iwork"))

    def one(t: Integer) -> None:
        r.move(r.rows(a, t, m, n), r.columns(work, m), m, n)
        values = Ptr(r.matrix(s, t, k))
        r.call("gesdd", "N", m, n, Ptr(work), m, values, none, m, none, n, *space, *rwork, whole, Ptr(r.info))

    return one


@routine("eigh", "eigvalsh", "eigh_parts", "eigvalsh_parts", info=True)
def _eigh(r: Routines, node: Node, n: int, width: int) -> One:
    w, *vectors, _info = node.outputs
    (a,) = r.split(node.inputs, "z")
    job, uplo, work = "V" if vectors else "N", "L" if node.attrs["lower"] else "U", r.array(n * n, "columns")
    reals = ("rwork", -1) * (r.width - 1)
    space, iwork, rwork = r.workspace("syevd", job, uplo, n, Ptr(work), n, Ptr(work), "work", -1, *reals, "iwork", -1)

    def one(t: Integer) -> None:
        r.move(r.rows(a, t, n, n), r.columns(work, n), n, n)
        values = Ptr(r.matrix(w, t, n))
        r.call("syevd", job, uplo, n, Ptr(work), n, values, *space, *rwork, *iwork, Ptr(r.info))
        if vectors:
            r.move(r.columns(work, n), r.rows(vectors, t, n, n), n, n)

    return one


# ---- eigenvalues of general matrices ---------------------------------------------------------------------------------------------


@routine("eig_parts", "eigvals_parts", "eig_of_real", "eigvals_of_real", info=True)
def _eig(r: Routines, node: Node, n: int, width: int) -> One:
    """geev. Of a real matrix, its eigenvalues come as parts, and of a pair of conjugate eigenvectors the parts as two columns."""
    w, vectors = node.outputs[:2], node.outputs[2:-1]
    work, right = (
        r.array(n * n, "columns"),
        r.array(n * (n + 1) if vectors else 1, "right"),
    )  # one more column may be read where geev fails
    values = [r.array(n, "values") for _ in range(3 - r.width)]
    rwork = [Ptr(r.reals(2 * n, "rwork"))] * (r.width - 1)
    sizes = "N", "V" if vectors else "N", n, Ptr(work), n, *map(Ptr, values), Ptr(right), n, Ptr(right), n
    space, _, _ = r.workspace("geev", *sizes, "work", -1, *rwork)

    def one(t: Integer) -> None:
        r.move(r.rows(node.inputs, t, n, n), r.columns(work, n), n, n)
        r.call("geev", *sizes, *space, *rwork, Ptr(r.info))
        line: Places = [(v, lambda i, j: j) for v in values] if r.width == 1 else r.in_rows(values[0], n)
        r.move(line, r.rows(w, t, 1, n), 1, n)
        if vectors and r.width == 1:
            _unfolded(r, values[1], right, r.rows(vectors, t, n, n), n)
        elif vectors:
            r.move(r.columns(right, n), r.rows(vectors, t, n, n), n, n)

    return one


def _unfolded(r: Routines, imaginary: str, packed: str, target: Places, n: int) -> None:
    """Eigenvectors of a real matrix: where eigenvalue j has a positive imaginary part, columns j and j + 1 are the parts of
    vector j; where it has a negative one, columns j - 1 and j those of the conjugate of vector j."""
    f, dtype = r.f, r.dtype
    i, j, y, up, down, re, im, minus, half, part = (f.fresh(s) for s in "i j y up down re im minus half part".split())
    zero, at = Const(0, dtype), lambda column: Load(packed, (column * n + integer(i),))
    first, second, before = f.fresh("first"), f.fresh("second"), f.fresh("before")
    body: list[Stmt] = [
        Let(y, dtype, Load(imaginary, (integer(j),))),
        Let(up, "bool", Apply("gt", (y, zero))),
        Let(down, "bool", Apply("lt", (y, zero))),
        Let(before, "i64", Apply("maximum", (integer(j) - 1, Const(0, "i64")))),
        Let(first, "i64", Apply("select", (down, before, integer(j)))),
        Let(second, "i64", Apply("select", (up, integer(j) + 1, integer(j)))),
        Let(re, dtype, at(integer(first))),
        Let(im, dtype, at(integer(second))),
        Let(minus, dtype, Apply("neg", (im,))),
        Let(half, dtype, Apply("select", (down, minus, zero))),
        Let(part, dtype, Apply("select", (up, im, half))),
        *(Store(buf, (to(integer(i), integer(j)),), x) for (buf, to), x in zip(target, (re, part))),
    ]  # fmt: skip
    f.block.append(For(i, "seq", 0, n, [For(j, "seq", 0, n, body)]))
