"""Python around the numbers: state that changes between calls, match, exceptions, output and callbacks that happen once."""

from __future__ import annotations

import contextlib
import enum
import io
import signal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.5, -2.0, 3.0])


class Mode(enum.Enum):
    SUM = 1
    PROD = 2


class Model:
    rate: Any = 0.5
    act = staticmethod(np.sin)

    def scale(self, x):
        return 2 * x

    @property
    def twice(self):
        return 2 * self.rate

    def __call__(self, x):
        return self.scale(self.act(x)) * self.rate + self.twice


mode: Any = Mode.SUM
share: Any = Fraction(1, 2)


def test_enums_and_library_objects_are_compared_at_each_call():
    global mode, share

    def by_mode(x):
        return np.sum(x) if mode is Mode.SUM else np.prod(x)

    def by_share(x):
        return x * float(share)

    f, g = irad.compile(by_mode), irad.compile(by_share)
    assert f(X) == X.sum() and g(1.0) == 0.5
    mode, share = Mode.PROD, Fraction(1, 4)
    assert f(X) == X.prod() and g(1.0) == 0.25
    mode, share = Mode.SUM, Fraction(1, 2)


def test_objects_compared_by_identity():
    class Key:
        pass

    a, b = Key(), Key()
    table, current = {a: 1.0, b: 2.0}, a
    look, test = irad.compile(lambda x: x * table[current]), irad.compile(lambda x: x if current is a else -x)
    assert look(1.0) == 1.0 and test(1.0) == 1.0
    current = b
    assert look(1.0) == 2.0 and test(1.0) == -1.0


def test_attributes_of_class_and_object():
    """An attribute set on the object hides the class's; methods and properties may be exchanged too."""

    class Own(Model):
        pass

    m = Own()
    f = irad.compile(lambda x: m(x))

    def agree():
        assert f(0.3) == pytest.approx(m(0.3), rel=1e-15)

    agree()
    for name, value in (("rate", 2.0), ("act", np.exp), ("scale", lambda x: 7 * x)):
        setattr(m, name, value)
        agree()
        delattr(m, name)
        agree()
    Own.scale = lambda self, x: 9 * x
    agree()
    Own.twice = property(lambda self: 100.0)
    agree()
    Own.act = staticmethod(np.tanh)
    agree()


def test_missing_attributes_may_appear():
    m = Model()
    f = irad.compile(lambda x: x * getattr(m, "extra", 5.0) + hasattr(m, "more"))
    assert f(1.0) == 5.0
    m.extra = 2.0
    assert f(1.0) == 2.0
    m.more = True
    assert f(1.0) == 3.0


def test_methods_of_an_object_made_inside():
    """The guard on its class has no path from the compiled function."""
    f = irad.compile(lambda x: Model().scale(x) + Model.rate)
    assert f(1.0) == 2.5 and f(2.0) == 4.5


# ---- match ----------------------------------------------------------------------------------------------------------------------


def matched(n, x):
    y = 100.0
    match (n, x):
        case (1 | 2, _):
            r = x * 20
        case (3 | 4, y) if y > 2:
            r = y * 30
        case (k, _) if k < 0:
            r = -x * k
        case _:
            r = x * n
    return r + y


@pytest.mark.parametrize("n", [1, 2, 3, 4, -3, 9])
@pytest.mark.parametrize("x", [1.5, 2.5])
def test_match_on_traced_numbers(n, x):
    assert irad.compile(matched)(n, x) == matched(n, x)


def test_match_mapping_rest():
    def f(p, x):
        match p:
            case {"kind": "a", **rest}:
                return x * rest["w"]
        return x

    assert irad.compile(f)({"kind": "a", "w": 3.0}, 2.0) == 6.0


# ---- loops ------------------------------------------------------------------------------------------------------------------------


def test_assignment_in_the_test_of_a_loop():
    def f(x):
        s, i = 0.0, 0
        while (v := x[i]) > 0:
            s += v
            i += 1
            if i == len(x):
                break
        return s

    for x in (np.array([1.0, 2.0, -1.0, 4.0]), np.array([1.0, 2.0]), -X):
        assert irad.compile(f)(x) == f(x)
    np.testing.assert_array_equal(irad.grad(f)(np.array([1.0, 2.0, -1.0])), [1, 1, 0])


def still(x):
    while x > 0.0:
        x = x * 1.0
    return x


def unread(x):
    y = 0.0
    while x > 0.0:
        y = y + 1
    return x


@pytest.mark.parametrize("f", [irad.compile(still), irad.compile(unread), irad.grad(still)])
def test_a_loop_that_never_ends_is_not_removed(f):
    f(-1.0)

    def late(*args):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(TimeoutError):
            f(1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_gradient_of_augmented_mask_stores():
    def f(x, y):
        m = y < 0
        y[m] *= x[m]
        x[~m] += y[~m]
        return np.sum(x * y)

    x, y = np.array([1.0, -2.0, 3.0]), np.array([0.3, -1.2, 2.0])
    dx, dy = irad.grad(f, argnums=(0, 1))(x, y)
    # per element: y < 0 gives x * (y * x), else (x + y) * y
    np.testing.assert_allclose(dx, [0.3, 2 * -2 * -1.2, 2.0], rtol=1e-14)
    np.testing.assert_allclose(dy, [1 + 0.6, 4.0, 3 + 4.0], rtol=1e-14)


# ---- exceptions -----------------------------------------------------------------------------------------------------------------------


class CodeError(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code


def two_raises(x):
    if x > 0:
        raise ValueError(f"positive {x}")
    raise KeyError("negative")


def own_exception(x):
    if x > 0:
        raise CodeError(3, "m")
    return x


def number_key(x):
    if x > 0:
        raise KeyError(3)
    return x


def python_error(x):
    if x > 0:
        return {}["missing"]
    return x


def caught(x):
    if x > 0:
        try:
            raise KeyError("inside")
        except KeyError:
            return 2 * x
    return 3 * x


def braces(x):
    if x > 0:
        raise ValueError("{x} {}")
    return x


@pytest.mark.parametrize("f", [two_raises, own_exception, number_key, python_error, caught, braces])
@pytest.mark.parametrize("x", [1.0, -1.0])
def test_exceptions_are_those_of_python(f, x):
    calls = [irad.compile(f), lambda x: irad.vjp(f, x)[0], lambda x: irad.jvp(f, (x,), (1.0,))[0]]
    try:
        want = f(x)
    except Exception as e:
        for call in calls:
            with pytest.raises(type(e)) as found:
                call(x)
            assert (
                type(found.value) is type(e)
                and found.value.args == e.args
                and vars(found.value).get("code") == vars(e).get("code")
            )
    else:
        assert all(call(x) == want for call in calls)


def test_a_handler_that_data_would_decide_on():
    def f(x):
        try:
            raise ValueError(f"{x}")
        except ValueError:
            return x

    assert irad.compile(f)(1.0) == 1.0


def test_integers_promoted_for_a_gradient_are_named_at_the_users_line():
    def f(x, at):
        return x[at].sum()

    with pytest.raises(IndexError, match="test_state_and_output.py:.*only integers"):
        irad.vjp(f, X, np.array([0, 1]))


# ---- cotangents --------------------------------------------------------------------------------------------------------------------------


def nested(x, y):
    return {"b": x * 2, "a": (y, [x + y])}


def test_cotangents_are_nested_like_the_result():
    _, pullback = irad.vjp(nested, 2.0, 3.0)
    for _ in range(2):
        assert pullback({"b": 1.0, "a": (2.0, [3.0])}) == (5.0, 5.0)
        assert pullback({"a": (2.0, [3.0]), "b": 1.0}) == (5.0, 5.0)
        for wrong in (
            {"b": 1.0, "a": [2.0, [3.0]]},
            [1.0, 2.0, 3.0],
            {"b": (1.0, 2.0), "a": (3.0, [])},
            {"c": 1.0, "a": (2.0, [3.0])},
        ):
            with pytest.raises(irad.IradTypeError, match="nested like"):
                pullback(wrong)
    inside = irad.compile(lambda x, ct: irad.vjp(nested, x, x)[1](ct))
    assert inside(2.0, {"a": (2.0, [3.0]), "b": 1.0}) == (5.0, 5.0)
    with pytest.raises(irad.IradTypeError, match="nested like"):
        inside(2.0, [1.0, 2.0, 3.0])
    with pytest.raises(irad.IradTypeError, match="nested like"):
        irad.jvp(nested, (2.0, 3.0), ([1.0], 1.0))


def test_a_result_with_bools_is_a_cotangent():
    value, pullback = irad.vjp(lambda x: (x * 2, x > 0, True, "s"), 2.0)
    assert value == (4.0, True, True, "s") and pullback(value) == (8.0,)


# ---- effects happen once --------------------------------------------------------------------------------------------------------------------


def talking(x):
    print("x", x[0])
    for i in range(2):
        print("i", i)
    return np.sum(x**2)


def printed(call):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        call()
    return out.getvalue()


def test_every_transform_prints_once():
    want = printed(lambda: talking(X))
    both = lambda x: (talking(x), 1.0)
    inside = irad.compile(lambda x: [pull(1.0) for pull in [irad.vjp(talking, x)[1]] for _ in range(2)])
    for call in (
        lambda: irad.compile(talking)(X), lambda: irad.grad(talking)(X), lambda: irad.vjp(talking, X), lambda: inside(X),
        lambda: irad.jvp(talking, (X,), (X,)), lambda: irad.hvp(talking)(X, X), lambda: irad.linearize(talking, X),
        lambda: irad.value_and_grad(both, has_aux=True)(X), lambda: irad.vjp(both, X, has_aux=True),
        lambda: irad.grad(irad.checkpoint(talking))(X),
    ):  # fmt: skip
        assert printed(call) == want


def test_callbacks_run_once_or_are_refused():
    log: list[float] = []

    def host(v):
        log.append(float(v))
        return np.sin(v)

    once = irad.callback(host, 0.0, vjp=lambda ct, v: (ct * np.cos(v),))
    f = lambda x: once(2 * x) * x
    slope = 2 * np.cos(0.6) * 0.3 + np.sin(0.6)
    inside = irad.compile(lambda x: irad.vjp(f, x)[1](1.0)[0])
    for call in (irad.grad(f), inside, lambda x: irad.vjp(f, x)[1](1.0)[0]):
        log.clear()
        assert call(0.3) == pytest.approx(slope, rel=1e-14) and log == [0.6]
    with pytest.raises(irad.UnsupportedError, match=r"test_state_and_output.py.*pure=True"):
        irad.grad(irad.checkpoint(f))(0.3)
    pure = irad.callback(host, 0.0, vjp=lambda ct, v: (ct * np.cos(v),), pure=True)
    assert irad.grad(irad.checkpoint(lambda x: pure(2 * x) * x))(0.3) == pytest.approx(slope, rel=1e-14)


def test_stores_before_an_exception_stay():
    def f(x, k):
        x[0] = 5.0
        x[k] = 4.0
        return x * 2

    c, x = irad.compile(f), X.copy()
    for k in (7, -9):
        with pytest.raises(IndexError, match="out of bounds"):
            c(x, k)
        np.testing.assert_array_equal(x, [5.0, -2.0, 3.0])
    c(x, 2)
    np.testing.assert_array_equal(x, [5.0, -2.0, 4.0])


kept = np.arange(4.0)


def doubles(x):
    x *= 2
    return kept.sum() + x.sum()


def sets_kept(x):
    before = kept.sum()
    kept[0] = 100.0
    return x.sum() + before


@pytest.mark.parametrize("f", [doubles, sets_kept])
@pytest.mark.parametrize("part", [slice(None), slice(1, 3), slice(None, None, -1)])
def test_an_argument_that_is_a_captured_array(f, part):
    c = irad.compile(f)
    for same in (False, True, True, False):
        kept[:] = np.arange(4.0)
        want = f(kept if part == slice(None) and same else kept[part] if same else np.arange(4.0)[part])
        after = kept.copy()
        kept[:] = np.arange(4.0)
        assert c(kept if part == slice(None) and same else kept[part] if same else np.arange(4.0)[part]) == want
        np.testing.assert_array_equal(kept, after)
    kept[:] = np.arange(4.0)


def test_a_strided_argument_that_overlaps_a_written_one():
    """Also once the call runs without Python code: there a strided argument is copied before the kernel runs."""

    def f(x, y):
        x[0] = 100.0
        return y.sum()

    c, x = irad.compile(f), np.arange(6.0)
    for part in (slice(None, None, -1), slice(0, None, 2), slice(1, None, 2)):
        other = np.arange(12.0)[::2][: len(x[part])] if part.step > 0 else np.arange(6.0)[::-1]
        for _ in range(3):
            assert c(x, other) == other.sum()
        for _ in range(3):
            x[:] = np.arange(6.0)
            want = f(x.copy(), x[part]) + (100.0 if part.start != 1 else 0.0)
            assert c(x, x[part]) == want and x[0] == 100.0


def test_arrays_in_containers_from_outside_are_changed_in_place() -> None:
    """`p[k] -= x` changes the array that is there; the container stays as it is."""

    def step(p: Any, g: Any, rate: Any) -> None:
        for k in p:
            p[k] -= rate * g[k]

    def doubled(xs: Any) -> None:
        for k in range(len(xs)):
            xs[k] *= 2.0

    def counted(p: Any) -> None:
        p["n"] += 1

    p = {"w": np.ones(3), "b": np.zeros(2)}
    w = p["w"]
    irad.compile(step)(p, {"w": np.arange(3.0), "b": np.ones(2)}, 0.5)
    assert p["w"] is w and w.tolist() == [1.0, 0.5, 0.0] and p["b"].tolist() == [-0.5, -0.5]
    xs = [np.ones(2), np.arange(3.0)]
    irad.compile(doubled)(xs)
    assert [x.tolist() for x in xs] == [[2.0, 2.0], [0.0, 2.0, 4.0]]
    n = {"n": 1}
    irad.compile(counted)(n)
    assert n == {"n": 2}


# ---- what an operand does to the target -------------------------------------------------------------------------------------


class Meddler:
    """Its property and operators store into the array that it holds."""

    def __init__(self, a: Any):
        self.a = a

    @property
    def one(self) -> float:
        self.a[0] += 1.0
        return 1.0

    def __add__(self, other: Any) -> float:
        self.a[0] *= 2.0
        return 3.0

    def __neg__(self) -> float:
        self.a[0] += 5.0
        return 1.0

    def __getitem__(self, k: int) -> float:
        self.a[0] = 9.0
        return 1.0


def _by_property(a: Any, o: Any) -> None:
    a[0] += o.one


def _by_operator(a: Any, o: Any) -> None:
    a[0] += o + 1


def _by_negation(a: Any, o: Any) -> None:
    a[0] += -o


def _by_item(a: Any, o: Any) -> None:
    a[0] += o[1]


def _by_item_of_a_list(a: Any, o: Any) -> None:
    a[0] += [o][0].one


@pytest.mark.parametrize("change", [_by_property, _by_operator, _by_negation, _by_item, _by_item_of_a_list])
@pytest.mark.parametrize("kind", [np.array, list])
def test_the_target_is_read_before_an_operand_stores_into_it(change: Any, kind: Any) -> None:
    def f(x: Any) -> Any:
        a = kind([x[0], x[1]])
        change(a, Meddler(a))
        return a[0]

    x = np.array([1.5, 2.0])
    assert irad.compile(f)(x) == f(x)


def test_a_nan_is_in_a_list_that_holds_it() -> None:
    nan = float("nan")

    def f(a: float) -> Any:
        return [a] == [a], a in [a], [a, a].count(a), (a, 2) < (a, 3), [a + 0] == [a], [nan] == [nan], {"k": a} == {"k": a}

    for v in (nan, 1.0):
        assert irad.compile(f)(v) == f(v)
