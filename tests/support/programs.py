"""Programs for the tests of derivatives: a small notation over the builder, and the cases themselves.

`@fn(types...)` on a Python function of `Sym`s gives its graph; `Case` is a program with arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from irad.core.ir import Graph, Program, Value, build, emit
from irad.core.types import F64, I64, Type, affine
from irad.ops import array, control
from irad.ops import elementwise as ew
from irad.ops.array import Slice
from irad.ops.constant import const


class Sym:
    """A value with operators, for short test programs; Python numbers are lifted to the other operand's type."""

    def __init__(self, v: Value):
        self.v = v

    def lift(self, x: Any) -> Value:
        return x.v if isinstance(x, Sym) else const(value=x, type=self.v.type)

    def __getitem__(self, idx: Any) -> Sym:
        starts, spec = _spec(self.v, idx)
        return Sym(array.index(self.v, *starts, spec=spec))

    def put(self, x: Any, *idx: Any) -> Sym:
        return self._store(array.update, x, idx)

    def put_add(self, x: Any, *idx: Any) -> Sym:
        return self._store(array.update_add, x, idx)

    def _store(self, op: Any, x: Any, idx: Any) -> Sym:
        starts, spec = _spec(self.v, idx)
        return Sym(op(self.v, raw(x), *starts, spec=spec))

    def sum(self) -> Sym:
        return Sym(array.sum_(self.v, axes=tuple(range(self.v.type.rank))))

    def __neg__(self) -> Sym:
        return Sym(ew.neg(self.v))


def _operator(name: str, op: Any) -> None:
    def both(x: Sym, y: Any) -> tuple[Value, Value]:
        a, b = x.v, x.lift(y)
        if a.type.shape != b.type.shape:
            shape = max(a.type.shape, b.type.shape, key=len)
            a, b = array.broadcast_to(a, shape), array.broadcast_to(b, shape)
        return a, b

    setattr(Sym, f"__{name}__", lambda x, y: Sym(op(*both(x, y))))
    setattr(Sym, f"__r{name}__", lambda x, y: Sym(op(*both(x, y)[::-1])))


for _name, _op in {
    "add": ew.add,
    "sub": ew.sub,
    "mul": ew.mul,
    "truediv": ew.div,
    "mod": ew.remainder,
    "floordiv": ew.floor_divide,
}.items():
    _operator(_name, _op)


def _spec(x: Value, idx: Any) -> tuple[list[Value], tuple[Any, ...]]:
    """Index operands and spec; an item is an int, a Sym (a position), or a pair (start, length)."""
    idx = idx if isinstance(idx, tuple) else (idx,)
    starts: list[Value] = []
    spec: list[Any] = []
    for s in idx:
        start, size = s if isinstance(s, tuple) else (s, None)
        if isinstance(start, Sym):
            starts.append(start.v)
        here = None if isinstance(start, Sym) else start
        spec.append(Slice(here, size) if size is not None else "i" if here is None else here)
    return starts, (*spec, *(Slice(0, n) for n in x.type.shape[len(spec) :]))


def raw(x: Any) -> Value:
    return x.v if isinstance(x, Sym) else const(value=x, type=Type("i64" if isinstance(x, int) else "f64"))


def raws(xs: Any) -> list[Value]:
    return [raw(x) for x in (xs if isinstance(xs, (tuple, list)) else [xs])]


def syms(vs: Any) -> Any:
    vs = [Sym(v) for v in (vs if isinstance(vs, (tuple, list)) else [vs])]
    return vs[0] if len(vs) == 1 else vs


def wrapped(body: Callable[..., Any]) -> Callable[..., list[Value]]:
    return lambda *vs: raws(body(*map(Sym, vs)))


def fn(*types: Any) -> Callable[[Callable[..., Any]], Graph]:
    return lambda body: build(types, wrapped(body), "f")


def function(op: Any) -> Callable[..., Sym]:
    return lambda *xs, **attrs: Sym(op(*map(raw, xs), **attrs))


sin, cos, exp, log, sqrt, lt = map(function, (ew.sin, ew.cos, ew.exp, ew.log, ew.sqrt, ew.lt))


def to_float(x: Sym) -> Sym:
    return Sym(ew.cast(x.v, dtype="f64"))


def For(n: Any, init: Any, body: Callable[..., Any]) -> Any:
    init = raws(init)
    region = build([I64, *(v.type for v in init)], wrapped(body))
    return syms(emit(control.for_, raw(n), *init, regions=[region]))


def While(init: Any, cond: Callable[..., Any], body: Callable[..., Any]) -> Any:
    init = raws(init)
    ts = [v.type for v in init]
    return syms(emit(control.while_, *init, regions=[build(ts, wrapped(cond)), build(ts, wrapped(body))]))


def If(cond: Sym, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    return syms(emit(control.if_, cond.v, regions=[build([], wrapped(then)), build([], wrapped(orelse))]))


def Call(callee: str, types: Any, *args: Any) -> Any:
    return syms(control.call(*map(raw, args), callee=callee, types=tuple(types)))


def Checkpoint(body: Callable[[], Any]) -> Any:
    return syms(emit(control.checkpoint, regions=[build([], wrapped(body))]))


def Grad(f: Callable[..., Any], *args: Any) -> Any:
    """Derivatives of a scalar function by all its arguments, through the transform op."""
    args = raws(args)
    region = build([v.type for v in args], wrapped(f))
    outs = emit(control.vjp, *args, const(value=1.0, type=F64), regions=[region], wrt=tuple(range(len(args))))
    return syms(list(outs[1:]))


def Jvp(f: Callable[..., Any], args: Any, tangents: Any) -> Any:
    """The tangents of the results of f."""
    args = raws(args)
    region = build([v.type for v in args], wrapped(f))
    outs = emit(control.jvp, *args, *raws(tangents), regions=[region], wrt=tuple(range(len(args))))
    return syms(list(outs[len(region.results) :]))


def _dim(v: Value) -> Any:
    return affine(0, {v: 1})


def vec(n: Any) -> Type:
    return Type("f64", (n,))


def mat(n: Any, m: Any) -> Type:
    return Type("f64", (n, m))


@dataclass
class Case:
    name: str
    program: Program
    args: list[Any]
    h: float = 1e-4  # step of differences; small where a branch turns nearby


CASES: list[Case] = []


def case(make: Callable[[], tuple[Graph | Program, list[Any]]], h: float = 1e-4) -> Callable[[], Any]:
    program, args = make()
    CASES.append(Case(make.__name__, program if isinstance(program, dict) else {"f": program}, args, h))
    return make


def case_near_a_branch(make: Callable[[], Any]) -> Callable[[], Any]:
    return case(make, 1e-6)


@case_near_a_branch
def scalar_for_if():
    @fn(F64, F64, I64)
    def g(x, y, n):
        def body(i, acc):
            return For(n, acc, lambda j, a: If(lt(a, y), lambda: a * y + sin(x * a), lambda: cos(a) * x)) * 0.7

        return For(n, x, body) * x

    return g, [0.7, 1.3, 4]


@case
def while_norm():
    """unknown trips, array carry"""

    @fn(vec(3), F64)
    def g(x, limit):
        v, s = While([x, 1.0], lambda v, s: lt(sqrt((v * v).sum()), limit), lambda v, s: (v * 1.3 + sin(v), s * v.sum()))
        return (v * v * v).sum() * s

    return g, [np.array([0.3, -0.2, 0.5]), 6.0]


@case_near_a_branch
def while_in_for():
    @fn(F64, F64)
    def g(x, y):
        def body(i, s):
            z = While(s * s + 0.1, lambda z: lt(z, to_float(i) + 2.0), lambda z: z * (y + 0.5) + x * x)
            return sin(z) + x

        return For(5, x, body)

    return g, [0.4, 1.1]


@case
def ragged():
    """for i in range(n): for j in range(i)"""

    @fn(vec(5), F64, I64)
    def g(x, y, n):
        return For(n, y, lambda i, s: For(i, s, lambda j, s: s * x[j] + sin(s * y) * x[i]))

    return g, [np.linspace(0.3, 1.1, 5), 0.8, 5]


@case
def save_in_one_branch():
    @fn(F64, F64, I64)
    def g(x, y, n):
        return For(n, x, lambda i, s: If(lt(i % 3, 1), lambda: sin(s) * s, lambda: s + y))

    return g, [0.4, 0.3, 7]


@case
def recurrence():
    """y[i+1] = y[i] * x[i+1], in place"""

    @fn(vec(6))
    def g(x):
        return For(5, x, lambda i, y: y.put(y[i] * x[i + 1], i + 1)).sum()

    return g, [np.linspace(0.5, 1.4, 6)]


@case
def sweep():
    """in-place Gauss-Seidel"""
    n = 6

    @fn(mat(n, n), F64)
    def g(a, w):
        def row(i, a):
            def col(j, a):
                new = a[i + 1, j + 1] * (1.0 - w) + sin(a[i, j + 1] * a[i + 1, j]) * w + a[i + 2, j + 1] * a[i + 1, j + 2] * 0.25
                return a.put(new, i + 1, j + 1)

            return For(n - 2, a, col)

        a = For(3, a, lambda t, a: For(n - 2, a, row))
        return (a * a).sum()

    return g, [np.random.default_rng(1).normal(size=(n, n)), 0.3]


@case
def cholesky():
    """in place, by loops; the lower triangle of the result is read"""
    n = 5

    @fn(mat(n, n))
    def g(a):
        def col(j, a):
            d = For(j, a[j, j], lambda k, s: s - a[j, k] * a[j, k])
            a = a.put(sqrt(d), j, j)

            def row(r, a):
                i = j + 1 + r
                s = For(j, a[i, j], lambda k, s: s - a[i, k] * a[j, k])
                return a.put(s / a[j, j], i, j)

            return For((n - 1) - j, a, row)

        a = For(n, a, col)
        return For(n, 0.0 * a[0, 0], lambda i, s: For(i + 1, s, lambda j, s: s + sin(a[i, j]) * a[i, j]))

    m = np.random.default_rng(2).normal(size=(n, n))
    return g, [m @ m.T + n * np.eye(n)]


@case
def power():
    """recursion: p(x, n) = 1 if n < 1; p(x*x, n/2) (* x if odd)"""

    @fn(F64, I64)
    def p(x, n):
        def rec():
            r = Call("p", [F64], x * x, n // 2)
            return If(lt(n % 2, 1), lambda: r, lambda: r * x)

        return If(lt(n, 1), lambda: 1.0, rec)

    @fn(F64, I64)
    def f(x, n):
        return sin(Call("p", [F64], x, n)) * x

    return {"f": f, "p": p}, [1.07, 13]


@case
def entry_calls_itself():
    @fn(F64, I64)
    def f(x, n):
        return If(lt(n, 1), lambda: sin(x), lambda: Call("f", [F64], x * x + 0.1, n - 1) * x)

    return {"f": f}, [0.8, 4]


@case
def tree_product():
    """recursion over an array"""

    @fn(vec(9), I64, I64)
    def t(x, lo, n):
        def rec():
            h = n // 2
            a = Call("t", [F64], x, lo, h)
            return a * Call("t", [F64], x, lo + h, n - h) + sin(a)

        return If(lt(n, 2), lambda: x[lo], rec)

    @fn(vec(9))
    def f(x):
        return Call("t", [F64], x, 0, 9)

    return {"f": f, "t": t}, [np.linspace(0.4, 1.2, 9)]


@case_near_a_branch
def recursion_with_loop():
    """a recursive function that writes its array argument, called in a loop"""

    @fn(vec(4), F64, I64)
    def r(x, s, n):
        def rec():
            y = For(3, x, lambda i, y: y.put(y[i] * s + y[i + 1], i))
            z = While(s * s + 0.1, lambda z: lt(z, 2.0), lambda z: z * 1.5 + y[0] * y[0])
            return Call("r", [vec(4), F64], y, cos(z), n - 1)

        return If(lt(n, 1), lambda: (x, s), rec)

    @fn(vec(4), F64)
    def f(x, s):
        def body(i, x, s):
            y, t = Call("r", [vec(4), F64], x, s, i)
            return y * 0.5, t * s

        x, s = For(4, [x, s], body)
        return (x * x).sum() * s

    return {"f": f, "r": r}, [np.array([0.3, -0.4, 0.6, 0.2]), 0.8]


@case
def call_with_one_argument_twice():
    @fn(vec(3), vec(3))
    def h(a, b):
        return For(3, 1.0, lambda i, s: s * a[i] + sin(b[i]) * s)

    @fn(vec(3))
    def f(x):
        return Call("h", [F64], x, x) * Call("h", [F64], x * x, x)

    return {"f": f, "h": h}, [np.array([0.3, 0.7, -0.2])]


@case
def descent():
    """a descent loop whose body holds an inner derivative"""

    @fn(vec(3), F64, F64)
    def g(x, theta, lr):
        def loss(x):
            def body(i, s):
                branch = If(lt(x[i], theta), lambda: x[i] * x[i] * s, lambda: theta * s)
                return s + sin(x[i] * theta) * x[i] + branch

            return For(3, 0.5, body)

        x = For(4, x, lambda k, x: x - lr * Grad(loss, x))
        return loss(x) + (x * x).sum()

    return g, [np.array([0.3, 0.9, -0.4]), 0.6, 0.1]


@case
def grad_of_grad():
    """an inner derivative of an inner derivative, inside a while"""

    @fn(F64, F64)
    def g(x, a):
        def f(u):
            return For(3, u, lambda i, s: sin(s * a) * u + s)

        def newton(x, k):
            d1, d2 = Grad(f, x), Grad(lambda u: Grad(f, u), x)
            return x - 0.1 * d1 / (1.0 + d2 * d2), k + 1.0

        return f(While([x, 0.0], lambda x, k: lt(k, 3.0), newton)[0])

    return g, [0.7, 1.2]


@case
def jvp_of_grad():
    """forward over reverse inside a loop: Hessian times vector"""

    @fn(vec(3), vec(3))
    def g(x, v):
        def f(u):
            return For(3, 0.4, lambda i, s: sin(s * u[i]) * u[0] + s)

        x = For(3, x, lambda k, x: x + 0.1 * Jvp(lambda u: Grad(f, u), [x], [v]))
        return (x * x).sum()

    return g, [np.array([0.3, 0.9, -0.4]), np.array([1.0, -0.3, 0.5])]


@case
def grad_of_recursion():
    """an inner derivative of a recursive function, with an outer value captured"""

    @fn(F64, F64, I64)
    def p(x, a, n):
        return If(lt(n, 1), lambda: a * x, lambda: sin(Call("p", [F64], x * a, a, n - 1)) * x)

    @fn(F64, F64)
    def f(x, a):
        return For(3, x, lambda i, x: x - 0.3 * Grad(lambda u: Call("p", [F64], u, a, i + 1), x))

    return {"f": f, "p": p}, [0.9, 1.2]


@case
def operand_and_capture():
    """a value both operand and captured: two reads, two cotangents"""

    @fn(F64)
    def g(x):
        y = x * x
        return For(3, y, lambda i, s: s * y + sin(y))

    return g, [0.6]


@case
def permuted_carry():
    """u, v = v, u + ..."""

    @fn(vec(3), vec(3), I64)
    def g(u, v, n):
        u, v = For(n, [u, v], lambda i, u, v: (v, u * v + sin(u)))
        return (u * v).sum()

    return g, [np.array([0.1, 0.5, -0.3]), np.array([0.2, 0.4, 0.9]), 4]


@case
def zero_trips():
    @fn(vec(3), I64)
    def g(x, n):
        y = For(n, x, lambda i, y: y.put(y[i] * y[i], i))
        return While(y[0], lambda z: lt(z, -9.0), lambda z: z * z) * y[1]

    return g, [np.array([0.3, 0.7, -0.2]), 0]


@case
def slices():
    """x[a:a+2] += v, rows, windows"""

    @fn(mat(4, 5), vec(2))
    def g(a, v):
        def body(i, a):
            a = a.put_add(a[i, (i, 2)] * v, i, (i + 1, 2))
            a = a.put(sin(a[i]), i + 1)
            return a.put(a[(0, 2), (1, 2)] * a[(1, 2), (i, 2)], (i, 2), (0, 2))

        return For(3, a, body).sum()

    return g, [np.random.default_rng(5).normal(size=(4, 5)), np.array([0.4, -0.7])]


@case
def store_in_branch():
    @fn(vec(5), F64)
    def g(x, y):
        def body(i, a, s):
            def then():
                b = a.put(a[i] * s, i)
                return b.put(b[i] + sin(b[0]), i), s * a[i]

            return If(lt(a[i], y), then, lambda: (a, s + a[i] * x[4]))

        a, s = For(5, [x, y], body)
        return (a * a).sum() * s

    return g, [np.array([0.3, 0.9, -0.4, 1.2, 0.5]), 0.6]


@case
def swap_elements():
    """temporary reads before a write; permutation in place"""

    @fn(vec(6))
    def g(x):
        def body(i, x):
            j = 5 - i
            p, q = x[i], x[j]
            return x.put(q * p, i).put(p + sin(q), j)

        return For(6, x, body).sum()

    return g, [np.linspace(-0.5, 0.9, 6)]


@case
def checkpointed():
    """square-root schedule: a checkpoint around the inner of two loops; array state"""

    @fn(vec(4), F64)
    def g(x, w):
        def inner(i, v):
            return v.put(sin(v[i]) * w + v[0], i)

        return For(4, x, lambda k, v: Checkpoint(lambda: For(4, v, inner) * (w + 0.5))).sum()

    return g, [np.array([0.3, 0.7, -0.2, 0.5]), 0.8]


@case
def runtime_extent():
    """the number of elements is a parameter; rows x[:j+1] are sliced in a loop, saved and summed"""
    n = Value(I64, "n")

    @fn(n, Type("f64", (_dim(n),)), F64)
    def g(n, x, y):
        def body(j, s):
            row = Sym(array.slice_axis(x.v, 0, 0, _dim(j.v) + 1))
            return s + (sin(row * s) * row).sum() * y

        return For(n, y, body) + (x * x).sum()

    return g, [4, np.array([0.3, 0.7, -0.2, 0.5]), 0.4]


@case
def runtime_extent_in_recursion():
    """a function of an array whose extent is an argument, called in a loop"""
    m, n = Value(I64, "m"), Value(I64, "n")

    @fn(m, Type("f64", (_dim(m),)), F64, I64)
    def r(m, x, s, k):
        def rec():
            y, t = Call("r", [x.v.type, F64], m, sin(x) * s, x[0] * s, k - 1)
            return y * x, t + s

        return If(lt(k, 1), lambda: (x, s), rec)

    @fn(n, Type("f64", (_dim(n),)))
    def f(n, x):
        def body(i, x):
            y, s = Call("r", [x.v.type, F64], n, x, x[0], i)
            return y + s

        return For(3, x, body).sum()

    return {"f": f, "r": r}, [3, np.array([0.3, 0.7, -0.2])]
