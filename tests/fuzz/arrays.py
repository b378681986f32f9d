"""Array programs as statistics and machine learning write them: products, softmax, norms, covariances, attention, windows, sorts.

Extents lie around lanes, tiles and thread thresholds, and are often equal to each other; constants and subexpressions repeat on
purpose, because passes share what is equal. Values for all programs, gradients for a third.
"""

from __future__ import annotations

import random

from tests.fuzz.array_functions import Functions
from tests.fuzz.case import Case

FEATURES = (
    "product", "softmax", "normalise", "covariance", "attention", "reduce", "window", "gather", "scatter", "sort", "scan", "einsum",
    "where", "broadcast", "stack", "linalg", "gate", "distance", "loop", "large", "single", "constants", "shared", "functions",
    "special", "spectrum", "fourier", "smoothing", "wholes",
)  # fmt: skip

SMALL = (1, 2, 3, 4, 6, 7, 8, 9, 10, 13, 15, 16, 17, 22, 31, 32, 33)  # whole vectors, and each number of lanes beside them
MIDDLE = (63, 64, 65, 127, 128, 129)
UNARY = (
    "np.arctan({x})", "np.arcsin(0.9 * np.tanh({x}))", "np.arccos(0.9 * np.tanh({x}))", "np.cbrt({x})", "np.expm1(-np.abs({x}))", "np.log1p(np.abs({x}))",
    "np.sinh(np.tanh({x}))", "np.cosh(np.tanh({x}))", "np.arcsinh({x})", "np.arctanh(0.5 * np.tanh({x}))", "np.tan(np.tanh({x}))", "np.square(np.tanh({x}))",
    "np.floor({x})", "np.ceil({x})", "np.rint({x})", "np.sign({x})", "np.trunc({x})", "np.reciprocal(1.0 + np.abs({x}))", "np.exp2(-np.abs({x}))",
    "np.log2(1.0 + np.abs({x}))", "np.log10(1.0 + np.abs({x}))", "np.cos({x})", "np.nan_to_num({x})", "np.sinc({x})", "np.abs({x}) ** 1.5", "np.tanh({x}) ** 3",
)  # fmt: skip
BINARY = (
    "np.hypot({x}, {y})", "np.arctan2({x}, 1.0 + np.abs({y}))", "np.logaddexp({x}, {y})", "np.minimum({x}, {y})", "np.fmax({x}, {y})", "np.fmin({x}, {y})",
    "np.copysign({x}, {y})", "np.remainder({x}, 1.0 + np.abs({y}))", "np.floor_divide({x}, 1.0 + np.abs({y}))", "(1.0 + np.abs({x})) ** np.tanh({y})",
    "np.fmod({x}, 1.0 + np.abs({y}))", "np.heaviside({x}, 0.5) * {y}", "np.isclose({x}, {y}) * 1.0", "({x} > {y}).astype(np.float64)", "np.logaddexp2({x}, {y})",
)  # fmt: skip
CONSTANTS = ("1.0", "0.0", "2.0", "0.5", "1e-5", "-1.0", "3.0")


class Maker(Functions):
    """One random function of matrices and vectors. `shapes`: variables by shape; every number stays of moderate size."""

    def __init__(self, seed: int, features: frozenset[str] | None):
        self.r = random.Random(seed)
        self.features = frozenset(FEATURES) if features is None else features
        self.used: set[str] = set()
        self.lines: list[str] = []
        self.vars: list[tuple[str, tuple[int, ...]]] = []
        self.fresh = 0
        self.constant = self.r.choice(CONSTANTS)
        pool = [*SMALL, *SMALL, *MIDDLE, *([1000] if self.has("large") else []), *([0] if self.r.random() < 0.1 else [])]
        n, m, k = (self.r.choice(pool) for _ in range(3))
        if self.r.random() < 0.4:
            m = n
        if self.r.random() < 0.3:
            k = m
        if n * m * k > 2_000_000 or n * m > 40_000:
            n = self.r.choice(SMALL)
        if m * k > 40_000:
            k = self.r.choice(SMALL)
        self.n, self.m, self.k = n, m, k

    def has(self, feature: str) -> bool:
        return feature in self.features

    # ---- picking ----

    def pick(self, rank: int | None = None, shape: tuple[int, ...] | None = None) -> tuple[str, tuple[int, ...]] | None:
        found = [v for v in self.vars if (rank is None or len(v[1]) == rank) and (shape is None or v[1] == shape)]
        if not found:
            return None
        return found[-1] if self.r.random() < 0.5 else self.r.choice(found)

    def add(self, text: str, shape: tuple[int, ...], feature: str = "") -> str:
        self.fresh += 1
        name = f"v{self.fresh}"
        self.lines.append(f"    {name} = {text}")
        self.vars.append((name, shape))
        if feature:
            self.used.add(feature)
        return name

    def number(self) -> str:
        if self.has("constants") and self.r.random() < 0.5:
            self.used.add("constants")
            return self.constant
        return self.r.choice(CONSTANTS)

    # ---- statements ----

    def statement(self) -> None:
        kinds = [k for k in (
            "product", "softmax", "normalise", "covariance", "attention", "reduce", "window", "gather", "scatter", "sort", "scan",
            "einsum", "where", "broadcast", "stack", "linalg", "gate", "distance", "loop", "functions", "functions",
            "special", "special", "special", "spectrum", "spectrum", "fourier", "smoothing", "wholes", "wholes") if self.has(k)]  # fmt: skip
        kind = self.r.choice([*kinds, "elementwise", "elementwise", "binary", "binary"])
        if self.has("shared") and self.r.random() < 0.1 and self.lines:
            name, equals, text = self.r.choice(self.lines).strip().partition(" = ")
            if equals and name in dict(self.vars) and ";" not in text:
                self.add(text, dict(self.vars)[name], "shared")
                return
        getattr(self, "_" + kind)()

    def _elementwise(self) -> None:
        v = self.pick()
        assert v is not None
        x = v[0]
        text = self.r.choice([
            f"np.tanh({x})", f"np.exp(-np.abs({x}))", f"{x} * {self.number()}", f"{x} + {self.number()}", f"np.sqrt({x} * {x} + 1.0)",
            f"np.log(1.0 + {x} ** 2)", f"np.maximum({x}, {self.number()})", f"np.sin({x})", f"-{x}", f"1.0 / (1.0 + np.exp(-{x}))",
            f"np.clip({x}, -1.0, {self.r.choice(['1.0', '0.5'])})", f"np.abs({x})", f"({x} - {self.number()}) / 3.0",
        ])  # fmt: skip
        self.add(text, v[1])

    def _functions(self) -> None:
        v = self.pick()
        assert v is not None
        y = self.pick(shape=v[1])
        assert y is not None
        self.add(self.r.choice([*UNARY, *BINARY]).format(x=v[0], y=y[0]), v[1], "functions")

    def _binary(self) -> None:
        a = self.pick()
        assert a is not None
        b = self.pick(shape=a[1])
        assert b is not None
        op = self.r.choice(["+", "-", "*", "+", "-"])
        text = f"{a[0]} {op} {b[0]}" if op != "*" else f"np.tanh({a[0]}) * {b[0]}"
        self.add(self.r.choice([text, text, f"np.maximum({a[0]}, {b[0]})", f"{a[0]} / (1.0 + np.abs({b[0]}))"]), a[1])

    def _product(self) -> None:
        a = self.pick(rank=self.r.choice((1, 2, 2, 2)))
        if a is None:
            return
        x, s = a
        fits = [v for v in self.vars if v[1] and len(v[1]) < 3]
        self.r.shuffle(fits)
        for y, t in fits:
            for left, ls in ((x, s), (f"{x}.T", s[::-1])):
                for right, rs in ((y, t), (f"{y}.T", t[::-1])):
                    if len(ls) and len(rs) and ls[-1] == rs[0]:
                        shape = (*ls[:-1], *rs[1:])
                        scale = f" / {max(1, ls[-1])}.0" if self.r.random() < 0.7 else ""
                        tail = self.r.choice(["", "", f" + {self.number()}", f" - {self.number()}"])
                        self.add(f"({left} @ {right}){scale}{tail}", shape, "product")
                        return

    def _axis(self, s: tuple[int, ...]) -> int:
        return self.r.randrange(len(s))

    def _softmax(self) -> None:
        a = self.pick(rank=2) or self.pick(rank=1)
        if a is None or 0 in a[1]:
            return
        x, s = a
        axis = self.r.choice([self._axis(s), -1])
        e = self.add(f"np.exp({x} - np.max({x}, axis={axis}, keepdims=True))", s, "softmax")
        if self.r.random() < 0.3:
            self.add(f"{x} - np.log(np.sum({e}, axis={axis}, keepdims=True))", s)
        else:
            self.add(f"{e} / np.sum({e}, axis={axis}, keepdims=True)", s)

    def _normalise(self) -> None:
        a = self.pick(rank=2) or self.pick(rank=1)
        if a is None or 0 in a[1]:
            return
        x, s = a
        axis = self._axis(s)
        kept = tuple(1 if k == axis else d for k, d in enumerate(s))
        if self.r.random() < 0.5:
            mean = self.add(f"np.mean({x}, axis={axis}, keepdims=True)", kept, "normalise")
            var = self.add(f"np.mean(({x} - {mean}) ** 2, axis={axis}, keepdims=True)", kept)
            self.add(f"({x} - {mean}) / np.sqrt({var} + 1e-5)", s)
        else:
            text = self.r.choice([
                f"({x} - {x}.mean(axis={axis}, keepdims=True)) / ({x}.std(axis={axis}, keepdims=True) + 1.0)",
                f"{x} / np.sqrt(np.sum({x} ** 2, axis={axis}, keepdims=True) + 1.0)",
                f"{x} - np.mean({x}, axis={axis}, keepdims=True)",
            ])  # fmt: skip
            self.add(text, s, "normalise")

    def _covariance(self) -> None:
        a = self.pick(rank=2)
        if a is None or 0 in a[1] or max(a[1]) > 200:
            return
        x, (n, m) = a
        c = self.add(f"{x} - {x}.mean(axis=0)", (n, m), "covariance")
        self.add(f"{c}.T @ {c} / {max(1, n - 1)}.0" + self.r.choice(["", f" + 0.1 * np.eye({m})"]), (m, m))

    def _attention(self) -> None:
        a = self.pick(rank=2)
        if a is None or 0 in a[1]:
            return
        x, s = a
        k = self.pick(shape=s)
        assert k is not None
        if s[0] > 200:
            return
        w = self.add(f"{x} @ {k[0]}.T / np.sqrt({s[1]}.0)", (s[0], s[0]), "attention")
        e = self.add(f"np.exp({w} - {w}.max(axis=1, keepdims=True))", (s[0], s[0]))
        self.add(f"({e} / {e}.sum(axis=1, keepdims=True)) @ {x}", s)

    def _reduce(self) -> None:
        a = self.pick()
        if a is None or not a[1]:
            return
        x, s = a
        f = self.r.choice(["sum", "mean", "max", "min", "std", "var", "sum", "mean"])
        if 0 in s and f not in ("sum",):
            return
        axis = self._axis(s)
        if self.r.random() < 0.3:
            self.add(f"np.{f}({x})", (), "reduce")
        elif self.r.random() < 0.4:
            self.add(f"np.{f}({x}, axis={axis}, keepdims=True)", tuple(1 if k == axis else d for k, d in enumerate(s)), "reduce")
        else:
            self.add(f"np.{f}({x}, axis={axis})", s[:axis] + s[axis + 1 :], "reduce")

    def _window(self) -> None:
        a = self.pick(rank=self.r.choice((1, 2)))
        if a is None or min(a[1]) < 4:
            return
        x, s = a
        w = self.r.choice((2, 3))
        if len(s) == 1 and self.r.random() < 0.5:
            self.add(f"np.convolve({x}, np.array({[0.5, 0.25, 0.25][:w]}), mode='valid')", (s[0] - w + 1,), "window")
        elif self.r.random() < 0.5:
            text = f"np.lib.stride_tricks.sliding_window_view({x}, {w}, axis=0).{self.r.choice(['mean', 'max', 'sum'])}(axis=-1)"
            self.add(text, (s[0] - w + 1, *s[1:]), "window")
        elif len(s) == 1:
            self.add(f"{x}[:-2] - 2.0 * {x}[1:-1] + {x}[2:]", (s[0] - 2,), "window")
        else:
            self.add(f"{x}[:-1] * 0.5 + {x}[1:] * 0.5", (s[0] - 1, *s[1:]), "window")

    def _gather(self) -> None:
        a = self.pick(rank=self.r.choice((1, 2)))
        if a is None or 0 in a[1]:
            return
        x, s = a
        at = [self.r.randrange(-s[0], s[0]) for _ in range(self.r.choice((1, 3, s[0] if s[0] < 20 else 5)))]
        kind = self.r.randrange(4)
        if kind == 0:
            self.add(f"{x}[np.array({at})]", (len(at), *s[1:]), "gather")
        elif kind == 1:
            self.add(f"np.take({x}, np.array({at}), axis=0)", (len(at), *s[1:]), "gather")
        elif kind == 2:
            self.add(f"{x}[{self.r.choice(['::2', '::-1', '1:', ':-1'])}]", (), "gather")
            name = self.lines[-1].split("[")[-1]
            length = {"::2]": -(-s[0] // 2), "::-1]": s[0], "1:]": s[0] - 1, ":-1]": s[0] - 1}[name]
            self.vars[-1] = (self.vars[-1][0], (length, *s[1:]))
        elif len(s) == 2:
            self.add(f"{x}[np.arange({s[0]}), np.argmax({x}, axis=1)]", (s[0],), "gather")

    def _scatter(self) -> None:
        a = self.pick(rank=self.r.choice((1, 2)))
        if a is None or 0 in a[1]:
            return
        x, s = a
        if self.r.random() < 0.4:  # computed for this alone, of one row now and then
            rows = self.r.random() < 0.5
            s = (1, *s[1:]) if rows else s
            x = self.add(f"{x}[:1] * 1.5" if rows else f"{x} * 1.5", s, "scatter")
        name = self.add(f"{x}.copy()" if self.r.random() < 0.5 else f"np.zeros({s})", s, "scatter")
        at = [self.r.randrange(s[0]) for _ in range(self.r.choice((2, 5)))]
        at = at[:1] * len(at) if self.r.random() < 0.2 else at
        line = self.r.choice([
            f"{name}[{at[0]}] = {self.number()}", f"{name}[{at[0]}] += {x}[{at[1]}]", f"{name}[1:] += {x}[:-1]", f"{name}[::2] = 0.5",
            f"np.add.at({name}, np.array({at}), {self.number()})", f"{name}[np.array({at})] += 1.0", f"{name}[{x} > 0.5] = {self.number()}",
            f"np.add.at({name}, np.array({at}), {x}[np.array({at})])", f"{name}[...] += np.tanh({x})", f"{name}[-1] *= 0.5",
        ])  # fmt: skip
        self.lines.append("    " + line)

    def _sort(self) -> None:
        a = self.pick(rank=self.r.choice((1, 2)))
        if a is None or 0 in a[1] or self.r.random() < 0.3:
            return
        x, s = a
        axis = self._axis(s)
        kind = self.r.randrange(4)
        if kind == 0:
            self.add(f"np.sort({x}, axis={axis})", s, "sort")
        elif kind == 1 and len(s) == 1:
            self.add(f"{x}[np.argsort({x}, kind='stable')]", s, "sort")
        elif kind == 2:
            self.add(f"np.median({x}, axis={axis})", s[:axis] + s[axis + 1 :], "sort")
        else:
            self.add(f"np.take_along_axis({x}, np.argsort(-{x}, axis={axis}, kind='stable'), axis={axis})", s, "sort")

    def _scan(self) -> None:
        a = self.pick(rank=self.r.choice((1, 2)))
        if a is None:
            return
        x, s = a
        axis = self._axis(s)
        text = self.r.choice([
            f"np.cumsum({x}, axis={axis}) * 0.1", f"np.maximum.accumulate({x}, axis={axis})", f"np.cumprod(np.tanh({x}), axis={axis})",
        ])  # fmt: skip
        self.add(text, s, "scan")
        if s[axis] > 1 and self.r.random() < 0.4:
            self.add(f"np.diff({x}, axis={axis})", tuple(d - (k == axis) for k, d in enumerate(s)))

    def _einsum(self) -> None:
        a = self.pick(rank=2)
        if a is None or 0 in a[1]:
            return
        x, (n, m) = a
        b = self.pick(shape=(n, m))
        assert b is not None
        big = n * n * m > 500_000
        choices = [
            (f"np.einsum('ij,ij->i', {x}, {b[0]})", (n,)), (f"np.einsum('ij,ij->j', {x}, {b[0]})", (m,)),
            (f"np.einsum('ij->ji', {x})", (m, n)), (f"np.einsum('ij,ij->', {x}, {b[0]})", ()),
        ]  # fmt: skip
        if not big:
            choices += [(f"np.einsum('ij,kj->ik', {x}, {b[0]})", (n, n))]
            if n * n * m < 30_000:
                choices += [(f"np.einsum('ij,kj->ijk', {x}, {b[0]}).sum(axis=1)", (n, n))]
        self.add(*self.r.choice(choices), "einsum")

    def _wholes(self) -> None:
        """What is smooth though its parts are not: numbers for which a part, or its slope, is none."""
        a = self.pick()
        assert a is not None
        x, s = a
        positive = f"np.maximum({x}, 0.0)"
        forms = [
            (f"1.0 / np.exp(-400.0 * np.minimum({x}, 0.0))", s), (f"1.0 / (1.0 + np.exp(-900.0 * {x}))", s), (f"np.exp(np.log({positive}))", s),
            (f"np.sqrt({positive}) ** 2 * {self.number()}", s), (f"np.abs({positive} + 0j) ** 2", s), (f"np.hypot({positive}, {positive}) ** 2", s),
        ]  # fmt: skip
        if len(s) == 2 and 0 not in s:
            forms += [
                (f"np.linalg.norm({positive}, axis=-1) ** 2", s[:1]),
                (f"np.sqrt(np.sum({positive} ** 2, axis=1)) ** 2", s[:1]),
            ]
        self.add(*self.r.choice(forms), "wholes")

    def _where(self) -> None:
        a = self.pick()
        assert a is not None
        b = self.pick(shape=a[1])
        assert b is not None
        x, y = a[0], b[0]
        text = self.r.choice([
            f"np.where({x} > {self.number()}, {x}, {y})", f"np.where({x} > 0, np.sqrt(np.abs({x}) + 0.1), {self.number()})",
            f"np.where(({x} > 0) & ({y} < 0.5), {y}, {x} * 0.5)", f"np.where({x} > 0.1, np.sqrt({x}), {y} * {y})",
            f"np.where({x} > 0.1, np.log({x}) * {x}, 0.0)", f"np.where(np.abs({x}) > 0.1, {y} / {x}, {y})",
            f"np.where(np.abs({x}) < 0.9, np.arctanh({x}), {x} * {y})",
        ])  # fmt: skip
        self.add(text, a[1], "where")

    def _broadcast(self) -> None:
        a, b = self.pick(rank=1), self.pick(rank=self.r.choice((1, 2)))
        if a is None or b is None:
            return
        (x, (n,)), (y, t) = a, b
        if len(t) == 1:
            if n * t[0] > 40_000:
                return
            self.add(
                f"{self.r.choice(['np.outer(%s, %s)', '%s[:, None] - %s[None, :]', '%s[:, None] * %s'])}" % (x, y),
                (n, t[0]),
                "broadcast",
            )
        elif t[1] == n:
            self.add(f"{y} {self.r.choice(['+', '-', '*'])} {x}", t, "broadcast")
        elif t[0] == n:
            self.add(f"{y} {self.r.choice(['+', '-', '*'])} {x}[:, None]", t, "broadcast")

    def _stack(self) -> None:
        a = self.pick(rank=self.r.choice((1, 2)))
        if a is None:
            return
        b = self.pick(shape=a[1])
        assert b is not None
        x, y, s = a[0], b[0], a[1]
        if max(s, default=0) > 200:
            return
        n = s[0]
        choices = [(f"np.concatenate([{x}, {y}])", (2 * n, *s[1:]))]
        if len(s) == 1:
            choices += [(f"np.stack([{x}, {y}])", (2, n)), (f"np.stack([{x}, {y}], axis=1)", (n, 2))]
        else:
            choices += [(f"np.hstack([{x}, {y}])", (n, 2 * s[1])), (f"{x}.reshape(-1)", (n * s[1],)), (f"{x}.T", s[::-1])]
        choices += [(f"np.roll({x}, 1, axis=0)", s), (f"np.pad({x}, 1)", tuple(d + 2 for d in s))]
        self.add(*self.r.choice(choices), "stack")

    def _linalg(self) -> None:
        a = self.pick(rank=2)
        if a is None or 0 in a[1] or max(a[1]) > 33:
            return
        x, (n, m) = a
        spd = self.add(f"{x}.T @ {x} / {n}.0 + np.eye({m})", (m, m), "linalg")
        v = self.pick(shape=(m,))
        kind = self.r.randrange(5)
        if kind == 0:
            self.add(f"np.linalg.cholesky({spd})", (m, m))
        elif kind == 1 and v is not None:
            self.add(f"np.linalg.solve({spd}, {v[0]})", (m,))
        elif kind == 2:
            self.add(f"np.linalg.inv({spd})", (m, m))
        elif kind == 3:
            self.add(f"np.linalg.slogdet({spd})[1]", ())
        else:
            self.add(f"np.trace({spd}) / {m}.0", ())

    def _gate(self) -> None:
        a = self.pick(rank=2)
        if a is None or a[1][1] < 2:
            return
        x, (n, m) = a
        h = m // 2
        self.add(f"{x}[:, :{h}] * np.tanh({x}[:, {h}:{2 * h}])", (n, h), "gate")

    def _distance(self) -> None:
        a = self.pick(rank=2)
        if a is None or 0 in a[1] or a[1][0] ** 2 * a[1][1] > 300_000:
            return
        x, (n, m) = a
        if self.r.random() < 0.5:
            q = self.add(f"np.sum({x} ** 2, axis=1)", (n,), "distance")
            self.add(f"{q}[:, None] + {q}[None, :] - 2.0 * {x} @ {x}.T", (n, n))
        else:
            self.add(f"np.sum(({x}[:, None, :] - {x}[None, :, :]) ** 2, axis=-1)", (n, n), "distance")
        d = self.vars[-1][0]
        if self.r.random() < 0.6:
            self.add(f"np.exp(-0.5 * {d})", (n, n))

    def _loop(self) -> None:
        """Updates in a Python loop: gradient descent, power iteration, smoothing."""
        a = self.pick(rank=2)
        if a is None or 0 in a[1] or max(a[1]) > 70:
            return
        x, (n, m) = a
        v = self.add(f"np.ones({m})" if self.r.random() < 0.5 else f"{x}[0].copy()", (m,), "loop")
        steps = self.r.choice((1, 2, 3, 5))
        body = self.r.choice([
            f"{v} = {v} - 0.1 * ({x}.T @ np.tanh({x} @ {v})) / {n}.0",
            f"{v} = {x}.T @ ({x} @ {v}); {v} = {v} / np.sqrt(np.sum({v} ** 2) + 1.0)",
            f"{v} = 0.5 * {v} + 0.5 * np.roll({v}, 1) * {self.number()}",
            f"{v} = np.tanh({v} + {x}[i % {n}])",
            f"{v}[i % {m}] += np.sum({x}[i % {n}] * {v})",
        ])  # fmt: skip
        self.lines.append(f"    for i in range({steps}):")
        self.lines += ["        " + part for part in body.split("; ")]

    # ---- the whole ----

    def program(self) -> tuple[str, str]:
        """The function, and the list of its arguments as text."""
        n, m, k = self.n, self.m, self.k
        dtype = "np.float32" if self.has("single") and self.r.random() < 0.15 else "np.float64"
        if dtype == "np.float32":
            self.used.add("single")
        params = [("x", (n, m)), ("w", (m, k)), ("b", (k,)), ("u", (n,))]
        params = [p for p in params if p[0] == "x" or self.r.random() < 0.7]
        self.vars = list(params)
        for _ in range(self.r.randrange(2, 9)):
            self.statement()
        made = [v for v in self.vars if v[0].startswith("v")] or self.vars
        last = made[-1]
        some = self.r.choice(made)
        self.scalar = self.r.random() < 0.5
        names = [p for p, _ in params]
        head = f"def f({', '.join(names)}):"
        if self.scalar:
            weight = self.r.choice(["", " ** 2", " * 0.5"])
            tail = f"    return np.sum({last[0]}{weight}) / {max(1, _size(last[1]))}.0 + np.mean({some[0]} * 0.1)"
            if 0 in some[1]:
                tail = f"    return np.sum({last[0]}{weight})"
        else:
            tail = f"    return {last[0]}, {some[0]}" if self.r.random() < 0.5 else f"    return {last[0]}"
        draw = [f"r.standard_normal({s}).astype({dtype})" for _, s in params]
        self.small = all(_size(s) <= 100 for _, s in self.vars)
        return "\n".join([head, *self.lines, tail]), ", ".join(draw)


def _size(shape: tuple[int, ...]) -> int:
    out = 1
    for d in shape:
        out *= d
    return out


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    m = Maker(seed, features)
    text, draw = m.program()
    grad = m.scalar and m.r.random() < 0.7 and "single" not in m.used
    calls = [f"    compare.values(f, args{', whole=True' if m.small and m.r.random() < 0.25 else ''})"]
    calls += ["    compare.gradient(f, args, tuple(range(len(args))))"] if grad else []
    calls += ["    compare.curvature(f, args, tuple(range(len(args))))"] if grad and m.small and m.r.random() < 0.3 else []
    heads = [f"from scipy import {n}" for n in ("linalg", "special") if f" {n}." in text or f"({n}." in text]
    lines = ["import numpy as np", *heads, "", "from tests.fuzz import compare", "", "", text, "", "", "def main():"]
    lines += [f"    r = np.random.default_rng({seed})", f"    args = [{draw}]", *calls]
    return Case("arrays", seed, "\n".join(lines) + "\n", frozenset(m.used | ({"gradient"} if grad else set())))
