"""Lowering of QR, singular values and symmetric eigenvalues to NumPy's LAPACK; see irad.codegen.lower_linalg."""

from __future__ import annotations

from irad.codegen.kform import Aff, Const, For, Store
from irad.codegen.lower import Frame, rule
from irad.codegen.lower_control import fill
from irad.codegen.lower_linalg import Buf, extents, no_info, with_lapack
from irad.ir import Node, Value


@rule("qr")
def _qr(f: Frame, node: Node) -> None:
    (a,), (q, rr) = node.inputs, node.outputs
    batch, m, n = extents(a)
    k = m if node.attrs["full"] else n
    if not batch * m * n:
        return _identities(f, q) if k else None
    r = with_lapack(f, node)
    if r is None:
        return None
    work, tau = r.array(m * k, "columns"), r.array(n, "tau")
    space, size, _, _ = r.workspace("geqrf", m, n, Buf(work), m, Buf(tau), "work", -1)
    more, large, _, _ = r.workspace("orgqr", m, k, n, Buf(work), m, Buf(tau), "work", -1)

    def one(t: Aff) -> None:
        r.turn(r.matrix(a, t, m * n), work, m, n)
        r.call("geqrf", m, n, Buf(work), m, Buf(tau), Buf(space), size, Buf(r.info))
        r.part(work, lambda i, j: j * m + i, r.matrix(rr, t, k * n), k, n, lower=False)
        r.call("orgqr", m, k, n, Buf(work), m, Buf(tau), Buf(more), large, Buf(r.info))
        r.turn(work, r.matrix(q, t, m * k), k, m)

    return r.batched(batch, one)


def _identities(f: Frame, v: Value) -> None:
    """Identity matrices, where there is nothing to factorise."""
    batch, m, n = extents(v)
    fill(f, v, Const(0, v.type.dtype))
    t, i = f.fresh("t"), f.fresh("i")
    place = f.place(v)
    at = place.offset + Aff.of(t) * (m * n) + Aff.of(i) * (n + 1)
    f.block.append(For(t, "seq", 0, batch, [For(i, "seq", 0, min(m, n), [Store(place.buf, (at,), Const(1, v.type.dtype))])]))


@rule("svd")
def _svd(f: Frame, node: Node) -> None:
    (a,), (u, s, vt, info) = node.inputs, node.outputs
    batch, m, n = extents(a)
    if not batch * m * n:
        for v in (u, vt):
            if batch and v.type.size:
                _identities(f, v)
        return no_info(f, info)
    r = with_lapack(f, node)
    if r is None:
        return None
    columns, rows, k = int(u.type.shape[-1]), int(vt.type.shape[-2]), min(m, n)  # type: ignore[arg-type]
    work, left, right = r.array(m * n, "columns"), r.array(m * columns, "left"), r.array(rows * n, "right")
    job = "A" if node.attrs["full"] else "S"
    space, size, _, _ = r.workspace(
        "gesdd", job, m, n, Buf(work), m, Buf(work), Buf(left), m, Buf(right), rows, "work", -1, "iwork"
    )
    whole = r.integers(8 * k, "iwork")

    def one(t: Aff) -> None:
        r.turn(r.matrix(a, t, m * n), work, m, n)
        values = r.matrix(s, t, k)
        r.call(
            "gesdd",
            job,
            m,
            n,
            Buf(work),
            m,
            Buf(values),
            Buf(left),
            m,
            Buf(right),
            rows,
            Buf(space),
            size,
            Buf(whole),
            Buf(r.info),
        )
        r.turn(left, r.matrix(u, t, m * columns), columns, m)
        r.turn(right, r.matrix(vt, t, rows * n), n, rows)
        r.report(info, t)

    return r.batched(batch, one)


@rule("svdvals")
def _svdvals(f: Frame, node: Node) -> None:
    (a,), (s, info) = node.inputs, node.outputs
    batch, m, n = extents(a)
    if not batch * m * n:
        return no_info(f, info)
    r = with_lapack(f, node)
    if r is None:
        return None
    k = min(m, n)
    work, none = r.array(m * n, "columns"), r.array(1, "none")
    space, size, _, _ = r.workspace("gesdd", "N", m, n, Buf(work), m, Buf(work), Buf(none), m, Buf(none), n, "work", -1, "iwork")
    whole = r.integers(8 * k, "iwork")

    def one(t: Aff) -> None:
        r.turn(r.matrix(a, t, m * n), work, m, n)
        values = Buf(r.matrix(s, t, k))
        r.call("gesdd", "N", m, n, Buf(work), m, values, Buf(none), m, Buf(none), n, Buf(space), size, Buf(whole), Buf(r.info))
        r.report(info, t)

    return r.batched(batch, one)


@rule("eigh", "eigvalsh")
def _eigh(f: Frame, node: Node) -> None:
    (a,), (w, *vectors, info) = node.inputs, node.outputs
    batch, n, _ = extents(a)
    if not batch * n:
        return no_info(f, info)
    r = with_lapack(f, node)
    if r is None:
        return None
    job, uplo, work = "V" if vectors else "N", "L" if node.attrs["lower"] else "U", r.array(n * n, "columns")
    space, size, iwork, count = r.workspace("syevd", job, uplo, n, Buf(work), n, Buf(work), "work", -1, "iwork", -1)

    def one(t: Aff) -> None:
        r.turn(r.matrix(a, t, n * n), work, n, n)
        values = Buf(r.matrix(w, t, n))
        r.call("syevd", job, uplo, n, Buf(work), n, values, Buf(space), size, Buf(iwork), count, Buf(r.info))
        for v in vectors:
            r.turn(work, r.matrix(v, t, n * n), n, n)
        r.report(info, t)

    return r.batched(batch, one)
