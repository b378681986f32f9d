"""Linear algebra on complex matrices that come and go as real and imaginary parts: what the ops of `linalg`, `spectral` and
`eigen` become once derivatives are made (irad.passes.complex.complex_parts). Same attributes, same meaning; LAPACK's routines for
complex numbers run them.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from irad.core.types import Type, complex_dtype, is_complex, real_dtype
from irad.ops import eigen, linalg, spectral
from irad.ops.core import Op, type_error


def joined(types: tuple[Type, ...], kinds: str) -> list[Type]:
    """The types of operands: "z" stands for two that are the parts of a complex one."""
    it = iter(types)
    out = []
    for kind in kinds:
        t = next(it)
        if kind == "z":
            if next(it, None) != t or t.dtype not in ("f32", "f64"):
                raise type_error("parts of complex matrices are of one type, f32 or f64", *types)
            t = t.with_dtype(complex_dtype(t.dtype))
        out.append(t)
    return out


def _made(op: Op, name: str, kinds: str) -> Op:
    def infer(*types: Type, **attrs: Any) -> tuple[Type, ...]:
        outs = op.infer(*joined(types, kinds), **attrs)
        return tuple(p for t in outs for p in ([t.with_dtype(real_dtype(t.dtype))] * 2 if is_complex(t.dtype) else [t]))

    setattr(infer, "__signature__", inspect.signature(op.infer))  # noqa: B010  (names of attributes are read from it)

    def eval_(*arrays: Any, **attrs: Any) -> Any:
        assert op.eval is not None
        it = iter(arrays)
        whole = []
        for kind in kinds:
            x = np.asarray(next(it))
            if kind == "z":
                z = np.empty(x.shape, np.result_type(x.dtype, np.complex64))
                z.real, z.imag = x, next(it)
                x = z
            whole.append(x)
        out = op.eval(*whole, **attrs)
        parts = []
        for x in out if isinstance(out, tuple) else (out,):
            parts += [np.array(x.real), np.array(x.imag)] if np.iscomplexobj(x) else [x]
        return tuple(parts)

    return Op(name, infer, eval_, extra={"kinds": kinds}, doc=f"`{op.name}` of complex matrices in parts")


PARTS: dict[str, Op] = {
    op.name: _made(op, f"{op.name}_parts", kinds)
    for op, kinds in (
        *((linalg.lu, "z"), (linalg.solve, "zziz"), (linalg.triangular_solve, "zz"), (linalg.cholesky, "z"), (linalg.qr, "z")),
        *((spectral.svd, "z"), (spectral.svdvals, "z"), (spectral.eigh, "z"), (spectral.eigvalsh, "z")),
        *((eigen.eig, "z"), (eigen.eigvals, "z")),
    )
}
OF_REAL: dict[str, Op] = {op.name: _made(op, f"{op.name}_of_real", "r") for op in (eigen.eig, eigen.eigvals)}


def in_parts(name: str, operand: Type) -> Op | None:
    """The op on parts that stands for the op `name` on complex values, if there is one; `operand`: type of the first one."""
    return (PARTS if is_complex(operand.dtype) else OF_REAL).get(name)
