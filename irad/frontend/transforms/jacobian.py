"""Jacobians: a `jacobian` op over the function as a region; the passes choose the directions and which go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irad.core.ir import Value, emit
from irad.core.tree import structured_nodes
from irad.core.types import is_complex
from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.reader import Reader
from irad.frontend.transforms.linearise import Linearised, linearise, positions
from irad.frontend.transforms.modes import check_one_direction
from irad.frontend.values.objects import Array, Cell
from irad.ops import control


def blocks(lin: Linearised, mode: str, symmetric: bool = False) -> tuple[list[Value], list[Value]]:
    """The function's results, and its derivatives: float results by arguments, of shape result.shape + argument.shape."""
    outs = emit(control.jacobian, *lin.primals, regions=[lin.graph], mode=mode, symmetric=symmetric)
    n = len(lin.graph.results)
    return list(outs[:n]), list(outs[n:])


def jacobian(
    r: Reader, fun: Any, args: list[Any], kwargs: dict[str, Any], argnums: Any, mode: str, symmetric: bool = False
) -> Any:
    """Derivatives of every result leaf with respect to every argument leaf, of shape result.shape + argument.shape.

    `symmetric`: fun is the gradient of a function of the same arguments.
    """
    at, single = positions(argnums, len(args))
    lin = linearise(r, fun, args, kwargs, at, numbers=True)
    if any(map(structured_nodes, (*lin.trees, lin.out_tree))):
        raise UnsupportedError(
            "jacobian and hessian of structured arrays: differentiate by and return the fields, p['x'], and store them in the function"
        )
    outs = lin.float_results
    if len(outs) != len(lin.graph.results) or not all(isinstance(k, str) for k in lin.out_kinds):
        raise IradTypeError("jacobian wants a function that returns floats only")
    check_one_direction(lin, "the Jacobian or Hessian")
    _, found = blocks(lin, _checked_mode(lin, outs, mode), symmetric)
    per_result = []
    for k in range(len(outs)):
        grads = _trees(lin, found[k * len(lin.primals) : (k + 1) * len(lin.primals)])
        per_result.append(grads[0] if single else tuple(grads))
    return lin.out_tree.unflatten(per_result)


def _checked_mode(lin: Linearised, outs: list[int], mode: str) -> str:
    """The mode that gives derivatives by and of complex numbers as documented, `mode` itself where nothing is complex.

    Of complex results by complex arguments both modes give the derivative, provided that the function is holomorphic.
    """
    ins = {is_complex(v.type.dtype) for v in lin.primals}
    results = {is_complex(lin.graph.results[k].type.dtype) for k in outs}
    if True not in ins | results or ins == results == {True}:
        return mode
    only = "forward" if True not in ins else "reverse" if True not in results else ""
    if not only or mode not in ("", only):
        raise IradTypeError(
            "jacobian of a function between real and complex numbers: real arguments want mode='forward', real results "
            "mode='reverse'; differentiate by the real and by the complex arguments one after the other"
        )
    return only


def _trees(lin: Linearised, values: Sequence[Value]) -> list[Any]:
    it = iter([Array(Cell(v)) for v in values])
    return [t.unflatten([next(it) for _ in range(t.size)]) for t in lin.trees]
