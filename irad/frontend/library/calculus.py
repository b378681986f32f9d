"""What functions of the library need beyond NumPy: a constant for derivatives, and a derivative. Compiled code knows both."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.transforms.custom import apply_stop_gradient
from irad.frontend.transforms.transform import CALLS, Transform
from irad.frontend.values.arr import is_traced


def constant(x):
    """x, a constant for every derivative."""
    return x


CALLS[constant] = apply_stop_gradient


def first_guess(x, orders, what):
    """x, a constant: what so many steps of Newton's method start from that the solution is right in derivatives up to `orders`."""
    return x


def _first_guess(r, x, orders, what):
    if r.orders > orders:
        raise UnsupportedError(f"{what} has derivatives up to order {orders}, and one of order {r.orders} is taken")
    return apply_stop_gradient(r, x)


CALLS[first_guess] = _first_guess


def differentiated():
    """Is the program read for a derivative?"""
    return True


CALLS[differentiated] = lambda r: r.orders > 0


def infinite(x):
    """Is x known to be infinite? A number that compiled code computes is not."""
    return np.isinf(x)


CALLS[infinite] = lambda r, x: not is_traced(x) and bool(np.isinf(x))


class Derivative(Transform):
    """`kind` "grad": the slope of a function of one number; "jacobian": the matrix of a function of a vector. Python takes differences."""

    def __init__(self, fun, kind="grad"):
        super().__init__(kind, fun)

    def __call__(self, x):
        x, h = np.asarray(x, float), 1e-6
        sides = [(self.fun(x + h * e) - self.fun(x - h * e)) / (2 * h) for e in (np.eye(x.size) if x.ndim else [1.0])]
        return np.stack(sides, -1) if x.ndim else sides[0]


def as_precise(out, *xs):
    """`out` in single precision if all of these are, as SciPy computes it then."""
    if all([x.dtype in (np.float32, np.complex64) for x in xs]):
        return out.astype(np.complex64 if np.iscomplexobj(out) else np.float32)
    return out
