"""Nests of scalar loops as people write them: a loop over samples, and for each of them loops over terms, features or steps.

Most trips over samples are independent but for sums; some read what the trip before left. Samples are more and fewer than a vector has
lanes, and no multiple of them.
"""

from __future__ import annotations

import random

from tests.fuzz.case import Case

FEATURES = ("branches", "rows", "stores", "shared", "carries", "while", "int")
SAMPLES = (3, 16, 17, 33, 40)


class Nest:
    """One random function of samples X (n, d), y (n), coefficients a (m) and a number."""

    def __init__(self, seed: int, features: frozenset[str]):
        self.r = random.Random(f"nests {seed}")
        self.features, self.used = features, set[str]()
        self.lines = ["def f(X, y, a, s):", "    n, d = X.shape", "    m = len(a)", "    out = np.zeros(n)", "    Z = X * 0.5"]
        self.lines += ["    h = np.zeros(m)", "    t = q = 0.0", "    count = 0"]
        for _ in range(self.r.randrange(1, 3)):
            self.samples()
        self.lines.append("    return s, t, q, count, out, Z, h, X, y")

    def has(self, feature: str) -> bool:
        found = feature in self.features and self.r.random() < 0.6
        if found:
            self.used.add(feature)
        return found

    def pick(self, *options: str) -> str:
        return self.r.choice(options)

    def samples(self) -> None:
        start = ["u = 0.0", "p = 1.0", "v = y[i]"] + (["row = np.zeros(m)"] if self.has("rows") else [])
        row = len(start) == 4
        trips = self.pick("range(n)", "range(n)", "range(n)", "range(n - 1, -1, -1)", "range(1, n)", "range(0, n - 1)")
        self.lines.append(f"    for i in {trips}:")
        self.add(2, *start)
        for _ in range(self.r.randrange(1, 4)):
            self.inner(row)
        self.add(2, *[self.after() for _ in range(self.r.randrange(1, 4))])

    def add(self, indent: int, *lines: str) -> None:
        self.lines += ["    " * indent + part for line in lines for part in line.split("; ")]

    def inner(self, row: bool) -> None:
        k = self.r.random()
        if k < 0.1 and self.has("while"):
            self.add(2, "k = 0; while k < 6 and p * p < 40.0:", "    p = p * p * 0.3 + v", "    k += 1")
            return
        over, at, number = self.r.choice(
            [("m", "k", "a[k]"), ("d", "j", "X[i, j]"), ("4", "k", "0.5 * (k + 1)"), ("i", "k", "y[k]")][: 4 if k < 0.3 else 3]
        )
        reverse = self.pick(f"range({over})", f"range({over})", f"range(1, {over})", f"range({over} - 1, -1, -1)")
        self.add(2, f"for {at} in {reverse}:")
        for _ in range(self.r.randrange(1, 4)):
            self.add(3, *self.step(at, number, row and over == "m"))

    def step(self, at: str, x: str, row: bool) -> list[str]:
        ways = [
            f"u += {x} * p", "p *= v", f"p *= np.tanh({x})", f"u = max(u, {x} * v)", f"v = 0.5 * (v + {x} / (1.0 + p * p))", f"u += np.exp(-({x} - v) ** 2)",
            f"p = min(p + {x}, 2.0)", f"u = u * 0.9 + {x} * s", f"v += 0.1 * Z[i, {at} % d]", f"u += np.log(1.0 + {x} * {x})",
        ]  # fmt: skip
        if self.has("carries"):
            ways += [f"s += {x} * 0.1", "t = t + u * p", f"q = q * 0.95 + {x}"]
        if row:
            ways += [
                f"row[{at}] = u * v",
                f"row[{at}] += p",
                f"u += row[{at}] * p",
                f"if {at} > 0: row[{at}] += row[{at} - 1] * 0.5",
            ] * 2
        if self.has("branches"):
            ways += [
                f"if {x} > v: u += {x}",
                f"if u < {x}: u = {x} * p; p = v",
                f"if v > 0.1:; u += {x}; else:; u -= p * 0.1",
                f"u += {x} if p > 0.3 else v",
            ] * 2
        if self.has("stores") and at == "j":
            ways += [f"Z[i, j] = {x} * u", "Z[i, j] += p", "if p > 0.2: Z[i, j] = v", "X[i, j] *= 0.5"] * 2
        if self.has("shared") and x == "a[k]":
            ways += ["h[k] += u * 0.1", "h[k] += v"]
        line = self.r.choice(ways)
        if ":; " in line:
            one, two, three, four = line.split("; ")
            return [one, "    " + two, three, "    " + four]
        return [line] if not line.startswith("if ") or ";" not in line else [line]

    def after(self) -> str:
        ways = ["s += u", "t += u * p", "q = q + v * u", "out[i] = u + p", "out[i] += v", "t += 0.1 * np.tanh(u)"]
        if self.has("carries"):
            ways += [
                "q = 0.9 * q + u",
                "t = max(t, u)",
                "out[i] = t",
                "if u > t: t = u",
                "s = s * 0.5 + out[i - 1]",
                "s, t = t, s + u",
            ]
        if self.has("int"):
            ways += ["count += 1", "if u > 0.5: count += 1", "count = max(count, int(p))"]
        if self.has("branches"):
            ways += ["if u > 0.2: out[i] = p", "if v > 0: s += p", "if u > 0.1: y[i] = v * 0.5", "if p > 0.5: t += u * v"]
        if self.has("stores"):
            ways += ["Z[i, 0] = u", "y[i] = p", "y[i] += u", "out[n - 1 - i] = v", "Z[i - 1, 0] += v"]
        return self.r.choice(ways)


_LOSS = """
def loss(X, y, a, s):
    s, t, q, count, out, Z, h, X, y = f(X, y, a, s)
    total = 0.7 * s + 0.9 * t + 0.3 * q + np.sum(np.tanh(out)) + np.sum(Z * Z) * 0.1 + np.sum(h) * 0.2
    return total + np.sum(X) * 0.1 + np.sum(y * y) * 0.3


def plain(X, y, a, s):
    s, t, q, count, out, Z, h, X, y = f(X, y, a, s)
    return 0.7 * s + 0.9 * t + 0.3 * q + np.sum(out) + np.sum(h)
"""


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(f"nests inputs {seed}")
    some = frozenset(FEATURES) if features is None else features
    made = Nest(seed, some if r.random() < 0.6 else frozenset())
    n, d, m = r.choice(SAMPLES), r.choice((1, 3, 5)), r.choice((1, 4, 9))
    draw = f"rng = np.random.default_rng({r.randrange(1000)})"
    args = f"rng.normal(size=({n}, {d})), rng.normal(size={n}), rng.normal(size={m}) * 0.7, 0.3"
    main = ["def main():", f"    {draw}", f"    args = {args}", "    compare.values(f, args, kinds=False)"]
    text = [""]
    if r.random() < 0.7:
        text = _LOSS.splitlines()
        main.append(f"    compare.gradient({r.choice(('loss', 'plain'))}, args, (0, 1, 2, 3))")
    source = (
        "\n".join(["import numpy as np", "", "from tests.fuzz import compare", "", "", *made.lines, "", *text, "", "", *main])
        + "\n"
    )
    return Case("nests", seed, source, frozenset(made.used))
