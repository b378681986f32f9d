"""Exceptions that a called function raises in its loops and branches, depending on data, and that a `try` around the call catches.

Such a function is read inside a `try` of its own that catches what those around the call do. Its handler notes which exception it was,
with the numbers in its text, and returns; then, outside of all loops and branches, the function raises it.
"""

from __future__ import annotations

import ast
from typing import Any

from irad.core.lazy_dataclass import dataclass, field
from irad.frontend.activations import Activation
from irad.frontend.control.flow import block
from irad.frontend.control.regions import Dead, raise_always
from irad.frontend.control.tries import caught_around
from irad.frontend.reader import Reader, statement
from irad.frontend.reading.raises import described
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Env, Maybe
from irad.frontend.values.state import Name
from irad.ops.control import raise_if
from irad.ops.elementwise import eq


@dataclass(eq=False)
class Held:
    """What a function has raised: `env` holds its number among the `kinds`, 0 if nothing was raised, and the numbers in its text."""

    env: Env
    kinds: dict[Any, tuple[str, str, int]] = field(
        default_factory=dict
    )  # name, template and count of numbers, by class and template


class _Note(ast.stmt):
    """The handler of such a function."""

    _fields = ()


def holding(r: Reader, frame: Activation, stmts: list[ast.stmt]) -> None:
    """Run the body of a function; raise what it has raised at its end."""
    classes = caught_around(r)
    if not classes:
        block(r, stmts)
        return
    held = frame.held = Held(r.state.made(Env({"number": 0})))
    handler = ast.ExceptHandler(ast.Constant(classes), None, [_Note()])  # type: ignore[arg-type]
    made = ast.copy_location(ast.Try(stmts, [handler], [], []), stmts[0])
    ast.fix_missing_locations(made)
    block(r, [made])
    _raise(held)


@statement(_Note)
def note(r: Reader, s: _Note) -> None:
    """Note the exception that is being handled, and return."""
    held, e = r.frame.held, r.handling[-1]
    name, template, operands = described(r, e)
    _, _, count = held.kinds.setdefault((type(e), template), (name, template, len(operands)))
    number = list(held.kinds).index((type(e), template)) + 1
    for k in range(count):
        r.state.assign(Name(held.env, f"{number}.{k}"), operands[k])
    r.state.assign(Name(held.env, "number"), number)
    r.state.assign(Name(r.frame.flags, "return"), True)


def _raise(held: Held) -> None:
    number = held.env.names["number"]
    for k, (name, template, count) in enumerate(held.kinds.values(), 1):
        found = [held.env.names.get(f"{k}.{i}") for i in range(count)]
        operands = [(x.value if isinstance(x, Maybe) else x).value for x in found if x is not None]
        if isinstance(number, Arr):
            raise_if(eq(number.value, k), *operands, exc=name, message=template)
        elif number == k:
            raise_always(name, template, operands)
            raise Dead
