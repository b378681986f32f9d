"""Do two results agree, but for rounding? Used where one program is run in several ways; see irad.validation.validate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.tree import flatten

# Of the largest number of an array; other dtypes: 1e-9.
RTOL = {"float16": 2e-2, "float32": 2e-4, "complex64": 2e-4}
MOVES = (1, 1, 2, 4, 8, 16)  # units in the last place by which arguments are moved; the larger ones find branches near a tie
SLACK = 64.0  # times as much as one unit moves a result; more than the largest move, so that a jump it finds counts whole


def difference(got: Any, want: Any, slack: float = 0.0) -> str:
    """What differs between two numbers or arrays, or "": dtype, shape, numbers. `slack`: an absolute difference that does not count."""
    g, w = np.asarray(got), np.asarray(want)
    if g.shape != w.shape:
        return f"shape {g.shape}, not {w.shape}"
    if g.dtype != w.dtype:
        return f"dtype {g.dtype}, not {w.dtype}"
    if w.dtype.kind not in "fc":
        return "" if np.array_equal(g, w) else _where(g != w, g, w)
    finite = np.abs(w[np.isfinite(w)])
    near = RTOL.get(w.dtype.name, 1e-9) * float(finite.max(initial=0.0)) + slack + 4 * float(np.finfo(w.dtype).tiny)
    with np.errstate(all="ignore"):
        ok = (np.abs(g - w) <= near) | (g == w) | (np.isnan(g) & np.isnan(w))
    return "" if np.all(ok) else _where(~ok, g, w)


def _where(bad: Any, g: np.ndarray, w: np.ndarray) -> str:
    """The first place where they differ."""
    at = np.unravel_index(int(np.argmax(bad)), g.shape)
    place = f" at {tuple(map(int, at))}" if g.ndim else ""
    return f"{g[at]!r}, not {w[at]!r}{place}" + (f" ({int(np.sum(bad))} of {g.size} numbers differ)" if g.ndim else "")


def other_bits(got: Any, want: Any) -> str:
    """Like `difference`, but for the bits of floats: signs of zeros count, and all NaNs are equal."""
    g, w = np.asarray(got), np.asarray(want)
    if g.dtype != w.dtype or g.shape != w.shape or g.dtype.kind not in "fc":
        return difference(g, w)
    if g.dtype.kind == "c":
        return other_bits(g.real, w.real) or other_bits(g.imag, w.imag)
    ok = (np.isnan(g) & np.isnan(w)) | ((g == w) & (np.signbit(g) == np.signbit(w)))
    return "" if np.all(ok) else "by its last bits: " + _where(~ok, g, w)


def moved(rng: np.random.Generator, x: Any, units: int = 1) -> Any:
    """A float, or an array of floats, of which each is moved by `units` in its last place, up or down; anything else as it is."""
    if not isinstance(x, (np.ndarray, np.generic, float, complex)):
        return x
    a = np.asarray(x)
    if a.dtype.kind == "c":
        z = moved(rng, a.real, units) + 1j * moved(rng, a.imag, units)
        return z if a.ndim else type(x)(z)
    if a.dtype.kind != "f":
        return x
    up = rng.choice([-1, 1], a.shape).astype(a.dtype)
    with np.errstate(all="ignore"):
        away = np.nextafter(a, up * a.dtype.type(np.inf)) if units == 1 else a + up * np.spacing(np.abs(a)) * a.dtype.type(units)
    return float(away) if type(x) is float else away[()] if isinstance(x, np.generic) else away


def noise(run: Callable[[list[Any]], Any], args: Sequence[Any], want: Any) -> list[float] | None:
    """For each leaf of `want` = run(args), how far it moves with a unit in the last place of the arguments; inf where its shape or an
    integer changes. None if the structure of the result changes."""
    leaves = flatten(want)[0]
    out = [0.0] * len(leaves)
    rng = np.random.default_rng(0)
    for units in MOVES:
        again = flatten(run([moved(rng, x, units) for x in args]))[0]
        if len(again) != len(leaves):
            return None
        for k, (m, w) in enumerate(zip(again, leaves)):
            out[k] = max(out[k], _distance(m, w) / units)
    return out


def _distance(m: Any, w: Any) -> float:
    """The largest difference of two leaves."""
    if not isinstance(w, (np.ndarray, np.generic, int, float, complex)):
        return 0.0 if type(m) is type(w) and m == w else np.inf
    if np.shape(m) != np.shape(w):
        return np.inf
    a, b = np.asarray(m), np.asarray(w)
    if b.dtype.kind not in "fc":
        return 0.0 if np.array_equal(a, b) else np.inf
    with np.errstate(all="ignore"):
        far = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    return float(np.max(np.where(np.isnan(far), np.inf, far), initial=0.0))


def agree(got: Any, want: Any, spread: Callable[[], list[float] | None], kinds: bool = True) -> str:
    """What differs between two results of one structure, or "". `spread`: the noise of `want`, asked for where they are not equal.
    `kinds`: do dtypes of single numbers count?

    An absolute difference of the last bits of the largest number, or of 1, does not count: numbers may cancel on the way.
    What differs by no more than the noise of the arguments makes it differ is no difference; nor is an integer, or a shape, which that
    noise changes.
    """
    mine, theirs = flatten(got), flatten(want)
    if mine[1] != theirs[1]:
        slack = spread()
        return "" if slack is None else "another structure, or other objects in it"
    if not kinds:
        mine = [_as_kind(g, w) for g, w in zip(mine[0], theirs[0])], mine[1]
    floor = _floor(theirs[0])
    found = [_leaf(g, w, floor) for g, w in zip(mine[0], theirs[0])]
    if not any(found):
        return ""
    slack = spread()
    if slack is None:
        return ""
    again = [
        "" if not f or s == np.inf else _leaf(g, w, floor + SLACK * s) for f, s, g, w in zip(found, slack, mine[0], theirs[0])
    ]
    return next((f"result {k}: {a}" for k, a in enumerate(again) if a), "")


def _floor(leaves: Sequence[Any]) -> float:
    """What cancels may leave of the last bits of the largest number."""
    found = 0.0
    for x in leaves:
        a = np.asarray(x)
        if a.dtype.kind in "fc" and a.size:
            with np.errstate(all="ignore"):
                finite = np.abs(a[np.isfinite(a)]).astype(float)
            found = max(found, min(1.0, float(finite.max(initial=0.0))) * float(np.finfo(a.dtype).eps))
    return SLACK * found


def _as_kind(got: Any, want: Any) -> Any:
    """A number as one of the kind that is wanted, if that is the same number."""
    if isinstance(want, np.ndarray) or np.shape(got) or np.asarray(got).dtype.kind not in "iuf":
        return got
    other = np.asarray(got).astype(np.asarray(want).dtype)[()]
    return other if other == got else got


def _leaf(got: Any, want: Any, slack: float = 0.0) -> str:
    if isinstance(want, (np.ndarray, np.generic, int, float, complex)):
        return difference(got, want, slack)
    return "" if type(got) is type(want) and got == want else f"{got!r}, not {want!r}"
