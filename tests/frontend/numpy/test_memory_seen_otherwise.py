"""Arrays whose memory is seen as other numbers, or gets another size: complex numbers as pairs, and `x.resize`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import UnsupportedError
from tests.support.as_python import check

X = np.array([0.3, -0.55, 0.21, 0.95, 0.7, -1.2, 0.4, 1.1])


def pairs_of_noise(x):
    z = np.random.default_rng(3).normal(scale=x[0] ** 2, size=8).view(complex)
    return np.sum(np.abs(np.fft.fft(z * x[1])) ** 2)


def there_and_back(x):
    z = x.reshape(2, 4).view(np.complex128) * (1 + 2j)
    return np.sum(z.view(float)[:, 1::2] ** 3) + np.sum(z.real)


def signs_and_infinities(x):
    z = np.array([-0.0, np.inf, 1.0, -0.0]).view(complex) * x[0]
    return np.copysign(x[1], z.view(float)[0]) + np.copysign(x[1], z.view(float)[3])


def grown_in_place(x):
    a = np.zeros(0)
    for k in range(4):
        a.resize(a.size + 1, refcheck=False)
        a[k] = 2 * x[k] + np.sum(a)
    a.resize((2, 3))
    a.resize(5)
    return np.sum(a**2) + a[4]


def of_another_size_on_each_path(x):
    a = x * 2
    if x[0] > 0:
        a.resize(3)
    else:
        a.resize(12)
    return np.sum(a**2) * len(a)


@pytest.mark.parametrize(
    "program", [pairs_of_noise, there_and_back, grown_in_place, of_another_size_on_each_path], ids=lambda f: f.__name__
)
def test_values_and_slopes(program):
    check(program, (X,))


def test_complex_numbers_are_made_of_their_parts_and_not_added_up():
    with np.errstate(invalid="ignore"):
        assert irad.compile(signs_and_infinities)(X) == signs_and_infinities(X)


def test_what_is_refused():
    def stored(x: Any) -> Any:
        y = x * 2
        y.view(complex)[0] = 3
        return np.sum(y)

    def odd(x: Any) -> Any:
        return x[:3].copy().view(complex)

    def two_names(x: Any) -> Any:
        a = b = x * 2
        a.resize(3, refcheck=False)
        return np.sum(b)

    def of_the_caller(x: Any) -> Any:
        x.resize(3, refcheck=False)
        return np.sum(x)

    for f, words in ((stored, "store into it"), (two_names, "another variable holds"), (of_the_caller, "of the caller")):
        with pytest.raises(UnsupportedError, match=words):
            irad.compile(f)(X.copy())
    with pytest.raises(ValueError, match="must be a divisor"):
        irad.compile(odd)(X)
