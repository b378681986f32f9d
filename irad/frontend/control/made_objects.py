"""Variables that are one of several objects of which some are made on the paths: `self.state = Busy(t) if full else Idle()`.

Each object stands for itself if it is there on all paths; of those that are made on one, the numbers and arrays are carried along, and
an object is made of them after the paths have met. Two that are made on two paths are one afterwards if they are alike.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from irad.frontend.control.templates import Bad, Composite, Kinds, Opt, Pick, Same, Template, bare, made_of, structure
from irad.frontend.values.choices import MOST, Outside, is_object, made_things, one_of, shape_of
from irad.frontend.values.objects import UNDEFINED, Choice

if TYPE_CHECKING:
    from irad.frontend.control.merge import Joiner


def joined(joiner: Joiner, t: Template, b: Any) -> Template | None:
    """The template of a variable that is an object, or one of several, on each of two paths (or has a template); None for others."""
    a = list(t.kids) if isinstance(t, Kinds) else _of_pick(t.options) if isinstance(t, Pick) else _of(t)
    rest = list(made_things(b))
    if not a or not rest or not all(map(_may_be_made, rest)) or all(map(_is_list, (*a, *rest))):
        return None
    pairs: list[tuple[Template | None, Any]] = []
    for k in a:
        pairs.append((k, _partner(joiner, k, rest)))
        rest = [x for x in rest if x is not pairs[-1][1]]
    pairs += [(None, x) for x in rest]
    if len(pairs) == 1:
        return None
    kids = [_joined(joiner, k, x) for k, x in pairs]
    made = [s for k in kids if (s := made_of(k)) is not None]
    if len(kids) > MOST or any(isinstance(bare(k), Bad) for k in kids) or any(made.count(s) > 1 for s in made):
        return None
    return Kinds(tuple(kids))


def _may_be_made(x: Any) -> bool:
    return is_object(x) or type(x) in (functools.partial, list, tuple)


def _is_list(x: Any) -> bool:
    """Lists of several lengths are no several lists."""
    return type(x) is list or (isinstance(x, Template) and (made_of(Opt(x)) or (None,))[0] is list)


def _of(t: Template) -> list[Template]:
    if isinstance(t, Composite) and t.cls in (list, tuple):
        return [t]
    return _of_pick(made_things(t.obj)) if isinstance(t, Same) else []


def _of_pick(options: Any) -> list[Template]:
    return [Same(x) for x in options] if all(map(_may_be_made, options)) else []


def _partner(joiner: Joiner, k: Template, others: list[Any]) -> Any:
    """The object of the other path that is one with an object afterwards: itself, or one of which at least one is made on its path."""
    there, (first, second) = joiner.there, joiner.contents
    if isinstance(k, Same):
        if (found := next((x for x in others if x is k.obj), None)) is not None:
            return found
        shape = shape_of(structure(first(k.obj)))
        stays = there.has(k.obj) and not there.stands(k.obj)
    else:
        shape, stays = made_of(k), False
    for x in others:
        other = shape_of(structure(second(x)))
        lasts = stays or (there.has(x) and not there.stands(x))
        if shape is not None and other is not None and not lasts and shape == other:
            return x
    return None


def _joined(joiner: Joiner, k: Template | None, x: Any) -> Template:
    """The template of an object on two paths, or on the one that has it."""
    of_one = x is None or k is None
    if isinstance(k, Same) and (k.obj is x or (of_one and joiner.there.has(k.obj))):
        return k
    if k is None and joiner.there.has(x):
        return Same(x)
    if not of_one:
        return joiner.join(k.obj if isinstance(k, Same) else k, x)
    return joiner.join(UNDEFINED if k is None else k.obj if isinstance(k, Same) else k, UNDEFINED if x is None else x)


_NOWHERE = Outside().has


def opened(x: Choice, there: Callable[[Any], bool] | None, open_: Callable[[Any], Template]) -> Template:
    """The template of one of several known things on one path alone; `there(x)`, if that is known: is one of them there outside?"""
    if all(map(there or _NOWHERE, x.options)):
        return Pick(x.options)
    if there is None or not all(map(_may_be_made, x.options)):
        return Bad(f"it is {one_of(x.options)}, by data, some of which are made on one path")
    kids = tuple(Same(o) if there(o) else Opt(open_(o)) for o in x.options)
    made = [s for k in kids if (s := made_of(k)) is not None]
    if any(made.count(s) > 1 for s in made):
        return Bad("it is one of several objects of one class that are made on one path")
    return Kinds(kids)


def dicts_of(*xs: Any) -> tuple[Any, ...]:
    """The dicts that things are, or may be, or have as their template; () if one is something else."""
    found: list[Any] = []
    for x in xs:
        if isinstance(x, (Kinds, Pick, Choice)):
            more = dicts_of(*(x.kids if isinstance(x, Kinds) else x.options))
        elif isinstance(x, (Same, Opt)):
            more = dicts_of(x.obj if isinstance(x, Same) else x.child)
        else:
            more = (x,) if dict in (type(x), getattr(x.cls if isinstance(x, Composite) else type(x), "MAPPED", None)) else ()
        if not more:
            return ()
        found += more
    return tuple(found)
