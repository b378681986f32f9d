"""Masks and lengths that data decides, in loops: groups by label, rows by offsets, what a mask selects, with gradients."""

from __future__ import annotations

import random

from tests.fuzz.case import Case
from tests.fuzz.grammar import Program

FEATURES = ("masks", "groups", "ragged", "positions", "windows", "stores", "sorts", "empty", "loops", "functions", "jumps", "repeats", "systems", "names")  # fmt: skip


class Selections(Program):
    """A function of rows x (n, d), numbers y (n), labels (n), offsets (k + 1), a number s and a number of groups."""

    most = 6
    trips = ("k", "k", "3", "len(offsets) - 1")

    def __init__(self, seed: int, features: frozenset[str]):
        super().__init__("selections", seed, features)
        self.jumps = "jumps" in features
        self.helpers: list[str] = []
        self.add("n, t = len(labels), 0.5", "means = np.zeros((k, x.shape[1]))", "out = np.zeros(k)")
        if self.has("functions", 0.4):
            self.helpers += ["def spread(a):", *("    " + line for line in self.one(_FUNCTIONS)), "", ""]
        self.ways = [(2, self.plain)]
        for name, weight in (
            ("masks", 3),
            ("groups", 4),
            ("ragged", 4),
            ("positions", 2),
            ("windows", 1.5),
            ("stores", 2),
            ("sorts", 1.5),
            ("repeats", 1),
            ("systems", 2),
            ("names", 2),
        ):
            if self.has(name, 0.7):
                self.ways.append((weight, getattr(self, name)))
        if "names" in features:
            self.add("p = y * 2.0", self.pick("q = p", "q = y[y > 0]", "q = p.copy()"))
        self.write()
        self.add("return s, t, x, y, means, out")

    def term(self) -> str:
        return self.pick("y[0]", "x[0, 0]", "y[-1]", "out[0]", "np.mean(y)", "x[1].sum()")

    def group(self) -> str:
        """A number of a group."""
        return self.pick("0", "1", *self.loops[-1:] * 3)

    def rows(self) -> str:
        """Some rows of x, perhaps none."""
        c, g = self.constant(), self.group()
        return self.pick(
            f"x[labels == {g}]",
            f"x[y > {c}]",
            f"x[np.flatnonzero(y > {c})]",
            f"x[offsets[{self.part()}]:offsets[{self.part()} + 1]]",
            f"x[(labels == {g}) & (y > {c})]",
            "x[labels > 0]",
            f"x[np.nonzero(labels == {g})[0]]",
            f"x[labels != {g}]",
        )

    def some(self) -> str:
        """Some numbers of y, perhaps none."""
        c, g = self.constant(), self.group()
        forms = [
            f"y[labels == {g}]",
            f"y[y > {c}]",
            f"y[offsets[{self.part()}]:offsets[{self.part()} + 1]]",
            "y[:offsets[1]]",
            f"x[:, 0][labels == {g}]",
            f"x[x > {c}]",
            f"y[np.abs(y) < {self.pick('0.5', '1.0')}]",
            f"y[(y > {c}) & (labels < 2)]",
            f"y[~(labels == {g})]",
            f"np.tanh(y)[labels == {g}]",
        ]
        return self.one(forms)

    def part(self) -> str:
        return self.pick("0", "1", *[f"{i} % 2" for i in self.loops[-1:]] * 3)

    def guarded(self, rows: str, text: str) -> str:
        """Nothing is done where nothing was selected."""
        if self.has("empty", 0.3):
            return f"part = {rows}\n{text}"
        return f"part = {rows}\nif len(part) > 0:\n    {text}"

    def simple(self) -> str:
        return self.r.choices([f for _, f in self.ways], [w for w, _ in self.ways])[0]()

    def plain(self) -> str:
        v = self.value()
        return self.pick(
            f"s = {self.number()}",
            f"t {self.pick('+', '*', '-')}= {v}",
            f"y = y * 0.5 + {v}",
            "x = np.tanh(x) + 0.1",
            f"y[{self.index().replace('% 4', '% 3')}] += {v}",
            "s += np.sum(means) * 0.1",
        )

    def masks(self) -> str:
        c, p = self.constant(), self.some()
        return self.one([
            f"s += np.sum({p}) * 0.1", f"t += np.sum({p} ** 2) * 0.1", self.guarded(p, f"s += part.{self.pick('mean', 'max', 'min', 'std')}()"), f"mask = y > {c}\nif mask.any():\n    y[mask] = y[mask] - y[mask].mean()", f"s += 0.1 * np.count_nonzero(y > {c}) * t", f"x = x * (y > {c})[:, None]",
            self.guarded(p, "s += part[0] * part[-1]"), f"s += sum({p}) * 0.1", f"for v in {p}:\n    s += 0.1 * np.tanh(v)", self.guarded(p, "t += np.median(part)"), f"y = np.where(y > {c}, y, np.sum({p}) * 0.1)", f"t += np.dot({p.replace(p, f'y[y > {c}]')}, y[y > {c}]) * 0.1",
        ])  # fmt: skip

    def groups(self) -> str:
        g, p = self.group(), self.rows()
        return self.one([
            self.guarded(p, "t += np.sum(part.mean(axis=0))"), self.guarded(p, f"means[{g} % k] = part.mean(axis=0)"), f"means[{g} % k] += {p}.sum(axis=0)", self.guarded(p, "s += np.sum((part - part.mean(axis=0)) ** 2) * 0.1"), f"s += np.sum({p} @ x[0]) * 0.1", self.guarded(p, "s += np.trace(part.T @ part) * 0.1"),
            "for j in range(k):\n    chosen = x[labels == j]\n    if len(chosen) > 0:\n        means[j] = chosen.mean(axis=0)", "for j in range(k):\n    out[j] += np.sum(y[labels == j]) * 0.5", "for j in np.unique([0, 1]):\n    s += 0.1 * np.sum(x[labels == j])", self.guarded(p, f"out[{g} % k] = np.linalg.norm(part) * 0.1"),
            "counts = np.bincount(labels, minlength=k)\ns += np.sum(np.bincount(labels, weights=y, minlength=k) / (counts + 1.0)) * 0.1", "np.add.at(out, labels % k, y)", self.guarded(p, "t += np.exp(-np.abs(part)).sum(axis=1).max()"), self.guarded(p, "s += np.cov(part.T).sum() * 0.1") if self.has("sorts", 0.2) else "s += np.sum(means[labels % k] * x) * 0.1",
            "d = np.sum((x[:, None, :] - means[None]) ** 2, axis=2)\nlabels = np.argmin(d, axis=1)",
        ] + ([f"s += spread({p})", self.guarded(p, "t += spread(part) * 0.5")] * 2 if self.helpers else []))  # fmt: skip

    def ragged(self) -> str:
        return self.one([
            "for j in range(len(offsets) - 1):\n    row = y[offsets[j]:offsets[j + 1]]\n    s += 0.1 * np.sum(row)", "for a, b in zip(offsets[:-1], offsets[1:]):\n    if b > a:\n        t += y[a:b].max() * 0.1", "for j in range(len(offsets) - 1):\n    y[offsets[j]:offsets[j + 1]] *= 0.5 + j", "out[: len(offsets) - 1] = [np.sum(y[a:b]) for a, b in zip(offsets, offsets[1:])][:k]" if self.r.random() < 0.2 else "s += np.sum(y[offsets[0]:offsets[-1]]) * 0.1",
            "for j in range(len(offsets) - 1):\n    row = y[offsets[j]:offsets[j + 1]]\n    if len(row) == 0:\n        continue\n    w = np.exp(row - row.max())\n    s += np.sum(w / w.sum() * row)", "for j in range(len(offsets) - 1):\n    total = 0.0\n    for i in range(offsets[j], offsets[j + 1]):\n        total += y[i] * x[i, 0]\n    out[j % k] += np.tanh(total)", "for j in range(len(offsets) - 1):\n    a, b = offsets[j], offsets[j + 1]\n    s += np.sum(x[a:b] * y[a:b, None]) * 0.1",
            "for j in range(len(offsets) - 1):\n    block = x[offsets[j]:offsets[j + 1]]\n    s += np.sum(np.tanh(block @ block.T)) * 0.1", "t += np.sum(np.cumsum(y[: offsets[1]])) * 0.1", "for j in range(len(offsets) - 1):\n    row = y[offsets[j]:offsets[j + 1]]\n    s += np.sum(row[1:] * row[:-1]) * 0.1", "y[offsets[0]:offsets[1]] = y[offsets[0]:offsets[1]][::-1]",
            "sizes = np.diff(offsets)\ns += np.sum(y[: len(sizes)] * sizes) * 0.1",
        ])  # fmt: skip

    def positions(self) -> str:
        c = self.constant()
        return self.one([
            f"at = np.flatnonzero(y > {c})\ns += np.sum(y[at] * x[at, 0]) * 0.1", f"at = np.flatnonzero(y > {c})\nfor i in at:\n    t += 0.1 * y[i]", f"at = np.flatnonzero(y > {c})\nif at.size:\n    s += y[at[0]] * y[at[-1]]", f"i, j = np.nonzero(x > {c})\ns += np.sum(x[i, j] * y[i]) * 0.1", f"at = np.argwhere(y > {c})[:, 0]\ny[at] = y[at] * 0.5", f"at = np.where(y > {c})[0]\ns += len(at) * 0.1 + np.sum(y[at[1:]] - y[at[:-1]])",
            f"at = np.flatnonzero((y[1:] > {c}) & (y[:-1] <= {c}))\ns += np.sum(y[at + 1]) * 0.1", "i = np.argmax(y)\ns += np.sum(y[:i]) * 0.1 + np.sum(y[i:]) * 0.2", "i = np.searchsorted(np.sort(y), t)\ns += np.sum(np.sort(y)[:i])",
        ])  # fmt: skip

    def windows(self) -> str:
        return self.one(["for i in range(len(y)):\n    a, b = max(0, i - 2), min(len(y), i + 2)\n    s += 0.05 * y[a:b].mean()", "for i in range(1, len(y)):\n    y[i] += 0.1 * np.sum(y[:i]) / i", "m = int(abs(t) * 3) % len(y)\ns += np.sum(y[m:]) * 0.1 - np.sum(y[:m]) * 0.2", "for i in range(len(y)):\n    near = y[np.abs(y - y[i]) < 0.5]\n    s += 0.05 * near.mean()", "near = x[np.sum((x - x[0]) ** 2, axis=1) < 1.5]\ns += near.mean() * 0.5", "for i in range(len(y)):\n    close = np.abs(x[:, 0] - x[i, 0]) < 0.7\n    out[i % k] += np.sum(y[close]) * 0.1"])  # fmt: skip

    def stores(self) -> str:
        c, g, v = self.constant(), self.group(), self.value()
        return self.one([f"y[labels == {g}] = {v}", f"y[y > {c}] *= 0.5", f"x[labels == {g}] += {v}", f"x[labels == {g}] -= means[{g} % k]", f"y[y > {c}] = np.tanh(y[y > {c}]) * t", f"x[y > {c}, 0] = {v}", f"z = y[labels == {g}]\nz *= 2.0\nt += np.sum(z) * 0.1", f"x[labels == {g}] = x[labels == {g}][::-1]", f"y[labels == {g}] += np.arange(np.sum(labels == {g})) * 0.1", f"z = np.zeros(len(y))\nz[y > {c}] = y[y > {c}] * s\ny = z + 0.1"])  # fmt: skip

    def sorts(self) -> str:
        p = self.some()
        return self.one([self.guarded(p, "s += np.sort(part)[0] + np.sort(part)[-1] * 0.5"), f"s += np.sum(np.sort({p}) * 0.1)", "order = np.argsort(y, kind='stable')\ny = y[order]\nx = x[order]", self.guarded(p, "t += part[np.argsort(part)][len(part) // 2]"), "order = np.argsort(labels, kind='stable')\ns += np.sum(y[order][: offsets[1]])", f"s += np.sum(np.cumsum({p})) * 0.05", self.guarded(p, "t += np.percentile(part, 50)"), self.guarded(p, "s += part[part.argmax()]"), f"t += np.sum(np.diff({p})) * 0.1"])  # fmt: skip

    def repeats(self) -> str:
        g = self.group()
        return self.one(["z = np.repeat(y[:3], [1, 2, 0])\ns += np.sum(z * z) * 0.1", f"z = np.concatenate([y[labels == {g}], y[labels != {g}]])\ns += np.sum(z * np.arange(len(z))) * 0.05", "parts = [y[labels == j] for j in range(2)]\ns += sum(np.sum(p) for p in parts) * 0.1", f"z = np.append(y[labels == {g}], {self.value()})\nt += z[-1] + np.sum(z) * 0.1", f"z = np.outer(y[labels == {g}], y[labels == 1])\ns += np.sum(z) * 0.05", "z = np.delete(y, 1)\ns += np.sum(z) * 0.1"])  # fmt: skip

    def names(self) -> str:
        """Two variables whose arrays have several sizes, may be one array, and are stored into."""
        c = self.constant()
        p, q = self.r.sample(("p", "q"), 2)
        test = self.pick("s > t", "t > y[0]", f"len({q}) > 2", f"s > {c}", f"np.sum({p}) > {c}")
        change = self.pick(f"{p} = {p}[{p} > {c}]", f"{p} = {q}", f"{p} = {q}[{q} > {c}]", f"{p} = {q}.copy()", f"{p} = {self.some()}", "p, q = q, p", f"{p} = {p}[1:]")  # fmt: skip
        store = self.pick(f"{p} *= 0.9", f"{p} += {self.value()} * 0.1", f"if len({p}) > 1:\n    {p}[0] = {self.value()}", f"{p}[{p} > {c}] *= 0.5")  # fmt: skip
        use = self.pick("s += np.sum(p) * 0.1 - np.sum(q) * 0.2", f"t += np.sum({p} ** 2) * 0.1", f"s += np.sum({q}) * 0.1")
        indent = lambda text: text.replace("\n", "\n    ")
        return self.pick(
            f"{change}\n{store}\n{use}",
            f"if {test}:\n    {indent(change)}\n{store}\n{use}",
            f"if {test}:\n    {indent(change)}\nelse:\n    {q} = {self.some()}\n{store}\n{use}",
            f"for j in range(k + 1):\n    {indent(store)}\n    {indent(change)}\n    {indent(use)}",
            f"for j in range(k + 1):\n    if len({p}) < 2:\n        break\n    {indent(change)}\n    {indent(store)}\n{use}",
            f"while len({p}) > 2:\n    {p} = {p}[1:].copy()\n    {indent(store)}\n{use}",
            f"{p} = {q}[{q} > {c}] if {test} else {self.pick(q, p, 'y * 0.5')}\n{store}\n{use}",
            f"if {test}:\n    z = y * 0.5\n    {p} = z\nelse:\n    z = y * 0.7\n    {p} = {self.some()}\nz[0] = {self.value()}\n{use}",
            f"z = y * 1.0\nfor j in range(k + 2):\n    z[0] = {self.value()}\n    {indent(use)}\n    z = y * (0.5 + j)\n    {p} = z if {test} else {self.pick('z[:2]', 'np.append(z, s)', self.some())}",
            f"{store}\n{use}",
        )

    def systems(self) -> str:
        """Matrices of which data select the rows and columns."""
        m = f"(y > {self.constant()})"
        near = "near = np.exp(-0.5 * (y[:, None] - y) ** 2) + 0.5 * np.eye(len(y))"
        use = self.one([
            "a = near[m][:, m]\nz = np.zeros(len(y))\nz[m] = np.linalg.solve(a, y[m])\ny = z + 0.1", "a = near[np.ix_(m, m)]\ns += 0.1 * np.linalg.slogdet(a)[1]", "a = near[m][:, m]\nt += 0.1 * np.sum(np.linalg.inv(a) ** 2)",
            "a = near[m][:, m]\ns += 0.1 * np.sum(np.linalg.cholesky(a))", "a = near[m][:, m]\ns += 0.1 * np.sum(np.linalg.eigvalsh(a) ** 2)", "a = x[m]\ns += 0.01 * np.sum(np.linalg.pinv(a.T @ a + np.eye(x.shape[1])))", "a = near[m][:, m]\nt += 0.1 * np.linalg.det(a)",
            "z = np.repeat(y[m], 2) * np.kron(y[m], [1.0, 0.5])\ns += 0.1 * np.sum(z)",
        ])  # fmt: skip
        return f"m = {m}\n{near}\n{use}"


_FUNCTIONS = (
    ("if len(a) == 0:", "    return 0.0", "centre = a.mean(axis=0)", "return np.sum((a - centre) ** 2) / len(a)"),
    ("w = np.tanh(a) + a * a", "w = w * np.exp(-w * w) + np.cos(a)", "return np.sum(w * a) * 0.1 + len(a) * 0.05"),
    (
        "total = 0.0",
        "for row in a:",
        "    if row[0] > 0.5:",
        "        continue",
        "    total += np.sum(row * row) * 0.1",
        "return total",
    ),
)

LOSS = """
def loss(x, y, labels, offsets, s, k):
    s, t, x, y, means, out = f(x, y, labels, offsets, s, k)
    return s * 0.7 + t * 0.9 + np.sum(np.tanh(x)) * 0.3 + np.sum(y * np.linspace(0.1, 0.9, len(y))) + np.sum(means) * 0.2 + np.sum(out * out) * 0.1
"""


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(f"selections {seed} inputs")
    made = Selections(seed, frozenset(FEATURES) if features is None else features)
    n, d, k = r.choice((3, 4, 7, 9, 17, 33)), r.choice((1, 2, 3, 5)), r.choice((1, 2, 3, 4))
    inputs = []
    for m in (n, n, n + 2):
        cuts = sorted(r.randrange(m + 1) for _ in range(r.choice((1, 2, 3))))
        inputs.append(
            f"        (rng.normal(size=({m}, {d})), rng.normal(size={m}), rng.integers(0, {k}, {m}), np.array({[0, *cuts, m]}), {round(r.uniform(-1, 1), 2)}, {k}),"
        )
    lines = [
        "import numpy as np",
        "",
        "from tests.fuzz import compare",
        "",
        "",
        *made.helpers,
        "def f(x, y, labels, offsets, s, k):",
        *made.lines,
        "",
        "",
    ]
    slopes = r.random() < 0.5
    lines += [*LOSS.strip().splitlines(), "", ""] if slopes else []
    lines += ["def main():", f"    rng = np.random.default_rng({r.randrange(1000)})", "    inputs = [", *inputs, "    ]"]
    lines += [f"    compare.values(f, *inputs, kinds=False{', whole=True' if r.random() < 0.05 else ''})"]
    lines += [f"    compare.gradient(loss, inputs[{r.choice((0, 2))}], (0, 1, 4))"] if slopes else []
    return Case("selections", seed, "\n".join(lines) + "\n", frozenset(made.used))
