"""What the bridges share: a function's backward as another function, and its results' types without running it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import irad
from irad.api import Compiled
from irad.call.runtime import cache_for
from irad.core.tree import TreeDef
from irad.core.types import TAPE
from irad.errors import IradTypeError


def compiled(f: Callable[..., Any]) -> Compiled:
    """f compiled, if it is not."""
    return f if isinstance(f, Compiled) else irad.compile(f)


def moving(tree: TreeDef, floats: Sequence[bool], who: str) -> tuple[int, ...]:
    """The arguments that derivatives are taken by: those of floats. `floats`: which leaves of the arguments are such.

    Raises IradTypeError for an argument that holds both floats and whole numbers.
    """
    rest, found = iter(floats), []
    for k, child in enumerate(tree.children):
        kinds = {next(rest) for _ in range(child.size)}
        if len(kinds) > 1:
            raise IradTypeError(
                f"{who}: argument {k} holds floats and whole numbers; pass the whole numbers as an argument of their own"
            )
        if kinds == {True}:
            found.append(k)
    return tuple(found)


def backward_of(f: Compiled, by: tuple[int, ...]) -> Compiled:
    """(*arguments, cotangent of the result) -> cotangents of the arguments `by`: a function like any other, with a backward of its own."""
    plain = f.__wrapped__

    def backward(*given: Any) -> Any:
        args, cotangent = given[:-1], given[-1]
        rest = lambda *xs: plain(*[xs[by.index(k)] if k in by else x for k, x in enumerate(args)])
        return irad.vjp(rest, *[args[k] for k in by])[1](cotangent)

    return Compiled(backward, 0, f.options)


def result_types(f: Compiled, args: Sequence[Any], who: str) -> tuple[TreeDef, list[tuple[tuple[int, ...], np.dtype]]]:
    """How f's result for arguments like these is nested, and the shapes and dtypes of its leaves. It is compiled, not run.

    Raises IradTypeError where a result is no number or array, or its shape is known at run time only.
    """
    found = cache_for(f.__wrapped__, f.options).find(f.__wrapped__, tuple(args), {})[0]
    outputs = [t for t in found.native.results if t != TAPE]
    leaves = []
    for r in found.traced.results:
        t = outputs[r.index] if r.index is not None else None
        if r.kind == "static" or t is None or not t.static:
            raise IradTypeError(
                f"{who} wants a function whose results are arrays and numbers of shapes that are known before it runs"
            )
        leaves.append((t.dims, t.numpy))
    return found.traced.out_tree, leaves
