"""The reader: an abstract interpreter of Python source. Numbers are traced, everything else is run as Python runs it.

The handlers for kinds of syntax register in `EXPRESSIONS` and `STATEMENTS` (irad.frontend.reading and control); what they share is here:
activations of functions, the state and its logs, reading arrays, wrapping results, places in the user's source.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from irad.core.array_classes import ArrayOfClass, array_in
from irad.core.foreign import base_items, with_article
from irad.core.ir import Builder, Graph, Value, current
from irad.core.notes import Notes
from irad.core.room import Outgrown
from irad.core.structured import Bytes, Structured, is_structured
from irad.core.types import dtype_name
from irad.errors import IradError, Loc, UnsupportedError, placed
from irad.frontend.activations import Activation, OfObjects, Restart
from irad.frontend.registry import into
from irad.frontend.syntax.source import Source, words_for
from irad.frontend.values.arr import Arr, NeedStatic, constant, whole_numbers
from irad.frontend.values.captures import Captures, strides_of
from irad.frontend.values.choices import OneOf, is_object
from irad.frontend.values.extents import sources
from irad.frontend.values.fields import concrete, stand_in
from irad.frontend.values.kept import Kept
from irad.frontend.values.objects import Array, Cell, Either, Nullable, Varying, is_traced_deep
from irad.frontend.values.outside import Outside
from irad.frontend.values.runs import RunTuple, has_run, of_a_loop
from irad.frontend.values.state import State
from irad.frontend.values.unfit import unfit

Handler = Callable[["Reader", Any], Any]
EXPRESSIONS: dict[type[ast.AST], Handler] = {}
STATEMENTS: dict[type[ast.AST], Handler] = {}
expression = into(EXPRESSIONS)  # the decorated function is the meaning of these kinds of expressions
statement = into(STATEMENTS)  # of statements

VIEWS = ("keys", "values", "items")  # methods of dicts
OWN = str(Path(__file__).resolve().parents[1]) + os.sep  # where irad's own functions are


def _content(x: Any) -> Any:
    """An operand with the types of its arrays in their place."""
    if isinstance(x, Array):
        return [Arr(v, True) for v in x.type.symbols]
    if isinstance(x, (list, tuple)):
        return [_content(e) for e in base_items(x)]
    return {k: _content(v) for k, v in x.items()} if type(x) is dict else x


class Reader:
    """Reads one function. See the module's docstring."""

    def __init__(self, captures: Captures, asked: Restart):
        self.captures = captures
        self.state = State()
        self.kept = Kept(captures.cells)
        self.outside = Outside()  # what is assigned outside of the program
        self.frames: list[Activation] = []
        self.unroll = asked.unroll  # loop statements that must be written out
        self.room = asked.room  # the level of the room that lists get whose length nothing bounds
        self.tracked = asked.tracked  # loop statements in which it is followed which array each variable holds
        self.keyed = asked.keyed  # expressions that make dicts and sets whose keys data decide, see irad.frontend.reading.keyed
        self.closures: dict[
            int, tuple[Any, Any]
        ] = {}  # classes defined in the program, and what is read for their methods; by id
        self.sites: dict[int, tuple[Any, Any]] = {}  # dicts and sets by id, and the expressions that made them
        # Code of functions that become graphs; False: that was not possible.
        self.no_graph: dict[Any, IradError] = {}  # codes of recursive functions, and why they cannot become graphs
        self.recursive = dict.fromkeys(asked.recursive, True)
        self.copies: Counter[Any] = Counter()  # how often the calls that a function makes of itself were written out, by code
        # Those that may carry containers in which something is of several kinds, and those that did not and may have to.
        self.lenient, self.doubtful = set[Any](), set[Any]()
        self.params: list[Value] = []  # the parameters of the program that stand for arguments
        self.of_lists: dict[int, tuple[Any, Any]] = {}  # elements of lists that are containers, by id, and the list
        self.of_dicts: dict[int, tuple[Cell, Any]] = {}  # storage by id, and the dict by data of which the array in it is a value
        self.leaf_of: dict[Value, Any] = {}  # which argument leaf or capture a scalar parameter is
        self.loop_of: dict[Value, Any] = {}  # which loop statement an index, carry or loop result belongs to
        self.open_ended: set[Any] = set()  # loop statements of which data decide how many trips they make
        self.counts: dict[Value, Arr] = {}  # how many trips a loop makes, by its index, where that is traced
        self.records: list[Any] = []  # functions that became graphs, see irad.frontend.reading.recursion
        self.graphs: dict[str, Graph] = {}
        self.seen: dict[Any, Any] = {}  # what is known of calls that were read, see irad.frontend.reading.called
        self.raising: set[str] = set()  # those that may raise
        self.shares, self.holds, self.themselves, self.whole = True, *[False] * 3  # see HELD, THEMSELVES, WHOLE
        self.origins: dict[int, tuple[Any, Value]] = {}  # containers that are elements of lists that grew, by id
        self.failures: Counter[Any] = Counter()  # how often a loop could not be kept as one
        self.hints, self.of_data = dict[Any, Any](), set[Any]()  # what loops carried before, and what of it data decide
        self.exceptions: dict[str, Any] = {"LinAlgError": np.linalg.LinAlgError, Outgrown.__name__: Outgrown}
        self.handling: list[BaseException] = []  # exceptions whose handlers are running
        self.rules: list[Any] = []  # functions with rules of their own that are being read
        self.opened: set[type] = set()  # classes of plain objects that were differentiated by
        self.orders = self.quiet = 0  # derivatives taken of derivatives; above 0, nothing may be emitted, it is tried
        self.notes: Notes | None = None  # where to say what is decided
        self.facts: dict[Builder, set[tuple[Value, bool]]] = {}  # conditions known in a builder, see irad.frontend.control.facts
        self.filters: list[Any] = []  # blocks of warnings.catch_warnings that are running
        self.error: Exception | None = None  # the last one that was met; `places`: where it was, and where that was called from
        self.places: list[Loc] = []
        self.conditional = 0  # how many branches and loops that depend on data are around

    def is_opened(self, x: Any) -> bool:
        """Is a plain object one that holds a derivative, or is differentiated by?"""
        return type(x) in self.opened and self.captures.path(x) is None

    # ---- dispatch ----

    def expr(self, node: ast.expr, itself: bool = False) -> Any:
        """The value of an expression, checked to be there; with `itself` it may be a `OneOf`."""
        return self.there(self.itself(node) if itself else self.perhaps(node), node)

    def there(self, x: Any, node: ast.expr) -> Any:
        """The value of an expression, checked to be there."""
        return self.definite(x, node) if type(x) is Nullable else x

    def perhaps(self, node: ast.expr) -> Any:
        """The value of an expression, which may be a `Nullable`."""
        out = self.itself(node)
        return self.several().content(self, out) if type(out) is OneOf else out

    def itself(self, node: ast.expr) -> Any:
        """The value of an expression, which may be a `Nullable` or a `OneOf`."""
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            raise UnsupportedError(f"{words_for(node)} is not supported in compiled code", self.loc(node))
        try:
            out = handler(self, node)
            return out if type(out) is not Nullable else self.narrowed(out)
        except Exception as e:
            self.placed(e, node)
            raise

    def look(self, e: ast.expr, until: ExitStack) -> Any:
        """The value of an expression that is looked at until then, and not kept: what is one of several things may not change meanwhile."""
        f = e.func if isinstance(e, ast.Call) and not e.args and not e.keywords else None
        view = isinstance(f, ast.Attribute) and f.attr in VIEWS and isinstance(f.value, (ast.Subscript, ast.Name, ast.Attribute))
        x = self.expr(f.value, True) if view else self.itself(e)  # type: ignore[union-attr]
        x = until.enter_context(self.several().looking(self, x)) if type(x) is OneOf else x
        return self.call(self.getattr(x, f.attr), []) if view else x  # type: ignore[union-attr]

    def stmt(self, node: ast.stmt) -> None:
        handler = STATEMENTS.get(type(node))
        if handler is None:
            raise UnsupportedError(f"{words_for(node)} is not supported in compiled code", self.loc(node))
        try:
            handler(self, node)
        except Exception as e:
            self.placed(e, node)
            raise

    def placed(self, e: Exception, node: ast.AST) -> None:
        """Note at which part of the source an error arose, and from where that was called: `located` says it."""
        loc = self.place(node)
        if isinstance(e, IradError):
            self.sources_of(e)
            e.at(loc).__suppress_context__ = True
        if e is not self.error:
            self.error, self.depth, self.places = e, len(self.frames), [] if loc is None else [loc]
        elif loc is not None and (not self.places or len(self.frames) < self.depth):
            self.depth = len(self.frames)
            self.places.append(loc)

    def located(self, e: Exception, called: Loc | None = None) -> None:
        """Say in an error where it arose; in one of Python's, by a note. `called`: the function, if nothing of it was read before."""
        if e is not self.error or not self.places:
            self.error, self.places = e, [] if called is None else [called]
        if not self.places:
            return
        if isinstance(e, IradError):
            inner = self.places[1:] if e.loc is None or e.loc == self.places[0] else self.places
            e.callers = tuple(p for p in inner if p != e.loc)
        elif not hasattr(e, "__notes__") and not type(e).__module__.startswith("irad."):
            e.add_note(f"raised while compiling {placed(self.places, '')}")

    def sources_of(self, e: IradError) -> set[Value]:
        """What the number that a `NeedStatic` is about was computed from: values without a definition here, loop results.

        Worked out where the error is met first, while the definitions are in sight, and kept on the error.
        """
        if e.sources is None and isinstance(e, NeedStatic):
            e.sources = self.sources_of_number(e.arr.value)
        return e.sources or set()

    def blame(self, e: Exception, *operands: Any) -> None:
        """An operation on these operands cannot be compiled: it may be for a whole number that is not known, as `sources_of` says
        from now on. Python's own complaint about such a number is no exception of the program: NeedStatic is raised for it."""
        if isinstance(e, (NeedStatic, IndexError, ArithmeticError)) or getattr(e, "sources", None) is not None:
            return
        found = [n for x in operands for n in whole_numbers(_content(x))]
        if isinstance(e, IradError):
            e.sources = {v for n in found for v in self.sources_of_number(n.value)}
        elif found and isinstance(e, (TypeError, AttributeError, ValueError)):
            raise NeedStatic(found[0], "a number given to a function of Python or NumPy that wants it") from e

    def lock(self, obj: Any, origin: Value | None) -> None:
        """A container that stands for an element of a list must not change; `origin`: where a loop keeps it."""
        self.state.lock(obj)
        if origin is not None:
            self.origins[id(obj)] = obj, origin

    def locked_error(self, obj: Any, message: str) -> UnsupportedError:
        """The error for a change of a container that is locked."""
        found = self.origins.get(id(obj))
        if found is None or found[0] is not obj:
            return (OfObjects if is_object(obj) else UnsupportedError)(message)
        e = UnsupportedError(
            f"{with_article(type(obj).__name__)} is changed that is also an element of a list which grew in a loop; put a copy into the list, "
            "or give the list another element (xs[k] = ...)"
        )
        return of_a_loop(e, found[1])

    def needing_whole_numbers(self, e: IradError, x: Arr) -> IradError:
        """The error; if x is computed from whole numbers alone, it says that they must be known."""
        sources, known = self.sources_of_number(x.value), self.captures.fixable()
        if all(v.type.dtype[0] in "iu" and (not v.type.shape or v in known) for v in sources):
            e.sources = sources
        return e

    @property
    def entry(self) -> set[Value]:
        """Parameters of the whole program, which are in scope everywhere."""
        return {*self.params, *(c.value for c in self.captures.params.values())}

    def from_arguments(self, x: Arr) -> bool:
        """Is a number computed from scalar arguments and captures alone?"""
        scalars = {c.value for c in self.captures.params.values() if not c.type.shape}
        return all(self.leaf_of.get(v, ("extent",))[0] != "extent" or v in scalars for v in self.sources_of_number(x.value))

    def may_be_known(self, x: Arr) -> bool:
        """Is a number computed from whole numbers of the arguments and captures, and from counters of loops, alone?"""
        scalars = {c.value for p, c in self.captures.params.items() if not c.type.shape and p.steps[-1:] != (("stream", None),)}
        whole = lambda v: (v in self.leaf_of or v in scalars) and v.type.dtype[0] in "iub"
        found, kept = self.sources_of_number(x.value), {*self.open_ended, *self.unroll}  # loops to be written out, which were not
        known = lambda v: self.loop_of[v] not in kept and v not in self.of_data if v in self.loop_of else whole(v)
        return bool(found) and all(map(known, found))

    def decided_by(self, cond: Arr) -> frozenset[Value]:
        """What a condition was computed from, if all of it may be known at compile time: captured numbers and arrays of whole numbers,
        a whole number among the arguments, a counter of a loop."""
        fixable = self.captures.fixable()
        found = self.sources_of_number(cond.value)
        known = lambda v: v in self.loop_of or v in fixable or (v in self.leaf_of and v.type.dtype[0] in "iub")
        return frozenset(found) if all(map(known, found)) else frozenset()

    def sources_of_number(self, v: Value) -> set[Value]:
        """What a number was computed from: values without a definition here, loop results."""
        return sources(v, self.loop_of)

    @property
    def frame(self) -> Activation:
        return self.frames[-1]

    def loc(self, node: ast.AST) -> Loc:
        cached = getattr(node, "_irad_loc", None)
        if cached is None:
            cached = node._irad_loc = self.frame.source.locate(node)  # type: ignore[attr-defined]
        return cached

    def place(self, node: ast.AST) -> Loc | None:
        """Where an error at a node is to the user: not in irad's own functions, which are read like theirs."""
        loc = self.loc(node)
        return None if loc.file.startswith(OWN) else loc

    def at(self, node: ast.AST) -> None:
        """Nodes emitted from now on come from here; those of irad's own functions from where the user's call them."""
        loc = self.place(node)
        if loc is not None:
            current().loc = loc

    @contextmanager
    def activation(self, frame: Activation) -> Iterator[None]:
        depth, loc = len(self.frames), current().loc
        self.frames.append(frame)
        try:
            yield
        finally:
            del self.frames[depth:]
            current().loc = loc

    # ---- arrays ----

    def read(self, x: Array) -> Any:
        """The content of an array now: a NumPy array (not to be changed) or an `Arr`."""
        if isinstance(x, Either):
            done = x.current()
            return done if isinstance(done, np.ndarray) else Arr(done if done is not None else self.read_either(x))
        return x.read()

    def value(self, x: Array) -> Value:
        """The content of an array as a value of the graph."""
        content = self.read(x)
        return content.value if isinstance(content, Arr) else constant(content)

    def operand(self, x: Any) -> Any:
        """x as a table function takes it: arrays become `Arr` or NumPy arrays, in lists and tuples too; structured arrays become
        NumPy's if nothing in them is traced, and stay what they are otherwise."""
        if isinstance(x, (Array, ArrayOfClass)):
            return self.read(array_in(x) if isinstance(x, ArrayOfClass) else x)
        if type(x) in (list, tuple, RunTuple):
            return self.array_of(x) if has_run(x) else type(x)(map(self.operand, x))
        if isinstance(x, slice):
            return slice(*map(self.operand, (x.start, x.stop, x.step)))
        if type(x) is dict:
            return {k: self.operand(v) for k, v in x.items()}
        if isinstance(x, (Structured, Bytes)) and not is_traced_deep(x):
            return concrete(x)
        if type(x) is Varying:
            raise UnsupportedError(f"an operand is {unfit(x)}")
        return self.operand(self.definite(x, "an operand")) if type(x) is Nullable else x

    def wrap(self, x: Any, zero_d: bool = False) -> Any:
        """A result of a table function or of NumPy as the user sees it: arrays are new array objects.

        Results of rank 0 are NumPy scalars, unless `zero_d`.
        """
        if isinstance(x, Arr):
            return Array(Cell(x.value)) if x.shape or (zero_d and not x.weak) else x
        if is_structured(x):
            return stand_in(x)
        if isinstance(x, np.ndarray):
            return Array(Cell(x)).laid_out(strides_of(x)) if dtype_name(x.dtype) else x
        if zero_d and isinstance(x, np.generic):
            return Array(Cell(np.asarray(x)))
        if type(x) in (list, dict) and (self.state.is_made(x) or self.captures.of_caller(x) is not None):
            return x  # code that is run has handed on what the program knows
        if type(x) is list:
            return self.state.made([self.wrap(e, zero_d) for e in x])
        if type(x) is tuple or (isinstance(x, tuple) and hasattr(x, "_fields")):
            return tuple.__new__(type(x), (self.wrap(e, zero_d) for e in x))
        if type(x) is dict:
            return self.state.made({k: self.wrap(v, zero_d) for k, v in x.items()})
        return x

    def hint(self, x: Any, name: str) -> None:
        """Name a value after the variable it is assigned to."""
        value = x.value if isinstance(x, Arr) else x.cell.content if isinstance(x, Array) and not x.steps else None
        if isinstance(value, Value) and not value.hint:
            value.hint = name

    # ---- what modules built on this one provide, see irad.frontend.bound ----

    def call(self, fn: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
        """Call a function of the user, of Python or of NumPy."""
        raise NotImplementedError

    def enter(self, fn: Any, source: Source, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function whose source is known."""
        raise NotImplementedError

    def one_by_one(self) -> Any:
        """The module that takes elements of a generator one by one, irad.frontend.reading.resumed."""
        raise NotImplementedError

    def chosen_items(self) -> Any:
        """The module that chooses items of sequences, and what is computed of a string, by data."""
        raise NotImplementedError

    several = chosen_items  # the module of what is one of several things, by data
    chosen_keys = chosen_items  # the module of items of dicts at keys that depend on data
    buckets = chosen_items  # the module of changes of one of several containers, which data choose

    def narrowed(self, x: Nullable) -> Any:
        """The value, if it is known to be there; else x."""
        raise NotImplementedError

    def definite(self, x: Any, what: ast.expr | str) -> Any:
        """The value of what is not None; a check at run time where it may be."""
        raise NotImplementedError

    def identical(self, x: Any, y: Any) -> Any:
        """x is y: a bool, or a traced one."""
        raise NotImplementedError

    def truth(self, x: Any) -> Any:
        """bool(x): a bool, or a traced one."""
        raise NotImplementedError

    def condition(self, e: ast.expr) -> Any:
        """The truth of an expression that is a test: a bool, or a traced one."""
        raise NotImplementedError

    def guarded(self, run: Callable[[], Any], then: Callable[[], Any]) -> bool:
        """Run a statement with the handlers of the try blocks around it in force; was `then`, what follows it, run too?"""
        raise NotImplementedError

    def read_either(self, x: Either) -> Value:
        """The content of an array that is one of two."""
        raise NotImplementedError

    def getitem(self, obj: Any, key: Any) -> Any:
        """obj[key]."""
        raise NotImplementedError

    def setitem(self, obj: Any, key: Any, value: Any) -> None:
        """obj[key] = value."""
        raise NotImplementedError

    def getattr(self, obj: Any, name: str) -> Any:
        """obj.name."""
        raise NotImplementedError

    def setattr(self, obj: Any, name: str, value: Any) -> None:
        """obj.name = value."""
        raise NotImplementedError

    def put(self, x: Array, new: Any) -> None:
        """Replace the whole content of an array."""
        raise NotImplementedError

    def choose(self, cond: Arr, a: list[Any], b: list[Any]) -> list[Any]:
        """Whole contents, by a traced bool."""
        raise NotImplementedError

    def fold(self, seq: Any, start: Any, step: Callable[[Any, Any], Any]) -> Any:
        """A fold over a sequence, as a loop."""
        raise NotImplementedError

    def tabulated(self, node: Any) -> Any:
        """The elements of a comprehension, in an array if they are many."""
        raise NotImplementedError

    def vectorized(self, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A call of a function that np.vectorize made."""
        raise NotImplementedError

    def without_source(self, fn: Any, args: list[Any], kwargs: dict[str, Any], why: str) -> Any:
        """Call a function that cannot be read, on traced arguments."""
        raise NotImplementedError

    def array_of(self, xs: list[Any]) -> Arr:
        """A list whose elements stand in arrays, as one array."""
        raise NotImplementedError

    def items(self, obj: Any) -> list[Any]:
        """The elements of an iterable of static length."""
        raise NotImplementedError

    def operator(self, name: str, *xs: Any) -> Any:
        """A Python operator, by its name in the module `operator`."""
        raise NotImplementedError
