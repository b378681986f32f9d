"""Functions made inside, with what functools.wraps and inspect do with them."""

import functools
import inspect

import numpy as np
import pytest

import irad


def complement(f):
    @functools.wraps(f)
    def other(*args):
        return not f(*args)

    return other


def constantly(x):
    def func(*args):
        return x

    return func


def converted(*names):
    def of(f):
        @functools.wraps(f)
        def call(*args):
            spec = inspect.getfullargspec(f)
            return f(*(np.array(v) if k in names else v for k, v in zip(spec.args, args)))

        return call

    return of


@converted("v")
def scaled(s, v, k=2.0):
    return s * np.sum(v**2) * k


def decided(x):
    @converted("b")
    def inner(a, b, *, c=3):
        return np.sum(a * b)

    never, above = complement(constantly(True)), complement(lambda v: v < 1.0)
    total = np.sum(np.vectorize(complement(above))(x)) + 10 * complement(above)(x[1])
    total += len(inspect.signature(inner).parameters) + inspect.isfunction(inner)
    return total + scaled(x[0], [x[0], x[1]]) + inner(x[1], [x[0], 2.0]) + (100 if never(x) else 0)


def test_wrapped():
    x = np.array([0.5, 2.0, 0.25])
    assert irad.compile(decided)(x) == decided(x) == 2 + 4 + 4.25 + 5
    assert np.allclose(irad.grad(decided)(x), [3 * 2 * 0.25 + 8 + 2, 2 * 0.5 * 2 * 2 + 2.5, 0])


def cut(x):
    a, b = np.split(x, indices_or_sections=(2, 4), axis=-1)[:-1]
    c, d = np.hsplit(ary=x, indices_or_sections=2)
    return np.sum(a * b) + np.sum(c * d**2)


def test_split_by_name():
    x = np.arange(12.0).reshape(2, 6)
    assert irad.compile(cut)(x) == cut(x)


@np.errstate(divide="ignore")
def inverse(x):
    return 1.0 / x


def quiet(x):
    @np.errstate(all="ignore")
    def logs(y):
        return np.log(y)

    return np.sum(inverse(x)) + np.sum(logs(x))


def test_functions_in_errstate():
    x = np.array([0.5, 2.0, 4.0])
    value, slope = irad.compile(quiet).value_and_grad(x)
    np.testing.assert_allclose([value, *slope], [quiet(x), *(1 / x - 1 / x**2)], rtol=1e-14)


LOUD = np.errstate(divide="raise")


@LOUD
def loud(x):
    return 1.0 / x


def loud_block(x):
    with LOUD:
        return 1.0 / x


@pytest.mark.parametrize("f", [lambda x: loud(x), loud_block])
def test_exceptions_of_numbers_are_refused(f):
    with pytest.raises(NotImplementedError, match=r"np.errstate\(divide='raise'\)"):
        irad.compile(f)(np.ones(2))
