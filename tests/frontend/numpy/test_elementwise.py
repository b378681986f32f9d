"""The front end's table, traced and interpreted, against NumPy: elementwise functions, operators, Python scalars, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irad.errors import IradError
from irad.frontend.numpy import table
from irad.frontend.registry import Written
from irad.ops.control import RaisedInGraph
from tests.support import ROOT
from tests.support.numpy_cases import E0, E2, I8, I32, SQ, U8, U64, A, B, F, H, I, J, M, N, P, Q, S, V, Z, cases, evaluate, trace

UNARY_FLOAT = "absolute fabs sign square positive negative sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arctan sinh cosh tanh arcsinh deg2rad rad2deg degrees radians floor ceil trunc rint isnan isinf isfinite signbit spacing reciprocal conjugate logical_not fix nan_to_num sinc i0".split()
BINARY_FLOAT = "add subtract multiply divide true_divide floor_divide remainder mod fmod maximum minimum fmax fmin arctan2 hypot logaddexp logaddexp2 copysign nextafter heaviside power float_power less less_equal greater greater_equal equal not_equal logical_and logical_or logical_xor".split()


@pytest.mark.parametrize("name", UNARY_FLOAT)
def test_unary_ufunc(name: str) -> None:
    for x in (A, Q, F, E0, E2, S, Z, 0.25, 3, I, I8, U8, M):
        if np.asarray(x).dtype.kind == "b" and name in ("negative", "sign", "positive"):
            continue
        if name == "reciprocal" and np.any(np.asarray(x) == 0) and np.asarray(x).dtype.kind != "f":
            continue  # undefined in NumPy
        if name in ("spacing", "i0") and np.asarray(x).dtype.itemsize < 4:
            continue
        evaluate(f"np.{name}(x)", x, ulps=256)


@pytest.mark.parametrize("name", "arcsin arccos arctanh".split())
def test_unary_ufunc_on_the_unit_interval(name: str) -> None:
    for x in (P, P.astype(np.float32), H * 0, 0.5):
        evaluate(f"np.{name}(x)", x)
    evaluate("np.arccosh(x)", 1 + P)


@pytest.mark.parametrize("name", BINARY_FLOAT)
def test_binary_ufunc(name: str) -> None:
    for x, y in [
        (A, B),
        (A, V),
        (Q, Q[::-1].copy()),
        (F, 2.0),
        (F, A),
        (A, 2),
        (E2, V),
        (S, A),
        (F, S),
        (1.5, 2),
        (I, A),
        (F, 3),
    ]:
        evaluate(f"np.{name}(x, y)", x, y, ulps=256)


@pytest.mark.parametrize(
    "name",
    "add subtract multiply floor_divide remainder fmod maximum minimum bitwise_and bitwise_or bitwise_xor gcd lcm less greater_equal equal divide".split(),
)
def test_integer_ufunc(name: str) -> None:
    for x, y in [(I, J), (I8, U8), (I32, J), (U8, U8), (I, 3), (I8, 2), (U64, U64)]:
        evaluate(f"np.{name}(x, y)", x, y)


@cases(
    ("np.left_shift(x, y)", I, J),
    ("np.right_shift(x, y)", I, J),
    ("np.invert(x)", I),
    ("np.invert(x)", M),
    ("~x", U8),
    ("np.power(x, y)", I, J),
    ("np.power(x, 2)", I8),
    ("np.divmod(x, y)", A, B),
    ("np.divmod(x, y)", I, J),
    ("np.modf(x)", A),
    ("np.modf(x)", Q),
    ("np.less(x, y)", U64, I),
    ("np.equal(x, y)", U64, I),
    ("x < 300", U8),
    ("x == -1", U8),
    ("x > 2**70", I),
    ("x >= -2**70", I),
    ("np.add(x, y, dtype=np.float32)", F, F),
    ("np.add(x, y)", M, M),
    ("np.multiply(x, y)", M, M),
    ("np.maximum(x, y)", M, ~M),
    ("np.add(x, y)", H, H),
    ("np.sin(x)", H),
    ("np.add(x, 1)", M),
    ("np.float32(x)", A),
    ("np.int32(x)", A),
    ("np.add(x, y, out=z, where=w)", A, B, B * 0, M),
    ("np.bool_(x)", A),
    ("np.clip(x, -1, 1)", A),
    ("np.clip(x, None, y)", A, V),
    ("np.clip(x, y, 3)", I, J),
    ("x.clip(0)", F),
    ("np.clip(x, 0, 2)", U8),
    ("np.clip(x, -0.5, 0.5)", I),
    ("np.where(x, y, z)", M, A, 0.0),
    ("np.where(x > 0, x, 0)", F),
    ("np.where(x, y, z)", A, I, I8),
    ("np.where(x, 1, 2)", M),
    ("np.where(x, y, 2.0)", M, F),
    ("np.round(x, 2)", A),
    ("np.round(x)", Q),
    ("np.around(x, -1)", 100 * A),
    ("np.round(x, 1)", I),
    ("np.round(x, -1)", 7 * I),
    ("x.round(1)", F),
    ("np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-3.0)", Q),
    ("np.isclose(x, y)", A, A + 1e-9),
    ("np.isclose(x, y, equal_nan=True)", Q, Q),
    ("np.allclose(x, y)", A, B),
    ("np.array_equal(x, y)", A, A),
    ("np.array_equal(x, y)", A, V),
    ("np.array_equal(x, y, equal_nan=True)", N, N),
    ("np.array_equiv(x, y)", A, V),
    ("np.select([x > 0, x < -1], [x, -x], 9.0)", A),
    ("np.piecewise(x, [x < 0, x >= 0], [-1, 1])", A),
    ("np.piecewise(x, [x < 0], [lambda t: -t, 7])", A),
    ("np.isposinf(x)", Q),
    ("np.isneginf(x)", Q),
    ("np.isreal(x)", A),
    ("np.add.outer(x, y)", V, V),
    ("np.multiply.outer(x, y)", A, V),
    ("np.subtract.outer(x, y)", V, I),
    ("np.maximum.reduce(x)", A),
    ("np.minimum.reduce(x, axis=1)", A),
    ("np.add.reduce(x, axis=1)", A),
    ("np.multiply.reduce(x)", A),
    ("np.logical_and.reduce(x)", M),
    ("np.add.accumulate(x)", A),
    ("np.multiply.accumulate(x, axis=1)", A),
    ("np.maximum.accumulate(x)", A),
    ("np.minimum.accumulate(x, axis=1)", I),
    ("np.logaddexp.reduce(x, axis=1)", A),
    ("np.bitwise_and.reduce(x)", I),
    ("np.bitwise_or.reduce(x, axis=-1)", I),
    ("np.bitwise_xor.reduce(x)", I),
    ("np.unwrap(x)", 5 * A),
)
def test_elementwise(expression: str, args: Any) -> None:
    evaluate(expression, *args)


@cases(
    ("x + y", A, V),
    ("x - 1", F),
    ("2 * x", F),
    ("x / y", I, J),
    ("x // y", I, J),
    ("x % y", A, B),
    ("x ** 2", A),
    ("x ** 0.5", P),
    ("x ** -1", A),
    ("x ** 3", I8),
    ("2 ** x", A),
    ("x ** y", P, B),
    ("-x", A),
    ("+x", I),
    ("abs(x)", A),
    ("x @ y", A, V),
    ("x & y", I, J),
    ("x | y", M, M),
    ("x ^ y", M, M),
    ("x << 2", I),
    ("x >> 1", I),
    ("x < y", A, B),
    ("x == y", I, J),
    ("x != 0", F),
    ("divmod(x, y)", A, B),
    ("1.0 - x", F),
    ("1 / x", F),
    ("x + y", F, 2.0),
    ("x * y", I, 2.5),
    ("x + 1.5", I8),
    ("x + y", 2, 3),
    ("x + y", 2, 3.5),
    ("x / y", 7, 2),
    ("x // y", -7, 2),
    ("x % y", -7, 2),
    ("x // y", -7.5, 2.0),
    ("x % y", -7.5, 2.0),
    ("x ** y", 2, 10),
    ("x ** 2", 3),
    ("x ** 0.5", 2.0),
    ("x ** y", 2.0, -0.5),
    ("divmod(x, y)", -7, 2),
    ("round(x)", 2.5),
    ("round(x, 1)", 2.25),
    ("abs(x)", -3),
    ("-x", 5),
    ("x < y", 1, 2.0),
    ("x & y", 12, 10),
    ("x << 3", 5),
    ("~x", 5),
    ("x & y", True, False),
    ("x + y", True, True),
    ("x - y", True, 2),
    ("x * 1e3", S),
    ("x + y", Z, F),
    ("x * y", 3, S),
    ("x ** -1", 4),
    ("x - y", 5, U8),
    ("x + 1", True),
    ("x >= y", True, 1),
)
def test_operators(expression: str, args: Any) -> None:
    evaluate(expression, *args)


# ---- Python scalars: Python's meaning ----------------------------------------------------------------------------------


def raises(expression: str, exc: str, *args: Any) -> None:
    with pytest.raises(RaisedInGraph, match=exc):
        trace(expression, *args)


@cases(
    ("x / y", "ZeroDivisionError: division by zero", 1, 0),
    ("x / y", "ZeroDivisionError: float division by zero", 1.0, 0.0),
    ("x // y", "ZeroDivisionError: integer division or modulo by zero", 1, 0),
    ("x % y", "ZeroDivisionError", 1.5, 0.0),
    ("x + y", "OverflowError", 2**63 - 1, 1),
    ("x - y", "OverflowError", -(2**63), 1),
    ("x * y", "OverflowError", 2**40, 2**40),
    ("x * y", "OverflowError", 2**32, 2**31),
    ("x * y", "OverflowError", 3037000500, 3037000500),
    ("-x", "OverflowError", -(2**63)),
    ("abs(x)", "OverflowError", -(2**63)),
    ("x ** y", "OverflowError", 10, 19),
    ("x ** y", "OverflowError", 3, 41),
    ("x ** y", "ValueError", 2, -1),
    ("x ** y", "ZeroDivisionError: 0.0 cannot be raised to a negative power", 0.0, -1.0),
    ("x ** y", "ValueError.*complex", -8.0, 0.5),
    ("x << y", "OverflowError", 1, 63),
    ("x << y", "ValueError: negative shift count", 1, -1),
    ("x // y", "OverflowError", -(2**63), -1),
    ("np.power(x, y)", "ValueError: Integers to negative integer powers", I, I),
)
def test_python_scalars_raise(expression: str, args: Any) -> None:
    raises(expression, *args)


@cases(
    ("x * y", 2**31, 2**32 - 1),
    ("x * y", -(2**31), 2**32),
    ("x * y", 3037000499, 3037000499),
    ("x + y", 2**62, 2**62 - 1),
    ("x ** y", 3, 39),
    ("x ** y", -2, 63),
    ("x ** y", 2, 62),
    ("x ** y", 10, 18),
    ("x << y", 1, 62),
    ("x - y", -(2**62), 2**62),
    ("x ** y", -8.0, 3.0),
    ("x ** y", 0.0, 0.0),
)
def test_python_ints_up_to_64_bits(expression: str, args: Any) -> None:
    evaluate(expression, *args)


@pytest.mark.parametrize(
    "expression,args,message",
    [
        ("x + y", (A, V[:3]), r"could not be broadcast together with shapes \(3,4\) \(3,\)"),
        ("np.add(x, 300)", (U8,), "Python integer 300 out of bounds for uint8"),
        ("np.sum(x, axis=2)", (A,), "axis 2 is out of bounds for array of dimension 2"),
        ("np.sum(x, axis=(0, 0))", (A,), "duplicate value in 'axis'"),
        ("np.max(x)", (E0,), "zero-size array to reduction operation maximum which has no identity"),
        ("np.argmax(x)", (E0,), "attempt to get argmax of an empty sequence"),
        ("np.reshape(x, (5, 2))", (A,), r"cannot reshape f64\[3,4\] \(12 elements\) to shape \(5, 2\) \(10 elements\)"),
        ("np.reshape(x, (5, -1))", (A,), r"cannot reshape array of shape \(3,4\) into shape \(5,-1\)"),
        ("np.matmul(x, y)", (A, A), r"shapes \(3,4\) and \(3,4\) not aligned: 4 \(dim 1\) != 3 \(dim 0\)"),
        ("np.concatenate([x, y])", (A, V), "all the input array dimensions must match"),
        ("np.concatenate([x, y], axis=1)", (A, SQ), "must match exactly"),
        ("np.stack([x, y])", (A, V), "must have the same shape"),
        ("np.array([x, y])", (A, V), "cannot be stacked"),
        ("np.squeeze(x, axis=0)", (A,), "size not equal to one"),
        ("np.power(x, -1)", (I,), "Integers to negative integer powers are not allowed"),
        ("np.einsum('ij,jk->ik', x, y)", (A, A), "subscript 'j' has extents 4 and 3"),
        ("np.einsum('ijk->i', x)", (A,), "names 3 axes of an operand that has 2"),
        ("np.add(x, y, where=z)", (A, B, M), "undefined unless out="),
        ("np.max(x, where=y)", (A, M), "does not have an identity"),
        ("np.sum(x, axis=y)", (A, 1), "axis must be known at compile time"),
        ("np.negative(x)", (M,), "numpy boolean negative"),
        ("x - y", (M, M), "numpy boolean subtract"),
        ("np.split(x, 3, axis=1)", (A,), "does not result in an equal division"),
    ],
)
def test_errors_say_what_numpy_says(expression: str, args: Any, message: str) -> None:
    with pytest.raises(IradError, match=message):
        trace(expression, *args)


def test_nearest_names_what_there_is() -> None:
    assert "np.cumsum" in table.nearest("np.cumsums")
    assert "np.linalg.norm" in table.nearest("np.linalg.norms")
    assert table.nearest("np.qqqqqq") == []


def test_every_entry_has_the_signature_of_its_function() -> None:
    """Each keyword that NumPy takes is taken, or the builder takes any."""
    import inspect

    skip = {"like", "device", "out", "where"}
    if np.__version__.startswith("1."):
        skip |= {"newshape", "x", "y"}  # names that NumPy 2 has changed
    table.load_all()
    for name, fn in table.NAMES.items():
        builder = table.lookup(fn)
        try:
            real = inspect.signature(fn).parameters
        except (TypeError, ValueError):
            continue
        if isinstance(fn, (np.ufunc, type)) or inspect.isbuiltin(fn) or builder is None or name.startswith("scipy."):
            continue  # what is taken of SciPy's functions is in docs/scipy.md
        ours = inspect.signature(builder).parameters
        if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in ours.values()):
            continue
        missing = [
            k for k, p in real.items() if k not in ours and k not in skip and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
        assert not missing, f"{name}: {missing} not taken"


@cases(
    (
        "(np.int8(x), np.int16(x), np.uint8(y), np.uint16(y), np.uint32(y), np.uint64(y), np.int64(x), np.float16(x), np.float64(x))",
        I,
        J,
    ),
    ("np.bitwise_not(x)", I),
    ("np.iscomplex(x)", A),
    ("np.real_if_close(x)", A),
    ("np.angle(x)", A),
    ("np.angle(x, deg=True)", A),
    ("np.logical_or.reduce(x)", M),
    ("np.fmax.reduce(x, axis=1)", N),
    ("np.fmin.reduce(x, axis=None)", N),
    ("np.logaddexp2.reduce(x)", A),
    ("np.hypot.reduce(x, axis=1, keepdims=True)", A),
    ("np.logical_xor.reduce(x)", M),
    ("np.logical_xor.reduce(x, where=y)", M, P > 0.5),
    ("np.gcd.reduce(x, axis=1)", 6 * J),
    ("np.lcm.reduce(x, axis=1)", J),
    ("np.fmax.accumulate(x)", N),
    ("np.fmin.accumulate(x, axis=1)", N),
    ("np.logaddexp.accumulate(x, axis=1)", A),
    ("np.logaddexp2.accumulate(x)", A),
    ("np.hypot.accumulate(x, axis=1)", A),
    ("np.bitwise_and.accumulate(x)", I),
    ("np.bitwise_or.accumulate(x)", I),
    ("np.bitwise_xor.accumulate(x)", I),
    ("np.logical_xor.accumulate(x)", M),
    ("np.gcd.accumulate(x, axis=1)", 6 * J),
    ("np.lcm.accumulate(x, axis=1)", J),
    ("np.left_shift.outer(x, y)", J[0], J[1]),
    ("np.right_shift.outer(x, y)", I[0], J[1]),
    ("np.less.outer(x, y)", V, V),
)
def test_further_ufuncs(expression: str, args: Any) -> None:
    evaluate(expression, *args)


METHODS = ("reduce", "accumulate", "reduceat")


def test_every_entry_is_tested() -> None:
    """Each function of the table is named in one of the table's test files."""
    import re
    from pathlib import Path

    here = Path(__file__).parent
    words = set(
        re.findall(
            r"[\w.]+",
            "".join(
                p.read_text()
                for p in (*here.glob("test_*.py"), ROOT / "tests" / "codegen" / "libraries" / "test_sorting.py")
                if p.stem != "test_derivative_table_arrays"  # which has a way to call each
            ),
        )
    )
    table.load_all()
    names = [n.removeprefix("np.") for n in table.NAMES if n.startswith("np.")]  # SciPy's have files of their own
    outer = {n for n in names if n.endswith(".outer") and n.removesuffix(".outer") in words}
    outer |= {n for n in names if n.rsplit(".", 1)[-1] in METHODS}  # test_ufunc_methods.py walks them
    outer |= {n for n in names if n.startswith("testing.")}  # test_library.py walks them
    outer |= {
        n for n in names if isinstance(table.lookup(table.NAMES[f"np.{n}"]), Written)
    }  # tests/frontend/library has a call of each
    assert [n for n in names if n not in words and f"np.{n}" not in words and n not in outer] == []


FAR = np.array([0.0, -0.0, 5e-324, 1.0, np.inf, np.nan])


@cases(
    ("np.ldexp(x, y)", A, J),
    ("np.ldexp(x, y)", F, I),
    ("np.ldexp(x, 3)", Q),
    ("np.ldexp(x, y)", E0, 1),
    ("np.ldexp(x, 2050)", FAR),
    ("np.ldexp(x, 2097)", FAR),
    ("np.ldexp(x, 5000)", FAR),
    ("np.ldexp(x, -2097)", FAR * 1e300),
    ("np.ldexp(x, -5000)", FAR),
    ("np.frexp(x)", A),
    ("np.frexp(x)", F),
    ("np.frexp(x)", Q),
    ("np.isin(x, y)", I, J),
    ("np.isin(x, y, invert=True)", I, J[0]),
    ("np.isin(x, [1, 3])", I8),
    ("np.isin(x, y)", N, N),
    ("np.isin(x, y)", I, E0),
)
def test_float_parts_and_membership(expression: str, args: Any) -> None:
    evaluate(expression, *args)
