"""Things that a function makes and puts in several places, and things of the caller's that it returns, puts elsewhere and changes.

Between the calls attributes come and go, containers are exchanged, and the classes themselves change. The oracle is the same function,
run plainly in a state of its own: what it returns, and what there is afterwards, must hold the same, be one thing in the same places,
and lie in the same memory order.
"""

from __future__ import annotations

import random

from tests.fuzz.case import Case

HEAD = """import collections
import dataclasses
import functools
import types
from typing import Any
import math
import irad
import numpy as np

@dataclasses.dataclass
class Point:
    x: Any
    rest: Any = None

class Base:
    rate = 1.5
    def __init__(self):
        self.v, self.h = 2.0, [1.0]
    def value(self, x):
        return self.v * x

class Below(Base):
    def __call__(self, x):
        return x - self.v
    @functools.cached_property
    def once(self):
        return self.v + 1.0

class Slots:
    __slots__ = ("v", "h")
    rate = 0.5
    def __init__(self):
        self.v, self.h = 3.0, {"k": [2.0]}
    def value(self, x):
        return x + self.v
    @property
    def once(self):
        return self.v * 2.0

class Shown:
    def __get__(self, obj, cls):
        return 4.0

def first(self, name):
    return 9.0 if name == "v" else object.__getattribute__(self, name)

def moved(self, name, value):
    object.__setattr__(self, name, value + 1.0 if name == "v" else value)

class State:
    pass

def copied(k):
    own = vars(k)
    left_out = ("__dict__", "__weakref__", *own.get("__slots__", ()))
    return type(k.__name__, k.__bases__, {n: v for n, v in own.items() if n not in left_out})

def fresh():
    s = State()
    s.classes = [copied(k) for k in (Base, Below, Slots)]
    s.o, s.p = (k() for k in CLASSES(s))
    s.l, s.d, s.q, s.a, s.m = [1.0, [2.0]], {"k": [3.0], "n": 0.5}, collections.deque([1.0, 2.0], maxlen=4), np.ones(3), np.arange(6.0).reshape(2, 3)
    s.point, s.out, s.pair = Point(1.0, [2.0]), [], (np.zeros(2), [5.0])
    s.g = lambda x: x * 2.0
    return s

REPLACED = [(m, n, getattr(m, n)) for m, n in ((np, "tanh"), (math, "cos"), (np.linalg, "norm"))]

def restored():
    for m, n, f in REPLACED:
        setattr(m, n, f)

def shape(x, met):
    if isinstance(x, (bool, int, float, complex, str, type(None), np.generic)):
        return type(x).__name__, round(float(x), 9) if isinstance(x, (float, np.floating)) else x
    if isinstance(x, (types.FunctionType, type)):
        return "code", x.__name__
    if id(x) in met:
        return "again", met[id(x)][0]
    met[id(x)] = len(met), x
    if isinstance(x, np.ndarray):
        return x.dtype.name, x.shape, x.strides, np.round(x, 9).tolist()
    if isinstance(x, dict):
        return type(x).__name__, [(k, shape(v, met)) for k, v in x.items()]
    if isinstance(x, (list, tuple, collections.deque)):
        return type(x).__name__, [shape(v, met) for v in x]
    own = {n: getattr(x, n) for n in getattr(type(x), "__slots__", ()) if hasattr(x, n)} | getattr(x, "__dict__", {})
    return type(x).__name__, [(k, shape(v, met)) for k, v in own.items() if k not in ("classes", "once")]

def differs(g, w):
    if not isinstance(g, (list, tuple)) or type(g) is not type(w) or len(g) != len(w):
        return "" if g == w else f"{g}, right {w}"
    return next((f"{k}: {d}" for k, (a, b) in enumerate(zip(g, w)) if (d := differs(a, b))), "")

def outcome(f, s, x):
    try:
        return shape([f(s, x), s], {})
    except irad.IradError:
        raise
    except Exception as e:
        return type(e).__name__
"""

MADE = (
    "[x, 2.0 * x]", "{'k': x, 'l': [x]}", "Point(x, [x])", "x * s.a", "s.m.T * x", "[x * k for k in range(3)]", "(x, [x])", "[s.l, x]",
    "collections.deque([x])", "s.m + x", "[[x]] * 2", "np.zeros((2, 3), order='F') + x", "Point(s.l, s.d)", "1 if x > 1.0 else 2.5",
)  # fmt: skip
GIVEN = (
    "s.l",
    "s.l[1]",
    "s.d",
    "s.d['k']",
    "s.q",
    "s.a",
    "s.o",
    "s.o.h",
    "s.p",
    "s.point",
    "s.point.rest",
    "s.pair[1]",
    "s.g",
    "s",
)
STEPS = {
    "put": ("s.o.h = z", "s.p.h = [z]", "s.out.append(z)", "s.point.rest = z", "s.last = z", "s.p.h, s.o.h = s.o.h, z", "w = {'z': z}"),
    "put the caller's": ("s.o.h = s.l", "s.last = s.d", "s.out.append(s.a)", "s.point.rest = s.d['k']", "s.both = [s.q, s.q]", "z = s.l"),
    "change": ("s.l.append(x)", "s.d['k'].append(x)", "s.a[1] += x", "s.q.append(x)", "s.point.x = s.point.x * x", "s.l[1][0] = x", "s.o.v = s.o.v + x", "s.d['n'] = x"),
    "classes": ("t += s.o.v", "t += s.o.value(x)", "t += s.o.rate", "t += s.o.once", "s.o.v = x", "t += getattr(s.o, 'free', 0.5)", "t += 1.0 if s.o else 2.0", "t += s.p.value(t)", "s.p.v = s.p.v * 0.5"),
    "libraries": ("t += np.tanh(x)", "t += math.cos(t)", "t += np.linalg.norm(s.a)"),
    "condition": ("if x > 1.0: t += 1.0", "s.o.n = 1 if x > 1.0 else 2.5", "if x > 1.0: s.l[0] = x"),
}  # fmt: skip
CHANGES = {
    "put the caller's": ("s.l = [x, [x]]", "s.d = {'k': [x], 'n': 1.5}", "s.a = np.full(3, x)", "s.point = Point(x, [x])", "s.o.h = [x]"),
    "change": ("s.l[1].append(x)", "s.d['k'] = [x, x]", "s.a[:] = x", "s.q.append(x)", "s.m = np.asfortranarray(s.m)", "s.l[0] = x"),
    "libraries": ("np.tanh = np.arctan", "math.cos = lambda x: x * 3.0", "np.linalg.norm = np.sum", "restored()"),
    "classes": (
        "s.o.v = x", "s.o.rate = x", "del s.o.v", "s.o.free = x", "del s.o.rate", "s.o.once = x", "C.rate = x", "del C.rate", "C.free = 0.25",
        "C.v = property(lambda o: 7.0, lambda o, v: None)", "del C.v", "C.value = lambda o, x: x * 3.0", "C.__getattribute__ = first",
        "del C.__getattribute__", "C.__setattr__ = moved", "del C.__setattr__", "C.__bool__ = lambda o: False", "C.__len__ = lambda o: 0",
        "del C.__bool__", "C.rate = Shown()", "C.__getattr__ = lambda o, n: 0.125", "del C.__getattr__", "s.o.__class__ = s.classes[0]",
        "C.value = staticmethod(lambda x: x * 5.0)", "C.once = property(lambda o: 2.0)", "s.g = lambda x: x * 4.0",
    ),
}  # fmt: skip
FEATURES = (*STEPS, "made", "given", "several results")


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    """`features`: those that it may have."""
    r = random.Random(seed)
    has = lambda f: features is None or f in features
    kinds = [k for k in STEPS if has(k)] or ["put"]
    body = [f"z = {r.choice(MADE if has('made') else GIVEN)}"]
    body += [r.choice(STEPS[r.choice(kinds)]) for _ in range(r.randint(1, 4))]
    if has("made") and r.random() < 0.3:
        body.insert(r.randint(1, len(body)), f"z = {r.choice(MADE)}")
    back = ["z", *r.choices(GIVEN if has("given") else ("s.l",), k=2), "t", "[z]", "{'z': z}"]
    count = r.randint(1, 4) if has("several results") else 1
    result = ", ".join(r.choice(back) for _ in range(count))
    changes = [c for k in CHANGES if has(k) for c in CHANGES[k]] or ["s.l[0] = x"]
    calls = [r.choice(changes) for _ in range(r.randint(3, 5))]
    cls = r.choice(("Base", "Below", "Slots"))
    steps = "\n".join(f"    {line}" for c in calls for line in _step(c))
    written = "\n    ".join(body)
    source = f"""{HEAD}
CLASSES = lambda s: (next(k for k in s.classes if k.__name__ == {cls!r}), s.classes[0])

def f(s, x):
    t = 0.0
    {written}
    return {result}

def run(call):
    s, seen = fresh(), []
    C = CLASSES(s)[0]
    for x in (0.5, 1.5):
        seen.append(outcome(call, s, x))
    x = 2.0
    for change in changes(s, C):
        try:
            change()
        except (AttributeError, TypeError, LookupError):
            pass
        seen += [outcome(call, s, x), outcome(call, s, x + 1.0)]
    restored()
    return seen

def changes(s, C):
    x = 3.0
    found = []
{steps}
    return found

def main():
    want = run(f)
    got = run(irad.compile(f))
    for k, (g, w) in enumerate(zip(got, want)):
        assert g == w, f"call {{k}}, at {{differs(g, w)}}"
"""
    made = {k for k in STEPS if any(b in STEPS[k] for b in body)}
    return Case("identity", seed, source, frozenset(made))


def _step(change: str) -> list[str]:
    return ["def change():", f"    {change}", "found.append(change)"]
