"""First derivatives in both modes, those after them forward over reverse.

`check_grads` nests each mode in itself. The rules of single ops are tested in all nestings to second order (tests/ops/test_derivatives.py); functions made
of them are compiled once for each order here, which is half of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import irad


def check_slopes(f: Callable[..., Any], args: Sequence[Any], order: int, rtol: float) -> None:
    """Against differences of plain NumPy to first order, then of the derivative before it."""
    irad.check_grads(f, args, rtol=rtol, atol=rtol)
    if order > 1:

        def pulled(*xs: Any) -> Any:
            out, pullback = irad.vjp(f, *xs)
            return pullback(out)

        irad.check_grads(pulled, args, order - 1, ("fwd",), rtol=rtol * 10, atol=rtol * 10)
