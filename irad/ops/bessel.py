"""The modified Bessel function I0 and its derivatives, of every order.

With G_n(x) = I_n(x) / x**n, which is even and smooth everywhere, I0 = G_0 and G_n' = x G_(n+1) (NIST Handbook, 10.29.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from irad.core.ir import Value
from irad.ops.elementwise import Elementwise, exp, full, select, sqrt
from irad.ops.slopes import formula, horner

# Chebyshev series of exp(-x) I0(x) on [0, 8] in x/4 - 1, and of sqrt(x) exp(-x) I0(x) on [8, inf) in 16/x - 1
_I0_LOW = (
    0.33839763720473804, -0.3046826723431984, 0.17162090152220878, -0.094901097048047644, 0.049305284239670708,
    -0.023737414805899469, 0.010546460394594998, -0.0043243099950505759, 0.0016394756169413358, -0.00057637557453858237,
    0.00018850288509584166, -5.7541950100821037e-5, 1.6448448070728897e-5, -4.4167383584587506e-6, 1.1173875391201037e-6,
    -2.6707938539406117e-7, 6.0469950225419189e-8, -1.300025009986248e-8, 2.6598237246823867e-9, -5.1897956016352629e-10,
    9.6758090353732369e-11, -1.7268262914415557e-11, 2.9550526631296398e-12, -4.8564467831119295e-13, 7.6761854986049356e-14,
    -1.1685332877993452e-14, 1.715391285555133e-15, -2.4312798465479547e-16, 3.3307945188222381e-17, -4.4153416464793394e-18,
)  # fmt: skip
_I0_HIGH = (
    0.40224520550705442, 0.0033691164782556941, 6.889758346916824e-5, 2.8913705208347565e-6, 2.0489185894690637e-7,
    2.2666689904981781e-8, 3.3962320257083863e-9, 4.9406023882249696e-10, 1.1889147107846438e-11, -3.1499165279632414e-11,
    -1.3215811840447713e-11, -1.7941785315068061e-12, 7.1801244513836662e-13, 3.8527783827421427e-13, 1.5400862175214098e-14,
    -4.1505693472872221e-14, -9.5548466988283076e-15, 3.8116806693526224e-15, 1.7725601330565264e-15, -3.4254856196772191e-16,
    -2.8276239805165835e-16, 3.4612228676974611e-17, 4.46562142029676e-17, -4.8305044859441821e-18, -7.233180487874754e-18,
)  # fmt: skip
# of sqrt(x) exp(-x) I1(x) on [8, inf) in 16/x - 1
_I1_HIGH = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06, -2.512236237870209e-07,
    -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10, -1.8974958123505413e-11,
    3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12, -7.198551776245908e-13, -4.0835511110921974e-13,
    -2.1015418427726643e-14, 4.272440016711951e-14, 1.0420276984128802e-14, -3.8144030724370075e-15,
    -1.8803547755107825e-15, 3.3082023109209285e-16, 2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17,
    4.414348323071708e-18, 7.517296310842105e-18,
)  # fmt: skip


bessel_ratio: Elementwise  # its own derivative mentions it, for type checkers


def chebyshev(coefs: Sequence[float], t: Value) -> Value:
    """sum of coefs[k] * T_k(t), by Clenshaw's recurrence."""
    two = t + t
    b1, b2 = full(0.0, t), full(0.0, t)
    for c in reversed(coefs[1:]):
        b1, b2 = two * b1 - b2 + c, b1
    return t * b1 - b2 + coefs[0]


def _i0(v: Value) -> Value:
    """I0 from Chebyshev series, one for |x| <= 8 and one for larger |x|."""
    a = abs(v)
    low = a <= 8
    inner, outer = select(low, a, 8), select(low, 8, a)
    below = chebyshev(_I0_LOW, inner * 0.25 - 1)
    above = chebyshev(_I0_HIGH, 16 / outer - 1) / sqrt(outer)
    return exp(a) * select(low, below, above)


def _ratio(v: Value, *, n: int) -> Value:
    """G_n for n > 0: its power series, of positive terms, for small |x|; beyond, the recurrence of I_n upwards from I0 and I1."""
    a, edge = abs(v), full(max(8.0, n), v)
    low = a <= edge
    inner, outer = select(low, a, edge), select(low, edge, a)
    t = inner * inner * 0.25
    count = 26 + 2 * n
    below = horner([2.0**-n / (math.factorial(k) * math.factorial(n + k)) for k in range(count)], t)
    u = 16 / outer - 1
    before, last = (chebyshev(c, u) for c in (_I0_HIGH, _I1_HIGH))
    power = outer
    for k in range(1, n):
        before, last = last, before - 2.0 * k * last / outer
        power *= outer
    above = last / sqrt(outer) / power * exp(outer)
    return select(low, below, above)


bessel_i0 = formula(
    "bessel_i0", _i0, lambda x, o: (x * bessel_ratio(x, n=1),), ((-12.0, 12.0),), doc="modified Bessel function I0"
)
bessel_ratio = formula("bessel_ratio", _ratio, lambda x, o, *, n: (x * bessel_ratio(x, n=n + 1),), ((-12.0, 12.0),),
                       sample={"n": 1}, doc="I_n(x) / x**n")  # fmt: skip
