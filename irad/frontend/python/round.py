"""round(x, n) of Python's numbers: to the decimal number nearest to the exact value, half to even, as Python rounds.

NumPy multiplies by 10**n and rounds the product, which is off where the product is rounded to a tie: 2.675 lies below it.
Here the rounding error of the product is computed too (T. J. Dekker, A floating-point technique for extending the available
precision, Numerische Mathematik 18, 1971). 10**n is exact up to n = 22, so a whole number divided by it is the float nearest
to that decimal number.
"""

from __future__ import annotations

from irad.core.ir import Value
from irad.errors import UnsupportedError
from irad.ops import elementwise as ew
from irad.ops.control import raise_if
from irad.ops.custom import stop_gradient
from irad.ops.elementwise import select

EXACT = 22  # digits, up to which a power of 10 is a double
_MOST, _LEAST = 323, -308  # digits from which on nothing is rounded, and below which everything is 0, as CPython has it
_SPLIT = 2.0**27 + 1
_WHOLE = 2.0**53  # from here on the distance of doubles is that of the decimals or more
_I64_DIGITS = 18


def _halves(x: Value) -> tuple[Value, Value]:
    """x as the sum of two numbers of 26 bits."""
    c = _SPLIT * x
    high = c - (c - x)
    return high, x - high


def _product(x: Value, scale: float) -> tuple[Value, Value]:
    """x * scale, rounded, and its rounding error."""
    p = x * scale
    (xh, xl), c = _halves(x), _SPLIT * scale
    sh = c - (c - scale)
    sl = scale - sh
    e = xh * sh - p
    e = e + xh * sl + xl * sh
    return p, e + xl * sl


def _nearest(k: Value, rest: Value, error: Value, half: float) -> Value:
    """k or a neighbour, if `rest + error` lies beyond half of what k counts, or at half of it and k is odd.

    Half of it is taken off before the error is added: beside a half the error of a small number would be rounded away.
    """
    middle = k * 0.5
    odd = ew.ne(middle, ew.rint(middle))
    over, under = (rest - half) + error, (rest + half) + error
    up = (over > 0) | odd & ew.eq(over, 0)
    down = (under < 0) | odd & ew.eq(under, 0)
    return select(up, k + 1, select(down, k - 1, k))


def round_float(x: Value, n: int) -> Value:
    """A double rounded to n digits after the point (before it if n is negative); its slope is 0.

    Raises UnsupportedError beyond 22 digits; the program raises OverflowError where the result is too large.
    """
    x = stop_gradient(x)
    if n > _MOST:
        return x
    if n < _LEAST:
        return select(ew.isfinite(x), x * 0, x)
    if abs(n) > EXACT:
        raise UnsupportedError(f"round(x, {n}): at most {EXACT} digits before or after the point")
    if n == 0:
        return ew.rint(x)
    scale = 10.0 ** abs(n)
    if n > 0:
        counted, error = _product(x, scale)
        k = ew.rint(counted)
        k = _nearest(k, counted - k, error, 0.5)
        out = k / scale
    else:
        counted = x / scale
        k = ew.rint(counted)
        back, error = _product(k, scale)
        out = _nearest(k, x - back, -error, 0.5 * scale) * scale
    small = abs(counted) < _WHOLE
    if n < 0:
        large = small & ew.isinf(out)
        raise_if(large, exc="OverflowError", message="rounded value too large to represent")
    return select(small, out, x)


def round_int(x: Value, n: int) -> tuple[Value, int] | None:
    """An int rounded to -n digits before the point, as how many of which power of 10; None where that is 0.

    Raises UnsupportedError for the one power of 10 beyond 64 bits to which a 64-bit int may round.
    """
    if -n > _I64_DIGITS + 1:
        return None
    if -n > _I64_DIGITS:
        raise UnsupportedError(f"round(n, {n}) of an int: at most {_I64_DIGITS} digits before the point")
    size = 10**-n
    k, rest, half = x // size, x % size, size // 2
    odd = ew.eq(k & 1, 1)
    up = (rest > half) | odd & ew.eq(rest, half)
    return select(up, k + 1, k), size
