"""Every op of the table has a derivative that equals differences, in every mode and to second order, or is declared to
have none. A new op that is neither in `SAMPLES` nor in a list below fails `test_every_op_is_covered`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

from irad.core.interp import interpret
from irad.core.ir import Program, Value, build
from irad.core.types import F64, I64, Type, affine
from irad.errors import UnsupportedError
from irad.ops import OPS, array, determinant, eigen, linalg, matrix, spectral
from irad.ops import complex as complex_ops
from irad.ops import elementwise as ew
from irad.ops.array import Slice
from irad.ops.constant import const
from irad.ops.core import Op
from irad.passes.derivatives.autodiff import jvp, vjp
from tests.support.agree import agree
from tests.support.derivatives import check, check_first, flat

# Ops whose results are not floats (or are none at all), so that a derivative stops there.
NOT_FLOAT = set(
    "lt le gt ge eq ne isnan isinf isfinite signbit logical_and logical_or logical_xor logical_not bitwise_and bitwise_or "
    "bitwise_xor invert left_shift right_shift argmax argmin any all argsort nonzero raise_if print limit".split()
)
# Float results, but no derivative: reaching them is an error. `loop` and `load` come after differentiation.
NO_DERIVATIVE = {"loop", "load", "callback", "pure_callback"} | {n for n in OPS if n.endswith(("_parts", "_of_real"))}
# Rules of the autodiff passes; tested by programs in tests/passes/derivatives and tests/frontend/transforms/test_custom.py.
STRUCTURE = set("if for while call checkpoint tape push pop vjp jvp custom_vjp custom_jvp stop_gradient vmap jacobian".split())

# Operands that are not free: to move one of them alone means nothing. See tests/ops/test_derivative_table.py.
BOUND_OPERANDS = set(
    "pow_slope_y slope_of norm_of logistic_given logistic_rest matrix_function spectral_sum spectral_matrix divided".split()
)
# Rows that are imported at first use, so that they are here after some tests only: frontend/scipy/test_special.py, parallel/test_mpi.py.
LATER = ("special_", "mpi_")
ELEMENTWISE = [
    op for op in OPS.values() if op.partials is not None and op.name not in BOUND_OPERANDS and not op.name.startswith(LATER)
]


def f64(*shape: int) -> Type:
    return Type("f64", shape)


def one_op(op: Op, types: list[Type], **attrs: Any) -> Program:
    return {"f": build(types, lambda *vs: op(*vs, **attrs), "f")}


def sample(op: Op, shape: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    """Arguments inside the op's domain, away from ties and jumps."""
    rng = np.random.default_rng(seed)
    n = len(op.domain) or _arity(op)
    domain = op.domain or ((-2.0, 2.0),) * n
    return [np.asarray(rng.uniform(lo + 0.05 * (hi - lo), hi - 0.05 * (hi - lo), shape)) for lo, hi in domain]


def sample_attrs(op: Op) -> dict[str, int]:
    """Attributes for an elementwise op."""
    return dict(op.extra.get("sample", {}))


def _arity(op: Op) -> int:
    assert op.partials is not None
    return sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in inspect.signature(op.partials).parameters.values()) - 1


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
@pytest.mark.parametrize("shape", [(), (2, 2)], ids=str)
def test_elementwise(op: Op, shape: tuple[int, ...]) -> None:
    """Of arrays to second order; of numbers, which are computed by the same rules, to first."""
    xs = sample(op, shape)
    (check if shape else check_first)(one_op(op, [f64(*shape)] * len(xs), **sample_attrs(op)), xs, rtol=1e-6)


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_elementwise_f32(op: Op) -> None:
    """In single precision the derivative is that of double precision, rounded; results keep their dtype."""
    xs = [x.astype(np.float32) for x in sample(op, (4,))]
    got = agree(vjp(one_op(op, [Type("f32", (4,))] * len(xs), **sample_attrs(op))), *xs, np.ones(4, np.float32))
    want = interpret(vjp(one_op(op, [f64(4)] * len(xs), **sample_attrs(op))), *(x.astype(float) for x in xs), np.ones(4))
    for a, b in zip(got, want, strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=3e-5, atol=1e-6)


def test_elementwise_empty() -> None:
    """All ops in one program."""

    def all_ops(*xs: Value) -> Value:
        return reduce(ew.add, [op(*xs[: _arity(op)], **sample_attrs(op)) for op in ELEMENTWISE])

    n = max(map(_arity, ELEMENTWISE))
    out = agree(vjp({"f": build([f64(2, 0)] * n, all_ops, "f")}), *[np.zeros((2, 0))] * (n + 1))
    assert [x.shape for x in out] == [(2, 0)] * (n + 1)


NASTY = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1.7e308, 0.5, -3.0)


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_elementwise_edges(op: Op, dtype: str) -> None:
    """Native derivatives are the interpreter's at zeros of both signs, subnormals, infinities and NaN, and for such cotangents."""
    n, real = _arity(op), np.dtype(Type(dtype).numpy)
    nasty = np.array([*NASTY, np.finfo(real).smallest_subnormal * 3, np.finfo(real).max], float).astype(real)
    grid = [np.ravel(x) for x in np.meshgrid(*[nasty] * n, [1.0, 0.0, np.inf, -2.0])]
    xs, ct = [x.astype(real) for x in grid[:n]], grid[n].astype(real)
    program = one_op(op, [Type(dtype, ct.shape)] * n, **sample_attrs(op))
    agree(vjp(program), *xs, ct, floor=0)
    ct[ct == -2] = -1  # a product that overflows may be contracted into a sum that does not
    agree(jvp(program), *xs, *[ct] * n, floor=0)


# ---- structural ops: name -> (program, argument shapes) --------------------------------------------------------

Body = Callable[..., Value]
SAMPLES: dict[str, list[tuple[list[Type], Body]]] = {}


def on(name: str, *types: Type) -> Callable[[Body], Body]:
    def register(body: Body) -> Body:
        SAMPLES.setdefault(name, []).append((list(types), body))
        return body

    return register


def direct(name: str, *types: Type, **attrs: Any) -> None:
    on(name, *types)(lambda *vs: OPS[name](*vs, **attrs))


def ints(*xs: Any) -> Value:
    a = np.asarray(xs, np.int64)
    return const(value=a, type=Type("i64", a.shape))


def pos(k: int) -> Value:
    return const(value=k, type=I64)


on("const", F64)(lambda x: ew.mul(x, const(value=3.0, type=x.type)))
on("empty", f64(2))(lambda x: array.update(OPS["empty"](type=x.type), x, spec=(Slice(0, 2),)))
on("iota", f64(3))(lambda x: ew.mul(x, array.iota(type=x.type, axis=0)))
on("select", f64(3), f64(3))(lambda x, y: ew.select(ew.lt(x, y), ew.mul(x, y), ew.sin(y)))
on("cast", f64(3))(lambda x: ew.cast(x, dtype=x.type.dtype))
direct("broadcast", f64(3), shape=(2, 3), dims=(1,))
direct("broadcast", f64(3), shape=(3, 2), dims=(0,))
direct("broadcast", f64(1, 3), shape=(4, 2, 3), dims=(1, 2))
direct("broadcast", F64, shape=(2, 2), dims=())
direct("reshape", f64(2, 3), shape=(3, 2))
direct("reshape", f64(1), shape=())
direct("transpose", f64(2, 3, 4), perm=(2, 0, 1))
direct("copy", f64(2, 3))
direct("concat", f64(2, 1), f64(2, 3), f64(2, 2), axis=1)
on("concat", f64(2))(lambda x: OPS["concat"](x, x, axis=0))
direct("index", f64(3, 4), spec=(1, Slice(0, 4)))
direct("index", f64(3, 4), spec=(Slice(2, 2, -2), Slice(1, 2, 2)))
on("index", f64(5))(lambda x: array.index(x, pos(3), spec=("i",)))
on("index", f64(5, 2))(lambda x: array.index(x, pos(1), ints(0, 1, 1), spec=(Slice(None, 2), "g")))
on("index", f64(5, 3))(lambda x: array.index(x, ints(0, 4, 4, 2), ints(2, 2, 2, 1), spec=("g", "g")))
on("update", f64(4), F64)(lambda x, v: array.update(x, v, pos(2), spec=("i",)))
on("update", f64(4, 3), f64(2, 3))(lambda x, v: array.update(x, v, spec=(Slice(3, 2, -2), Slice(0, 3))))
on("update", f64(4), f64(3))(lambda x, v: array.update(x, v, ints(1, 3, 1), spec=("g",)))
on("update", f64(4, 2), f64(3, 2))(lambda x, v: array.update(x, v, ints(1, 3, 1), spec=("g", Slice(0, 2))))
on("update_add", f64(4), f64(3))(lambda x, v: array.update_add(x, v, ints(1, 3, 1), spec=("g",)))
on("update_add", f64(4), f64(2))(lambda x, v: array.update_add(x, v, spec=(Slice(1, 2),)))
for _name in ("sum", "prod", "max", "min"):
    direct(_name, f64(4), axes=(0,))
    direct(_name, f64(2, 3, 2), axes=(0, 2))
    direct(_name, f64(2, 3), axes=(1,))
    direct(_name, f64(2, 3), axes=())
for _name in ("cumsum", "cumprod"):
    for _rev in (False, True):
        for _ex in (False, True):
            direct(_name, f64(2, 4), axis=1, reverse=_rev, exclusive=_ex)
    direct(_name, f64(3, 2), axis=0, reverse=False, exclusive=False)
for _rev in (False, True):
    direct("linrec", f64(2, 4), f64(2, 4), axis=1, reverse=_rev)
direct("dot", f64(3), f64(3), contract=((0,), (0,)), batch=((), ()))
direct("dot", f64(2, 3), f64(3, 4), contract=((1,), (0,)), batch=((), ()))
direct("dot", f64(5, 2, 3), f64(5, 4, 3), contract=((2,), (2,)), batch=((0,), (0,)))
direct("dot", f64(2, 3, 4), f64(4, 5, 3), contract=((1, 2), (2, 0)), batch=((), ()))
direct("dot", f64(3, 2, 4), f64(2, 4, 3), contract=((2,), (1,)), batch=((0, 1), (2, 0)))
on("dot", f64(3, 3))(lambda x: OPS["dot"](x, x, contract=((1,), (0,)), batch=((), ())))
for _name in ("complex", "real", "imag"):

    @on(_name, f64(3), f64(3))
    def _squared_modulus(x: Value, y: Value) -> Value:
        z = OPS["complex"](x, y)
        w = ew.mul(ew.mul(z, z), ew.exp(z))
        return ew.add(ew.mul(OPS["real"](w), x), OPS["imag"](w))


direct("sort", f64(5), axis=0)
direct("sort", f64(3, 2), axis=0)


# ---- matrices: kept away from singular ones and from equal eigenvalues; vectors enter by what does not depend on their signs


def regular(x: Value) -> Value:
    return ew.add(x, ew.mul(matrix.identity(x.type), ew.full(4.0, x)))


def first(outputs: Any) -> Value:
    return outputs[0]


for _trans in (False, True):
    on("solve", f64(3, 3), f64(3, 2))(lambda a, b, t=_trans: linalg.solution(regular(a), b, trans=t))
    for _lower in (False, True):
        for _unit in (False, True):
            on("triangular_solve", f64(2, 3, 3), f64(2, 3, 2))(
                lambda a, b, t=_trans, l=_lower, u=_unit: linalg.triangular_solve(regular(a), b, lower=l, trans=t, unit=u)
            )
on("lu", f64(2, 3, 3))(lambda a: first(linalg.lu(regular(a))))
on("cholesky", f64(2, 3, 3))(lambda a: first(linalg.cholesky(regular(a))))
for _k in (0, 1):
    on("qr", f64(2, 4, 3))(lambda a, k=_k: linalg.qr(ew.mul(a, a), full=False)[k])
on("eigh", f64(3, 3))(lambda a: first(spectral.eigh(a, lower=True)))
for _lower in (False, True):
    on("eigvalsh", f64(2, 3, 3))(lambda a, l=_lower: first(spectral.eigvalsh(a, lower=l)))

    @on("eigh", f64(3, 3))
    def _function_of_matrix(a: Value, lower: bool = _lower) -> Value:
        w, v, _ = spectral.eigh(a, lower=lower)
        return matrix.mm(ew.mul(v, matrix.along_rows(ew.exp(w), v)), v, tb=True)


for _shape in ((2, 4, 3), (3, 4), (3, 3)):
    on("svdvals", f64(*_shape))(lambda a: first(spectral.svdvals(a)))
    on("pinv", f64(*_shape))(lambda a: first(spectral.pinv(a, rcond=1e-15)))

    @on("svd", f64(*_shape))
    def _function_of_values(a: Value) -> Value:
        u, s, vt, _ = spectral.svd(a, full=False)
        return matrix.mm(ew.mul(u, matrix.along_rows(ew.sqrt(s), u)), vt)


@on("eigvals", f64(3, 3))
def _eigenvalues(a: Value) -> Value:
    w, _ = eigen.eigvals(a)
    return ew.add(ew.sin(complex_ops.real(w)), ew.mul(complex_ops.imag(w), complex_ops.imag(w)))


@on("eig", f64(3, 3))
def _eigenvalues_of_eig(a: Value) -> Value:
    w, v, _ = eigen.eig(a)
    return ew.add(ew.sin(complex_ops.real(w)), complex_ops.real(matrix.diagonal(linalg.solution(v, v))))


@on("eig_vectors", f64(3, 3))
def _squares_of_eigenvectors(a: Value) -> Value:
    v = eigen.eig_vectors(eigen.eig(a)[1])
    return ew.exp(complex_ops.real(ew.mul(v, v)))  # signs are arbitrary


for _k in (1, 2, 5):
    on("polygamma", f64(3))(lambda x, k=_k: OPS["polygamma"](x, n=k))
direct("det", f64(2, 3, 3))
direct("cofactor", f64(3, 3))
direct("cofactor_along", f64(3, 3), f64(3, 3))
on("slogdet", f64(2, 3, 3))(lambda a: determinant.slogdet(regular(a))[1])
for _k, _sign in ((0, 1), (1, -1)):
    on("fft", f64(3, 4), f64(3, 4))(lambda x, y, k=_k, s=_sign: ew.sin(OPS["fft"](x, y, axes=(0, 1)[: k + 1], sign=s)[k]))

CASES = [pytest.param(*case, id=f"{name}-{k}") for name, cases in SAMPLES.items() for k, case in enumerate(cases)]


@pytest.mark.parametrize("types, body", CASES)
def test_structural(types: list[Type], body: Body) -> None:
    rng = np.random.default_rng(3)
    xs = [rng.uniform(0.3, 1.5, t.shape)[()] for t in types]
    check({"f": build(types, body, "f")}, xs, rtol=1e-7)


@pytest.mark.parametrize("types, body", CASES)
def test_structural_f32(types: list[Type], body: Body) -> None:
    """Single precision goes through the same rules; a float64 constant in one would not type."""
    program = {"f": build([t.with_dtype("f32") for t in types], body, "f")}
    rng = np.random.default_rng(3)
    xs = [rng.uniform(0.3, 1.5, t.shape).astype(np.float32) for t in types]
    y = interpret(program, *xs)[0]
    got = agree(vjp(program), *xs, np.ones_like(y))
    want = interpret(vjp({"f": build(types, body, "f")}), *(x.astype(float) for x in xs), np.ones(np.shape(y)))
    for a, b in zip(got, want, strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_cast_between_floats() -> None:
    program = {"f": build([Type("f32", (3,))], lambda x: ew.sin(ew.cast(x, dtype="f64")), "f")}
    x = np.array([0.1, 0.7, -2.0], np.float32)
    y, dx = agree(vjp(program), x, np.ones(3))
    assert dx.dtype == np.float32
    np.testing.assert_allclose(dx, np.cos(x), rtol=1e-6)
    y, dy = agree(jvp(program), x, np.ones(3, np.float32))
    assert dy.dtype == np.float64


@pytest.mark.parametrize("name", ["prod", "cumprod", "cumsum", "linrec", "sum", "sort"])
def test_zeros_and_empty_axes(name: str) -> None:
    """No rule divides by an element, and an axis of no elements is an axis."""
    for types, body in SAMPLES[name]:
        for value in (0.0, None):
            shapes = [t.shape if value is not None else tuple(0 for _ in t.shape) for t in types]
            program = {"f": build([f64(*s) for s in shapes], body, "f")}
            xs = [np.zeros(s) for s in shapes]
            y = interpret(program, *xs)[0]
            assert all(np.all(np.isfinite(d)) for d in agree(vjp(program), *xs, np.ones(np.shape(y))))
            assert flat(agree(jvp(program), *xs, *xs)).size == 2 * np.size(y)


@pytest.mark.parametrize("exclusive", [False, True])
def test_running_sums_of_negative_zeros(exclusive: bool) -> None:
    """As np.cumsum: a sum of negative zeros is one. Without the element itself, the first is 0."""
    program = one_op(OPS["cumsum"], [f64(3)], axis=0, reverse=False, exclusive=exclusive)
    out = agree(program, np.array([-0.0, -0.0, 0.0]))[0]
    np.testing.assert_array_equal(np.signbit(out), [False] * 3 if exclusive else [True, True, False])


def test_prod_with_one_and_two_zeros() -> None:
    program = one_op(OPS["prod"], [f64(3)], axes=(0,))
    np.testing.assert_array_equal(agree(vjp(program), [2.0, 0.0, 3.0], 1.0)[1], [0, 6, 0])
    np.testing.assert_array_equal(agree(vjp(program), [0.0, 0.0, 3.0], 1.0)[1], [0, 0, 0])


def test_every_op_is_covered() -> None:
    names = {op.name for op in ELEMENTWISE}
    for module in ("mpi", "scipy_special"):
        importlib.import_module(f"irad.ops.{module}")
    later = {n for n in OPS if n.startswith(LATER)}
    assert set(OPS) - later == names | set(SAMPLES) | NOT_FLOAT | NO_DERIVATIVE | STRUCTURE | BOUND_OPERANDS
    for name in [*names, *SAMPLES]:
        assert OPS[name].vjp and OPS[name].jvp, name


@pytest.mark.parametrize("name", sorted(NOT_FLOAT - {"raise_if", "print", "nonzero"}))
def test_derivative_stops_at_ops_without_float_results(name: str) -> None:
    op = OPS[name]
    attrs = {"axis": 0} if name.startswith("arg") else {"axes": (0,)} if name in ("any", "all") else {}
    operands = getattr(op.eval, "nin", 1)
    dtype = next(d for d in ("f64", "bool", "i64") if _accepts(op, Type(d, (3,)), attrs))

    def body(x: Value) -> Value:
        y = ew.cast(op(*[ew.cast_to(x, dtype)] * operands, **attrs), dtype="f64")
        return ew.mul(array.sum_(x, axes=(0,)), array.sum_(y, axes=(0,)) if y.type.shape else y)

    program = {"f": build([f64(3)], body, "f")}
    x = np.array([0.5, 1.5, 2.5])
    want = np.full(3, agree(program, x)[0] / x.sum())
    np.testing.assert_allclose(agree(vjp(program), x, 1.0)[1], want, atol=1e-15)


def _accepts(op: Op, t: Type, attrs: dict[str, Any]) -> bool:
    try:
        return not op.infer(*[t] * getattr(op.eval, "nin", 1), **attrs)[0].differentiable
    except TypeError:
        return False


def test_an_op_without_derivative_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irad.ops.core.OPS", {})
    wright = Op("wright", lambda x: (x,), lambda x: x, elementwise=True)
    program = {"f": build([F64], lambda x: wright(x), "f")}
    for transform in (vjp, jvp):
        with pytest.raises(UnsupportedError, match="`wright` has no derivative"):
            transform(program)
    dead = {"f": build([F64], lambda x: [ew.sin(x), wright(x)], "f")}
    assert interpret(vjp(dead, results=[0]), 0.3, 1.0)[2] == np.cos(0.3)


@pytest.mark.parametrize("name", ["max", "min", "sum", "prod"])
def test_reductions_of_runtime_extent(name: str) -> None:
    n = Value(I64, "n")
    axes = (0, 1) if name == "sum" else (0,)
    body = lambda n, x: OPS[name](array.index(x, spec=(Slice(0, affine(0, {n: 1})), Slice(0, 2))), axes=axes)
    check({"f": build([n, f64(5, 2)], body, "f")}, [3, np.random.default_rng(0).uniform(0.5, 1.5, (5, 2))])
    along = lambda n, x: OPS[name](array.index(x, spec=(Slice(0, 80), Slice(0, affine(0, {n: 1})))), axes=(1,))
    check({"f": build([n, f64(80, 4)], along, "f")}, [3, np.random.default_rng(0).uniform(0.5, 1.5, (80, 4))])
