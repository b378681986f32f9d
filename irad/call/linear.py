"""`linearize` outside of compiled code: a native forward that keeps what the derivative needs, and the derivative as a
linear function of tangents that Python calls: forward mode, cut where `vjp` is cut (see irad.call.pullback)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.call.pullback import Joint, Pullback, VjpSpecialisation
from irad.core.structured import field_type
from irad.core.tree import flatten
from irad.core.types import type_of
from irad.frontend.trace import trace
from irad.frontend.transforms.transform import OUTSIDE
from irad.frontend.values.traced import Spec
from irad.options import DEFAULT, Options, static_leaves


def make_linear(joint: Joint) -> Callable[..., LinearSpecialisation]:
    """How a linearisation of a function is compiled; `joint(fn)(primals, tangents)` gives the result and its tangent."""

    def make(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options = DEFAULT) -> LinearSpecialisation:
        leaves, tree = flatten(args)
        known = [field_type(x) if isinstance(x, np.ndarray) else None for x in leaves]
        specs = [Spec(t if t.differentiable else t.with_dtype("f64")) for t in (t or type_of(x) for t, x in zip(known, leaves))]
        static = static_leaves(fn, options, args, kwargs)
        traced = trace(joint(fn), (args, tree.unflatten(specs)), static=static)
        return LinearSpecialisation(joint, traced, specs, options)

    return make


class LinearSpecialisation(VjpSpecialisation):
    """Native code of a function and of its derivative, for one structure and types of the primals."""

    given = "the tuple of tangents"

    def pullback(self, kept: Sequence[Any]) -> Linear:
        """The derivative for what a forward has kept."""
        return Linear(self, list(kept))

    def prefer(self, kept: Sequence[Any], cotangents: Sequence[Any]) -> None:
        """Calls take tuples of tangents apart, in Python."""


class Linear(Pullback):
    """Tangents of the primals -> tangent of the result. May be called any number of times."""

    __slots__ = ()
    what = "what linearize gives", "the function instead"

    def __call__(self, *tangents: Any) -> Any:  # type: ignore[override]
        """One tangent per primal, of its structure and shapes. Raises IradTypeError or ShapeError if they have others."""
        return self._made.pull(self._kept, tangents)


OUTSIDE[Linear.__call__] = "this linear function was made outside; call it there, or irad.linearize inside"
