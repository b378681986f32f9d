"""Programs of discrete Fourier transforms: of each kind, along axes, padded and cut, with each norm, in loops and under vmap."""

from __future__ import annotations

import random

from tests.fuzz.case import Case
from tests.fuzz.grammar import Program

FEATURES = ("real", "inverse", "two", "axes", "pad", "norm", "single", "loops", "stores", "filters", "branches", "shifts", "hermitian", "products", "functions", "vmap")  # fmt: skip
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 30, 32, 33, 49, 64, 97, 128)


class Spectra(Program):
    """A function of two real rows, a real matrix and a number. `a`, `b`: real rows; `u`, `v`: complex rows; `m`: a real matrix; `g`: a complex one."""

    most = 7

    def __init__(self, seed: int, features: frozenset[str], n: int, rows: int):
        super().__init__("spectra", seed, features)
        self.n, self.rows = n, rows
        self.helpers: list[str] = []
        if self.has("functions", 0.4):
            self.helpers += [
                "def smooth(a, k):",
                "    u = np.fft.fft(a)",
                *self.one(_SMOOTH),
                "    return np.real(np.fft.ifft(u)) * 0.5",
                "",
                "",
            ]
        self.add("u = np.fft.fft(a)", "v = u * 0.5", "g = np.fft.fft2(m)", "t = 0.5")
        if self.has("filters", 0.5):
            self.add(f"k = np.fft.fftfreq({n})", "low = np.abs(k) < 0.3")
            self.filtered = True
        else:
            self.filtered = False
        self.write()
        self.add("return s, t, a, b, u, v, m, g")

    def term(self) -> str:
        return self.pick("a[0]", "b[-1]", "np.real(u[0])", "np.abs(v[-1])", "np.sum(m)", "np.mean(a * b)")

    def kinds(self):
        found = []
        if "branches" in self.features:
            found.append((2, self.branch))
        if "loops" in self.features:
            found += [(3, self.for_loop), (1, self.while_loop)]
        return found

    def norm(self) -> str:
        return f", norm={self.pick(repr('ortho'), repr('forward'), repr('backward'))}" if self.has("norm", 0.4) else ""

    def row(self) -> str:
        """A real row."""
        forms = ["a", "b", "np.tanh(a)", "a * b", "a[::-1]", "a + 0.5", f"a * {self.value()}"]
        return self.one([*forms, "m[0]", "m[-1] * b", "np.sum(m, axis=0)"])

    def spectrum(self) -> str:
        """A complex row."""
        n, z, c = (
            self.norm(),
            self.row(),
            self.pick(
                "u",
                "v",
                "u * v",
                "np.conj(u)",
                "u + 1j * v",
                "u[::-1]",
                "g[0]",
                f"u * {self.value()}",
                "np.exp(1j * a)",
                "a + 1j * b",
            ),
        )
        forms = [f"np.fft.fft({z}{n})", f"np.fft.fft({c}{n})", f"{c} * 0.5"]
        if self.has("inverse", 0.7):
            forms += [f"np.fft.ifft({c}{n})", f"np.fft.ifft({z}{n})", f"np.fft.ifft(np.fft.fft({z}{n}) * {c})"]
        if self.has("pad", 0.5):
            other = self.one([str(max(1, self.n // 2)), str(self.n + 3), str(2 * self.n)])
            forms += [
                f"np.fft.fft(np.fft.fft({self.pick(z, c)}, n={other}{n}), n={self.n})",
                f"np.fft.ifft(np.fft.fft({z}, {other}){n})[:1] + {c}",
            ]
        if self.has("shifts", 0.4):
            forms += [f"np.fft.fftshift({c})", f"np.fft.ifftshift(np.fft.fft({z}))", f"np.roll({c}, 1)"]
        if self.has("real", 0.3) and self.n > 1:
            forms += [f"np.fft.rfft({z}{n})[:1] * {c}", f"np.fft.fft(np.fft.irfft(np.fft.rfft({z}), n={self.n}))"]
        if self.has("axes", 0.4):
            forms += [
                f"np.fft.fft(m, axis=1{n})[0]",
                f"np.fft.fft(m{n})[-1]",
                f"np.fft.ifft(g, axis=0{n})[0]",
                "np.fft.fft(m.T, axis=0)[:, 0]",
                "np.fft.fft(g, axis=0)[0]",
            ]
        return self.one(forms)

    def back(self) -> str:
        """A real row out of a spectrum."""
        n, z, c = self.norm(), self.row(), self.pick("u", "v", "u * v", "np.fft.fft(b) * u")
        forms = [
            f"np.real(np.fft.ifft({c}{n}))",
            f"np.abs({c}) ** 2 * 0.1",
            f"np.imag({c})",
            f"np.fft.ifft({c}).real",
            f"np.real({c} * np.conj(v))",
        ]
        if self.has("real", 0.8) and self.n > 1:
            r = f"np.fft.rfft({z}{n})"
            forms += [
                f"np.fft.irfft({r}, n={self.n}{n})",
                f"np.fft.irfft({r} * np.fft.rfft(b), {self.n})",
                f"np.fft.irfft(u[: {self.n // 2 + 1}], n={self.n}{n})",
                f"np.fft.irfft(np.abs({r}) ** 2, n={self.n})",
                f"np.fft.irfft(v, n={self.n}{n})",
            ]
            if self.has("pad", 0.4):
                forms += [
                    f"np.fft.irfft(np.fft.rfft({z}, n={self.n + 2}), n={self.n}{n})",
                    f"np.fft.irfft({r}, n={self.n + 3})[: {self.n}]",
                ]
        if self.has("hermitian", 0.3) and self.n > 1:
            forms += [f"np.fft.hfft(u, n={self.n}{n})", f"np.real(np.fft.fft(np.fft.ihfft({z}{n}), n={self.n}))"]
        if self.has("axes", 0.3):
            forms += [
                "np.real(np.fft.ifft(np.fft.fft(m, axis=1) * u, axis=1))[0]",
                "np.real(np.fft.ifft(g, axis=1)).sum(axis=0) * 0.1",
            ]
        if self.helpers:
            forms += ["smooth(a, 0.3)", "smooth(b * a, s)", "smooth(np.real(v), 0.5) * 0.5"] * 2
        return self.one(forms)

    def matrix(self) -> str:
        """A complex matrix."""
        n, sq = self.norm(), self.pick("m", "m * 0.5", "m + a", "np.real(g)")
        c = self.pick("g", "g * 0.5", "np.conj(g)", "m + 1j * m[::-1]", "g * u", "u[None, :] * m")
        forms = [
            f"np.fft.fft2({self.pick(sq, c)}{n})",
            f"np.fft.ifft2({c}{n})",
            f"np.fft.fftn({sq}, axes={self.pick('(0, 1)', '(1,)', '(1, 0)')}{n})",
            f"np.fft.fft({c}, axis={self.pick('0', '1', '-1')}{n})",
            f"np.fft.ifft({c}, axis={self.pick('0', '1')}{n})",
            f"np.fft.fft2({c}, axes=(1, 0))",
        ]
        if self.has("shifts", 0.4):
            forms += [f"np.fft.fftshift({c}{self.pick('', ', axes=0', ', axes=(0, 1)')})", f"np.fft.ifftshift({c})"]
        if self.has("pad", 0.3):
            forms += [
                f"np.fft.fft2({sq}, s=({self.rows + 1}, {self.n + 2}))[:{self.rows}, :{self.n}]",
                f"np.fft.fft({c}, n={self.n + 1}, axis=1)[:, 1:]",
            ]
        return self.one(forms)

    def real_matrix(self) -> str:
        n = self.norm()
        forms = [
            "np.real(np.fft.ifft2(g))",
            "np.real(np.fft.ifft2(np.fft.fft2(m) * np.conj(g))) * 0.1",
            "np.abs(g) ** 2 * 0.01",
            "np.real(np.fft.ifft(np.fft.fft(m, axis=1) * u, axis=1))",
        ]
        if self.n > 1:
            forms += [
                f"np.fft.irfft2(np.fft.rfft2(m{n}), s=m.shape{n})",
                f"np.fft.irfft(np.fft.rfft(m, axis=1) * 0.5, n={self.n}, axis=1)",
                f"np.fft.irfft2(np.fft.rfft2(m) * g[:, : {self.n // 2 + 1}], s=m.shape)",
                f"np.fft.irfftn(np.fft.rfftn(m), s=m.shape, axes=(0, 1){n})",
            ]
        if self.rows > 1:
            forms += [f"np.fft.irfft(np.fft.rfft(m, axis=0{n}), n={self.rows}, axis=0)"]
        return self.one(forms)

    def simple(self) -> str:
        ways = [
            lambda: f"{self.pick('u', 'v')} = {self.bounded(self.spectrum())}",
            lambda: f"{self.pick('a', 'b')} = {self.back()}",
        ] * 3
        ways += [lambda: f"s += {self.reduced()}"] * 2
        if self.has("two", 0.7):
            ways += [lambda: f"g = {self.bounded(self.matrix())}", lambda: f"m = {self.real_matrix()}"] * 2
        if self.has("stores", 0.5):
            ways += [
                lambda: self.pick(
                    "u[0] = 0",
                    f"u[1:] *= {self.value()}",
                    f"v[-1] += {self.value()}",
                    "g[0] = u",
                    "g[:, 0] *= 0.5",
                    f"a[0] += {self.value()}",
                    "u[u.real > 0.5] = 0.5",
                    "m[0] = a",
                    "u = u.copy(); u[::2] = v[::2]",
                )
            ]
        if self.filtered:
            ways += [
                lambda: self.pick(
                    "u = np.where(low, u, 0)",
                    "u[~low] = 0",
                    "v = 2j * np.pi * k * u",
                    "u = u * np.exp(-k * k)",
                    "g = g * low",
                    "v = np.fft.ifft(1j * k * np.fft.fft(v))",
                )
            ] * 2
        if self.has("products", 0.4):
            ways += [
                lambda: self.pick(
                    "s += np.real(np.vdot(u, v)) * 0.1",
                    "s += np.real(u @ np.conj(v)) * 0.1",
                    "u = np.convolve(a, b)[: len(a)] + 0j",
                    "a = np.real(g @ np.conj(u))[0] * 0.1 + a",
                    "t += np.real(np.sum(np.outer(u, v)[0]))",
                )
            ]
        return self.one(ways)().replace("; ", "\n")

    def bounded(self, text: str) -> str:
        return f"0.5 * np.tanh(np.real({text})) + 0j" if self.loops and self.r.random() < 0.15 else text

    def reduced(self) -> str:
        return self.pick("np.sum(np.abs(u) ** 2) * 0.01", "np.real(np.sum(v * np.conj(u))) * 0.01", "np.abs(u[0])", "np.sum(np.abs(g) ** 2) * 0.001", "np.real(u).max()", "np.mean(a * b)", "np.abs(np.fft.fft(a * b)).sum() * 0.01", "np.real(np.trace(g @ np.conj(g.T))) * 0.001", "np.linalg.norm(u - v) * 0.1")  # fmt: skip


_SMOOTH = (
    ["    u = u * np.exp(-k * np.arange(len(a)))", "    u = u + np.conj(u[::-1]) * k"],
    ["    for j in range(2):", "        u = u * (1.0 - k * np.abs(np.fft.fftfreq(len(a))))"],
    ["    u[len(a) // 2 :] = 0", "    u = u * k"],
)

LOSS = """
def loss(a, b, m, s, n):
    s, t, a, b, u, v, m, g = f(a, b, m, s, n)
    total = s * 0.7 + t * 0.9 + np.sum(a * np.linspace(0.1, 0.9, len(a))) + np.sum(b * b) * 0.3 + np.sum(m) * 0.1
    total = total + np.sum(np.real(u) * 0.3 + np.imag(u) * 0.2) + np.sum(np.abs(v) ** 2) * 0.1
    return total + np.real(np.sum(g * np.linspace(0.1, 0.4, len(a)))) * 0.2 + np.imag(g[0, 0])
"""
BATCH = """
def one(a, b):
    s, t, a, b, u, v, m, g = f(a, b, np.outer([1.0, 0.5], a), 0.3, 2)
    return s + t, a + b, u


def check_batch(a, b):
    got, want = irad.vmap(one)(np.stack([a, b, a + b]), np.stack([b, a, a - b])), [one(a.copy(), b.copy()), one(b.copy(), a.copy()), one(a + b, a - b)]
    slack = 1e-4 if a.dtype == np.float32 else 1e-8  # results may be of the dtype of what was computed last
    for k, w in enumerate(zip(*want)):
        if found := agreement.difference(got[k], np.stack(w), slack * max(1.0, np.max(np.abs(w)))):
            raise Fault(f"vmap: result {k}: {found}")
"""


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(f"spectra {seed} inputs")
    chosen = frozenset(FEATURES) if features is None else features
    n, rows = r.choice(LENGTHS), r.choice((1, 2, 3, 4, 8))
    single = "single" in chosen and r.random() < 0.25
    batched = "vmap" in chosen and r.random() < 0.15
    if single:  # one precision on all paths
        chosen -= {"branches", "loops", "filters"}
    made = Spectra(seed, chosen, n, 2 if batched else rows)
    cast = ".astype(np.float32)" if single else ""
    draw = f"np.random.default_rng({r.randrange(1000)})"
    number = f"np.float32({round(r.uniform(-1, 1), 2)})" if single else repr(round(r.uniform(-1, 1), 2))
    shapes = [f"rng.normal(size={shape}){cast}" for shape in (n, n, (2 if batched else rows, n))]
    lines = [
        "import numpy as np",
        "",
        *(["import irad", "from irad.validation import agreement"] if batched else []),
        "from tests.fuzz import compare",
    ]
    lines += [
        *(["from tests.fuzz.case import Fault"] if batched else []),
        "",
        "",
        *made.helpers,
        "def f(a, b, m, s, n):",
        *made.lines,
        "",
        "",
    ]
    slopes = not single and r.random() < 0.5
    lines += [*LOSS.strip().splitlines(), "", ""] if slopes else []
    lines += [*BATCH.strip().splitlines(), "", ""] if batched else []
    whole = ", whole=True" if r.random() < 0.05 else ""
    lines += ["def main():", f"    rng = {draw}", f"    args = ({', '.join(shapes)}, {number}, {r.choice((0, 1, 2, 3))})"]
    lines += [f"    compare.values(f, args, kinds=False{whole})"]
    lines += ["    compare.gradient(loss, args, (0, 1, 2, 3))"] if slopes else []
    lines += ["    check_batch(args[0], args[1])"] if batched else []
    return Case("spectra", seed, "\n".join(lines) + "\n", frozenset(made.used))
