"""Small whole programs as users write them: functions that call themselves, classes made inside, generators, heaps, dicts, closures,
exceptions and arrays whose lengths data decide, all of them in one function and in each other.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz.case import Case
from tests.fuzz.grammar import Program, module, number, vector

FEATURES = (
    "recursion", "classes", "operators", "vars", "names", "keyed", "sets", "heap", "bisect", "deque", "generators", "try", "with", "nonlocal", "text", "walrus",
    "lengths", "chosen", "defaults", "unpacking", "jumps", "nodes",
)  # fmt: skip


class Programs(Program):
    """`s`, `t` are floats, `x`, `y` arrays of four, `z` one whose length data decide, `w` a list of floats, `d` a dict of the caller's."""

    most = 8

    def __init__(self, seed: int, features: frozenset[str]):
        super().__init__("programs", seed, features)
        self.jumps = "jumps" in features
        self.helpers: list[str] = []
        self.calls: list[str] = []  # of functions of one number, without brackets
        self.streams: list[str] = ["x", "y"]  # what loops may go over
        self.floats: list[str] = []  # numbers in things
        self.arrays = ["x", "y"]
        self.read = ["sum(w)", "len(w)"]
        self.ways: list[tuple[float, Callable[[], str]]] = [(3, self.plain)]
        self.add("t, w = 0.5, [s, x[0]]")
        for name in sorted(FEATURES, key=lambda _: self.r.random()):
            if (part := getattr(self, "write_" + name.replace(" ", "_"), None)) and self.has(name, 0.55):
                part()
        self.write()
        self.add(f"return s, t, x, y, w, {', '.join(self.read)}")

    def takes(self, share: float, way: Callable[[], str], start: str = "", *read: str) -> None:
        """A kind of statement: what it needs at the start, and what is read at the end."""
        if start:
            self.add(start)
        self.read += read
        self.ways.append((share, way))

    # expressions

    def term(self) -> str:
        forms = [f"x[{self.index()}]", "y[0]", "w[-1]", "d['a']", *self.floats]
        if self.calls:
            forms += [f"{self.one(self.calls)}({self.one(self.numbers)})"] * 2
        return self.one(forms)

    def whole(self) -> str:
        """A small whole number, 0, 1 or 2."""
        return self.pick(f"int(abs(4 * np.tanh({self.number(0)}))) % 3", *[f"{k} % 3" for k in self.loops[-1:]] * 2, "n % 3", "1")

    def array(self) -> str:
        return self.one(self.arrays)

    def stream(self) -> str:
        return self.one(self.streams)

    # statements

    def kinds(self) -> list[tuple[float, Callable[[int], None]]]:
        tries = [(2.0, self.try_block)] if "try" in self.used else []
        withs = [(1.5, self.with_block)] if "with" in self.used else []
        return [*super().kinds(), (2, self.over), *tries, *withs]

    def over(self, depth: int) -> None:
        v = self.name("v")
        head = self.pick(f"for {v} in {self.stream()}", f"for {self.name('k')}, {v} in enumerate({self.stream()}, 1)")
        self.add(f"{head}:", f"    {self.pick('t', 's')} += 0.1 * {v}")
        self.numbers.append(v)
        self.within(depth)
        self.numbers.remove(v)

    def simple(self) -> str:
        return self.r.choices([f for _, f in self.ways], [k for k, _ in self.ways])[0]()

    def plain(self) -> str:
        v, name = self.value(), self.pick("s", "t")
        return self.pick(
            f"{name} = {self.number()}", f"{name} {self.pick('+', '-', '*')}= {v}", f"s, t = t, {v}", f"x[{self.index()}] {self.pick('=', '+=')} {v}", f"x = x * 0.5 + {self.array()}[0] * y",
            f"s += 0.1 * np.sum({self.array()})", f"w[{self.pick('0', '-1')}] = {v}", f"w = [*w[-4:], {v}]", f"x[1:] = x[:-1] * {v}", f"d['a'] {self.pick('=', '+=')} {v}", "x[::-1][1:3] += y[1:3]",
        )  # fmt: skip

    # parts: each makes its things at the start of the program

    def write_recursion(self) -> None:
        which = self.r.sample(sorted(_RECURSIVE), self.r.choice((1, 2, 2)))
        for name in which:
            lines, call, floats = _RECURSIVE[name]
            if self.r.random() < 0.6:
                self.helpers += [*lines, "", ""]
            else:
                self.add("\n".join(lines))
            self.ways += [(1.2, lambda call=call: call.replace("@", self.value()).replace("#", self.one(("x", "y"))))]
            self.calls += floats

    def write_classes(self) -> None:
        inside = self.r.random() < 0.7
        outer = self.pick("t", "y[0]", "len(w)", "d['b']") if inside else "0.5"
        lines = [
            f"class Node{self.pick('', '(object)')}:",
            "    made = 0",
            "    def __init__(self, v, k=1):",
            "        self.v, self.k, self.next = v, k, None",
        ]
        lines += self.one((["        self.log = [v]"], ["        self.log = [v, 0.5]", "        self.k += len(self.log)"]))
        lines += ["    def grow(self, u):", *(f"        {line}" for line in self.one(_GROWS))]
        lines = [line.replace("@", outer) for line in lines]
        lines += [
            "    @property",
            "    def size(self):",
            f"        return {self.pick('self.v * self.k', 'self.v + sum(self.log)', f'np.tanh(self.v) + {outer}')}",
        ]
        if self.r.random() < 0.5:
            lines += ["    @size.setter", "    def size(self, u):", "        self.v = u * 0.5", "        self.k = self.k + 1"]
            self.ways.append((0.8, lambda: f"{self.object()}.size {self.pick('=', '+=')} {self.value()}"))
        if self.has("operators"):
            lines += [
                "    def __add__(self, other):",
                "        return Node(self.v + (other.v if isinstance(other, Node) else other), self.k)",
                "    __radd__ = __add__",
            ]
            lines += [
                "    def __lt__(self, other):",
                "        return self.v < other.v",
                "    def __getitem__(self, k):",
                "        return self.log[k]",
                "    def __bool__(self):",
                "        return bool(self.v > 0)",
            ]
            lines += [
                "    def __iadd__(self, u):",
                "        self.v = self.v + u",
                "        self.log.append(u)" if self.r.random() < 0.5 else "        self.k += 1",
                "        return self",
            ]
            self.ways += [(2, self.operators)]
        if inside:
            self.add("\n".join(lines))
        else:
            self.helpers += [*lines, "", ""]
        self.floats += ["o.v", "p.size", "p.log[0]"]
        self.takes(
            3, self.objects, "o, p = Node(s), Node(t, 2)\np.next = o", "o.v", "p.v", "o.k", "p.k", "sum(p.log)", "len(o.log)"
        )
        if self.has("vars", 0.6):
            self.ways.append((2, self.vars))

    def object(self) -> str:
        return self.pick("o", "p", "p.next", *(["q"] if "chosen" in self.used else []))

    def objects(self) -> str:
        o, v = self.object(), self.value()
        return self.pick(
            f"{o}.grow({v})", f"t += 0.5 * {o}.grow({v})", f"{o}.v = {v}", f"{o}.k += 1", f"{o}.log[0] += {v}", "s += 0.1 * p.next.v", f"if {o}.v > {v}:\n    {o}.k -= 1", f"s += {o}.size",
            "o, p = p, o\np.next, o.next = o, None" if not self.depth else "o.v, p.v = p.v, o.v", f"s += sum(q.v for q in (o, p)) * {v}", "t += max((o, p), key=lambda a: a.v).size", "Node.made += 1\ns += 0.1 * Node.made",
            f"setattr({o}, '{self.pick('v', 'extra')}', {v})", f"s += getattr({o}, 'extra', 0.25)",
        )  # fmt: skip

    def operators(self) -> str:
        o, v = self.pick("o", "p"), self.value()
        return self.pick(
            "s += (o + p).v * 0.1", f"s += (o + {v}).v", f"t += ({v} + p).size * 0.1", f"{o} += {v}", "s += sorted([o, p])[0].v", "t += min(o, p).size", f"s += {o}[0]", f"t += 0.5 if {o} else 0.25", "s += (o + p + o).v * 0.1",
            f"s = s if o < p else {v}", f"t += ({o} and {v}) if {o} else t",
        )  # fmt: skip

    def vars(self) -> str:
        o, v = self.object(), self.value()
        return self.pick(
            f"vars({o})['v'] = {v}", f"{o}.__dict__['v'] += {v}", f"{o}.__dict__.update(v={v}, k=2)", f"s += vars({o})['v']", f"t += sum(a for b, a in vars({o}).items() if b in ('v', 'k'))", f"s += {o}.__dict__.get('extra', {v})",
            f"for b in ('v', 'k'):\n    {o}.__dict__[b] = {o}.__dict__[b] * 0.5", f"t += len(vars({o}))", f"s += {v} if 'extra' in vars({o}) else 0.1",
        )  # fmt: skip

    def write_names(self) -> None:
        self.floats += ["conf['lr']"]
        self.takes(
            2,
            self.names,
            "conf = {'lr': s, 'w': x * 0.5, 'sub': {'k': t, 'many': [s, t]}}",
            "conf['lr']",
            "conf['w']",
            "conf['sub']['k']",
            "conf['sub']['many'][-1]",
        )

    def names(self) -> str:
        v = self.value()
        key = self.pick("'lr'", "'l' + 'r'", "f\"{'l'}r\"")
        return self.pick(
            f"conf[{key}] {self.pick('=', '+=', '*=')} {v}", f"conf['w'] = conf['w'] * {v}", f"conf['w'][{self.whole()}] += {v}", f"conf['sub']['k'] += {v}", f"conf['sub']['many'].append({v})" if not self.depth else f"conf['sub']['many'][0] = {v}", "s += conf.get('none', 0.5) * conf['lr']",
            f"conf = {{**conf, 'lr': {v}}}", "for name, value in conf['sub'].items():\n    s += 0.1 * np.sum(value)", "s += sum(np.sum(a) for name, a in conf.items() if name != 'sub') * 0.1", f"x = x + conf['w'] * {v}", f"conf |= {{'lr': {v}}}",
            "conf.setdefault('lr', 9.0)\nt += conf.setdefault('more', 0.5)" if not self.depth else "t += conf['lr']", "lr, *many = conf['lr'], *conf['sub']['many']\ns += lr * many[0]", f"d['{self.pick('a', 'b')}'] += conf['sub']['k']",
        )  # fmt: skip

    def write_keyed(self) -> None:
        self.takes(
            2.5,
            self.keyed,
            "c = {}\ngroups = collections.defaultdict(list)",
            "sum(c.values())",
            "len(c)",
            "sum(sum(v) * (k + 1) for k, v in groups.items())",
            "list(c)",
        )

    def keyed(self) -> str:
        v, k = self.value(), self.whole()
        return self.pick(
            f"c[{k}] = {v}", f"c[{k}] = c.get({k}, 0.5) * 0.5 + {v}", f"groups[{k}].append({v})", f"s += c.pop({k}, {v})", f"if {k} in c:\n    del c[{k}]", f"t += sum(groups[{k}]) * 0.1", "for k, v in sorted(c.items()):\n    s += 0.1 * (k + 1) * v",
            f"t += max(c.values(), default={v})", "t += 0.1 * max(c, key=c.get, default=1)", "s += 0.1 * len(groups)", "for v in groups.values():\n    if len(v) > 1:\n        t += v[-1] * 0.5", f"c.update({{{k}: {v}, 5: t}})", "c = {k: 0.5 * v for k, v in c.items()}",
        )  # fmt: skip

    def write_sets(self) -> None:
        self.takes(1.5, self.sets, "g = set()", "len(g)", "sum(sorted(g))")

    def sets(self) -> str:
        k = self.whole()
        return self.pick("for k in g:\n    t = 0.9 * t + 0.1 * k", "s += 0.1 * list(g)[0] if g else t", f"g.add({k})", f"g.discard({k})", f"if {k} not in g:\n    g.add({k})\n    s += {self.value()}", "t += 0.1 * len(g)", f"g |= {{{k}, 4}}", f"g = {{a for a in g if a != {k}}}", f"t += 0.25 if {{0, {k}}} <= g else 0.5", "s += 0.1 * max(g, default=2)")  # fmt: skip

    def write_nodes(self) -> None:
        """Trees of dicts with other keys at their leaves."""
        self.helpers += [
            "def grown(v, depth):",
            f"    if depth == 0 or v > {self.constant()}:",
            "        return {'leaf': v * depth}",
            f"    return {{'at': v * {self.constant()}, 'low': grown(v * 0.5, depth - 1), 'high': grown(v - 0.25, depth - 1)}}",
            "",
            "",
        ]
        self.takes(1.5, self.nodes)

    def nodes(self) -> str:
        down = f"while 'at' in q:\n    t += 0.1 * q['at']\n    q = q['low'] if {self.value()} < q['at'] else q['high']\ns += q['leaf']"
        node = f"q = grown({self.value()}, {self.pick('1', '2')})"
        return (
            node
            + "\n"
            + self.pick(down, "s += q['leaf'] if 'leaf' in q else q['at'] * 0.5", "t += 0.1 * len(q) + q.get('at', s)")
        )

    def write_heap(self) -> None:
        self.takes(
            2.5,
            self.heap,
            f"h = [({self.number(0)}, 1), ({self.number(0)}, 0), (0.3, 2)]\nheapq.heapify(h)",
            "len(h)",
            "h[0]",
            "sum(a for a, k in h)",
        )

    def heap(self) -> str:
        v, k = self.value(), self.whole()
        return self.pick(
            f"heapq.heappush(h, ({v}, {k}))" if not self.loops else f"heapq.heapreplace(h, ({v}, {k}))", f"if len(h) < 8:\n    heapq.heappush(h, ({v}, {k}))", "if len(h) > 1:\n    a, k = heapq.heappop(h)\n    s += a * (k + 1)", f"t += heapq.heappushpop(h, ({v}, {k}))[0]",
            f"s += heapq.heapreplace(h, ({v}, {k}))[0]", "s += sum(a for a, k in heapq.nsmallest(2, h))", "t += heapq.nlargest(1, h)[0][0]", "t += 0.1 * h[0][1]", f"s += heapq.nlargest(2, {self.array()})[-1]", "while len(h) > 4:\n    t += heapq.heappop(h)[0] * 0.1",
            "h = [(a * 0.5, k) for a, k in h]", f"s += heapq.nsmallest(1, w, key=lambda a: abs(a - {v}))[0]",
        )  # fmt: skip

    def write_bisect(self) -> None:
        self.takes(1.5, self.bisect, "knots = sorted([s, t, y[1]])", "knots")

    def bisect(self) -> str:
        v = self.value()
        side = self.pick("", "_left", "_right")
        return self.pick(f"bisect.insort(knots, {v})" if not self.depth else f"knots = sorted([*knots[:3], {v}])", f"t += 0.1 * bisect.bisect{side}(knots, {v})", f"at = bisect.bisect{side}(knots, {v})\nif at > 0:\n    s += knots[at - 1] * {v}", f"if len(knots) < 6:\n    bisect.insort{side}(knots, {v})", f"s += knots[min(bisect.bisect(knots, {v}), len(knots) - 1)]", "knots = sorted(knots, key=lambda a: -a)[:3][::-1]")  # fmt: skip

    def write_deque(self) -> None:
        self.streams.append("list(q_)")
        self.takes(
            2, self.deque, f"q_ = collections.deque([s, t]{self.pick('', ', maxlen=3', ', 4')})", "sum(q_)", "len(q_)", "q_[-1]"
        )

    def deque(self) -> str:
        v = self.value()
        return self.pick(f"q_.append({v})" if not self.loops else f"q_[0] = {v}", f"if len(q_) < 7:\n    q_.appendleft({v})", "if len(q_) > 1:\n    s += q_.popleft()", "q_.rotate(1)", f"q_.extend([{v}, 0.5])" if not self.loops else f"q_[-1] += {v}", f"while len(q_) > 2:\n    t += q_.pop() * {v}", "s += 0.1 * sum(a * b for a, b in zip(q_, x))", "t += max(q_)")  # fmt: skip

    def write_generators(self) -> None:
        lines, calls = self.one(_STREAMS)
        if self.r.random() < 0.5:
            self.helpers += [*(line.replace("@", "0.3") for line in lines), "", ""]
        else:
            self.add("\n".join(lines).replace("@", self.pick("t", "s", "w[0]", "0.3")))
        self.streams += calls
        way = lambda: self.pick(
            f"s += 0.1 * sum({self.stream()})", f"w = list({self.stream()})[:3] + [t]", f"t += next(iter({self.stream()}), 0.5)", f"s += max({self.stream()}, default=0.25)", f"t += sum(a * b for a, b in zip({self.stream()}, y)) * 0.1",
            f"for a in {self.stream()}:\n    if a > {self.value()}:\n        s += a * 0.5\n        break\nelse:\n    t -= 0.25", f"t += 0.1 if any(a > {self.value()} for a in {self.stream()}) else 0.2", f"s += 0.1 * len([a for a in {self.stream()} if a > 0])", f"a, *rest = sorted({self.stream()}) or [0.5]\ns += a + 0.1 * len(rest)",
        )  # fmt: skip
        self.ways.append((3, way))

    def risky(self) -> str:
        v = self.value()
        return self.pick(
            f"s += math.sqrt({v})", f"t = math.log({v} + 0.5)", f"s += 1.0 / {self.whole()}", f"t += w[{self.whole()} + 1]", f"if {self.condition()}:\n    raise ValueError({self.pick(repr('no'), 's', 'n, s')})", f"t += {{0: s, 1: 0.5}}[{self.whole()}]",
            f"if {self.condition()}:\n    raise KeyError('a')", f"assert {self.condition()}",
        )  # fmt: skip

    def write_try(self) -> None:
        self.helpers += ["class Stop(ValueError):", "    pass", "", "", "def careful(v, a):", *self.one(_CAREFUL), "", ""]
        self.takes(1.5, lambda: f"{self.pick('s', 't')} += careful({self.value()}, {self.array()})")

    def try_block(self, depth: int) -> None:
        self.add("try:")
        self.depth += 1
        self.add(self.simple() if self.r.random() < 0.5 else self.plain(), self.risky())
        if self.r.random() < 0.3:
            self.add(self.plain())
        self.depth -= 1
        caught = self.pick(
            "ValueError",
            "(ValueError, LookupError)",
            "ArithmeticError",
            "LookupError",
            "Exception",
            "(ArithmeticError, AssertionError)",
        )
        self.add(f"except {caught}{self.pick('', ' as e')}:")
        self.block(depth)
        if self.r.random() < 0.3:
            self.add("else:")
            self.block(1)
        if self.r.random() < 0.3:
            late = self.pick(
                "",
                "",
                f"    if {self.value()} > 1.5:\n        raise KeyError('late')",
                f"    if {self.value()} > 1.5:\n        return s, t, x",
            )
            self.add("finally:", f"    t += {self.value()}", *late.split("\n")[: 2 * bool(late)])

    def write_with(self) -> None:
        self.helpers += [
            "class Scale:",
            "    def __init__(self, v, marks):",
            "        self.v, self.marks = v, marks",
            "    def __enter__(self):",
            "        self.marks.append(self.v)",
            "        return self.v * 0.5",
            "    def __exit__(self, kind, e, trace):",
        ]
        self.helpers += [
            "        self.marks[-1] += 1.0",
            f"        return {self.pick('False', 'kind is ValueError', 'None')}",
            "",
            "",
        ]
        self.add(
            f"@contextlib.contextmanager\ndef scaled(v):\n    nonlocal t\n    old, t = t, t * v\n    try:\n        yield v + old\n    finally:\n        {self.pick('t = old', 't = t * 0.5 + old')}\nmarks = [0.5]"
        )
        self.read += ["sum(marks)", "len(marks)"]

    def with_block(self, depth: int) -> None:
        a = self.name("a")
        self.add(
            f"with {self.pick(f'Scale({self.value()}, marks) as {a}', f'scaled({self.value()}) as {a}')}:", f"    s += {a} * 0.5"
        )
        self.numbers.append(a)
        self.block(depth)
        self.numbers.remove(a)

    def write_nonlocal(self) -> None:
        body = self.one((["    count += 1", "    return u * 0.5 + count * 0.1"], ["    count += 1 if u > 0 else 2", "    t = t * 0.5 + u", "    return t"], ["    if u > t:", "        count += 1", "        return u", "    t -= 0.1", "    return t * u"], ["    count += len(w)", "    w[0] += u * 0.1", "    return w[0]"]))  # fmt: skip
        late = self.pick("tick", "lambda u: tick(u) + t", "functools.partial(lambda a, u: a * tick(u), 0.5)")
        self.add("count = 0\ndef tick(u):\n    nonlocal count, t\n" + "\n".join(body) + f"\ntock = {late}")
        self.calls += ["tick", "tock"]
        self.takes(1, lambda: self.pick(f"s += tick({self.value()}) * tock({self.value()})", "w = [tick(a) for a in w]", f"s = tick(s) if 0 < tick(t) < {self.value()} else s", f"s += sum(map(tick, {self.array()})) * 0.1", f"x[{self.whole()}] += tick({self.value()})"), "", "count")  # fmt: skip

    def write_text(self) -> None:
        self.takes(2, self.text, "tally, mode = {}, 'low'", "sum(tally.values())", "tally.get('high', 0.5)", "mode")

    def text(self) -> str:
        v, k = self.value(), self.one([*self.loops[-1:], "n", "2"])
        key = self.pick(
            "'high' if s > 0 else 'low'",
            f"f\"{{'high' if {v} > 0 else 'low'}}\"",
            "mode",
            f"f'k{{{k} % 2}}'" if k == "2" else "'low'",
            "'{}{}'.format('hi', 'gh')",
            "'%s' % mode",
            "mode.upper().lower()",
        )
        return self.pick(f"tally[{key}] = tally.get({key}, 0.0) + {v}", f"mode = {key}", f"s += 0.5 if mode == 'high' else {v}", f"if mode.startswith('h'):\n    s += {v}", f"t += {{'high': s, 'low': 0.5}}.get(mode, {v})", "t += 0.1 * len(mode)", f"if {key} in tally:\n    tally[{key}] *= 0.5", "for name in sorted(tally):\n    s += tally[name] * 0.1")  # fmt: skip

    def write_walrus(self) -> None:
        v = self.value
        self.takes(1.5, lambda: self.pick(f"if (m := {v()}) > 0.1:\n    s += m", f"w = [u for a in w if (u := a * 0.5 + {v()}) > -0.5] or [t]", f"s += (u := {v()}) * u", "k = 0\nwhile (k := k + 1) < 4 and (t := t * 0.5) > 0.1:\n    s += t * k", f"t += sum((u := a * {v()}) + u * u for a in {self.stream()}) * 0.1", f"s += len(big := [a for a in x if a > {v()}]) + sum(big)"))  # fmt: skip

    def write_lengths(self) -> None:
        self.helpers += [*self.one(_LENGTHS), "", ""]
        self.floats += ["np.sum(z)"]
        self.streams.append("z")
        self.takes(
            4,
            self.lengths,
            f"z = {self.pick('x[x > 0]', 'np.flatnonzero(x > 0) * 0.5', 'y[: n + 1].copy()', 'np.append(x, s)')}",
            "z",
            "len(z)",
        )

    def lengths(self) -> str:
        v, lo, hi = self.value(), self.whole(), f"{self.whole()} + 2"
        a = self.array()
        return self.pick(
            f"z = {a}[{a} > {v}]", f"z = z[z > {v}] * 0.5", f"z = np.append(z[:6], {v})", "z = z[1:]", f"z = {a}[{lo}:{hi}].copy()", f"z[z > {v}] *= 0.5", f"x[np.flatnonzero({a} > {v})] += {v}", f"z = trimmed(z, {v})", f"z = trimmed({a}, {v})", f"z[: len(z) // 2] = {v}", f"x[{lo}:{hi}] = y[{lo}:{hi}] * {v}",
            "s += np.sum(z * z) * 0.1", "if len(z):\n    s += z[-1] - z.min()", "z = np.concatenate([z[:4], x[:2]])", f"x[{a} > {v}] = {a}[{a} > {v}] * 0.5", "z = z[::-1].copy()", "z += 0.25", "if z.size > 1:\n    t += np.mean(z[1:] - z[:-1])", f"z = np.where(z > {v}, z, 0.5)", "z = np.sort(z)", f"for i in range(len(z)):\n    z[i] = z[i] * 0.5 + {v}",
            "z = np.cumsum(z)", f"s += np.dot(z, z) * {v}", "w = list(z[:3]) + [t]", "z = np.array([a * 0.5 for a in z])", f"t += len(np.flatnonzero({a} > {v})) * 0.1", "z = z[:len(w)] if len(z) > 2 else np.array(w)",
        )  # fmt: skip

    def write_chosen(self) -> None:
        if "class Node" in "\n".join([*self.lines, *self.helpers]) and any("o, p = Node" in line for line in self.lines):
            self.add("q = o\nteam = [o, p, Node(0.5)]")
            self.read += ["q.v", "team[2].v", "team[2].k"]
            self.ways.append((2.5, lambda: self.pick(f"q = o if {self.condition()} else p", f"q = team[{self.whole()}]", f"team[{self.whole()}].grow({self.value()})", f"q.v = {self.value()}", "q = min(team, key=lambda a: a.v)", "s += max(team, key=lambda a: a.size).v", "t += 0.5 if q is o else 0.25", "for a in team:\n    a.v *= 0.5", "team.sort(key=lambda a: a.v)" if not self.depth else "s += sum(a.k for a in team)", f"best = None\nfor a in team:\n    if a.v > {self.value()} and (best is None or a.v < best.v):\n        best = a\nif best is not None:\n    best.k += 1\n    s += best.v")))  # fmt: skip
        else:
            self.used.discard("chosen")
        self.takes(1.5, lambda: self.pick(f"act = act if {self.condition()} else np.cos", f"act = [np.sin, np.tanh, half][{self.whole()}]", f"s += act({self.value()})", "x = act(x)", f"t += {{0: np.sin, 1: half, 2: np.cos}}[{self.whole()}](t)"), f"half = lambda a: a * {self.pick('t', '0.5')}\nact = {self.pick('np.sin', 'half')}", "act(0.5)")  # fmt: skip

    def write_defaults(self) -> None:
        lines = self.one((["def keep(u, seen=[0.5]):", "    seen.append(u)", "    return sum(seen[-3:])"], ["def keep(u, seen={'k': 0}):", "    seen['k'] += 1", "    return u * seen['k']"], ["def keep(u, a=x, *, c=t):", "    a[0] += u", "    return a[1] * c"], ["def keep(*us, **more):", "    return sum(us) * more.get('c', 0.5)"], ["made = [lambda u, k=k: u * k + t for k in range(3)]", "keep = made[1]"], ["made = [lambda u: u * k + t for k in range(3)]", "keep = made[0]"]))  # fmt: skip
        self.add("\n".join(lines))
        self.calls.append("keep")
        self.ways.append((1, lambda: f"s += keep({self.value()}) - keep({self.number(0)})"))

    def write_unpacking(self) -> None:
        v = self.value
        self.takes(1.5, lambda: self.pick(f"a, *w = [{v()}, *w[:3], t]\ns += a", "(a, b), c_ = (s, t), y[0]\ns, t = b, a * c_", f"i = 0\ni, x[i] = 1, {v()}", "x[0], x[1] = x[1], x[0]", "*_, a = x\ns += a", "x[:2], y[:2] = y[:2], x[:2]", "for k, (a, b) in enumerate(zip(x, y), start=2):\n    s += a * b / k", "x[1:], x[0] = x[:-1], s", "w[0], w[-1] = w[-1], w[0]", "x[::-2] = y[:2]", f"k = {self.whole()}\nk, w[k % len(w)] = 0, t + k", "a = b = x[:2]\na += 0.25\ns += b[0]", "s, t = divmod(s, 0.7)", "x, y = y, x"))  # fmt: skip


_GROWS = (
    ("self.v = self.v * 0.5 + u * @", "return self.v"),
    ("self.log.append(u)", "self.v += u", "return self.log[0] * @"),
    ("if u > self.v:", "    self.k += 1", "    return u", "self.v -= u * @", "return self.v"),
    ("if self.next is not None:", "    return self.next.grow(u * 0.5)", "self.v = u + @", "return self.v"),
    ("for k in range(2):", "    self.log[0] = np.tanh(self.log[0] + u * k)", "return self.log[0] + @"),
    ("type(self).made += 1", "self.v += u * @", "return self.v * 0.5"),
)
_RECURSIVE = {  # lines, a statement, functions of one number
    "ordered": (["def ordered(a):", "    if len(a) < 2:", "        return list(a)", "    k = a[0]", "    return ordered([b for b in a[1:] if b < k]) + [k] + ordered([b for b in a[1:] if not b < k])"], "w = ordered([*w[:3], @, *#])[-4:]", []),
    "deep": (["def deep(k, a):", "    if k == 0:", "        return a", "    a = np.tanh(a * 1.1 + 0.01 * k)", "    return deep(k - 1, a) * 0.98"], "x = deep(n * 3, # + @)", []),
    "halves": (["def halves(a):", "    if len(a) == 1:", "        return a[0]", "    m = len(a) // 2", "    return halves(a[:m]) * 0.5 + np.tanh(halves(a[m:]))"], "s += halves(#) * @", []),
    "path": (["def path(k, v):", "    if k <= 0 or v > 5:", "        return [v]", "    return [v, *path(k - 1, v * 0.5 + 0.3)]"], "w = path(n, @)", []),
    "settle": (["def settle(v, k=0):", "    if abs(v) < 0.1 or k > 20:", "        return v, k", "    return settle(v * 0.6 + 0.01, k + 1)"], "a, k = settle(@)\ns += a\nt += 0.1 * k", []),
    "fibs": (["def fibs(v, memo):", "    if v < 2:", "        return 1.0", "    if v not in memo:", "        memo[v] = fibs(v - 1, memo) + 0.5 * fibs(v - 2, memo)", "    return memo[v]"], "s += fibs(n + 3, {}) * @", []),
    "tree": (["def tree(v, k):", "    if k == 0 or v < -0.5:", "        return v, 1", "    a, m = tree(v * 0.5 + 0.1, k - 1)", "    b, j = tree(v * 0.7 - 0.2, k - 1)", "    return a * 0.5 + b, m + j"], "a, k = tree(@, 4)\nt += a * 0.1 + k", []),
    "fill": (["def fill(a, k, v):", "    if k >= len(a):", "        return v", "    a[k] = a[k] * 0.5 + v", "    return fill(a, k + 1, v * 0.5 + a[k] * 0.1) + a[k]"], "s += fill(#, 0, @) * 0.1", []),
    "climb": (["def climb(v):", "    return v if v > 0.5 else climb(v * 0.5 + 0.4) * 0.9"], "s += climb(@)", ["climb"]),
    "even": (["def even(k, v):", "    return v if k <= 0 else odd(k - 1, v * 0.5 + 0.1)", "def odd(k, v):", "    return -v if k <= 0 else even(k - 1, np.sin(v))"], "t += even(n + 2, @)", []),
}  # fmt: skip
_STREAMS = (
    (["def stream(a):", "    for v in a:", "        if v > @:", "            yield v * 0.5"], ["stream(x)", "stream(y)"]),
    (["def inner(a):", "    for v in a:", "        yield v", "    return len(a)", "def stream(a, c=0.5):", "    k = yield from inner(a[:2])", "    yield k * 0.1 + @", "    yield from (v * c for v in a if v > c)"], ["stream(x)", "stream(y, s)", "inner(x)"]),
    (["def stream(v, n=6):", "    for k in range(n):", "        v = v * 0.7 + 0.1 * k", "        if v > 3.0:", "            return", "        yield v"], ["stream(s)", "stream(t, n)"]),
    (["def stream(a):", "    low, high = 0, len(a) - 1", "    while low < high:", "        yield a[low] - a[high]", "        if a[low] < a[high]:", "            low += 1", "        else:", "            high -= 1"], ["stream(x)", "stream(y)"]),
    (["def stream(a):", "    try:", "        for k in range(len(a)):", "            yield a[k] / (k + 1)", "    finally:", "        a[0] += 0.25"], ["stream(x.copy())", "stream(y)"]),
    (["def stream(a, b):", "    yield from a", "    yield from map(lambda u: u * @, b)", "    yield 0.5"], ["stream(x, y[:2])", "stream([s, t], x)"]),
    (["def stream(a):", "    for k, v in enumerate(a):", "        yield v if v > 0 else k * 0.1"], ["(a * k for k, a in enumerate(stream(x), start=1))", "stream(y[::-1])"]),
)  # fmt: skip
_CAREFUL = (
    ("    try:", "        return math.sqrt(v) + a[0]", "    except ValueError:", "        return a[-1] * 0.5"),
    ("    total = 0.0", "    for u in a:", "        try:", "            if u > v:", "                raise Stop(u)", "            total += math.log(u + 1.0)", "        except Stop as e:", "            total += 0.5", "        except ValueError:", "            break", "    else:", "        total += 0.25", "    return total"),
    ("    try:", "        if v > 0.2:", "            raise Stop('high')", "        k = int(v * 10)", "        return a[k]", "    except (Stop, IndexError):", "        return v * 0.5", "    finally:", "        v = v + 1.0"),
    ("    for k in range(4):", "        try:", "            if a[k] > v:", "                continue", "            v = v * 0.5 + a[k]", "        finally:", "            v = v + 0.01", "    return v"),
    ("    def check(u):", "        if u < 0:", "            raise Stop", "        return math.sqrt(u)", "    try:", "        r = check(v) + check(a[1])", "    except Stop:", "        r = 0.1", "    else:", "        r = r * 2", "    return r"),
)  # fmt: skip
_LENGTHS = (
    ("def trimmed(a, v):", "    b = a[a > v]", "    if len(b) == 0:", "        return np.array([v])", "    return b * 0.5"),
    ("def trimmed(a, v):", "    at = np.flatnonzero(np.abs(a) > 0.2)", "    b = a[at] + v", "    b[:1] = 0.5", "    return b"),
    ("def trimmed(a, v):", "    i, j = 0, len(a)", "    while i < j and a[i] < v:", "        i += 1", "    while j > i and a[j - 1] < v:", "        j -= 1", "    return a[i:j].copy()"),
    ("def trimmed(a, v):", "    out = []", "    for u in a:", "        if u > v or len(out) > 2:", "            out.append(u * v)", "    return np.array(out + [v])"),
    ("def trimmed(a, v):", "    k = int(np.sum(a > v))", "    b = np.zeros(k + 1)", "    b[1:] = np.sort(a)[len(a) - k :]", "    b[0] = v", "    return b"),
)  # fmt: skip

LOSS = """
def loss(x, y, d, s, n):
    s, t, x, y, w, *rest = f(x, y, d, s, n)
    total = s * 0.7 + t * 0.9 + np.sum(x * [0.3, 0.5, -0.2, 0.9]) + np.sum(y * [0.1, -0.6, 0.4, 0.2]) + sum(w) * 0.3
    for a in rest:
        if not isinstance(a, (str, list, tuple)):
            total = total + np.sum(a) * 0.25
    return total + d['a'] * d['b']
"""


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(f"programs {seed} inputs")
    made = Programs(seed, frozenset(FEATURES) if features is None else features)
    args = [f"        ({vector(r)}, {vector(r)}, {{'a': {number(r)}, 'b': {number(r)}}}, {number(r)}, {n})," for n in (3, 0, 5)]
    imports = ("bisect", "collections", "contextlib", "functools", "heapq", "math")
    text = module(r, made, imports, "def f(x, y, d, s, n):", args, LOSS, ((0, 0, 2), "(0, 1, 3)"))
    return Case("programs", seed, text, frozenset(made.used))
