"""sorted() of a list that has as many elements as data decide, as plain Python that is read."""

import numpy as np

_NAN = "sorted() of NaN, which has no order"
_AMBIGUOUS = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"


def _columns(keys, width):
    """Arrays of the numbers that the keys are made of, the first to decide first."""
    n = width(keys)
    if n == 0:
        return [np.array(keys)]
    return [column for j in range(n) for column in _columns([k[j] for k in keys], width)]


def ordered(xs, key, reverse, width):
    """sorted(): equal ones stay in their order, also in reverse. `width(xs)`: of how many items the elements of a list are, or 0."""
    columns = _columns(xs if key is None else [key(x) for x in xs], width)
    for column in columns:
        if column.ndim > 1:
            raise ValueError(_AMBIGUOUS)
        if np.any(np.isnan(column)):
            raise ValueError(_NAN)
    if reverse:
        columns = [column[::-1] for column in columns]
    order = np.argsort(columns[0], kind="stable") if len(columns) == 1 else np.lexsort(columns[::-1])
    return [xs[len(xs) - 1 - i] for i in order[::-1]] if reverse else [xs[i] for i in order]
