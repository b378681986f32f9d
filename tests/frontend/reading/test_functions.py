"""The source front end: straight-line code, calls, closures, captured state, trees, errors."""

from __future__ import annotations

import functools
import math
from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest

import irad
from irad.call.conditions import Condition, Conditions
from irad.core.ir import walk
from irad.core.tree import flatten
from irad.core.types import Type
from irad.errors import IradError, UnsupportedError
from irad.frontend.trace import trace
from irad.frontend.values.traced import Spec
from tests.support.as_called import assert_same, check, run

X = np.array([1.0, -2.0, 3.0])
Y = np.array([0.5, 1.5, -1.0])
M = np.arange(12.0).reshape(3, 4) / 7
SCALE = 3.0
WEIGHTS = np.array([1.0, 2.0, 3.0])
HEADS = 2
CONFIG = {"rate": 0.5, "layers": [np.ones(3), 2 * np.ones(3)], "name": "sgd", "depth": 2}
Point = namedtuple("Point", "x y")


@dataclass
class Model:
    w: np.ndarray
    b: float
    name: str = "m"
    history: list = field(default_factory=list)

    def __call__(self, x):
        return x @ self.w + self.b

    @property
    def norm(self):
        return np.sqrt(np.sum(self.w**2))


class Layer:
    gain = 2.0

    def __init__(self, n, scale=1.0):
        self.w = np.ones(n) * scale
        self.count = 0

    def forward(self, x):
        self.count += 1
        return self.scaled(x) + self.count

    def scaled(self, x):
        return x * self.w * self.gain

    @staticmethod
    def square(x):
        return x * x

    @classmethod
    def unit(cls, n):
        return cls(n, 1.0)


class Deep(Layer):
    def forward(self, x):
        return super().forward(x) - 1.0


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


class Vector:
    def __init__(self, a):
        self.a = a

    def __add__(self, other):
        return Vector(self.a + (other.a if isinstance(other, Vector) else other))

    __radd__ = __add__

    def __mul__(self, k):
        return Vector(self.a * k)

    def __getitem__(self, k):
        return self.a[k]

    def __len__(self):
        return len(self.a)

    def __neg__(self):
        return Vector(-self.a)

    def __eq__(self, other):
        return np.all(self.a == other.a)


LAYER = Layer(3)


def helper(a, b=2.0, *rest, c=1, **more):
    return a * b + c + sum(rest) + sum(more.values())


def higher(f, x, n):
    return f(f(x)) if n == 2 else f(x)


def factory(k):
    def scaled(x):
        return k * x

    return scaled


TRIPLE = factory(3.0)


@functools.wraps(helper)
def decorated(*args, **kwargs):
    return 1.0 + helper(*args, **kwargs)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x + 1,
        lambda x: 2 - x / 3 + x**2 - x // 2 + x % 1.5,
        lambda x: -x + +x - abs(x),
        lambda x: np.sin(x) * np.cos(x) + np.exp(-x * x),
        lambda x: x.sum() + np.mean(x) + x.max() - x.min() + x.std(),
        lambda x: (x > 0) & (x < 2) | ~(x == 3),
        lambda x: np.where(x > 0, x, -x),
        lambda x: x.reshape(3, 1) * x,
        lambda x: (x.T, x.shape, x.ndim, x.size, x.dtype.name, len(x)),
        lambda x: {"a": x, "b": [x[0], (x[1:], None)], "c": "text"},
        lambda x: Point(x[0], y=x[1]),
        lambda x: x[0] + x[-1] * x[1:][0],
        lambda x: np.stack([x, x * 2]) @ x,
        lambda x: np.array([x[0], 2.0, x[1] * x[2]]),
        lambda x: np.array([[x[0], 1], [x[1], x[2]]]),
        lambda x: x.astype(np.float32) * 2,
        lambda x: helper(x) + helper(x, 3.0) + helper(x, 1.0, 2.0, 3.0, c=4, d=5.0),
        lambda x: helper(*[x, 2.0], **{"c": 3}),
        lambda x: higher(lambda t: t * x[0], x, 2),
        lambda x: TRIPLE(x) + factory(x[0])(x),
        lambda x: decorated(x, c=2),
        lambda x: functools.partial(helper, c=5)(x, 1.5),
        lambda x: functools.partial((x * 2).reshape, 3, 1)() + functools.partial([x[0], x[1]].count, x[0])(),
        lambda x: functools.reduce(lambda a, b: a * b + 1, [x[0], x[1], x[2]]),
        lambda x: sum(x) + sum([x[0], x[1]]) + max(x) + min(x[0], x[1], 0.0),
        lambda x: sum(a * b for a, b in zip(x, WEIGHTS)),
        lambda x: [a * i for i, a in enumerate(x)],
        lambda x: {i: a for i, a in enumerate(x)},
        lambda x: [a for row in ([x, x * 2], [x]) for a in row],
        lambda x: sorted([3, 1, 2]) + list(reversed([1, 2])) + list(map(lambda a: a + 1, [1])),
        lambda x: SCALE * x + CONFIG["rate"] * CONFIG["layers"][1] + CONFIG["depth"],
        lambda x: np.sum(WEIGHTS * x),
        lambda x: LAYER.scaled(x) + LAYER.w + Layer.square(x),
        lambda x: Layer(3, 2.0).forward(x),
        lambda x: Deep(3, x).forward(x),
        lambda x: Layer.unit(3).forward(x),
        lambda x: Model(x, 2.0)(x) + Model(x, 1.0).norm,
        lambda x: (Vector(x) + Vector(x) * 2)[1] + len(Vector(x)) + (1 + Vector(x))[0] + (-Vector(x))[2],
        lambda x: math.sin(x[0]) + math.sqrt(abs(x[1])) + math.floor(x[2]) + math.pi,
        lambda x: float(x[0]) * int(x[2]) + round(x[1]) + bool(x[0]),
        lambda x: 0 < x[0] < 2 < x[2],
        lambda x: (y := x * 2) + y,
        lambda x: x[0] if len(x) == 3 else x[1],
        lambda x: f"{len(x)} elements" + str(x.ndim),
        lambda x: isinstance(x, np.ndarray) and isinstance(x[0], np.floating) and not isinstance(x, list),
        lambda x: np.add(x, 1, out=np.zeros(3)) + np.cumsum(x) + np.outer(x, x)[0],
        lambda x: np.linalg.norm(x) + np.dot(x, x) + x @ x,
        lambda x: x if x is not None else 1.0,
        lambda x: x.T.copy().ravel()[::-1].flatten(),
        lambda x: np.einsum("i,j->ij", x, x).trace(),
        lambda x: [int(k) for k in np.arange(3)] + [HEADS],
        lambda x: np.concatenate([x.reshape(HEADS + 1, -1), np.zeros((3, 1))], axis=1),
        lambda x: divmod(x[0], 2.0) + (x[0] ** 2, pow(x[1], 2)),
        lambda x: any([False, x[0] > 0]) and all(a > -5 for a in x),
        lambda x: x[0] in (1.0, 2.0) or x[1] not in [3.0],
    ],
)  # fmt: skip
def test_expressions(fn):
    check(fn, X)


@pytest.mark.parametrize("a, b", [(7, 2), (-7, 2), (7, -2), (7.5, 2), (2.0, 0.5), (3, 2.5), (-3, 3), (0, 5)])
def test_python_numbers(a, b):
    def f(a, b):
        return (
            a + b,
            a - b,
            a * b,
            a / b,
            a // b,
            a % b,
            a < b,
            a == b,
            -a,
            abs(a),
            min(a, a + 1),
            max(b, b - 1),
            round(a),
            int(b),
            float(a),
        )

    check(f, a, b, exact=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8, np.uint8, np.bool_])
def test_scalars_promote_weakly(dtype):
    check(lambda x, k, t: (x * 2, x + k, x * t, x[0] + k, x[0] * t), np.array([1, 0, 1], dtype), 3, 2.5)


def test_kinds_of_scalars():
    check(lambda x, z, n, t, g: (x[0], z, n, t, g, n + 1, t * 2, g + t, z * 1, x.sum(), n > 1, g > 1),
          X, np.array(2.0), 3, 1.5, np.float32(2))  # fmt: skip


def test_numbers_stay_dynamic():
    traced = check(lambda x, n, t: x * n + t, X, 3, 2.0, others=((Y, 5, -1.0),))
    assert all(leaf.param is not None for leaf in traced.in_leaves)


def test_a_number_that_shapes_the_program_becomes_static():
    traced = trace(lambda x, n, t: np.zeros(n) + t * np.sum(x), (X, 4, 2.0))
    assert [leaf.param is None for leaf in traced.in_leaves] == [False, True, False]
    assert traced.in_leaves[1].value == 4
    check(lambda n: np.ones((n, n + 1)).reshape(-1), 3)
    check(lambda x, axis: x.sum(axis=axis), M, 1)
    check(lambda x, k: [x, x * 2][k], X, 1)


def test_trees_of_arguments():
    model = Model(X, 0.5)
    check(lambda p, m: (p["a"][0] * m.w + m.b, {"n": m.name}), {"a": [Y, 2.0]}, model)
    check(lambda p: Point(p.y, p.x * 2), Point(1.0, X))
    check(lambda x, *rest, k=1.0, **more: x * k + sum(rest) + more["z"], X, 1.0, 2.0, k=3.0, z=Y)


def test_fields_of_objects_made_here_are_not_captured():
    traced = trace(lambda p: Point(p.y, Slotted(p.x).a * 2), (Point(X, 2.0),))
    assert not traced.captures and {g.kind for g in traced.guards} == {"is", "code", "state"}


def test_same_array_twice():
    def f(a, b):
        a += 1
        return a + b

    x = X.copy()
    traced = trace(f, (x, x))
    assert traced.in_leaves[1].alias == 0
    y = X.copy()
    assert_same(run(traced, f, (y, y)), 2 * (X + 1))
    assert_same(y, X + 1)


def test_result_that_is_an_argument():
    x = X.copy()
    assert run(trace(lambda a: (a, a), (x,)), lambda a: (a, a), (x,))[0] is x
    assert trace(lambda a: WEIGHTS, (x,)).results[0].same_as == ("capture", 0)


# ---- captured state -----------------------------------------------------------------------------------------------


def test_captured_state_is_live():
    rate, bias = 2.0, np.zeros(3)

    def f(x):
        return x * rate + bias

    traced = trace(f, (X,))
    rate = 10.0
    bias[:] = 1.0
    assert_same(run(traced, f, (X,)), X * 10 + 1)
    assert Conditions(traced, (), 0).holds(f, (), ())


def test_captured_ints_are_guarded_unless_live():
    n = 3

    def f(x):
        return x * n

    traced = trace(f, (X,))
    (guard,) = [g for g in traced.guards if g.kind == "eq"]
    condition = Condition("eq", guard.path, 3)
    assert condition.holds(f, (), ())
    n = 4
    assert not condition.holds(f, (), ())
    live = trace(f, (X,), live=frozenset([guard.path]))
    n = 5
    assert_same(run(live, f, (X,)), X * 5)


def test_only_what_is_read_is_guarded():
    unused = 7
    traced = trace(lambda x: x * 2 if len(x) else x * unused, (X,))
    assert not any(g.kind == "eq" for g in traced.guards) and not traced.captures


def test_captured_function_of_another_code_breaks_its_guard():
    g = lambda x: x + 1

    def f(x):
        return g(x)

    traced = trace(f, (X,))
    assert Conditions(traced, (), 0).holds(f, (), ())
    g = lambda x: x + 2
    assert not Conditions(traced, (), 0).holds(f, (), ())


def test_closures_of_one_code_share_a_trace():
    def make(w):
        def f(x):
            return x @ w

        return f

    first, second = make(X), make(Y)
    traced = trace(first, (X,))
    assert Conditions(traced, (), 0).holds(second, (), ())
    assert_same(run(traced, second, (X,)), X @ Y)


def test_attributes_of_captured_objects_are_live():
    layer = Layer(3)

    def f(x):
        return layer.scaled(x)

    traced = trace(f, (X,))
    layer.w = np.full(3, 5.0)
    assert_same(run(traced, f, (X,)), layer.scaled(X))


def test_bound_method_and_callable_object():
    layer = Layer(3, 2.0)
    traced = trace(layer.scaled, (X,))
    layer.w *= 2
    assert_same(run(traced, layer.scaled, (X,)), layer.scaled(X))
    model = Model(X, 1.0)
    assert_same(run(trace(model, (Y,)), model, (Y,)), Y @ X + 1.0)
    part = functools.partial(helper, b=4.0)
    assert_same(run(trace(part, (X,)), part, (X,)), helper(X, b=4.0))


def default_array(x, w=np.array([1.0, 1.0, 2.0])):  # noqa: B008
    return x * w


def test_default_arguments_are_live():
    traced = trace(default_array, (X,))
    default_array.__defaults__[0][0] = 9.0
    assert_same(run(traced, default_array, (X,)), X * np.array([9.0, 1.0, 2.0]))


def test_stores_into_captured_arrays_are_seen_outside():
    total = np.zeros(3)

    def f(x):
        total[...] += x
        return total[0]

    traced = trace(f, (X,))
    run(traced, f, (X,))
    run(traced, f, (X,))
    assert_same(total, 2 * X)


# ---- functions without arguments that matter, types only ------------------------------------------------------------


def test_types_instead_of_arrays():
    traced = trace(lambda x, n: x.sum() * n, (Spec(Type("f64", (4,))), Spec(Type("i64"), "int")))
    assert [p.type for p in traced.graph.params] == [Type("f64", (4,)), Type("i64")]


def test_locations_and_names():
    def f(x):
        total = x + 1
        return np.sin(total)

    nodes = trace(f, (X,)).graph.nodes
    sin = next(n for n in nodes if n.op.name == "sin")
    assert sin.loc.file == __file__ and "np.sin(total)" in sin.loc.excerpt()
    assert any(v.hint == "total" for n in nodes for v in n.outputs)


# ---- errors -----------------------------------------------------------------------------------------------------------


def error(fn, *args) -> IradError:
    with pytest.raises(IradError) as e:
        trace(fn, args)
    return e.value


def test_unknown_numpy_function_names_near_ones():
    e = error(lambda x: np.sort_complex(x), M)
    assert "np.sort_complex" in e.message and "np.iscomplex" in e.message.split("near it")[1] and e.loc.file == __file__


def test_shapes_in_the_message():
    e = error(lambda x, y: x @ y, X, np.ones(4))
    assert "3" in e.message and "4" in e.message and "x @ y" in e.loc.excerpt()


def test_own_exceptions_come_out_unchanged():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        trace(f, (X,))


def test_python_type_errors_come_out():
    with pytest.raises(TypeError, match="missing 1 required"):
        trace(lambda x, y: x, (X,))
    with pytest.raises(AttributeError):
        trace(lambda x: x.nothing, (X,))
    with pytest.raises(NameError):
        trace(lambda x: undefined_name, (X,))  # noqa: F821


# ---- callees without source ---------------------------------------------------------------------------------------------


def made(text: str):
    namespace: dict = {"np": np}
    exec(text, namespace)
    return namespace["f"]


def test_callees_without_source_are_traced_through_the_protocols():
    f = made(
        "def f(x, k=2.0):\n    y = np.sin(x) * k + x[::-1] @ x\n    y[0] = np.sum(x) / len(x)\n    y += 1\n    return {'y': y, 'm': -x.max()}"
    )
    check(lambda x: f(x)["y"] + f(x, k=3)["m"], X)
    check(f, X)
    with pytest.raises(UnsupportedError, match="cannot be read"):
        trace(made("def f(x):\n    return x if x[0] > 0 else -x"), (X,))
    with pytest.raises(UnsupportedError, match="NumPy array of it"):
        trace(made("def f(x):\n    return np.array(x)"), (X,))


def test_source_that_changed_is_not_trusted(tmp_path):
    import importlib.util
    import linecache

    path = tmp_path / "changing.py"
    path.write_text("def f(x):\n    return x + 1\n")
    spec = importlib.util.spec_from_file_location("changing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("def f(x):\n    return x + 2\n")
    linecache.checkcache(str(path))
    assert_same(run(trace(module.f, (X,)), module.f, (X,)), X + 1)


def test_no_numbers_are_lost_in_a_trace():
    traced = trace(lambda x: x * 2, (X,))
    assert [n.op.name for n in walk(traced.graph)] == ["const", "mul"]
    assert flatten((X,))[1] == traced.in_tree.children[0]


def test_what_a_function_made_inside_says_of_itself():
    from types import FunctionType

    def f(x):
        scaled = lambda v, by=2.0: v * by

        def several(a, b, *rest, key=3):
            return a * b

        assert scaled.__class__ is FunctionType and several.__code__.co_argcount == 2 and scaled.__defaults__ == (2.0,)
        assert several.__code__.co_varnames[:4] == ("a", "b", "key", "rest") and several.__kwdefaults__ == {"key": 3}
        assert not hasattr(scaled, "node") and not hasattr(scaled, "env") and several.__name__ == "several"
        per_point = [several(*p) for p in x] if several.__code__.co_argcount > 1 else []
        return sum(per_point) * scaled.__code__.co_argcount + getattr(scaled, "weight", 1.5) * scaled(x[0, 0])

    x = np.array([[0.5, 2.0], [3.0, 0.7]])
    f(x)
    check(f, x)
    assert np.allclose(irad.grad(f)(x), [[4.0 + 3.0, 1.0], [1.4, 6.0]])
