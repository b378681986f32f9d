"""Comprehensions, generator expressions, displays, attribute and subscript expressions, and folds over long sequences."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from irad.core.foreign import is_written
from irad.core.ir import current
from irad.core.once import import_later
from irad.core.types import Type
from irad.errors import IradError
from irad.frontend.control.filling import zero
from irad.frontend.control.flow import branch, inverse
from irad.frontend.control.generators import as_stream, folded, of_expression, opened
from irad.frontend.control.lists import joined
from irad.frontend.control.loops import run_for
from irad.frontend.control.regions import attempt, run_region
from irad.frontend.control.sequences import (
    Generator,
    Seq,
    Stream,
    collected,
    go_over,
    iterate,
    new_state,
    positions,
    static_length,
)
from irad.frontend.control.special import at_site, with_keys
from irad.frontend.control.trips import LoopStatement, Unrollable
from irad.frontend.python.itertools import Varies
from irad.frontend.python.numbers import builtin
from irad.frontend.reader import Reader, expression
from irad.frontend.reading.logic import both, either
from irad.frontend.reading.statements import assign, chosen
from irad.frontend.syntax.source import set_in_code
from irad.frontend.values.arr import Arr, as_dim, dtype_of, static_int
from irad.frontend.values.extents import decided_by_data
from irad.frontend.values.objects import Array, Cell, Env, Method, StructureError, is_number
from irad.frontend.values.runs import has_run
from irad.frontend.values.state import Name
from irad.ops.control import raise_if


@expression(ast.Attribute)
def attribute(r: Reader, e: ast.Attribute) -> Any:
    obj = r.expr(e.value, True)
    r.at(e)
    return r.getattr(obj, e.attr)


@expression(ast.Subscript)
def subscript(r: Reader, e: ast.Subscript) -> Any:
    obj, key = r.expr(e.value, True), r.expr(e.slice)
    r.at(e)
    try:
        out = chosen(r, obj, key)
        out = r.getitem(obj, key) if out is None else out
        if type(obj) is list and isinstance(out, (list, set, dict)):
            r.of_lists[id(out)] = out, obj
    except Exception as error:
        r.blame(error, obj, [key])
        raise
    return at_site(r, e, out) if type(out) is list and type(key) is slice else out


@expression(ast.Slice)
def slice_(r: Reader, e: ast.Slice) -> Any:
    return slice(*(None if x is None else r.expr(x) for x in (e.lower, e.upper, e.step)))


# ---- comprehensions --------------------------------------------------------------------------------------------------------


FILLED = ".filled"  # a variable that no program has: the dict that a comprehension fills


class _Scope:
    """The variables of a comprehension, around which the function's own stay visible."""

    def __init__(self, r: Reader, generators: list[ast.comprehension]):
        self.r = r
        self.outer = r.frame.env
        self.env = r.state.made(Env(parent=self.outer, locals=frozenset([FILLED]).union(*map(_targets, generators))))

    def __enter__(self) -> None:
        self.r.frame.env = self.env

    def __exit__(self, *_: Any) -> None:
        self.r.frame.env = self.outer


def _targets(g: ast.comprehension) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(g.target) if isinstance(n, ast.Name))


@expression(ast.NamedExpr)
def walrus(r: Reader, e: ast.NamedExpr) -> Any:
    """name := value; in a comprehension, too, it is a variable of the function."""
    value, here = r.perhaps(e.value), r.frame.env
    while FILLED in r.frame.env.locals:
        r.frame.env = r.frame.env.parent
    try:
        assign(r, e.target, value)
    finally:
        r.frame.env = here
    return value


def each(r: Reader, generators: list[ast.comprehension], consume: Callable[[], None], first: Any = None) -> None:
    """Run `consume` for each combination of the generators' elements that passes their conditions."""
    g, rest = generators[0], generators[1:]
    seq = iterate(r, r.expr(g.iter)) if first is None else first
    if isinstance(seq.length, Arr):
        error = Varies("a comprehension over a range whose length is not known at compile time; use an array and a for loop")
        r.blame(error, seq.length)
        raise error
    for k in positions(seq):
        assign(r, g.target, seq.get(k))
        keep = _conditions(r, g.ifs)
        if isinstance(keep, Arr):
            raise Varies(
                "a comprehension that keeps elements depending on data has no fixed length; use a boolean mask or a for loop with if"
            )
        if keep:
            each(r, rest, consume) if rest else consume()


def appended(
    r: Reader,
    generators: list[ast.comprehension],
    consume: Callable[[], None],
    first: Any = None,
    live: frozenset[str] = frozenset(),
) -> None:
    """Like `each`, in loops; what `consume` appends to may have another length on each path. `live`: variables of loops around."""
    g, rest = generators[0], generators[1:]
    seq = iterate(r, r.expr(g.iter)) if first is None else first
    inner = (lambda: appended(r, rest, consume, live=live | _targets(g))) if rest else consume

    def body(k: Any) -> None:
        assign(r, g.target, seq.get(k))
        keep = _conditions(r, g.ifs)
        if isinstance(keep, Arr):
            branch(r, keep, inner, lambda: None)
        elif keep:
            inner()

    run_for(r, LoopStatement(g, body, live, live, None), seq)


def _conditions(r: Reader, tests: list[ast.expr]) -> Any:
    for t in tests:
        keep = r.condition(t)
        if keep is not True:
            return keep if len(tests) == 1 or keep is False else r.condition(ast.BoolOp(ast.And(), tests))
    return True


@expression(ast.ListComp)
def list_comprehension(r: Reader, e: ast.ListComp) -> Any:
    return at_site(r, e, r.state.made(_listed(r, e, lambda: r.expr(e.elt))))


def _listed(r: Reader, e: ast.ListComp | ast.SetComp | ast.DictComp, element: Callable[[], Any]) -> Any:
    """The elements of a comprehension; of a dict comprehension over what data decide, the dict."""
    out: list[Any] = []

    def plain() -> None:
        each(r, e.generators, lambda: out.append(element()), first)

    with _Scope(r, e.generators), ExitStack() as until:
        simple = len(e.generators) == 1 and not e.generators[0].ifs
        first = r.there(r.look(over := e.generators[0].iter, until), over) if simple or isinstance(e, ast.DictComp) else None
        by_data = isinstance(e, ast.DictComp) and (type(first) not in (dict, tuple, range, set, list) or has_run(first))
        if by_data and (found := import_later("irad.frontend.reading.keyed").filled(r, e, first)) is not None:
            return found
        first = None if first is None else iterate(r, first)
        try:
            plain() if simple else attempt(r, plain)
        except Varies:
            out = r.state.made([])
            append = Method(out, "append")
            named = frozenset(n.target.id for n in ast.walk(e) if isinstance(n, ast.NamedExpr))
            appended(r, e.generators, lambda: r.call(append, [element()]), first, named)
    return out


@expression(ast.SetComp)
def set_comprehension(r: Reader, e: ast.SetComp) -> Any:
    return at_site(r, e, with_keys(r, set, _listed(r, e, lambda: r.expr(e.elt)), e))


@expression(ast.DictComp)
def dict_comprehension(r: Reader, e: ast.DictComp) -> Any:
    found = _listed(r, e, lambda: (r.expr(e.key), r.expr(e.value)))
    return at_site(r, e, with_keys(r, dict, found, e)) if isinstance(found, list) else found


@expression(ast.GeneratorExp)
def generator_expression(r: Reader, e: ast.GeneratorExp) -> Any:
    """A generator that nothing has taken from yet. Its first iterable is evaluated now, as Python does."""
    over = opened(r, r.expr(e.generators[0].iter))
    if as_stream(over) is not None:
        return of_expression(r, e, over)
    first = iterate(r, over)
    frame, scope = r.frame, _Scope(r, e.generators)

    def run(body: Callable[[], Any]) -> Any:
        with r.activation(frame), scope:
            return body()

    def element(k: Any) -> Any:
        def body() -> Any:
            assign(r, e.generators[0].target, first.get(k))
            return r.expr(e.elt)

        return run(body)

    def all_of(consume: Callable[[Any], None]) -> None:
        run(lambda: each(r, e.generators, lambda: consume(r.expr(e.elt)), first))

    def later(consume: Callable[[Callable[[], Any]], None]) -> None:
        run(lambda: each(r, e.generators, lambda: consume(lambda: r.expr(e.elt)), first))

    def filtered(k: Any, consume: Callable[[Any], None]) -> None:
        """One position of a generator with conditions: `consume` runs only where they hold."""

        def body() -> None:
            assign(r, e.generators[0].target, first.get(k))
            keep = _conditions(r, e.generators[0].ifs)
            if isinstance(keep, Arr):
                branch(r, keep, lambda: consume(r.expr(e.elt)), lambda: None)
            elif keep:
                consume(r.expr(e.elt))

        run(body)

    single = len(e.generators) == 1
    plain = single and not e.generators[0].ifs
    state = new_state(r)

    def stream() -> Stream:
        return of_expression(r, e, first, state)

    return Generator(first, all_of, later, element if plain else None, filtered if single else None, state, stream)


# ---- folds -------------------------------------------------------------------------------------------------------------------


def fold(r: Reader, seq: Seq, start: Any, step: Callable[[Any, Any], Any]) -> Any:
    """step(...step(start, x0)..., xn) as a loop."""
    return _accumulate(r, seq, start, lambda k, total: step(total, seq.get(k)))


def _accumulate(r: Reader, seq: Seq, start: Any, step: Callable[[Any, Any], Any]) -> Any:
    env = r.state.made(Env(names={"total": start}))
    place = Name(env, "total")
    here = current().loc  # the same in each reading of the function, as a statement is
    run_for(r, LoopStatement(here, lambda k: r.state.assign(place, step(k, place.get())), None, None, None), seq)
    return place.get()


@builtin(any)
def any_(r: Reader, iterable: Any) -> Any:
    return _decided(r, iterable, either, False)


@builtin(all)
def all_(r: Reader, iterable: Any) -> Any:
    return _decided(r, iterable, both, True)


def _decided(r: Reader, iterable: Any, combine: Callable[..., Any], start: bool) -> Any:
    """any or all: what stands after the element that decides is not evaluated."""
    iterable = opened(r, iterable)
    g = iterable if isinstance(iterable, Generator) else None
    if isinstance(iterable, Stream):
        decided = lambda total: total if start is False else inverse(total)
        return folded(r, iterable, start, lambda _, x: r.truth(x), decided)
    if g is not None and g.filtered is None:
        return _decided_in_order(r, g, combine, start)
    seq = iterate(r, iterable) if g is None or g.element is not None else g.seq
    if g is not None and g.element is None:
        go_over(r, g.state)

    def step(k: Any, total: Any) -> Any:
        return combine(r, total, lambda: r.truth(seq.get(k)) if g is None or g.element else _where_kept(r, g, k, start))

    if seq.rolls and (isinstance(seq.length, Arr) or seq.length > 8):
        return _accumulate(r, seq, start, step)
    total: Any = start
    for k in range(static_length(seq)):
        total = step(k, total)
    return total


def _decided_in_order(r: Reader, g: Generator, combine: Callable[..., Any], start: bool) -> Any:
    """The combination of the elements of a generator with several `for`: elements are evaluated one by one, their iterables always."""
    go_over(r, g.state)
    total: list[Any] = [start]

    def consume(element: Callable[[], Any]) -> None:
        total[0] = combine(r, total[0], lambda: r.truth(element()))

    g.later(consume)
    return total[0]


def _where_kept(r: Reader, g: Generator, k: Any, start: bool) -> Any:
    """The truth of the element at a position; `start` where the generator leaves it out."""
    place = Name(r.state.made(Env(names={"element": start})), "element")
    assert g.filtered is not None
    g.filtered(k, lambda x: r.state.assign(place, r.truth(x)))
    return place.get()


# ---- arrays of the elements of a sequence -----------------------------------------------------------------------------------


def tabulated(r: Reader, node: ast.GeneratorExp) -> Any:
    """The elements of a comprehension: an array filled in a loop if they are many and alike, else a list."""
    g = generator_expression(r, node)
    if isinstance(g, Stream):
        return collected(r, g)
    unknown = isinstance(n := g.seq.length, Arr) and (decided_by_data(as_dim(n)) or not r.from_arguments(n))
    if g.element is not None and g.seq.rolls and (unknown or (isinstance(n, int) and n > 8)):
        made = _attempted(r, lambda: table(r, n, g.element))
        if made is not None:
            return made
    return r.items(g) if not unknown or g.stream is None else collected(r, g.stream())


def _attempted(r: Reader, body: Callable[[], Any]) -> Any:
    """What `body` gives; None, and nothing changed, where irad cannot compile it so."""
    depth = len(r.frames)
    try:
        return attempt(r, body)
    except (IradError, Unrollable):
        del r.frames[depth:]
        return None


def table(r: Reader, n: Any, element: Callable[[Any], Any], probe: Any = None) -> Any:
    """An array of element(0), ..., element(n - 1), which are numbers or arrays of one type; one of each, if they are tuples.

    `probe`: what element(0) gives, where it was read before.
    """
    probe = run_region(r, lambda: element(0)).result if probe is None else probe
    parts = probe if type(probe) is tuple else (probe,)
    if not all(is_number(x) or isinstance(x, Array) for x in parts):
        raise StructureError("the elements are no numbers and no arrays")
    if any(not isinstance(d, int) for x in parts if isinstance(x, Array) for d in x.shape):
        raise StructureError("the elements are arrays of lengths that data decide")
    kinds = [(x.type.dtype, x.shape) if isinstance(x, Array) else (dtype_of(x), ()) for x in parts]
    if isinstance(n, Arr) and any(shape for _, shape in kinds):  # NumPy makes an array of one axis of none
        raise_if(n.value < 1, exc="ValueError", message="compiled code makes no array of a comprehension without elements")
    outs = [Array(Cell(zero(Type(dtype, (as_dim(n), *shape))))) for dtype, shape in kinds]

    def body(k: Any) -> None:
        found = element(k)
        for out, (dtype, _), x in zip(outs, kinds, found if type(probe) is tuple else (found,)):
            if (x.type.dtype if isinstance(x, Array) else dtype_of(x)) != dtype:
                raise StructureError("the elements differ in dtype")
            r.setitem(out, k, x)

    run_for(r, LoopStatement(current().loc, body, None, None, None), Seq(n, lambda k: k))
    return tuple(outs) if type(probe) is tuple else outs[0]


def along_axis(r: Reader, func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """np.apply_along_axis: func1d on each line."""
    lines = r.call(np.moveaxis, [arr, axis, -1])
    outer = lines.shape[:-1]
    count = int(np.prod(outer)) if outer else 1
    flat = r.call(np.reshape, [lines, (count, lines.shape[-1])])
    out = table(r, count, lambda k: r.call(func1d, [r.getitem(flat, k), *args], kwargs))
    shaped = r.call(np.reshape, [out, (*outer, *out.shape[1:])])
    return r.call(np.moveaxis, [shaped, -1, axis]) if len(out.shape) > 1 else shaped


builtin(np.apply_along_axis)(along_axis)


@builtin(np.fromiter)
def from_iterable(r: Reader, iter: Any, dtype: Any, count: int = -1) -> Any:
    items = iter if isinstance(iter, Array) else r.call(list, [iter])
    return r.call(np.array, [items if count == -1 else r.getitem(items, slice(None, count))], {"dtype": dtype})


# ---- displays -----------------------------------------------------------------------------------------------------------


@expression(ast.Tuple)
def tuple_(r: Reader, e: ast.Tuple) -> Any:
    return tuple(elements(r, e.elts, r.perhaps))


@expression(ast.List)
def list_(r: Reader, e: ast.List) -> Any:
    return at_site(r, e, r.state.made(elements(r, e.elts, r.perhaps, True)))


@expression(ast.Set)
def set_(r: Reader, e: ast.Set) -> Any:
    out = with_keys(r, set, elements(r, e.elts, r.expr), e)
    if isinstance(out, set) and (constant := set_in_code(r.frame.code, r.frame.source.node, e, out)) is not None:
        out = r.state.made(constant)
    return at_site(r, e, out)


def elements(r: Reader, nodes: list[ast.expr], evaluated: Callable[[ast.expr], Any], grows: bool = False) -> list[Any]:
    """Evaluate the elements of a display or the arguments of a call, stars unpacked. `grows`: they may stand in arrays."""
    out: list[Any] = []
    for n in nodes:
        if isinstance(n, ast.Starred):
            x = r.expr(n.value)
            out = joined(r, out, x) if grows and has_run(x) and isinstance(x, list) else out + r.items(x)
        else:
            out.append(evaluated(n))
    return out


def repeated(r: Reader, xs: Any, count: Arr) -> Any:
    """A list, tuple or text, so many times as a number says."""
    if type(xs) not in (list, tuple) or r.may_be_known(count):
        return r.operator("mul", xs, static_int(count, "the number of repetitions of a list"))
    repeated_list = import_later("irad.frontend.library.python.standard").repeated_list
    out = r.call(repeated_list, [xs if type(xs) is list else list(xs), count])
    return out if type(xs) is list else r.call(tuple, [out])


@expression(ast.Dict)
def dict_(r: Reader, e: ast.Dict) -> Any:
    parts = [r.expr(v) if k is None else (r.expr(k), r.perhaps(v)) for k, v in zip(e.keys, e.values)]
    if any(k is None and is_written(type(x)) for k, x in zip(e.keys, parts)):
        out = import_later("irad.frontend.reading.keyed").of_items(r, dict, [])
        for k, x in zip(e.keys, parts):
            r.call(r.getattr(out, "update"), [x if k is None else [x]])
        return at_site(r, e, out)
    pairs: list[Any] = []
    for k, x in zip(e.keys, parts):
        pairs += [x] if k is not None else r.items(r.call(r.getattr(x, "items"), []))
    return at_site(r, e, with_keys(r, dict, pairs, e))
