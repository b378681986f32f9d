"""Functions of Python's standard library that decide by numbers, as plain Python: what the installed ones do, in a form that is read.

`bisect`, `heapq`, `statistics`, and what `functools` makes of comparisons. `FUNCTIONS` has them by
the module and name of the function that each stands for.
"""

import math
import statistics

import numpy as np

from irad.errors import UnsupportedError

FUNCTIONS: dict = {}


def elements(xs):
    """What Python's sequence protocol finds in an object."""
    return [xs[k] for k in range(len(xs))]


def columns(rows, width):
    """zip(*rows), of as many rows as data decide."""
    if not rows:
        raise ValueError("zip(*xs) of an empty list has no columns to unpack")
    return iter([tuple([row[k] for row in rows]) for k in range(width)])


def repeated_list(xs, n):
    """xs * n of a list."""
    return [x for _ in range(n) for x in xs]


def _stands_for(*names):
    def register(fn):
        for name in names:
            FUNCTIONS[tuple(name.split("."))] = fn
        return fn

    return register


# ---- bisect ---------------------------------------------------------------------------------------------------------------


def _searched(a):
    """A list of numbers as an array, so that a position in it may depend on data."""
    return np.array(a) if isinstance(a, list) and _are_numbers(a) else a


def _are_numbers(xs):
    return len(xs) > 0 and all(isinstance(x, (int, float, np.number)) for x in xs)


def _found(a, lo, hi, key, before):
    """The first position from lo on whose element is not `before` what is looked for."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    a = _searched(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if before(a[mid] if key is None else key(a[mid])):
            lo = mid + 1
        else:
            hi = mid
    return lo


@_stands_for("_bisect.bisect_right", "bisect.bisect_right", "_bisect.bisect", "bisect.bisect")
def bisect_right(a, x, lo=0, hi=None, *, key=None):
    """bisect.bisect_right: the first position whose element is greater than x."""
    return _found(a, lo, hi, key, lambda y: not x < y)


@_stands_for("_bisect.bisect_left", "bisect.bisect_left")
def bisect_left(a, x, lo=0, hi=None, *, key=None):
    """bisect.bisect_left: the first position whose element is not less than x."""
    return _found(a, lo, hi, key, lambda y: y < x)


def _insert(a, x, at):
    """a.insert(at, x), of a position that may depend on data."""
    a.append(x)
    for k in range(len(a) - 1, 0, -1):
        if k > at:
            a[k], a[k - 1] = a[k - 1], a[k]


@_stands_for("_bisect.insort_right", "bisect.insort_right", "_bisect.insort", "bisect.insort")
def insort_right(a, x, lo=0, hi=None, *, key=None):
    at = bisect_right(a, x if key is None else key(x), lo, hi, key=key)
    _insert(a, x, at)


@_stands_for("_bisect.insort_left", "bisect.insort_left")
def insort_left(a, x, lo=0, hi=None, *, key=None):
    at = bisect_left(a, x if key is None else key(x), lo, hi, key=key)
    _insert(a, x, at)


# ---- heapq: the same elements at the same places, by swaps at places that are known, or where the length depends on data by loops ----


def grows(heap):
    """Does the length of a list depend on data? Answered where this is read."""
    raise NotImplementedError


def _rise(heap, start, at):
    """The same as `_to_the_root`, of a list whose length depends on data."""
    item = heap[at]
    while at > start:
        parent = (at - 1) >> 1
        above = heap[parent]
        if not item < above:
            break
        heap[at] = above
        at = parent
    heap[at] = item


def _sink(heap, start):
    """The same as `_to_a_leaf`, of a list whose length depends on data: down to a leaf, and up again as heapq does."""
    n = len(heap)
    item = heap[start]
    at = start
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at = child
    heap[at] = item
    _rise(heap, start, at)


@_stands_for("_heapq.heappush", "heapq.heappush")
def heappush(heap, item):
    heap.append(item)
    if grows(heap):
        _rise(heap, 0, len(heap) - 1)
    else:
        _to_the_root(heap, 0, len(heap) - 1)


def _to_the_root(heap, start, at):
    """Let the element at a place rise to where its parent is not greater."""
    if at > start:
        parent = (at - 1) >> 1
        if heap[at] < heap[parent]:
            heap[at], heap[parent] = heap[parent], heap[at]
            _to_the_root(heap, start, parent)


def _to_a_leaf(heap, start, at):
    """Let the smaller children of a place rise, down to a leaf; then the element of that place rises from there."""
    left = 2 * at + 1
    if left >= len(heap):
        _to_the_root(heap, start, at)
    elif left + 1 < len(heap) and not heap[left] < heap[left + 1]:
        heap[at], heap[left + 1] = heap[left + 1], heap[at]
        _to_a_leaf(heap, start, left + 1)
    else:
        heap[at], heap[left] = heap[left], heap[at]
        _to_a_leaf(heap, start, left)


def _ordered(heap, at):
    """Let the element at a place sink to where it belongs."""
    if grows(heap):
        _sink(heap, at)
    else:
        _small(heap)
        _to_a_leaf(heap, at, at)


def _small(heap):
    if len(heap) > 32:
        raise UnsupportedError(
            f"a heap of {len(heap)} elements in an order that depends on data; at most 32: use np.sort, or np.argmin"
        )


@_stands_for("_heapq.heappop", "heapq.heappop")
def heappop(heap):
    last = heap.pop()
    if not heap:
        return last
    return heapreplace(heap, last)


@_stands_for("_heapq.heapreplace", "heapq.heapreplace")
def heapreplace(heap, item):
    out = heap[0]
    heap[0] = item
    _ordered(heap, 0)
    return out


@_stands_for("_heapq.heappushpop", "heapq.heappushpop")
def heappushpop(heap, item):
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        _ordered(heap, 0)
    return item


@_stands_for("_heapq.heapify", "heapq.heapify")
def heapify(x):
    for k in reversed(range(len(x) // 2)):
        _ordered(x, k)


@_stands_for("heapq.nlargest")
def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[:n]


@_stands_for("heapq.nsmallest")
def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[:n]


class _Down:
    """An element of a heap whose first one is the greatest."""

    def __init__(self, x):
        self.x = x

    def __lt__(self, other):
        return other.x < self.x


def first_of_objects(n, items, keys, largest, sized):
    """heapq.nlargest or nsmallest by keys that compare themselves: the comparisons that heapq makes, which may do more than compare."""
    if n == 1:
        best = 0
        for k in range(1, len(keys)):
            if keys[k] > keys[best] if largest else keys[k] < keys[best]:
                best = k
        return items[best : best + 1]
    if sized and n >= len(items):
        return [x for _, x in sorted(zip(keys, items), key=lambda p: p[0], reverse=largest)][:n]
    up = -1 if largest else 1
    heap = [(keys[k], up * k, items[k]) for k in range(min(n, len(items)))]
    if not heap:
        return []
    heap = heap if largest else [_Down(x) for x in heap]
    heapify(heap)
    for k in range(n, len(items)):
        top = heap[0][0] if largest else heap[0].x[0]
        if top < keys[k] if largest else keys[k] < top:
            new = (keys[k], up * k, items[k])
            heapreplace(heap, new if largest else _Down(new))
    return [p[2] for p in sorted(heap if largest else [p.x for p in heap], reverse=largest)]


# ---- math and statistics ---------------------------------------------------------------------------------------------------


@_stands_for("math.isclose")
def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    limit = np.fmax(rel_tol * np.fmax(abs(a), abs(b)), abs_tol)
    return bool((a == b) | np.isfinite(a) & np.isfinite(b) & (abs(a - b) <= limit))


@_stands_for("math.dist")
def dist(p, q):
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return math.hypot(*[a - b for a, b in zip(p, q)])


@_stands_for("math.remainder")
def remainder(x, y):
    """math.remainder: x - n*y for the integer n nearest to x/y, exactly."""
    size, step = abs(float(x)), abs(float(y))
    low = math.fmod(size, step)
    high = step - low
    tie = low - 2.0 * np.fmod(0.5 * (size - low), step)
    near = np.where(low < high, low, np.where(low > high, -high, tie))
    return float(np.where(np.isinf(y) & np.isfinite(x), x, np.copysign(1.0, x) * near))


@_stands_for("math.ulp")
def ulp(x):
    size = abs(float(x))
    return float(np.where(np.isinf(size), size, np.spacing(size)))


@_stands_for("math.fsum")
def fsum(seq):
    """math.fsum by Neumaier's compensated sum, as a float."""
    total = 0.0
    lost = 0.0
    for v in seq:
        x = float(v)
        new = total + x
        lost += (total - new) + x if abs(total) >= abs(x) else (x - new) + total
        total = new
    return total + lost if math.isfinite(total) else total


def _data(data, least=1, what="mean"):
    """The elements as an array of floats. Raises StatisticsError where there are too few of them."""
    xs = np.asarray(data if isinstance(data, np.ndarray) else list(data))
    if xs.dtype.kind != "f":
        raise UnsupportedError(
            "a function of statistics, of whole numbers: Python gives fractions; use np.mean and the like, or floats"
        )
    if len(xs) < least:
        points = {1: "at least one data point", 2: "at least two data points"}[least]
        raise statistics.StatisticsError(f"{what} requires {points}")
    return xs


def _as_its_elements(data, x):
    """A number of the class of the elements: a Python float of Python floats."""
    first = data[0] if isinstance(data, (list, tuple, np.ndarray)) else 0.0
    return x if isinstance(first, np.generic) else float(x)


@_stands_for("statistics.mean")
def mean(data):
    return _as_its_elements(data, np.mean(_data(data)))


@_stands_for("statistics.fmean")
def fmean(data, weights=None):
    xs = _data(data, 1, "fmean")
    if weights is None:
        return float(np.mean(xs))
    w = np.asarray(weights, dtype=float)
    if len(w) != len(xs):
        raise ValueError("data and weights must be the same length")
    return float(np.sum(xs * w) / np.sum(w))


@_stands_for("statistics.geometric_mean")
def geometric_mean(data):
    return float(np.exp(np.mean(np.log(_data(data, 1, "geometric mean")))))


@_stands_for("statistics.harmonic_mean")
def harmonic_mean(data, weights=None):
    xs = _data(data, 1, "harmonic_mean")
    w = np.ones(len(xs)) if weights is None else np.asarray(weights, dtype=float)
    return _as_its_elements(data, np.sum(w) / np.sum(w / xs))


@_stands_for("statistics.median")
def median(data):
    xs = np.sort(_data(data, 1, "no median for empty data;"))
    n = len(xs)
    return _as_its_elements(data, xs[n // 2] if n % 2 else (xs[n // 2 - 1] + xs[n // 2]) / 2)


@_stands_for("statistics.median_low")
def median_low(data):
    xs = np.sort(_data(data))
    return _as_its_elements(data, xs[(len(xs) - 1) // 2])


@_stands_for("statistics.median_high")
def median_high(data):
    xs = np.sort(_data(data))
    return _as_its_elements(data, xs[len(xs) // 2])


def _squares(xs, centre):
    d = xs - (np.mean(xs) if centre is None else centre)
    return np.sum(d * d)


@_stands_for("statistics.variance")
def variance(data, xbar=None):
    xs = _data(data, 2, "variance")
    return _as_its_elements(data, _squares(xs, xbar) / (len(xs) - 1))


@_stands_for("statistics.pvariance")
def pvariance(data, mu=None):
    xs = _data(data, 1, "pvariance")
    return _as_its_elements(data, _squares(xs, mu) / len(xs))


@_stands_for("statistics.stdev")
def stdev(data, xbar=None):
    xs = _data(data, 2, "stdev")
    return float(np.sqrt(_squares(xs, xbar) / (len(xs) - 1)))


@_stands_for("statistics.pstdev")
def pstdev(data, mu=None):
    xs = _data(data, 1, "pstdev")
    return float(np.sqrt(_squares(xs, mu) / len(xs)))


def _pairs(x, y, what):
    a, b = _data(x, 2, what), _data(y, 2, what)
    if len(a) != len(b):
        raise statistics.StatisticsError(f"{what} requires that both inputs have same number of data points")
    return a - np.mean(a), b - np.mean(b)


@_stands_for("statistics.covariance")
def covariance(x, y):
    a, b = _pairs(x, y, "covariance")
    return float(np.sum(a * b) / (len(a) - 1))


@_stands_for("statistics.correlation")
def correlation(x, y):
    a, b = _pairs(x, y, "correlation")
    return float(np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b)))


# ---- functools --------------------------------------------------------------------------------------------------------------


class _ComparedBy:
    """What functools.cmp_to_key makes of an element."""

    def __init__(self, obj, compare):
        self.obj, self.compare = obj, compare

    def __lt__(self, other):
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self.compare(self.obj, other.obj) > 0


@_stands_for("functools.cmp_to_key")
def cmp_to_key(mycmp):
    return lambda obj: _ComparedBy(obj, mycmp)


def reordered(xs, order):
    """Put the elements of a list or array in the order of positions."""
    xs[:] = [xs[k] for k in order] if isinstance(xs, list) else xs[order]
