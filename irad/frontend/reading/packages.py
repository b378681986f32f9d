"""Packages whose functions are not read: what they do is not what irad compiles, and what to write instead is known."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from irad.errors import IradError, UnsupportedError, of_the_user
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Text, is_traced_deep

_NUMPY = "write NumPy's functions (import numpy as np; np.{0} and so on), which irad compiles and differentiates"
_DRAWING = "a plot would be drawn once, at compile time; return the numbers, and plot them outside"
_FRAMES = "take the arrays out before (df['a'].to_numpy()) and give them as arguments"
_TENSORS = "give compiled code NumPy arrays (x.numpy()), and write NumPy's functions"
_WRITING = "numbers that are computed are not known at compile time; return them, and write them outside"
_DEBUGGER = "debug the plain function, c.__wrapped__(x); print works in compiled code"
_PROGRESS = "a progress bar would run once, at compile time; write the loop without it (print works, at each call)"

ADVICE = {
    **dict.fromkeys(("jax", "jaxlib", "autograd", "cupy", "mlx"), _NUMPY),
    **dict.fromkeys(("torch", "tensorflow", "keras"), _TENSORS),
    **dict.fromkeys(("matplotlib", "seaborn", "plotly", "bokeh"), _DRAWING),
    **dict.fromkeys(("pandas", "polars", "xarray", "pyarrow"), _FRAMES),
    "tqdm": _PROGRESS,
    **dict.fromkeys(("pdb", "bdb", "ipdb", "pudb"), _DEBUGGER),
}
TRACED = dict.fromkeys(("json", "pickle", "_pickle", "csv", "_csv", "sqlite3"), _WRITING)  # with traced arguments only


def refuse(fn: Any, args: Sequence[Any]) -> None:
    """Raise UnsupportedError, which says what to write instead, for a function, class or object of such a package."""
    module = getattr(fn, "__module__", None)
    if not isinstance(module, str):  # a method of a class that is written in C, say
        module = type(getattr(fn, "__self__", fn)).__module__
    root = module.partition(".")[0]
    advice = ADVICE.get(root) or (TRACED.get(root) if root in TRACED and is_traced_deep(list(args)) else None)
    if advice is not None and not _of_the_program(root):
        name = getattr(fn, "__name__", type(fn).__name__)
        raise UnsupportedError(f"{name} of {root} in compiled code: {advice.format(name)}")


def _of_the_program(root: str) -> bool:
    """Is it a package of the program's own, with the name of such a one?"""
    spec = getattr(sys.modules.get(root), "__spec__", None)
    return spec is not None and spec.origin is not None and of_the_user(spec.origin)


@contextmanager
def calling_back(name: str) -> Iterator[None]:
    """Around a function that is not read: it may call one that is, and not know what to do with a traced number."""
    try:
        yield
    except (TypeError, ValueError, NameError) as e:
        what = "whose result depends on traced numbers"
        if isinstance(e, NameError) and "free variable" in str(e):
            what = "that reads variables of a function in compiled code"
        elif isinstance(e, IradError) or not re.search(rf"\b({Arr.__name__}|{Text.__name__})\b", str(e)):
            raise
        raise UnsupportedError(
            f"{name} is not read, and calls a function {what}; call it outside, or through irad.callback"
        ) from e
