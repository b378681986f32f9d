"""Which class NumPy gives a result of operands that are objects of subclasses of np.ndarray.

The same call is made of small arrays of classes like the user's, which remember which operand they come from. So the rules are those of the
NumPy that is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from irad.core.array_classes import ArrayOfClass, array_in, class_behind
from irad.core.foreign import base_items, held, with_each
from irad.errors import UnsupportedError
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, class_of_number, describe

Maker = Callable[[Reader, Any, Array, Any], ArrayOfClass]


def holds(x: Any) -> bool:
    """Is x such an object, or a list, tuple, dict or slice that holds one?"""
    return isinstance(x, ArrayOfClass) or any(map(holds, held(x)))


def plain(x: Any) -> Any:
    """x with the arrays alone."""
    if isinstance(x, ArrayOfClass):
        return array_in(x)
    if not holds(x):
        return x
    if isinstance(x, slice):
        return with_each(plain, x)
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return type(x)._make(map(plain, x)) if hasattr(x, "_make") else type(x)(map(plain, base_items(x)))  # type: ignore[union-attr]


def objects_in(x: Any) -> list[ArrayOfClass]:
    """The objects of subclasses in operands, in order."""
    if isinstance(x, ArrayOfClass):
        return [x]
    return [o for e in held(x) for o in objects_in(e)]


class Probe:
    """What makes arrays of classes like the user's, which remember which operand they come from."""

    def __init__(self, r: Reader, made: Maker) -> None:
        self.r, self.made = r, made
        self.operands: list[ArrayOfClass] = []
        self.given: list[Any] = []  # what stands for each

    def of(self, x: Any) -> Any:
        """An operand of the same kind, dtype and shape."""
        if isinstance(x, ArrayOfClass):
            out = _numbers(array_in(x)).view(_class_like(class_behind(x)))
            out.tag = len(self.operands)
            self.operands.append(x)
            self.given.append(out)
            return out
        if isinstance(x, Array):
            content = self.r.read(x)
            return content if isinstance(content, np.ndarray) else _numbers(x)
        if isinstance(x, Arr):
            return class_of_number(x)(1)
        return with_each(self.of, x)

    def run(self, what: str, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result for such operands."""
        given, named = [self.of(a) for a in args], {k: self.of(v) for k, v in kwargs.items() if k != "out"}
        try:
            with np.errstate(all="ignore"):
                return fn(*given, **named)
        except Exception as e:
            raise UnsupportedError(
                f"which class {what} gives for {describe(self.operands[0])} could not be found out ({e}); "
                "give it the numbers: np.asarray(x)"
            ) from None

    def dressed(self, like: Any, out: Any) -> Any:
        """A result with the classes that NumPy gives it, which `like` shows."""
        for x, given in zip(self.operands, self.given):
            if like is given:
                return x
        if isinstance(like, tuple) and isinstance(out, tuple) and len(like) == len(out):
            found = [self.dressed(a, b) for a, b in zip(like, out)]
            return type(out)._make(found) if hasattr(out, "_make") else tuple(found)
        if isinstance(like, list) and isinstance(out, list) and len(like) == len(out):
            return self.r.state.made([self.dressed(a, b) for a, b in zip(like, out)])
        cls = getattr(type(like), "stands_for", np.matrix if type(like) is np.matrix else None)
        if cls is None:
            return out
        tag = getattr(like, "tag", None)
        parent = self.operands[tag] if tag is not None else next(x for x in self.operands if issubclass(class_behind(x), cls))
        array = out if isinstance(out, Array) else self.r.wrap(self.r.operand(out), zero_d=True)
        if not isinstance(array, Array):  # a Python number
            array = self.r.call(np.asarray, [array])
        return self.made(self.r, cls, array, parent)


def _numbers(x: Array) -> np.ndarray:
    """Numbers in the place of an array: of its dtype and shape (3 where that depends on data), as matrices regular."""
    shape = tuple(d if isinstance(d, int) else 3 for d in x.shape)
    size = int(np.prod(shape, dtype=np.int64))
    out = (np.arange(size) * 0.7312 % 1.0 + 0.1).reshape(shape)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        out = out @ np.swapaxes(out, -1, -2) + np.eye(shape[-1])
    kind = x.type.numpy
    return (out > 0.5) if kind.kind == "b" else out.astype(kind) if kind.kind in "fc" else np.ones(shape, kind)


@cache
def _class_like(cls: Any) -> Any:
    """A class with the bases and priority of one of the user's, and no code of his."""
    bases = tuple(b if b in (np.ndarray, np.matrix) else _class_like(b) for b in cls.__bases__ if issubclass(b, np.ndarray))
    if cls is np.matrix:
        bases = (np.matrix,)

    def finalize(self: Any, x: Any) -> None:
        if isinstance(self, np.matrix):
            np.matrix.__array_finalize__(self, x)
        self.tag = getattr(x, "tag", None)

    content = {"__array_finalize__": finalize, "stands_for": cls}
    if "__array_priority__" in vars(cls):
        content["__array_priority__"] = vars(cls)["__array_priority__"]
    return type(cls.__name__, bases, content)
