"""A variable that is one of several objects of other classes, by data, their methods, and partials, ranges and slices that data choose."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.33, 1.24, 2.77, 1.98, 0.65, 2.26])


class Sphere:
    def __init__(self, c: float, r: float):
        self.c, self.r, self.seen, self.log, self.at = c, r, 0, [r], np.zeros(2)

    def hit(self, v: Any) -> Any:
        self.seen += 1
        return abs(v - self.c) - self.r

    def __call__(self, v: Any) -> Any:
        return v * self.r

    def __len__(self) -> int:
        return 3


class Plane:
    def __init__(self, p: Any):
        self.p, self.seen, self.log, self.at = p, 10, [p, p], np.ones(2)

    def hit(self, v: Any) -> Any:
        self.seen += 2
        return self.p - v / 2

    def __call__(self, v: Any) -> Any:
        return v + self.p

    def __len__(self) -> int:
        return 5


OUTSIDE = [Sphere(0.5, 0.3), Sphere(2.0, 0.2), Plane(1.6)]


def closest(x: Any) -> Any:
    scene, total = [Sphere(0.5, 0.3), Sphere(2.0, 0.2), Plane(1.6)], 0.0
    for v in x:
        best, hit = 0.5, None
        for obj in scene:
            t = obj.hit(v)
            if t < best:
                best, hit = t, obj
        if hit is not None:
            hit.at[0] += v
            hit.log.append(v)
            total += best * hit(v) + len(hit) + isinstance(hit, Plane)
    return (total, [o.seen for o in scene], [len(o.log) for o in scene], sum(np.sum(o.at) for o in scene))


def from_outside(x: Any) -> Any:
    total = 0.0
    for v in x:
        hit = None
        for obj in OUTSIDE:
            if hit is None or obj(v) > hit(v):
                hit = obj
        total += hit(v) * (2 if hit is OUTSIDE[0] else 3 if hit is not OUTSIDE[2] else 1)
    return total, None


def kept_in_things(x: Any) -> Any:
    a, b = Sphere(0.5, 0.3), Plane(2.0)
    pair = (a, 1.0) if x[0] > 0.4 else (b, 2.0)
    table = {"one": pair[0], "all": [pair[0], a]}
    table["one"].seen += 100
    table["all"][0].at[1] = x[1]
    return pair[0](x[2]) * pair[1] + np.sum(a.at * b.at), a.seen, b.seen, table["one"] is a, table["all"][0] is b


def made_on_the_paths(x: Any) -> Any:
    t = 0.0
    for v in x:
        c = Sphere(v, 2 * v) if v > 2 else Plane(v) if v > 1 else None
        if c is not None:
            c.log.append(t)
            t += c.hit(x[0]) * sum(c.log) + c.seen
    return t, None


class Idle:
    def step(self, machine: Any, v: Any) -> Any:
        if v > 1.5:
            machine.state = Busy(v)
        return 0.5 * v


class Busy:
    def __init__(self, load: Any):
        self.load, self.left = load, 2

    def step(self, machine: Any, v: Any) -> Any:
        self.left -= 1
        self.load *= 0.9
        if self.left == 0:
            machine.state = Idle()
        return self.load - v


class Machine:
    def __init__(self) -> None:
        self.state: Any = Idle()

    def run(self, v: Any) -> Any:
        return self.state.step(self, v)


def state_objects(x: Any) -> Any:
    m, out = Machine(), 0.0
    for v in x:
        w = m.run(v)
        out += w * w
    return out, None


def by_position(x: Any) -> Any:
    layers = [Sphere(0.5, 0.3), Plane(2.0), Sphere(1.0, 0.7)]
    v = x[1]
    for k in x:
        layer = layers[int(k)]
        v = layer(v) + layer.hit(v) / 10
        chosen = (layer, v)
        chosen[0].seen += 10
    return v, [o.seen for o in layers]


def sorted_matched_and_deleted(x: Any) -> Any:
    s, p = Sphere(0.5, 0.3), Plane(2.0)
    h = s if x[0] > 0.4 else p
    in_order = sorted([h, s, p], key=lambda o: -o(x[1]))
    in_order[0].seen += 100
    in_order[-1].at[0] += 5 * x[2]
    t = 0.0
    for v in x:
        match h:
            case Sphere(r=r) if r > 2:
                t += r * v
                h = p
            case Sphere():
                h.r += v
            case Plane(p=q):
                h.p = q * 0.9
                t += q
                h = s
    del h.log
    return t + s.r * p.p + s.at[0] + 3 * p.at[0], s.seen, p.seen, hasattr(s, "log")


def scaled(a: Any, v: Any, b: Any = 0.0) -> Any:
    return a * v + b * v * v


def methods_and_partials(x: Any) -> Any:
    s, p, v = Sphere(0.5, 0.3), Plane(2.0), x[1]
    f = s.hit
    for w in x:
        v = v + 0.1 * f(w)
        g = functools.partial(scaled, 2.0) if w > 2 else functools.partial(scaled, 0.5, b=x[0])
        f = f if w < 1 else p.hit if f == s.hit else np.sin if w > 2.5 else s.hit
        v = g(v) / 2 + (f in (s.hit, np.sin))
    return v + [s.hit, np.tanh, functools.partial(scaled, 3.0)][int(x[3])](v), s.seen, p.seen


def ranges_and_slices(x: Any) -> Any:
    r = range(3) if x[0] > 0.4 else range(5, 0, -2)
    s = slice(0, 2) if x[0] > 0.4 else slice(1, None, 2)
    t = 0.0
    for k in r:
        t = t * 0.5 + x[k]
    return t + np.sum(x[s] ** 2), len(r), r[1], 3 in r


PROGRAMS = [
    closest,
    from_outside,
    kept_in_things,
    made_on_the_paths,
    state_objects,
    by_position,
    sorted_matched_and_deleted,
    methods_and_partials,
    ranges_and_slices,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_python(program: Callable[[Any], Any]) -> None:
    compiled = irad.compile(program)
    for x in (X, X[::-1].copy()):
        got, want = compiled(x), program(x)
        assert str(got[1:3]) == str(want[1:3])
        np.testing.assert_allclose(got[0], want[0], rtol=1e-13)
        np.testing.assert_allclose(np.array(got[3:], float), np.array(want[3:], float), rtol=1e-13)
    step = 1e-6
    slopes = [(program(X + e)[0] - program(X - e)[0]) / (2 * step) for e in step * np.eye(len(X))]
    np.testing.assert_allclose(irad.grad(lambda x: program(x)[0])(X), slopes, rtol=1e-6, atol=1e-8)


def test_no_trips_and_what_changes_between_calls() -> None:
    def last(v: Any, n: int, of: list[Any]) -> Any:
        cur = None
        for k in range(n):
            cur = of[0] if v > k else of[1]
            cur.seen += 1
        return v if cur is None else cur(v)

    compiled = irad.compile(last)
    for classes in ((Sphere, Plane), (Plane, Sphere), (Plane, Plane)):
        for v, n in ((0.5, 0), (0.5, 2), (3.0, 2)):
            mine, plain = ([cls(1.0, 2.0) if cls is Sphere else cls(3.0) for cls in classes] for _ in "ab")
            assert compiled(v, n, mine) == last(v, n, plain) and [o.seen for o in mine] == [o.seen for o in plain]
    one: Any = Plane(2.0)
    assert compiled(3.0, 2, [one, one]) == 5.0 and one.seen == 12


def test_other_names_see_it_or_it_is_refused() -> None:
    def lives_on(v: Any) -> Any:
        a = Sphere(1.0, 2.0)
        b = a
        a = a if v > 1 else Plane(v)
        a.seen += 5
        return b.seen

    def inside_of_another(v: Any) -> Any:
        inner = Sphere(v, v) if v > 1 else Plane(v)
        outer = [inner, 1.0] if v > 0 else [inner, 2.0]
        inner.extra = 3 * v
        return (outer[0] is inner) + outer[0].extra

    def two_names(v: Any) -> Any:
        if v > 1:
            row = [v, 1.0]
            d = {"row": row}
        w = 2 * v
        if v > 1:
            row[0] = 7.0
            return d["row"][0]
        return w

    def made_and_put_away(v: Any) -> Any:
        kept = []
        if v > 1:
            c: Any = Sphere(v, v)
            kept.append(c)
        else:
            c = Plane(v)
        c.seen += 5
        return kept[0].seen if len(kept) == 1 else c.seen

    compiled = irad.compile(lives_on)
    assert compiled(2.0) == 5 and compiled(0.5) == 0
    for f in (inside_of_another, two_names):
        compiled = irad.compile(f)
        assert [compiled(v) for v in (0.5, 2.0)] == [f(v) for v in (0.5, 2.0)]
    with pytest.raises(irad.UnsupportedError, match="that is one of several, depending on data"):
        irad.compile(made_and_put_away)(2.0)


def test_what_the_object_lacks() -> None:
    def f(v: Any) -> Any:
        c = Sphere(v, v) if v > 1 else Plane(v)
        return c.p

    compiled = irad.compile(f)
    assert compiled(0.5) == 0.5
    with pytest.raises(AttributeError, match="'Sphere' object has no attribute 'p'"):
        compiled(2.0)


class Counter:
    n = 0

    def __init__(self, a: Any):
        self.a = a


def made_on_a_path(x: Any) -> Any:
    o = Counter(x[0])
    if x[0] > 0:
        o = Counter(x[1] * 2)
        if x[2] > 0:
            o.n += 2
    return o.a, o.n


def in_a_loop(x: Any) -> Any:
    o = Counter(0.5)
    for k in range(3):
        if x[k] > 0:
            o = Counter(x[k])
            if x[k - 1] > 0:
                o.n = k
    return o.a, o.n


def unknown_to_the_class(x: Any) -> Any:
    o = Counter(x[0])
    if x[0] > 0:
        o = Counter(x[1])
        if x[2] > 0:
            o.more = x * 3.0
    return o.a, hasattr(o, "more"), np.sum(getattr(o, "more", 0.25))


def none_at_first(x: Any) -> Any:
    o = None
    if x[0] > 0:
        o = Counter(x[1])
        if x[2] > 0:
            o.n = 4
    return -1.0 if o is None else o.n + o.a


@pytest.mark.parametrize("program", [made_on_a_path, in_a_loop, unknown_to_the_class, none_at_first], ids=lambda f: f.__name__)
def test_an_attribute_that_a_new_object_has_on_one_path(program: Callable[[Any], Any]) -> None:
    """It is the object's own, beside one of the class, only where that path was taken."""
    compiled = irad.compile(program)
    slope = irad.grad(lambda x: np.sum(np.array(program(x), float)))
    for k in range(8):
        x = np.array([0.5, 1.5, 2.5]) * [1 if k >> i & 1 else -1 for i in range(3)]
        assert compiled(x) == program(x)
        total = lambda y: float(np.sum(np.array(program(y), float)))
        differences = [(total(x + h) - total(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(slope(x), differences, atol=1e-8)


class Leaf:
    def __init__(self, scale: float):
        self.scale = scale

    def value(self, v: Any) -> Any:
        return v * self.scale


class Shifted(Leaf):
    def value(self, v: Any) -> Any:
        return v + self.scale


def deep(v: Any, of: Any, k: Any) -> Any:
    return of[k].value(v) if v < 0.1 else deep(v * 0.5, of, int(v > 1)) + 0.1 * of[k].value(v)


def test_errors_say_what_to_write() -> None:
    def looped(v: Any) -> Any:
        a = Sphere(1.0, 2.0) if v > 1 else Plane(v)
        return sum(w for w in a)

    def recursive(v: Any, of: Any) -> Any:
        return of.value(v) if v < 0.1 else recursive(v * 0.5, of) + v

    def chosen(v: Any) -> Any:
        return recursive(v, Leaf(2.0) if v > 1 else Shifted(3.0))

    def is_of_methods(v: Any) -> Any:
        a = Plane(1.0)
        return (a.hit if v > 1 else np.sin) is a.hit

    for f, words in (
        (looped, "write the loop in a method or function"),
        (
            chosen,
            "one of several objects, by data, is given to a function that calls itself; give it a list of them and a position",
        ),
        (is_of_methods, "compare with =="),
    ):
        with pytest.raises(irad.UnsupportedError, match=words):
            irad.compile(f)(2.0)

    def cured(v: Any) -> Any:
        return deep(v, [Leaf(2.0), Shifted(3.0)], 0)

    np.testing.assert_allclose(irad.compile(cured)(2.3), cured(2.3), rtol=1e-13)


class Leaves:
    def __init__(self, x: Any, s: Any):
        self.a, self.b = Leaf(x), Leaf(s)


def _by_name(x: Any, s: Any) -> Any:
    a, b = Leaf(x), Leaf(s)
    low = min([a, b], key=lambda o: o.scale)
    a.__dict__["scale"] = a.scale * 0.5  # seen under the other name
    vars(b).update(scale=b.scale + 1.0)
    return low.scale, a.scale, b.scale


def _of_the_one(x: Any, s: Any) -> Any:
    a, b = Leaf(x), Leaf(s)
    low = a if x < s else b
    d = vars(low)
    d["scale"] += 1.0
    low.__dict__.update(scale=d["scale"] * 2.0, more=3.0)
    return d["scale"], a.scale, b.scale, sum(d.values()), getattr(a, "more", 0.0), "scale" in d, len(vars(a))


def _one_of_two_dicts(x: Any, s: Any) -> Any:
    a, b = Leaf(x), Leaf(s)
    for k in range(3):
        d = vars(a) if k * 0.4 < x else vars(b)
        d["scale"] += 0.25
    return a.scale, b.scale


def _by_the_base(x: Any, s: Any) -> Any:
    both = Leaves(x, s)
    low = both.a if x < s else both.b
    object.__setattr__(both.a, "scale", 7.0)
    return low.scale


@pytest.mark.parametrize("f", [_by_name, _one_of_two_dicts, _by_the_base])
@pytest.mark.parametrize("args", [(0.3, -0.02), (0.5, 3.0)])
def test_stores_into_the_dict_of_attributes_of_one_of_several(f: Callable[..., Any], args: tuple[float, float]) -> None:
    np.testing.assert_allclose(irad.compile(f)(*args), f(*args), rtol=1e-13)
    if f is _by_name:
        low = 0.5 if args[0] < args[1] else 0.0
        assert irad.grad(lambda x, s: f(x, s)[0])(*args) == low


def test_the_dict_of_attributes_of_one_of_several_gets_no_others() -> None:
    with pytest.raises(irad.UnsupportedError, match="on some paths only"):
        irad.compile(_of_the_one)(0.3, 0.5)
