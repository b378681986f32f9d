"""sorted() where data decide the order, or how many elements there are, and == of such lists, as plain Python that is read."""

import numpy as np

from irad.frontend.library.python.keyed_lists import refused

_NAN = "sorted() of NaN, which has no order"
_SAME_NAN = "a comparison of lists with a NaN at one place, which Python finds equal if it is one object; compare numbers"
_AMBIGUOUS = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"


def _columns(keys, width):
    """Arrays of the numbers that the keys are made of, the first to decide first."""
    n = width(keys)
    if n == 0:
        return [np.array(keys)]
    return [column for j in range(n) for column in _columns([k[j] for k in keys], width)]


def check(columns):
    """Raises ValueError where the order depends on a NaN: one that decides first, or where those that do are not all different."""
    first, *others = columns
    if np.any(np.isnan(first)):
        raise ValueError(_NAN)
    if any(np.any(np.isnan(column)) for column in others):
        first = np.sort(first)
        if np.any(first[1:] == first[:-1]):
            raise ValueError(_NAN)


def ordered(xs, key, reverse, width):
    """sorted(): equal ones stay in their order, also in reverse. `width(xs)`: of how many items the elements of a list are, or 0."""
    columns = _columns(xs if key is None else [key(x) for x in xs], width)
    for column in columns:
        if column.ndim > 1:
            raise ValueError(_AMBIGUOUS)
    check(columns)
    if reverse:
        columns = [column[::-1] for column in columns]
    order = np.argsort(columns[0], kind="stable") if len(columns) == 1 else np.lexsort(columns[::-1])
    return [xs[len(xs) - 1 - i] for i in order[::-1]] if reverse else [xs[i] for i in order]


def order_of(keys):
    """The positions of up to 63 keys in the order in which list.sort puts them. It compares the very pairs that CPython compares, in
    its order: a run at the beginning, then insertion by halves. So what `__lt__` changes is the same, and so is what NaNs do."""
    n = len(keys)
    down = bool(keys[1] < keys[0])
    end, running = 2, True
    for k in range(2, n):
        if running:
            running = bool(keys[k] < keys[k - 1]) == down
            if running:
                end = k + 1
    order = [end - 1 - k if down and k < end else k for k in range(n)]
    for k in range(2, n):
        if k >= end:
            low, high = 0, k
            while low < high:
                middle = (low + high) // 2
                if keys[k] < keys[order[middle]]:
                    high = middle
                else:
                    low = middle + 1
            order = [k if j == low else order[j - 1] if j > low else order[j] for j in range(k + 1)] + order[k + 1 :]
    return order


def in_order(xs, order):
    return [xs[k] for k in order]


def equal(a, b):
    """a == b of two lists."""
    if len(a) != len(b):
        return False
    for i in range(len(b)):
        x, y = a[i], b[i]
        if x != y:
            refused(x != x and y != y, _SAME_NAN)
            return False
    return True


def check_lengths(lengths):
    """Raise what zip(strict=True) raises, if there are different ones."""
    least = min(lengths)
    for k in range(1, len(lengths)):
        if lengths[k] == least and least < min(lengths[:k]):
            raise ValueError(f"zip() argument {k + 1} is shorter than argument{' 1' if k == 1 else f's 1-{k}'}")
    for k in range(1, len(lengths)):
        if lengths[k] > lengths[0]:
            raise ValueError(f"zip() argument {k + 1} is longer than argument{' 1' if k == 1 else f's 1-{k}'}")


def position(k, n):
    """The position of item k of a range of n."""
    if k < -n or k >= n:
        raise IndexError("range object index out of range")
    return k + n if k < 0 else k
