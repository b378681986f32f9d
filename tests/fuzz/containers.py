"""Lists, deques, dicts and sets that loops and branches change: of numbers, arrays, tuples and other lists, under several names.

Arguments are lists and dicts too: what they hold after the call is compared.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz.case import Case
from tests.fuzz.grammar import Program, number, vector

FEATURES = ("arrays", "tuples", "nested", "deque", "dict", "set", "keyed", "grouped", "aliases", "sorting", "slices", "comprehensions", "recursion", "arguments", "jumps")  # fmt: skip


class Containers(Program):
    def __init__(self, seed: int, features: frozenset[str]):
        super().__init__("containers", seed, features)
        self.over_itself = 0  # loops around that go over a list itself: it may not grow without end
        self.helpers: list[str] = []
        start = ["t = 0.5", "w = [s, t, x[0]]"]
        ways: list[tuple[float, Callable[[], str]]] = [(3, self.numbers_in_lists)]
        self.read = ["sum(w)", "len(w)"]
        self.lists = ["w"]
        if self.has("arguments", 0.7):
            self.lists.append("given")
            self.read += ["sum(given)"]
        if self.has("aliases", 0.7):
            start.append("u = w")
            self.lists.append("u")
            ways.append((1.5, self.aliases))
        if self.has("arrays", 0.6):
            start.append("rows = [x, x * 0.5]")
            self.read += ["sum(np.sum(a) for a in rows)", "len(rows)"]
            ways.append((3, self.rows))
        if self.has("tuples", 0.5):
            start.append("pairs = [(s, x), (t, x + 1.0)]")
            self.read += ["sum(a * b[1] for a, b in pairs)", "len(pairs)"]
            ways.append((2, self.pairs))
        if self.has("nested", 0.4):
            start.append("table = [[s, t], [x[1], 1.0], [0.25, 0.5]]")
            self.read += ["sum(sum(r) for r in table)", "len(table[0])"]
            ways.append((2, self.table))
        if self.has("deque", 0.4):
            start.append(f"q = collections.deque([s, t]{self.pick('', ', 3', ', maxlen=4')})")
            self.read += ["sum(q)", "len(q)"]
            ways.append((2, self.queue))
        if self.has("dict", 0.5):
            start.append("d = {0: s, 1: t, 2: 0.5}" if self.r.random() < 0.5 else "d = {'a': s, 'b': t}")
            self.keys = ["0", "1", "2"] if "{0" in start[-1] else ["'a'", "'b'"]
            self.read += ["sum(d.values())", "len(d)"]
            ways.append((2, self.dictionary))
        if self.has("set", 0.3):
            start.append("g = {1, 2}")
            self.read += ["sum(g)", "len(g)"]
            ways.append((1, self.sets))
        if self.has("keyed", 0.3):
            start += ["found = {}", "seen = set()", "kinds = [(0, s)]"]
            self.read += ["sum(found.values())", "len(found)", "len(seen)", "sum(sorted(seen))", "sum(b for a, b in kinds)"]
            ways.append((3, self.keyed))
        if self.has("grouped", 0.25):
            start += ["groups = collections.defaultdict(list)", "links = {}", "counts = {}", "low, high = [], []"]
            self.read += ["sum(sum(v) * (k + 1) for k, v in groups.items())", "sum(len(v) for v in links.values())"]
            self.read += ["sum(low) - sum(high)", "sum(sum(c.values()) for c in counts.values())"]
            ways.append((3, self.grouped))
        if self.has("recursion", 0.3):
            self.helpers += ["def walk(k, seen, v):", "    if k <= 0:", "        return v", *self.one(_WALKS), "", ""]
            ways.append((1, lambda: f"s += 0.1 * walk({self.pick('n', '3')}, {self.one(self.lists)}, {self.value()})"))
        self.jumps = "jumps" in features
        self.ways = ways
        self.add(*start)
        self.write()
        self.add(f"return s, t, x, y, w, {', '.join(r for r in self.read)}")

    def term(self) -> str:
        xs = self.one(self.lists)
        return self.pick(f"x[{self.index()}]", f"{xs}[{self.position()}]", "y[0]", f"{xs}[-1]", self.one(self.read))

    def position(self) -> str:
        return self.pick("0", "1", "-1", *[f"{k} % 2" for k in self.loops[-1:]] * 2)

    def kinds(self) -> list[tuple[float, Callable[[int], None]]]:
        return [*super().kinds(), (2, self.over)]

    def over(self, depth: int) -> None:
        """A loop over a container, which its block may change."""
        k, v = self.name("k"), self.name("v")
        xs = self.one(self.lists)
        heads = [
            (f"for {v} in {self.pick(xs, f'list({xs})', f'{xs}[::-1]', f'{xs}[1:]')}", v),
            (f"for {k}, {v} in enumerate({xs})", v),
        ]
        if any("rows" in r for r in self.read):
            a = self.name("a")
            heads += [(f"for {a} in rows", f"{a}[0]"), (f"for {k}, {a} in enumerate(rows)", f"{a}.sum()")]
        if any("pairs" in r for r in self.read):
            a = self.name("a")
            heads += [(f"for {v}, {a} in pairs", f"{v} * {a}[0]")]
        if any("d.v" in r for r in self.read):
            heads += [(f"for {k}, {v} in d.items()", v), (f"for {v} in d.values()", v)]
        if any("(q)" in r for r in self.read):
            heads += [(f"for {v} in list(q)", v)]
        head, read = self.one(heads)
        self.add(f"{head}:", f"    t += 0.1 * {read}")
        self.numbers.append(read)
        self.over_itself += 1
        self.within(depth)
        self.over_itself -= 1
        self.numbers.remove(read)

    def simple(self) -> str:
        if self.r.random() < 0.25:
            name = self.pick("s", "t")
            return self.pick(
                f"{name} = {self.number()}",
                f"{name} {self.pick('+', '-', '*')}= {self.value()}",
                f"s, t = t, {self.value()}",
                f"x[{self.index()}] += {self.value()}",
            )
        return self.r.choices([f for _, f in self.ways], [k for k, _ in self.ways])[0]()

    def safe(self, xs: str, change: str, least: int = 2, most: int = 9) -> str:
        """A change of the length, under a bound."""
        if self.over_itself and self.r.random() < 0.8:
            return f"s += 0.1 * len({xs})"
        shorter = any(t in change for t in ("pop", "del", "remove", "= []", "clear"))
        return f"if len({xs}) {f'> {least}' if shorter else f'< {most}'}:\n    {change}"

    def numbers_in_lists(self) -> str:
        xs, v = self.one(self.lists), self.value()
        forms = [
            f"{xs}[{self.position()}] {self.pick('=', '+=', '*=', '-=')} {v}", f"{xs}.append({v})" if not self.over_itself else f"{xs}[0] = t", self.safe(xs, f"{xs}.append({v})"), self.safe(xs, f"t += {xs}.pop({self.pick('', '', '0', '1')})"),
            self.safe(xs, f"{xs}.insert({self.pick('0', '1', '-1')}, {v})"), self.safe(xs, f"del {xs}[{self.position()}]"), f"{xs}[0], {xs}[1] = {xs}[1], {xs}[0]", f"s += sum({xs}) * 0.1",
            self.safe(xs, f"{xs}.extend([{v}, t])"), self.safe(xs, f"{xs} += [{v}]"), f"{xs}.reverse()", f"s += np.sum(np.array({xs})) * 0.1", f"s += max({xs}) - min({xs})",
            f"t += 0.25 if {v} in {xs} else 0.5", f"x = x * 0.5 + np.mean({xs})",
        ]  # fmt: skip
        if self.has("slices", 0.5):
            forms += [
                f"{xs}[:2] = [{v}, t]",
                f"s += sum({xs}[1:]) * 0.1",
                f"s += sum({xs}[::-1][:2]) * 0.1",
                self.safe(xs, f"{xs}[1:1] = [{v}]"),
                self.safe(xs, f"del {xs}[-1:]"),
                f"{xs}[:] = [a * 0.5 for a in {xs}]",
            ]
            forms += [f"w = w[:2] + [{v}]", f"w = [{v}, *w[1:3]]", f"{xs}[::2] = [0.5 * a for a in {xs}[::2]]"]
        if self.has("sorting", 0.5):
            forms += [
                f"{xs}.sort()",
                f"{xs}.sort(key=lambda a: -a)",
                f"t += sorted({xs})[0]",
                f"{xs}.sort(reverse=True)",
                f"t += sorted({xs}, key=abs)[{self.pick('0', '-1', '1')}]",
                f"t += 0.1 * {xs}.index(max({xs}))",
            ]
        if self.has("comprehensions", 0.5):
            forms += [
                f"w = [a * 0.5 + {v} for a in w]",
                "w = [t := 0.5 * t + a for a in w]",
                f"s += 0.1 * sum(t := 0.5 * t - a for a in {xs})",
                f"s += 0.1 * ([t := a for a in {xs} if a > {self.number(0)}] or [t])[-1]",
                "if len(w) < 6: w *= 2",
                f"s += sum([a for a in {xs} if a > {self.number(0)}]) * 0.1",
                f"s += 0.1 * len([a for a in {xs} if a > t])",
                f"s += 0.1 * sum(a * b for a, b in zip({xs}, x))",
            ]
        return self.one(forms)

    def aliases(self) -> str:
        return self.pick("u = w", "u = w[:]", f"u = [s, t, {self.value()}]", "u, w = w, u", f"w = [t, s, {self.value()}]", "u = w.copy()", f"u = w if {self.condition()} else u", f"if u is w:\n    s += {self.value()}")  # fmt: skip

    def rows(self) -> str:
        v = self.value()
        return self.pick(
            f"rows.append(x * {v})" if not self.over_itself else f"x = x * {v}", self.safe("rows", "rows.append(x)"), self.safe("rows", "x = rows.pop() * 0.5", 1), self.safe("rows", "s += np.sum(rows.pop(0))", 1), f"rows[-1] = rows[0] + {v}",
            "rows[0][1] += 0.25", f"rows[{self.position()}] *= 0.5", "s += np.sum(np.array(rows)) * 0.1", "y = np.mean(rows, axis=0)", "rows = [a * 0.5 for a in rows]", "rows[0], rows[1] = rows[1], rows[0]" if not self.depth else "rows[0] = rows[-1]",
            "x = x + rows[-1]", "x = sum(rows) * 0.3", self.safe("rows", f"rows.insert(0, y + {v})"), "y = np.stack(rows).max(axis=0)", "y = np.concatenate(rows)[:4]", "rows = rows[-2:]", "for a in rows:\n    a *= 0.9",
            "s += 0.1 * sum(np.dot(a, x) for a in rows)", "s += max(np.sum(a) for a in rows)",
        )  # fmt: skip

    def pairs(self) -> str:
        v = self.value()
        forms = [
            self.safe("pairs", f"pairs.append(({v}, x * 0.5))"), self.safe("pairs", "a, b = pairs.pop()\ns += a * b[0]".replace("\n", "\n    ")), f"pairs[{self.position()}] = ({v}, x)", "s += pairs[-1][0]", "x = x * 0.5 + pairs[0][1]",
            "pairs = [(b[0], b * a) for a, b in pairs]", f"s += max(pairs, key=lambda p: p[0])[1][{self.index()}]", "pairs.sort(key=lambda p: p[0])",
        ]  # fmt: skip
        return self.one(forms)

    def table(self) -> str:
        v, k, j = self.value(), self.position(), self.position()
        return self.pick(
            f"table[{k}][{j}] {self.pick('=', '+=', '*=')} {v}", self.safe("table", f"table.append([{v}, s])"), f"table[{k}] = [{v}, t]", "s += np.sum(np.array(table)) * 0.1", "table = [[b * 0.5 for b in a] for a in table]",
            self.safe("table", "s += sum(table.pop())"), "t += max(max(a) for a in table)", "for a in table:\n    a[0] += 0.25", "table[0] = table[1]" if not self.depth else "table[0][0] = table[1][1]", "s += sum(a[0] * a[1] for a in table) * 0.1", "table.reverse()",
            "table = [list(a) for a in zip(*table)] if len(table) == 2 else table" if not self.depth else "t += table[-1][1]",
        )  # fmt: skip

    def while_loop(self, depth: int) -> None:
        self.over_itself += 1  # nothing bounds its trips
        super().while_loop(depth)
        self.over_itself -= 1

    def queue(self) -> str:
        v = self.value()
        if self.depth:  # its length does not depend on data
            return self.pick(
                f"q[{self.position()}] {self.pick('=', '+=', '*=')} {v}",
                "s += sum(q) * 0.1",
                "q.rotate(1)",
                "x = x * 0.5 + np.mean(q)",
                "t += max(q)",
                f"q.append(q.popleft() * {v})",
                "s += q[-1] * 0.5",
            )
        return self.pick(
            f"q.append({v})", self.safe("q", f"q.appendleft({v})"), self.safe("q", "s += q.popleft()", 1), self.safe("q", "s += q.pop()", 1), f"q[0] {self.pick('=', '+=')} {v}", "q.rotate(1)", "s += sum(q) * 0.1",
            "s += q[-1] * 0.5", "x = x * 0.5 + np.mean(q)", f"q.extend([{v}, t])", f"while len(q) > 2:\n    t += q.popleft() * {v}", "t += max(q)",
        )  # fmt: skip

    def dictionary(self) -> str:
        v, key = self.value(), self.one(self.keys)
        new = "7" if self.keys[0] == "0" else "'z'"
        again = [f"d[{k} % 3] {self.pick('=', '+=')} {v}" for k in self.loops[-1:] if self.keys[0] == "0"]
        return self.pick(
            f"d[{key}] {self.pick('=', '+=', '*=')} {v}", f"s += d.get({new}, {v})", f"d[{new}] = {v}" if not self.depth else f"d[{key}] = t", "s += sum(d.values()) * 0.1", f"t += d.setdefault({key}, {v})", "d = {k: v * 0.5 for k, v in d.items()}",
            f"s += max(d.values()) * {v}", f"d.update({{{key}: {v}}})", "for k in d:\n    d[k] *= 0.5", f"if {new} in d:\n    s += d[{new}]", "t += d[max(d, key=d.get)]", f"d = {{**d, {key}: {v}}}", f"s += d.pop({new}, {v})" if not self.depth else "s += len(d)",
            f"d = d | {{{key}: s}}", "s += sum(sorted(d.values())[:2]) * 0.1", *again,
        )  # fmt: skip

    def sets(self) -> str:
        if self.depth:
            return self.pick(
                f"t += 0.5 if {self.one([*self.loops[-1:], '3'])} in g else 0.25", "s += 0.1 * sum(g)", "t += max(g) * 0.1"
            )
        k = self.one([*self.loops[-1:], "3", "5"])
        return self.pick(f"g.add({k})", f"g.discard({self.pick('1', k)})", f"t += 0.5 if {k} in g else 0.25", "s += 0.1 * sum(g)", "g |= {2, 4}", "s += 0.1 * len(g & {1, 3})", "g = g - {2}", "t += max(g) * 0.1 if g else 0.0")  # fmt: skip

    def keyed(self) -> str:
        """Dicts, sets and tuples that data choose."""
        v, k = self.value(), f"int(4 * np.tanh({self.value()}))"
        return self.pick(
            f"found[{k}] = {v}", f"found[{k}] = found.get({k}, 0.5) + {v}", f"seen.add({k})", f"seen.discard({k})", f"t += 0.5 if {k} in seen else 0.25",
            f"s += found.pop({k}, {v})", f"if {k} in found:\n    t += found[{k}]", "t += max(found.values(), default=0.5)", "s += 0.1 * sum(k * a for k, a in found.items())",
            "t += 0.1 * max(found, key=found.get, default=0)", f"if len(kinds) < 6:\n    kinds.append(({k}, {v}))", "kinds = sorted(kinds)[:4]", "t += min(kinds)[1]",
            "kinds.sort(key=lambda p: (-p[0], p[1]))", "s += 0.1 * max(kinds, key=lambda p: p[1])[0]", "if len(kinds) > 1:\n    kinds.remove(kinds[-1])", f"seen = seen | {{{k}}}", "t += len({a for a, b in kinds})",
        )  # fmt: skip

    def grouped(self) -> str:
        """Lists, sets and dicts under keys that data choose, and one of two lists."""
        v, k = self.value(), f"int(2 * np.tanh({self.value()}))"
        return self.pick(
            f"groups[{k}].append({v})", f"if len(groups[{k}]) > 2:\n    t += groups[{k}][0] - groups[{k}][-1]", f"groups[{k}] += [{v}, t]", f"groups[{k}] = [{v}]",
            f"if {k} in groups:\n    s += 0.1 * max(groups[{k}], default=0.5)", "t += 0.1 * max(len(v) for v in groups.values()) if groups else 0.5",
            f"links.setdefault({k}, set()).add({self.one([*self.loops[-1:], '3'])})", f"t += 0.5 if 3 in links.get({k}, set()) else 0.25",
            f"row = counts.setdefault({k}, {{}})\nrow[{self.one([*self.loops[-1:], '1'])}] = row.get(1, 0.5) * 0.5 + {v}", f"({self.pick('low', 'high')} if {v} > t else high).append({v})",
            "for a, b in sorted(groups.items()):\n    s += 0.1 * a * np.sum(b)", f"t += np.mean(groups[{k}] + [{v}])", f"groups.pop({k}, None)",
        )  # fmt: skip


_WALKS = (
    ["    seen[0] += v * 0.5", "    return walk(k - 1, seen, np.tanh(v + seen[1])) + seen[0]"],
    ["    seen[k % 2] = v", "    a = walk(k - 1, seen, v * 0.5)", "    return a + seen[0] * seen[1]"],
    ["    seen[0], seen[1] = seen[1], seen[0] * 0.5", "    return walk(k - 1, seen, v + seen[0])"],
    ["    if v > 0.3:", "        seen[1] -= 0.25", "    return v + walk(k - 1, seen, seen[0] * 0.5)"],
)

LOSS = """
def loss(x, y, given, s, n):
    s, t, x, y, w, *rest = f(x, y, given, s, n)
    total = s * 0.7 + t * 0.9 + np.sum(x * [0.3, 0.5, -0.2, 0.9]) + np.sum(y * [0.1, -0.6, 0.4, 0.2]) + sum(w) * 0.3
    for a in rest:
        total = total + a * 0.25
    return total + given[0] * given[1]
"""


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(f"containers {seed} inputs")
    made = Containers(seed, frozenset(FEATURES) if features is None else features)
    args = [f"        ({vector(r)}, {vector(r)}, [{number(r)}, {number(r)}, {number(r)}], {number(r)}, {n})," for n in (3, 0, 5)]
    lines = ["import collections", "", "import numpy as np", "", "from tests.fuzz import compare", "", "", *made.helpers]
    lines += ["def f(x, y, given, s, n):", *made.lines, "", ""]
    slopes = r.random() < 0.35
    lines += [*LOSS.strip().splitlines(), "", ""] if slopes else []
    lines += ["def main():", "    inputs = [", *args, "    ]", "    compare.values(f, *inputs, kinds=False)"]
    lines += [f"    compare.gradient(loss, inputs[{r.choice((0, 0, 2))}], (0, 1, 3))"] if slopes else []
    return Case("containers", seed, "\n".join(lines) + "\n", frozenset(made.used))
