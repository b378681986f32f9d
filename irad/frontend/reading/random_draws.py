"""The distributions of NumPy's generators. Of those with a location or scale, and others that are functions of their parameters and of a
standard sample, derivatives go through that function; numbers drawn from them are NumPy's to the last bit, or to rounding of `exp`
and powers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.once import import_later
from irad.core.types import Type
from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.library.python.standard import reordered
from irad.frontend.reader import Reader
from irad.frontend.reading.random_streams import (
    RandomStream,
    ask,
    constant,
    draws,
    extents,
    host_draw,
    is_constant,
    parameter,
    sampled,
    shaped,
)
from irad.frontend.reading.random_streams import stand_for as stand_for
from irad.frontend.values.arr import Arr, broadcast_shapes, from_dim, lift, normalize_axis
from irad.frontend.values.objects import Array, is_number, is_traced_deep
from irad.frontend.values.runs import has_run
from irad.ops.control import raise_if
from irad.ops.intervals import bound, interval

# ---- a standard sample, and a function of it ------------------------------------------------------------------------


def _raise_where(r: Reader, bad: Any, message: str) -> None:
    """ValueError where any of a condition holds."""
    found = r.truth(r.call(np.any, [bad]))
    if isinstance(found, Arr):
        raise_if(found.value, exc="ValueError", message=message)
    elif found:
        raise ValueError(message)


def _nonnegative(r: Reader, x: Any, name: str) -> None:
    _raise_where(r, r.call(np.logical_and, [r.call(np.signbit, [x]), r.operator("eq", x, x)]), f"{name} < 0")


def _positive(r: Reader, x: Any, name: str) -> None:
    _raise_where(r, r.operator("le", x, 0.0), f"{name} <= 0")


def _standard(r: Reader, s: RandomStream, name: str, args: tuple[float, ...], size: Any, *params: Any) -> tuple[Any, bool]:
    """A sample of a distribution without parameters, of the shape that these ask for; is it a single number?"""
    shape = broadcast_shapes(*(p.shape for p in params))
    single = size is None and not shape
    given = None if single else shape if size is None else extents(r, size)
    z = host_draw(r, s, name, args, given)
    return sampled(r, z, given), single


def _smooth(name: str, base: tuple[str, tuple[float, ...]], names: tuple[str, ...], defaults: tuple[Any, ...],
            check: Callable[..., None], value: Callable[..., Any]) -> None:  # fmt: skip
    """A distribution as a function `value(r, z, *parameters)` of a sample z of another one."""

    def draw(r: Reader, s: RandomStream, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip((*names, "size"), (*defaults, None))) | dict(zip((*names, "size"), args)) | kwargs
        if len(args) > len(names) + 1 or len(given) > len(names) + 1:
            raise TypeError(f"{name}() takes {', '.join((*names, 'size'))}")
        size = given.pop("size")
        if any(v is _NEEDED for v in given.values()):
            raise TypeError(f"{name}() takes at least {sum(d is _NEEDED for d in defaults)} positional argument")
        params = [parameter(r, given[n], "f64") for n in names]
        if is_constant(*(r.operand(given[n]) for n in names)):
            plain = all(type(given[n]) in (int, float) for n in names)
            return sampled(r, host_draw(r, s, name, [given[n] for n in names] if plain else params, size), size)
        xs = [r.wrap(p) for p in params]
        check(r, s, *xs)
        z, single = _standard(r, s, *base, size, *params)
        out = value(r, z, *xs)
        return Arr(out.value, True) if single and isinstance(out, Arr) else out

    draws(name)(draw)


_NEEDED: Any = object()


def _operator(name: str) -> Callable[[Reader, Any, Any], Any]:
    return lambda r, x, y: r.operator(name, x, y)


_add, _sub, _mul, _div, _pow = map(_operator, ("add", "sub", "mul", "truediv", "pow"))


def _located(r: Reader, z: Any, loc: Any, scale: Any) -> Any:
    return _add(r, loc, _mul(r, scale, z))


def _check_scale(r: Reader, s: RandomStream, loc: Any, scale: Any) -> None:
    _nonnegative(r, scale, "scale")


def _check_uniform(r: Reader, s: RandomStream, low: Any, high: Any) -> None:
    width = _sub(r, high, low)
    if s.cls is np.random.Generator:
        _nonnegative(r, width, "high - low")
    bad = r.truth(r.call(np.any, [r.call(np.logical_not, [r.call(np.isfinite, [width])])]))
    if isinstance(bad, Arr):
        raise_if(bad.value, exc="OverflowError", message="high - low range exceeds valid bounds")


for _name in ("laplace", "gumbel", "logistic"):
    _smooth(_name, (_name, (0.0, 1.0)), ("loc", "scale"), (0.0, 1.0), _check_scale, _located)
_smooth("normal", ("standard_normal", ()), ("loc", "scale"), (0.0, 1.0), _check_scale, _located)
_smooth("uniform", ("uniform", (0.0, 1.0)), ("low", "high"), (0.0, 1.0), _check_uniform,
        lambda r, u, low, high: _add(r, low, _mul(r, _sub(r, high, low), u)))  # fmt: skip
_smooth("lognormal", ("standard_normal", ()), ("mean", "sigma"), (0.0, 1.0), lambda r, s, mean, sigma: _nonnegative(r, sigma, "sigma"),
        lambda r, z, mean, sigma: r.call(np.exp, [_located(r, z, mean, sigma)]))  # fmt: skip
for _name in ("exponential", "rayleigh"):
    _smooth(_name, (_name, (1.0,)), ("scale",), (1.0,), lambda r, s, scale: _nonnegative(r, scale, "scale"),
            lambda r, z, scale: _mul(r, scale, z))  # fmt: skip
_smooth("weibull", ("standard_exponential", ()), ("a",), (_NEEDED,), lambda r, s, a: _nonnegative(r, a, "a"),
        lambda r, e, a: _pow(r, e, _div(r, 1.0, a)))  # fmt: skip
_smooth("pareto", ("standard_exponential", ()), ("a",), (_NEEDED,), lambda r, s, a: _positive(r, a, "a"),
        lambda r, e, a: r.call(np.expm1, [_div(r, e, a)]))  # fmt: skip
_smooth("power", ("standard_exponential", ()), ("a",), (_NEEDED,), lambda r, s, a: _positive(r, a, "a"),
        lambda r, e, a: _pow(r, r.operator("neg", r.call(np.expm1, [r.operator("neg", e)])), _div(r, 1.0, a)))  # fmt: skip


# ---- samples without parameters -------------------------------------------------------------------------------------


def _plain(name: str) -> None:
    def draw(r: Reader, s: RandomStream, size: Any = None, dtype: Any = np.float64, method: Any = None, out: Any = None) -> Any:
        if out is not None:
            size = size if size is not None else r.getattr(out, "shape")
            dtype = r.getattr(out, "dtype")
        extra = ({} if dtype in (float, np.float64) else {"dtype": np.dtype(dtype).type}) | (
            {} if method is None else {"method": method}
        )
        v = host_draw(r, s, name, [], size, dtype if size is not None else np.float64, **extra)
        if out is None:
            return sampled(r, v, size)
        r.setitem(out, Ellipsis, r.wrap(Arr(v)))
        return out

    draws(name)(draw)


for _name in ("random", "standard_normal", "standard_exponential", "random_sample", "standard_cauchy"):
    _plain(_name)


@draws("rand")
def rand(r: Reader, s: RandomStream, *dims: Any) -> Any:
    return s.call(r, "random_sample", [dims] if dims else [], {})


@draws("randn")
def randn(r: Reader, s: RandomStream, *dims: Any) -> Any:
    return s.call(r, "standard_normal", [dims] if dims else [], {})


# ---- distributions without a derivative -----------------------------------------------------------------------------


def _hosted(name: str, names: tuple[str, ...], integer: bool) -> None:
    """A distribution that NumPy draws from: integers have no derivative, and those of floats are refused if they are needed."""

    def draw(r: Reader, s: RandomStream, *args: Any, **kwargs: Any) -> Any:
        order = (*names, "size")
        given = dict(zip(order, args)) | kwargs
        size = given.pop("size", None)
        for k in given:
            if k not in names:
                raise TypeError(f"{name}() got an unexpected keyword argument '{k}'")
        defaults = {"left": 0.0, "scale": 1.0, "lam": 1.0}
        params = [
            parameter(r, given.get(n, defaults.get(n)) if n in given or n in defaults else _missing(name, n)) for n in names
        ]
        v = host_draw(r, s, name, params, size, np.int64 if integer else np.float64, smooth=not integer)
        return sampled(r, v, size)

    draws(name)(draw)


def _missing(name: str, parameter: str) -> Any:
    raise TypeError(f"{name}() is given no {parameter}")


for _name, _names in {
    "beta": "a b", "chisquare": "df", "f": "dfnum dfden", "noncentral_chisquare": "df nonc", "noncentral_f": "dfnum dfden nonc",
    "standard_gamma": "shape", "standard_t": "df", "triangular": "left mode right", "vonmises": "mu kappa", "wald": "mean scale",
}.items():  # fmt: skip
    _hosted(_name, tuple(_names.split()), False)
for _name, _names in {
    "binomial": "n p", "geometric": "p", "hypergeometric": "ngood nbad nsample", "logseries": "p", "negative_binomial": "n p",
    "poisson": "lam", "zipf": "a",
}.items():  # fmt: skip
    _hosted(_name, tuple(_names.split()), True)


@draws("gamma")
def gamma(r: Reader, s: RandomStream, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    """scale times a standard sample: the derivative goes to the scale."""
    a, b = parameter(r, shape, "f64"), parameter(r, scale, "f64")
    _nonnegative(r, r.wrap(b), "scale")
    if size is None and broadcast_shapes(a.shape, b.shape) != ():
        size = broadcast_shapes(a.shape, b.shape)
    z = sampled(r, host_draw(r, s, "standard_gamma", [a], size, smooth=True), size)
    out = _mul(r, r.wrap(b), z)
    return Arr(out.value, True) if isinstance(out, Arr) else out


# ---- integers and picks ---------------------------------------------------------------------------------------------


def _whole(r: Reader, x: Any) -> Arr:
    a = lift(r.operand(x))
    return a if a.name[0] in "iub" else parameter(r, x)


def _integers(r: Reader, s: RandomStream, name: str, low: Any, high: Any, size: Any, dtype: Any, **extra: Any) -> Any:
    kind = np.dtype(dtype)
    a, b = (_whole(r, 0), _whole(r, low)) if high is None else (_whole(r, low), _whole(r, high))
    python = dtype is int or dtype is bool
    plain = (0, low) if high is None else (low, high)
    params = plain if all(type(x) is int for x in plain) else (a, b)
    v = host_draw(r, s, name, params, size, kind, dtype=kind.type, **extra)
    lo, hi = interval(a.value)[0], interval(b.value)[1]
    if kind.kind in "iu" and lo <= hi:
        bound(v, lo, hi if extra.get("endpoint") else max(hi - 1, lo))
    return sampled(r, v, size, python)


@draws("integers")
def integers(
    r: Reader, s: RandomStream, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
) -> Any:
    return _integers(r, s, "integers", low, high, size, dtype, endpoint=bool(endpoint))


@draws("randint")
def randint(r: Reader, s: RandomStream, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    return _integers(r, s, "randint", low, high, size, dtype)


@draws("random_integers")
def random_integers(r: Reader, s: RandomStream, low: Any, high: Any = None, size: Any = None) -> Any:
    low, high = (1, low) if high is None else (low, high)
    return _integers(r, s, "randint", low, r.operator("add", high, 1), size, int)


def _array(r: Reader, x: Any) -> Array:
    out = r.call(np.asarray, [x])
    if not isinstance(out, Array):
        raise UnsupportedError("several random picks of what are no numbers: draw indices, and choose by each of them")
    return out


def _objects(a: Any, size: Any) -> list[Any] | None:
    """The elements of what one is picked from, if they are no numbers: texts, functions, members of enums and other known objects."""
    found = a.tolist() if isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype.kind in "UO" else a
    if size is not None or not isinstance(found, (list, tuple)) or not found or (isinstance(found, list) and has_run(found)):
        return None
    known = lambda v: not isinstance(v, (Arr, Array, bool, int, float, complex, np.generic, np.ndarray, list, tuple))
    return list(found) if all(map(known, found)) else None


def _extent(x: Array, axis: int) -> int:
    n = x.shape[axis]
    if not isinstance(n, int):
        raise UnsupportedError("random picks from an array whose length depends on data; draw an index below its length")
    return n


@draws("choice")
def choice(
    r: Reader, s: RandomStream, a: Any, size: Any = None, replace: Any = True, p: Any = None, axis: int = 0, **extra: Any
) -> Any:
    """Elements by drawn positions: the derivative goes to the elements."""
    objects = _objects(a, size)
    given = len(objects) if objects is not None else r.operand(a)
    whole = isinstance(given, (int, np.integer)) or (isinstance(given, Arr) and not given.shape)
    items = None if whole else _array(r, a)
    if items is not None and s.cls is np.random.RandomState and len(items.shape) != 1:
        raise IradValueError("a must be 1-dimensional")
    axis = 0 if items is None else normalize_axis(axis, len(items.shape))
    n = lift(given if items is None else from_dim(items.shape[axis]))
    chances = [] if p is None else [parameter(r, r.call(np.asarray, [p]), "f64")]
    shape, replace = None if size is None else extents(r, size), bool(replace)
    pick = lambda draw, shape, n, *p: draw(int(n), shape, replace, *p, **extra)
    highest = max(interval(n.value)[1] - 1, 0)
    operands = [n.value, *map(constant, chances)]
    v = shaped(s, "choice", pick, operands, "i64", shape, (replace, tuple(extra.items())), highest=highest)
    at = sampled(r, v, size)
    if objects is not None:
        return r.getitem(objects, at)
    if items is None:
        return at
    return r.getitem(items, at) if axis == 0 else r.call(np.take, [items, at], {"axis": axis})


def _order(r: Reader, s: RandomStream, name: str, n: Any, rank: int = 1) -> Any:
    """The positions 0 to n - 1 as `shuffle` or `permutation` orders the rows of an array of so many axes."""

    def pick(draw: Any, shape: tuple[int]) -> Any:
        rows = np.arange(shape[0]).reshape(shape[0], *(1,) * (rank - 1))
        out = draw(rows)
        return (rows if out is None else out).reshape(-1)

    given = extents(r, n)
    highest = max(interval(lift(given[0]).value)[1] - 1, 0)
    return r.wrap(Arr(shaped(s, name, pick, [], "i64", given, rank, highest=highest)))


@draws("permutation")
def permutation(r: Reader, s: RandomStream, x: Any, axis: int = 0) -> Any:
    given = r.operand(x)
    if isinstance(given, (int, np.integer)) or (isinstance(given, Arr) and not given.shape):
        return _order(r, s, "permutation", given)
    items = _array(r, x)
    axis = normalize_axis(axis, len(items.shape))
    order = _order(r, s, "permutation", items.shape[axis], len(items.shape) if axis == 0 else 2)
    return r.getitem(items, order) if axis == 0 else r.call(np.take, [items, order], {"axis": axis})


_FEW = 8  # arrays in a list that is shuffled, which stay themselves
_SHUFFLED = (
    "it is in a list of arrays that was shuffled, so which one it is depends on data; shuffle positions, or make new arrays"
)


@draws("shuffle")
def shuffle(r: Reader, s: RandomStream, x: Any, axis: int = 0) -> None:
    if isinstance(x, list):
        if has_run(x):
            r.call(reordered, [x, _order(r, s, "shuffle", r.call(len, [x]))])
            return
        order = _order(r, s, "shuffle", len(x))
        if not all(is_number(v) or isinstance(v, Array) and len(x) > _FEW for v in x):
            import_later("irad.frontend.reading.python_random").put_in_order(r, x, r.value(order))
        elif x:
            watch = tuple((c, c.content) for v in x if isinstance(v, Array) for c in v.shared())
            items = r.call(np.stack, [[r.call(np.asarray, [v]) for v in x]])
            for k, v in enumerate(r.items(r.getitem(items, order))):
                if isinstance(v, Array):
                    v.frozen, v.watch = _SHUFFLED, watch
                r.setitem(x, k, Arr(v.value, True) if isinstance(v, Arr) and _python(x) else v)
        return
    if not isinstance(x, Array):
        raise IradTypeError("shuffle wants an array or a list of numbers or arrays")
    axis = normalize_axis(axis, len(x.shape))
    order = _order(r, s, "shuffle", x.shape[axis], len(x.shape) if axis == 0 else 2)
    r.setitem(x, Ellipsis, r.getitem(x, order) if axis == 0 else r.call(np.take, [x, order], {"axis": axis}))


def _python(xs: list[Any]) -> bool:
    return all(type(x) in (int, float, complex, bool) or (isinstance(x, Arr) and x.weak) for x in xs)


@draws("permuted")
def permuted(r: Reader, s: RandomStream, x: Any, *, axis: Any = None, out: Any = None) -> Any:
    """Each line in an order of its own."""
    items = _array(r, x)
    shape = tuple(_extent(items, k) for k in range(len(items.shape)))
    total = int(np.prod(shape))
    pick = lambda draw: draw(np.arange(total).reshape(shape), axis=axis)
    v = ask(s, "permuted", pick, [], Type("i64", shape), axis)
    bound(v, 0, max(total - 1, 0))
    new = r.getitem(r.call(np.ravel, [items]), r.wrap(Arr(v)))
    if out is None:
        return new
    r.setitem(out, Ellipsis, new)
    return out


# ---- vectors --------------------------------------------------------------------------------------------------------


@draws("multivariate_normal")
def multivariate_normal(r: Reader, s: RandomStream, mean: Any, cov: Any, size: Any = None, check_valid: Any = "warn", tol: Any = 1e-8,
                        *, method: Any = None) -> Any:  # fmt: skip
    """The mean and a sample around 0. With method="cholesky" the derivative goes to the covariance too."""
    centre, spread = r.call(np.asarray, [mean, float]), r.call(np.asarray, [cov, float])
    n = _extent(centre, 0)
    shape = (() if size is None else extents(r, size)) + (n,)
    if is_traced_deep(spread) and method == "cholesky":
        z = sampled(r, host_draw(r, s, "standard_normal", [], (int(np.prod(shape[:-1])), n)), shape)
        out = r.operator("matmul", z, r.getattr(r.call(np.linalg.cholesky, [spread]), "T"))
        return _add(r, centre, r.call(np.reshape, [out, shape]))
    extra = {} if method is None else {"method": method}

    pick = lambda draw, c: draw(np.zeros(n), c, shape[:-1], check_valid, tol, **extra)
    advice = "for the covariance write mean + np.linalg.cholesky(cov) @ rng.standard_normal(n)"
    v = ask(s, "multivariate_normal", pick, [parameter(r, spread).value], Type("f64", shape), (check_valid, tol, method), advice)
    return _add(r, centre, r.wrap(Arr(v)))


@draws("dirichlet")
def dirichlet(r: Reader, s: RandomStream, alpha: Any, size: Any = None) -> Any:
    a = parameter(r, r.call(np.asarray, [alpha]), "f64")
    outer = () if size is None else extents(r, size)
    return r.wrap(Arr(ask(s, "dirichlet", lambda draw, a: draw(a, outer), [a.value], Type("f64", outer + a.shape), outer)))


@draws("multinomial")
def multinomial(r: Reader, s: RandomStream, n: Any, pvals: Any, size: Any = None) -> Any:
    p, count = parameter(r, r.call(np.asarray, [pvals]), "f64"), _whole(r, n)
    outer = () if size is None else extents(r, size)
    pick = lambda draw, n, p: draw(n, p, outer)
    return r.wrap(Arr(ask(s, "multinomial", pick, [count.value, constant(p)], Type("i64", outer + p.shape[-1:]), outer)))
