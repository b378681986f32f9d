"""Programs of the API: a function that reads state outside of it, called while that state changes.

The oracle is the same Python function, run plainly in the same state; of derivatives, differences.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from tests.fuzz.case import Case

HEAD = """import collections
import copy
import dataclasses
import functools
import threading
import types
from typing import Any
import irad
import numpy as np

class Thing:
    rate = 1.5
    def __init__(self):
        self.w, self.k, self.n = np.arange(3.0), 2.0, 2
    def method(self, x):
        return x * self.k
    @staticmethod
    def static(x):
        return x + 1.0
    @classmethod
    def made(cls, x):
        return x * cls.rate
    @property
    def half(self):
        return self.k / 2

class Other(Thing):
    rate, plain = 0.5, True
    def method(self, x):
        return x - self.k
    @property
    def half(self):
        return self.k * 4.0

class Asked(Thing):
    def __getattr__(self, name):
        if name == "free":
            return self.k * 3.0
        raise AttributeError(name)
    @functools.cached_property
    def area(self):
        return self.k * self.k

class Slotted:
    __slots__ = ("k", "w")
    rate = 2.5
    def __init__(self):
        self.k = 1.5

class Tally(list):
    n = 1
    def add(self, x):
        self.n = self.n + 1
        self.append(2.0 * self[0])
        return self.n * self[-1]

@dataclasses.dataclass
class Tagged:
    w: Any
    tags: Any = dataclasses.field(default=None, metadata={"nondiff": True})

def scaled(k):
    return lambda x: x * k

def tripled(self, name):
    if name.startswith("__"):
        raise AttributeError(name)
    return self.k * 2.5

def marked(t):
    t.mark = 2.0 * t.k
    return t.mark

def counted(t):
    if not hasattr(t, "count"):
        t.count = 0
    t.count += 1
    return t.count

def rated(t):
    old, t.rate = t.rate, 4.0
    out = t.rate * old
    del t.rate
    return out + t.rate

def kept(t):
    t.rate = t.rate
    return t.rate

def noted(t, name):
    before = hasattr(t, name)
    setattr(t, name, 0.5)
    return float(before) + getattr(t, name)

def unread(k):
    space = {"k": k}
    exec("def g(x, d=1.0):\\n    return x * k + d", space)
    return space["g"]
"""

# name -> (definition, expressions of it, changes of it)
STATE: dict[str, tuple[str, list[str], list[str]]] = {
    "list": ("[1.0, 2.0, np.ones(3)]", ["{}[0]", "len({})", "{}[2]", "{}[-1] * {}[1]"],
             ["{}[0] = {c}", "{}.append({c})", "{}[2] = np.full(3, {c})", "{}[2][:] = {c}", "del {}[0]", "{}[0] = {n}"]),
    "dict": ("{{'a': 1.0, 'b': np.ones(3)}}", ["{}.get('a', 4.0)", "{}.get('c', 3.0)", "len({})", "('c' in {})", "list({}.values())[0]"],
             ["{}['a'] = {c}", "{}['c'] = {c}", "{}.pop('c', None)", "{}['a'] = {}.pop('a', 1.0)", "{}['b'] = np.full(3, {c})"]),
    "ordered": ("collections.OrderedDict(a=1.0, b=2.0)", ["list({}.values())[0]", "sum({}.values())", "list({})[0].count('a')"],
                ["{}.move_to_end('a')", "{}.move_to_end('b')", "{}['a'] = {c}", "{}['z'] = {c}"]),
    "default": ("collections.defaultdict(float, a=1.0)", ["{}.get('q', 2.0)", "{}['a']", "len({})"], ["{}['q'] = {c}", "{}['a'] = {c}", "{}['r']"]),
    "counter": ("collections.Counter('aab')", ["{}['a']", "{}['q']"], ["{}.update('aq')", "{}.subtract('a')"]),
    "set": ("{{1, 2}}", ["(3 in {})", "len({})", "sum({})"], ["{}.add(3)", "{}.discard(1)", "{}.add({n})"]),
    "deque": ("collections.deque([1.0, 2.0])", ["{}[0]", "sum({})", "len({})"], ["{}.append({c})", "{}.rotate(1)", "{}[0] = {c}", "{}.appendleft({c})"]),
    "user": ("collections.UserDict(a=1.0)", ["{}['a']", "{}.get('b', 2.0)", "('b' in {})"], ["{}['a'] = {c}", "{}['b'] = {c}"]),
    "chain": ("collections.ChainMap({{'a': 1.0}}, {{'b': 2.0}})", ["{}['b']", "{}.get('c', 3.0)"],
              ["{}.maps[1]['b'] = {c}", "{}['b'] = {c}", "{}.maps[1]['c'] = {c}", "{}.pop('b', None)"]),
    "space": ("types.SimpleNamespace(a=1.0, v=np.ones(3))", ["{}.a", "{}.v", "getattr({}, 'b', 2.0)", "hasattr({}, 'b')", "len({}.v)"],
              ["{}.a = {c}", "{}.b = {c}", "{}.__dict__.pop('b', None)", "{}.v = np.full(3, {c})", "{}.v[0] = {c}", "{}.a = {n}", "{}.a = True"]),
    "thing": ("Thing()", ["{}.k", "{}.w", "{}.n", "{}.rate", "{}.half", "{}.method(x)", "{}.static(x)", "Thing.made(x)", "Thing.static(x)",
                          "hasattr({}, 'extra')", "getattr({}, 'extra', 1.0)", "len({}.__dict__)", "isinstance({}.k, float)"],
              ["{}.k = {c}", "{}.w = np.full(3, {c})", "{}.w[1] = {c}", "{}.n = {n}", "{}.rate = {c}", "Thing.rate = {c}", "{}.__dict__.pop('rate', None)",
               "Thing.method = lambda self, x: x - self.k", "Thing.static = staticmethod(lambda x: x * {c})", "{}.extra = {c}",
               "Thing.made = classmethod(lambda cls, x: x - cls.rate)", "Thing.half = property(lambda self: self.k * {c})",
               "{}.__dict__.pop('extra', None)", "{}.method = lambda x: x * {c}", "{}.k = {n}"]),
    "classed": ("Thing()", ["isinstance({}, Other)", "type({}).rate", "{}.rate * {}.k", "{}.method(x)", "{}.half", "hasattr({}, 'plain')",
                            "type({}).__name__.count('O')"],
                ["{}.__class__ = Other", "{}.__class__ = Thing", "{} = Other()", "{} = Thing()", "Other.rate = {c}", "Other.half = {c}", "Other.__bases__ = (Thing,)",
                 "{} = types.SimpleNamespace(k={c}, rate=1.0, half=2.0, method=abs)"]),
    "asked": ("Asked()", ["{}.free", "{}.area", "getattr({}, 'none', 2.0)", "{}.free * {}.area", "{}.k"],
              ["{}.k = {c}", "{}.free = {c}", "{}.__dict__.pop('free', None)", "{}.__dict__.pop('area', None)", "{}.area = {c}", "{}.none = {c}",
               "Asked.__getattr__ = tripled"]),
    "slots": ("Slotted()", ["{}.k", "getattr({}, 'w', 2.0)", "hasattr({}, 'w')", "{}.rate"],
              ["{}.k = {c}", "{}.w = {c}", "del {}.w", "Slotted.rate = {c}", "{}.k = np.full(3, {c})"]),
    "records": ("np.array([(1.0, 2), (3.0, 4)], [('a', float), ('n', int)])", ["{}['a'][0]", "{}['a'][1] + {}['n'][0]", "len({})", "np.sum({}['n'])",
                                                                          "len({}.dtype.names)", "{}.dtype.names[0].count('a')"],
                ["{}['a'][0] = {c}", "{}['n'][1] = {n}", "{} = np.array([({n}, {c}), (2, {c})], [('n', int), ('a', float)])",
                 "{} = np.array([({c}, {n}), (2, {n})], [('a', np.float32), ('n', np.int16)])",
                 "{} = np.array([({c}, {n}), (2.0, 1), (0.5, 3)], [('a', float), ('n', int)])",
                 "{} = np.array([({c}, {n}, 1.0), (2.0, 1, 0.5)], [('a', float), ('n', int), ('b', float)])"]),
    "texts": ("np.array(['ab', 'c', 'b'])", ["np.sum({} == 'ab')", "np.where({} == 'c', 2.0, 0.5)", "len({})", "str({}[0]).count('b')"],
              ["{}[0] = 'c'", "{}[1] = 'ab'", "{} = np.array(['c', 'ab', 'bb'])", "{} = {}[::-1]"]),
    "deciding": ("np.array([2, 0, 1])", ["x[{}]", "np.zeros({}[0] + 1).size", "np.full(3, float(range(9)[{}[1]]))", "np.ones(3) * {}[2]"],
                 ["{}[0] = 1", "{}[1] = 2", "{} = np.array([1, 1, 2])", "{} = {}[::-1]", "{}[2] = 0", "{} = np.array([0, 2, 1], np.int32)"]),
    "assigned": ("Thing()", ["marked({})", "counted({})", "rated({})", "noted({}, 'mark')", "noted({}, 'rate')", "kept({})"],
                 ["{}.mark = {c}", "{}.__dict__.pop('mark', None)", "{}.rate = {c}", "{}.__dict__.pop('rate', None)", "Thing.rate = {c}", "Thing.mark = {c}",
                  "type.__delattr__(Thing, 'mark')", "{}.count = {n}", "{}.k = {c}"]),
    "tally": ("Tally([1.5])", ["{}.add(x)", "{}.n * {}[-1]", "len({}) + {}.add(x)"],
              ["{}.append({c})", "{}.n = {n}", "{}[0] = {c}", "{} = Tally([{c}, 1.0])", "Tally.n = {n}", "{}.__dict__.pop('n', None)"]),
    "builtin": ("1.0", ["abs(x)", "max({}, x[0])", "pow({}, 2.0)"],
                ["globals()['abs'] = np.sin", "globals().pop('abs', None)", "globals()['max'] = min", "globals().pop('max', None)", "{} = {c}",
                 "globals()['pow'] = lambda x, y: x - y"]),
    "zero": ("0.0", ["np.copysign(1.0, {})", "(1.0 if {} > 0.5 else 2.0)", "np.arctan2({}, -1.0)", "np.copysign(np.zeros(int(min(2.0, abs({}))) + 1).size, {})", "(float('inf') if {} == 0.0 else 1.0) * 0.0 == 0.0"],
             ["{} = -0.0", "{} = 0.0", "{} = {c}", "{} = float('inf')", "{} = float('nan')", "{} = {n}"]),
    "array": ("np.arange(3.0)", ["{}", "len({})", "{} * np.sum(same)", "{}[0]", "{}.ndim", "({} is x)", "({} is same)"],
              ["{}[0] = {c}", "{} = np.full(3, {c})", "{} = np.full(3, {c}, np.float32)", "{} = np.full(3, {n})", "{} = np.full(3, {c}, '>f8')", "{} = np.full(2, {c})[[0, 1, 0]][::-1]", "{} = same", "same = {}", "{} = x0", "{} = {}.copy()"]),
    "tagged": ("Tagged(np.ones(3), [1.0, 2.0])", ["{}.w", "{}.tags[0]", "len({}.tags)", "(2.0 in {}.tags)"],
               ["{}.tags.append({c})", "{}.tags[0] = {c}", "{}.tags = [{c}, {c}]", "{}.w[0] = {c}", "{} = Tagged(np.full(3, {c}), [{c}])"]),
    "number": ("2.0", ["{}", "({} is None)", "isinstance({}, float)", "np.full(3, {})"], ["{} = {c}", "{} = {n}", "{} = np.float64({c})"]),
    "unread": ("unread(1.5)", ["{}(x)", "{}({}(x))"],
               ["{}.__globals__['k'] = {c}", "{}.__defaults__ = ({c},)", "{} = unread({c})"]),
    "function": ("scaled(2.0)", ["{}(x)", "{}({}(x))"], ["{} = scaled({c})", "{} = lambda x: x + {c}", "{} = np.sin"]),
}  # fmt: skip
FEATURES: tuple[str, ...]


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    """State of a few kinds, a function of it, and calls with changes between them."""
    r = random.Random(f"api {seed}")

    def pick(names: Iterable[str]) -> list[str]:
        known = list(names)
        return [n for n in known if features is None or n in features] or known[:1]

    call = r.choice(pick(CALLS))
    kinds = [
        r.choice(pick(n for n in STATE if n not in ("assigned", "tally") or call == "changing")) for _ in range(r.randrange(1, 4))
    ]
    shared = len(kinds) > 1 and (features is None or "shared" in features) and r.random() < 0.4  # two names of one object
    kinds[1:2] = kinds[:1] if shared else kinds[1:2]
    names = [f"s{k}" for k in range(len(kinds))]
    lines = [HEAD, "x0 = np.array([0.3, 0.6, 0.9])", "same = np.ones(3)"]
    lines += [f"{n} = {STATE[kind][0].format()}" for n, kind in zip(names, kinds)]
    lines += ["s1 = s0"] if shared else []
    terms = [r.choice(STATE[kind][1]).replace("{}", n) for n, kind in zip(names, kinds) for _ in range(r.randrange(1, 3))]
    lines += ["", "def f(x):", "    t = np.sum(np.sin(x))"]
    lines += [f"    t = t {r.choice('+-')} 0.1 * np.sum(np.cos(x) * ({term}))" for term in terms]
    lines += ["    return t", ""]
    alias = bool(r.randrange(4) == 0) and (features is None or "alias" in features)
    lines += [*_checked(call), "", "def main():", f"    global {', '.join(['same', 'run', *names])}"]
    lines += ["    run = made()"] if not call.startswith("vjp") else []
    steps: list[str] = []
    for _ in range(r.randrange(3, 8)):
        lines.append(f"    check({'s0' if alias and kinds[0] == 'array' else 'x0'})")
        for _ in range(r.randrange(3)):
            n, kind = r.choice(list(zip(names, kinds)))
            change = (
                r.choice(STATE[kind][2]).replace("{c}", repr(round(r.uniform(-2, 2), 2))).replace("{n}", str(r.randrange(1, 5)))
            )
            change = r.choice(["s1 = s0", "s1 = copy.copy(s0)"]) if shared and r.random() < 0.3 else change.replace("{}", n)
            if r.randrange(2 if "lambda" in change else 12) == 0:  # functions without source
                lines.append(f"    change(lambda: exec({change!r}, globals()))")
                continue
            lines.append(f"    change(step{len(steps)})")
            steps.append(change)
    at = lines.index("def main():")
    lines[at:at] = [
        t for k, c in enumerate(steps) for t in (f"def step{k}():", f"    global {', '.join(['same', *names])}", f"    {c}", "")
    ]
    lines.append("    check(x0)")
    return Case("api", seed, "\n".join(lines), frozenset({*kinds, call, *["alias"] * alias, *["shared"] * shared}))


# name -> (what is made once, a pair of what is got and what is right)
_RUNS: dict[str, tuple[str, str]] = {
    "compile": ("irad.compile(f)", "run(x), f(x)"),
    "changing": ("irad.compile(f)", "changed(x)"),
    "grad": ("irad.grad(f)", "run(x), slopes(x)"),
    "value_and_grad": ("irad.value_and_grad(f)", "run(x), (f(x), slopes(x))"),
    "vjp": ("None", "pulled(x), (f(x), slopes(x), 2 * slopes(x))"),
    "vjp of objects": ("None", "pulled_by(x), (f(x.copy()) * given.factor(), slopes(x) * given.factor())"),
    "jvp": ("lambda x: irad.jvp(f, (x,), (np.ones(3),))", "run(x), (f(x), np.sum(slopes(x)))"),
    "linearize": ("lambda x: irad.linearize(f, x)", "linear(x), (f(x), np.sum(slopes(x)), slopes(x)[0] * 2)"),
    "vmap": ("irad.vmap(f)", "run(np.stack([x, x + 1])), np.array([f(x.copy()), f(x + 1)])"),
    "vmap of objects": (
        "irad.vmap(lambda t, x: f(x) * t.k + np.sum(t.w))",
        "run(rows(x), np.stack([x, x + 1])), np.array([f(x.copy()) * 2.0 + np.sum(x), f(x + 1) * 3.0 + np.sum(x + 1)])",
    ),
    "grad of objects": ("irad.grad(lambda t: f(t.w) * t.k)", "parts(run(one(x))), (2.0 * slopes(x), f(x.copy()))"),
    "checkpoint": ("irad.grad(irad.checkpoint(f))", "run(x), slopes(x)"),
    "nested": ("irad.compile(lambda x: irad.grad(f)(x) * 2.0)", "run(x), 2 * slopes(x)"),
    "donate": ("irad.compile(lambda x, y: (f(x), y * f(x)), donate=(1,))", "run(x, np.ones(3)), (f(x.copy()), np.full(3, f(x.copy())))"),
    "given twice": ("irad.compile(two)", "both(run, x), both(two, x)"),
    "derivative of one given twice": ("irad.value_and_grad(exchange)", "by_pairs(x)"),
    "static": ("irad.compile(lambda x, n: f(x) * n, static='n')", "(run(x, 2), run(x, 3)), (2 * f(x.copy()), 3 * f(x.copy()))"),
    "threads": ("irad.compile(f, threads=2)", "together(x), (f(x.copy()), f(x + 1), f(x.copy()), f(x + 1))"),
    "hessian": ("irad.hessian(f)", "run(x), curves(x)"),
    "sparse": ("irad.jacobian(lambda x: np.sin(x) * f(x[:1] + np.zeros(3)), sparse=True)", "dense(run(x)), jacobian(x)"),
    "callback": ("irad.compile(lambda x: f(x) + called(x))", "run(x), f(x.copy()) + np.sum(x) * 3.0"),
    "callback that stores": ("irad.compile(lambda x: f(x) + stores(x) + f(x) * 2.0)", "around(x)"),
    "custom_vjp": ("irad.grad(lambda x: f(x) * ruled(x))", "run(x), slopes(x) * np.sum(x) + 7.0 * f(x.copy())"),
    "custom_jvp": ("irad.grad(lambda x: f(x) * tangent_ruled(x))", "run(x), slopes(x) * np.sum(x) + 7.0 * f(x.copy())"),
    "ruled state": ("irad.grad(stateful)", "run(x), 2.0 * slopes(x)"),
    "method": ("irad.compile(Holder().call)", "run(x), f(x.copy()) * 2.0"),
    "partial": ("irad.compile(functools.partial(lambda k, x: f(x) * k, 2.0))", "run(x), f(x.copy()) * 2.0"),
}  # fmt: skip
CALLS = list(_RUNS)
FEATURES = (*STATE, *CALLS, "alias", "shared")

# What a call needs besides: the text is only in cases of that call.
_HELPERS = {
    "changing": """def held():
    return [v for n, v in sorted(globals().items()) if n[0] == "s" and n[1:].isdigit() and isinstance(v, (Thing, Tally))]

def items(v):
    return list(v) if isinstance(v, list) else []

def put(before):
    for v, own, held in before:
        vars(v).clear()
        vars(v).update(own)
        if isinstance(v, list):
            v[:] = held

def attributes():
    own = [float(x) for v in held() for n in sorted(vars(v)) for x in (len(n), 0.0 if callable(vars(v)[n]) else np.sum(vars(v)[n]))]
    return [*own, *(float(x) for v in held() for x in items(v))]

def changed(x):
    before = [(v, dict(vars(v)), items(v)) for v in held()]
    got = run(x.copy()), attributes()
    put(before)
    want = f(x.copy()), attributes()
    return (got[0], *got[1]), (want[0], *want[1])
""",
    "vjp": """def pulled(x):
    y, back = irad.vjp(f, x)
    first = back(1.0)[0].copy()
    return y, first, back(2.0)[0]
""",
    "vjp of objects": """class Given:
    plain, n, calls = True, 2, 0
    def factor(self):
        return self.n if type(self).plain else 0.5
    def change(self):
        self.calls += 1
        self.n, Given.plain = 2 + self.calls // 3 % 2, self.calls // 4 % 2 == 0

given = Given()

def pulled_by(x):
    given.change()
    y, back = irad.vjp(lambda x, o: f(x) * o.factor(), x, given)
    return y, back(1.0)[0]
""",
    "given twice": """def two(x, y):
    y[1] = y[1] + x[0] * 2.0
    return f(x) + np.sum(x * y)

def both(g, x):
    first, second = x.copy(), x.copy()
    out = [g(first, first), g(first, second)]
    if np.sum(x) > 1.0:
        out += [g(second, second), g(second, first)]
    return (*out, *first, *second)
""",
    "derivative of one given twice": """def exchange(x, p, q):
    p[0] = np.sum(x) * 2.0
    p.append(1.5)
    return f(x) * q[0] + len(q)

def by_pairs(x):
    got, want = [], []
    for once in (True, False, True):
        pair = lambda: ([3.0], [0.5]) if once else ([[3.0]] * 2)
        try:
            value, slope = run(x, *pair())
        except irad.errors.IradValueError as e:
            assert not once and "twice" in str(e), e
            continue
        g = lambda x: exchange(x, *pair())
        h, e = 1e-5, np.eye(3)
        got += [value, *slope]
        want += [g(x), *((g(x + h * d) - g(x - h * d)) / (2 * h) for d in e)]
    return tuple(got), tuple(want)
""",
    "linearize": """def linear(x):
    y, push = run(x)
    return y, push(np.ones(3)), push(np.array([2.0, 0.0, 0.0]))
""",
    "vmap of objects": """class Row:
    def __init__(self, w, k):
        self.w, self.k = w, k

def rows(x):
    return Row(np.stack([x, x + 1]), np.array([2.0, 3.0]))
""",
    "grad of objects": """class Row:
    def __init__(self, w, k):
        self.w, self.k = w, k

def one(x):
    return Row(x, 2.0)

def parts(g):
    return g.w, g.k
""",
    "threads": """def together(x):
    out = [None] * 4
    def work(k):
        out[k] = run(x.copy() if k % 2 == 0 else x + 1)
    found = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in found:
        t.start()
    for t in found:
        t.join()
    if None in out:
        run(x)  # what it raised
    return tuple(out)
""",
    "hessian": """def curves(x):
    h, e = 1e-4, np.eye(3)
    return np.array([(slopes(x + h * d) - slopes(x - h * d)) / (2 * h) for d in e])
""",
    "sparse": """def dense(m):
    return m.toarray() if hasattr(m, "toarray") else np.asarray(m)

def jacobian(x):
    g = lambda x: np.sin(x) * f(x[:1] + np.zeros(3))
    h, e = 1e-5, np.eye(3)
    return np.stack([(g(x + h * d) - g(x - h * d)) / (2 * h) for d in e], axis=1)
""",
    "callback": """called = irad.callback(lambda x: float(np.sum(x) * 3.0), np.float64)
""",
    "callback that stores": """def stored(x):
    same[1] = same[1] * 0.5 + x[0]
    return float(np.sum(x))

stores = irad.callback(stored, np.float64)

def around(x):
    before = same.copy()
    got = run(x.copy())
    same[:] = before
    return got, f(x.copy()) + stored(x) + f(x.copy()) * 2.0
""",
    "custom_vjp": """@irad.custom_vjp
def ruled(x):
    return np.sum(x)

ruled.defvjp(lambda x: (np.sum(x), None), lambda saved, ct: (ct * np.full(3, 7.0),))
""",
    "custom_jvp": """@irad.custom_jvp
def tangent_ruled(x):
    return np.sum(x)

tangent_ruled.defjvp(lambda primals, tangents: (np.sum(primals[0]), 7.0 * np.sum(tangents[0])))
""",
    "ruled state": """@irad.custom_jvp
def stateful(x):
    return f(x)

stateful.defjvp(lambda primals, tangents: (f(primals[0]), 2.0 * irad.jvp(f, primals, tangents)[1]))
""",
    "method": """class Holder:
    k = 2.0
    def call(self, x):
        return f(x) * self.k
""",
}


def _checked(call: str) -> list[str]:
    """Helpers of the case: what runs, what is right, and how they are compared."""
    made, pair = _RUNS[call]
    return f'''def slopes(x):
    h, e = 1e-5, np.eye(3)
    return np.array([(f(x + h * d) - f(x - h * d)) / (2 * h) for d in e])

{_HELPERS.get(call, "")}
def made():
    return {made}

def flat(v):
    return np.concatenate([np.ravel(np.asarray(t, float)) for t in (v if isinstance(v, tuple) else (v,))])

def change(step):
    try:
        step()
    except (LookupError, AttributeError, TypeError):
        pass

def check(x):
    x = {"x" if call == "compile" else "x.copy()"}
    {"before = [(v, dict(vars(v)), items(v)) for v in held()]" if call == "changing" else ""}
    try:
        f(x.copy())
    except Exception:
        return
    {"put(before)" if call == "changing" else ""}
    got, want = {pair}
    got, want = flat(got), flat(want)
    {"want[np.isnan(want) & (got == 0)] = 0  # what is not there is no NaN" if call in ("hessian", "sparse") else ""}
    tol = {2e-3 if call == "hessian" else 1e-5}
    assert got.shape == want.shape and np.allclose(got, want, tol, tol, equal_nan=True), f"{{got}}, right {{want}}"'''.split("\n")
