"""Expressions: names, constants, operators, comparisons, and/or/not, conditional expressions, displays, f-strings."""

from __future__ import annotations

import ast
import builtins
import collections
import dataclasses
import numbers
import operator
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.array_classes import ArrayOfClass
from irad.core.foreign import found_in_class, is_instance, is_library, of_class
from irad.core.once import import_later
from irad.errors import PythonTypeError, UnsupportedError
from irad.frontend.control import lists, nullable
from irad.frontend.control.array_like import is_array, is_read_by_numpy, is_sequence, numpy_operands, repeats
from irad.frontend.control.flow import branch, conjunction, inverse
from irad.frontend.control.regions import Dead, at_run_time, raise_always
from irad.frontend.control.special import at_site, class_name, compares_itself, refuse_object, rely_on
from irad.frontend.control.templates import is_weak_number
from irad.frontend.control.varying import split, varies
from irad.frontend.numpy.operators import beside_complex
from irad.frontend.numpy.table import OPERATORS
from irad.frontend.python.text_pieces import together
from irad.frontend.python.texts import needs_reading
from irad.frontend.reader import Reader, expression
from irad.frontend.reading.protocols import elements
from irad.frontend.reading.written import in_library
from irad.frontend.values.arr import Arr, NeedStatic, materialise
from irad.frontend.values.choices import compared_by_identity, options, same_option
from irad.frontend.values.objects import (
    UNDEFINED,
    Array,
    Closure,
    Env,
    Maybe,
    Nullable,
    Poison,
    Text,
    describe,
    is_traced_deep,
    python_method,
)
from irad.frontend.values.result_layout import of_operation
from irad.frontend.values.runs import has_run, length_of
from irad.frontend.values.state import Name
from irad.ops.control import raise_if

# ---- names --------------------------------------------------------------------------------------------------------


@expression(ast.Constant)
def constant_(r: Reader, e: ast.Constant) -> Any:
    x = e.value
    if type(x) is str and x.isascii() and x.replace("_", "a").isalnum():
        return sys.intern(x)  # as Python's compiler does it: two such texts of a program are one object
    return x


@expression(ast.Name)
def name_(r: Reader, e: ast.Name) -> Any:
    return lookup_name(r, e.id)


def lookup_name(r: Reader, name: str) -> Any:
    """The value of a variable, from the innermost activation outwards, then captured ones, then builtins."""
    env: Any = r.frame.env
    if name in env.locals and name not in env.nonlocals:
        return usable(r, name, env.names.get(name, UNDEFINED), env)
    env = env.parent
    while isinstance(env, Env):
        if name in env.names:
            return usable(r, name, env.names[name], env)
        env = env.parent
    return captured_name(r, name)


def captured_name(r: Reader, name: str) -> Any:
    """A free or global variable of the real function around."""
    fn = r.frame.globals_of
    free = fn.__code__.co_freevars
    if in_library(fn):
        inside = fn.__closure__[free.index(name)].cell_contents if name in free else fn.__globals__.get(name, UNDEFINED)
        return r.wrap(inside) if inside is not UNDEFINED else getattr(builtins, name)
    path = r.captures.origin(fn)
    assigned = r.outside.names(fn.__closure__[free.index(name)] if name in free else fn.__globals__)
    if name in assigned:
        if assigned[name] is UNDEFINED:
            raise NameError(f"name '{name}' is not defined")
        return usable(r, name, assigned[name], Env({name: assigned[name]}))
    if name in free:
        try:
            obj = fn.__closure__[free.index(name)].cell_contents
        except ValueError:
            r.captures.guard(path.child("attr", "__closure__").child("item", free.index(name)), "lacks", "cell_contents")
            words = f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
            raise NameError(words) from None
        return r.captures.take(obj, path.child("cell", name))
    if name in fn.__globals__:
        return r.captures.take(fn.__globals__[name], path.child("global", name))
    r.captures.rely_on_absence(fn, path, name)
    if not hasattr(builtins, name):
        raise NameError(f"name '{name}' is not defined")
    return r.captures.of_library(builtins, name)


def usable(r: Reader, name: str, value: Any, env: Env) -> Any:
    """A variable's value, checked to be defined on the path that is running."""
    message = f"cannot access local variable '{name}' where it is not associated with a value"
    if value is UNDEFINED:
        if not r.conditional:
            raise UnboundLocalError(message)
        raise_always("UnboundLocalError", message)
        raise Dead
    if isinstance(value, Poison):
        raise value.error(f"'{name}'")
    if isinstance(value, Maybe):
        raise_if(~value.defined.value, exc="UnboundLocalError", message=message)
        r.state.assign(Name(env, name), value.value)
        return usable(r, name, value.value, env)
    return value


@expression(ast.Lambda)
def lambda_(r: Reader, e: ast.Lambda) -> Any:
    return make_closure(r, e, "<lambda>")


def make_closure(r: Reader, node: ast.FunctionDef | ast.Lambda, name: str) -> Closure:
    """The function that a `def` or `lambda` makes; defaults are evaluated now."""
    defaults = [r.expr(d) for d in node.args.defaults]
    kw = {a.arg: r.expr(d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None}
    return Closure(r, node, r.frame, defaults, kw, name)


# ---- operators -------------------------------------------------------------------------------------------------------

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor", ast.LShift: "lshift",
    ast.RShift: "rshift",
}  # fmt: skip
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_DUNDER = {"and_": "and", "or_": "or"}
_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


@expression(ast.BinOp)
def binary(r: Reader, e: ast.BinOp) -> Any:
    x, y = r.perhaps(e.left), r.perhaps(e.right)
    r.at(e)
    try:
        out = r.operator(BINARY[type(e.op)], x, y)
    except Exception as error:
        r.blame(error, x, y)
        raise
    return at_site(r, e, out) if type(out) is list else out


@expression(ast.UnaryOp)
def unary(r: Reader, e: ast.UnaryOp) -> Any:
    x = r.perhaps(e.operand)
    r.at(e)
    if isinstance(e.op, ast.Not):
        return inverse(r.truth(x))
    return r.operator(UNARY[type(e.op)], x)


_PLAIN = frozenset((bool, int, float, complex))  # most of what is computed at compile time
_NUMBERS = _PLAIN | {Arr, Array}


def apply_operator(r: Reader, name: str, *xs: Any) -> Any:
    """A Python operator on anything: user classes by their methods, static things by Python, traced ones by the table."""
    kinds = {type(x) for x in xs}
    if kinds <= _PLAIN:
        return getattr(operator, name)(*xs)
    special = NotImplemented if kinds <= _NUMBERS else _of_other_kinds(r, name, xs)
    if special is not NotImplemented:
        return special
    if not any(isinstance(x, (Arr, Array)) for x in xs):
        if any(map(is_array, xs)) and any(map(is_read_by_numpy, xs)):
            return apply_operator(r, name, *numpy_operands(r, xs))
        if any(map(is_traced_deep, xs)) or (name in _SWAPPED and any(map(compares_itself, xs))):
            return _on_containers(r, name, *xs)
        if name in ("eq", "ne"):
            r.captures.pin(*xs)
        r.captures.hand(f"the operator {name.rstrip('_')}", *(x for x in xs if not _by_identity(name, x)))
        return r.state.made(getattr(operator, name)(*xs))
    xs = beside_complex(name, *numpy_operands(r, xs))
    operands = [r.operand(x) for x in xs]
    if not any(map(is_traced_deep, operands)):
        with np.errstate(all="ignore"):
            return r.wrap(getattr(operator, name)(*operands))
    if name in ("eq", "ne") and (_never_equal(*xs) or _never_equal(*xs[::-1])):
        return _unequal(r, name == "ne", *xs)
    _check_operands(name, operands)
    count = repeats(xs) if name == "mul" else None
    if count is not None:
        return import_later("irad.frontend.reading.comprehensions").repeated(r, *(x for x in xs if x is not count), count)
    out = r.wrap(OPERATORS[name](*operands))
    if name == "matmul":
        return out
    return _of_either_class(out, xs) if isinstance(out, Arr) else of_operation(out, xs, True)


def _of_other_kinds(r: Reader, name: str, xs: tuple[Any, ...]) -> Any:
    """An operator on what is no number or array, or may be none; NotImplemented if it means nothing of its own there."""
    for x in xs:
        if type(x) is Poison:  # an item of a container, perhaps, which nobody has read
            raise x.error("an operand")
    if any(type(x) is Nullable for x in xs):
        return nullable.operator(r, name, *xs)
    if varies(xs):
        if name in ("eq", "ne") and all(map(compared_by_identity, xs)):
            return _equality(name, same_option(*xs))
        return split(r, xs, lambda *ys: apply_operator(r, name, *ys))
    own = _user_operator(r, name, *xs)
    if own is not NotImplemented:
        return own
    if name == "mod" and (isinstance(xs[0], Text) or isinstance(xs[0], str) and needs_reading(xs[1])):
        return import_later("irad.frontend.python.text_formats").percent_formatted(r, xs[0], xs[1])
    return NotImplemented


def _of_either_class(out: Arr, xs: Sequence[Any]) -> Arr:
    """A number computed of one that is Python's on one path and NumPy's on another, and of none that is surely NumPy's, is so too."""
    either = [isinstance(x, Arr) and x.mixed and not x.weak for x in xs]
    if not any(either) or not all(e or is_weak_number(x) for e, x in zip(either, xs)):
        return out
    return Arr(out.value, out.weak, True)


def _by_identity(name: str, x: Any) -> bool:
    """Does a comparison ask which object it is, and nothing else?"""
    return name in ("eq", "ne") and of_class(type(x), "__eq__") is object.__eq__


def _never_equal(x: Any, y: Any) -> bool:
    """Is y of a kind that the traced x is never equal to, whatever its value? (To NumPy a list is an array.)"""
    if isinstance(x, Arr) and x.weak and isinstance(y, (list, tuple)):
        return True
    plain = isinstance(y, (Arr, Array, numbers.Number, list, tuple)) or hasattr(y, "__array__")
    return isinstance(x, (Arr, Array)) and not plain


def _unequal(r: Reader, result: bool, x: Any, y: Any) -> Any:
    """The result of == or != of things never equal, as Python and NumPy give it: a bool, np.bool or array of them."""
    traced, other = (x, y) if isinstance(x, (Arr, Array)) else (y, x)
    if isinstance(traced, Array):
        return r.wrap(Arr(materialise(result, "bool", traced.shape)) if traced.shape else np.bool_(result))
    return np.bool_(result) if isinstance(other, str) and not traced.weak else result


def _check_operands(name: str, xs: list[Any]) -> None:
    """Raises IradTypeError for what no arithmetic or order is defined on."""
    known: tuple[type, ...] = (Arr, np.ndarray, np.generic, int, float, complex)
    if name == "mul" or any(isinstance(x, (np.ndarray, np.generic)) or isinstance(x, Arr) and not x.weak for x in xs):
        known += (list, tuple)  # repeated; or NumPy makes it an array. Python's numbers know nothing of lists
    if not all(isinstance(x, known) for x in xs):
        count = next((x for x in xs if isinstance(x, Arr) and x.weak and x.name == "i64"), None)
        if name == "mul" and count is not None and any(isinstance(x, collections.deque) for x in xs):
            raise NeedStatic(count, "how often a deque is repeated")
        e = PythonTypeError(f"unsupported operand for {name.rstrip('_')}: {' and '.join(map(describe, xs))}")
        if name != "mul" or not any(isinstance(x, (str, bytes)) for x in xs):  # text can be repeated, by a number that is known
            e.sources = set()
        raise e


def _on_containers(r: Reader, name: str, *xs: Any) -> Any:
    """Operators on lists and tuples that hold traced numbers, and on text."""
    if any(isinstance(x, Text) for x in xs):
        return _text_operator(r, name, *xs)
    if name == "add" and all(type(x) is list for x in xs) and any(map(has_run, xs)):
        return r.state.made(lists.joined(r, *xs))
    if name in ("eq", "ne") and all(type(x) is list for x in xs) and not all(isinstance(length_of(x), int) for x in xs):
        return _equality(name, import_later("irad.frontend.reading.keyed").lists_equal(r, *xs))
    xs = tuple(r.items(x) if has_run(x) else x for x in xs)
    if name in ("add", "mul") and all(isinstance(x, (list, tuple, collections.deque, int, np.integer)) for x in xs):
        return r.state.made(getattr(operator, name)(*xs))
    if name == "or_" and all(isinstance(x, dict) for x in xs):
        return r.state.made(xs[0] | xs[1])
    if name in ("eq", "ne") and len(xs) == 2:
        return _equality(name, sequences_equal(r, *xs))
    if name in _SIGNS and any(all(isinstance(x, cls) for x in xs) for cls in (list, tuple, collections.deque)):
        return _lexicographic(r, name, *map(list, xs))
    if name in _SWAPPED:
        shown = " and ".join(f"'{class_name(x)}'" for x in xs)
        raise PythonTypeError(f"'{_SIGNS[name]}' not supported between instances of {shown}")
    raise UnsupportedError(f"operator {name.rstrip('_')} on {describe(xs[0])} that holds traced numbers")


def sequences_equal(r: Reader, a: Any, b: Any) -> Any:
    """a == b of lists, tuples and dicts, element by element."""
    if isinstance(a, dict) and isinstance(b, dict):
        ordered = isinstance(a, collections.OrderedDict) and isinstance(b, collections.OrderedDict)
        if a.keys() != b.keys() or (ordered and list(a) != list(b)):
            return False
        pairs = [(x, dict.__getitem__(b, k)) for k, x in dict.items(a)]
    elif any(isinstance(a, cls) and isinstance(b, cls) for cls in (list, tuple, collections.deque)) and len(a) == len(b):
        pairs = list(zip(a, b))
    else:
        return a is b
    out: Any = True
    for x, y in pairs:
        if out is False:
            break
        if isinstance(out, Arr) and (compares_itself(x) or compares_itself(y) or isinstance(x, Array) or isinstance(y, Array)):
            later = lambda x=x, y=y: at_run_time(r, lambda: same_or_equal(r, x, y))  # type: ignore[misc]
            out = branch(r, out, later, lambda: False)
        else:
            out = conjunction(out, same_or_equal(r, x, y))
    return out


def same_or_equal(r: Reader, x: Any, y: Any) -> Any:
    """What Python asks of the elements of containers: a NaN is equal to itself if it is one object."""
    python = isinstance(x, Arr) and isinstance(y, Arr) and x.weak and y.weak
    return True if x is y or python and x.value is y.value else r.truth(r.operator("eq", x, y))


_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _lexicographic(r: Reader, name: str, a: Any, b: Any) -> Any:
    if not a or not b:
        return getattr(operator, name)(len(a), len(b))
    first = same_or_equal(r, a[0], b[0])
    if first is True:
        return _lexicographic(r, name, a[1:], b[1:])
    strict = {"le": "lt", "ge": "gt"}.get(name, name)
    if first is False:
        return r.operator(strict, a[0], b[0])
    rest = lambda: at_run_time(r, lambda: _lexicographic(r, name, a[1:], b[1:]))
    return branch(r, first, rest, lambda: r.operator(strict, a[0], b[0]))


def _equality(name: str, same: Any) -> Any:
    return same if name == "eq" else inverse(same)


def _text_operator(r: Reader, name: str, *xs: Any) -> Any:
    if name in ("eq", "ne") and all(options(x) is not None for x in xs):
        return _equality(name, same_option(*xs))
    if name in ("eq", "ne"):
        return (xs[0] == xs[1]) is (name == "eq")  # raises if the other is text too
    if name in _SIGNS and sum(isinstance(x, Text) for x in xs) == 1 and all(isinstance(x, (Text, str)) for x in xs):
        text, other = xs if isinstance(xs[0], Text) else xs[::-1]
        compare = getattr(operator, name if text is xs[0] else _SWAPPED[name])
        return r.chosen_items().of_choice(r, text, lambda o: compare(o, other))
    if name == "mul" and any(isinstance(x, int) for x in xs):
        text, times = xs if isinstance(xs[0], Text) else xs[::-1]
        return together([text] * times)
    if name != "add" or not all(isinstance(x, (Text, str)) for x in xs):
        raise next(x for x in xs if isinstance(x, Text)).unknown()
    return together(xs)


def _user_operator(r: Reader, name: str, *xs: Any) -> Any:
    """Operators that a class of the user defines; NotImplemented if none does."""
    base = _DUNDER.get(name, name)
    tries = [(xs[0], f"__{base}__", xs[1:])]
    if len(xs) == 2:
        back = f"__{_SWAPPED[name]}__" if name in _SWAPPED else f"__r{base}__"
        tries.append((xs[1], back, xs[:1]))
    if len(xs) == 2 and _before(xs[1], xs[0], tries[1][1]):
        tries.reverse()
    for owner, dunder, rest in tries:
        method = python_method(owner, dunder)
        if method is not None:
            plain = not is_library(type(owner).__module__) and not isinstance(owner, ArrayOfClass)
            if plain and len(xs) == 2 and owner is xs[1] and owner is not xs[0]:
                decided = _numpy_before(r, name, xs[0], owner, method)
                if decided is not NotImplemented:
                    return decided
            rely_on(r, type(owner), dunder)
            out = r.call(method, [owner, *rest])
            if out is not NotImplemented:
                return out
        elif is_instance(owner) and not isinstance(owner, type):
            refuse_object(type(owner), dunder)
            rely_on(r, type(owner), dunder)
    if name == "ne" and any(python_method(x, "__eq__") is not None for x in xs):
        same = _user_operator(r, "eq", *xs)
        return inverse(r.truth(same)) if same is not NotImplemented else same
    return NotImplemented


def _before(y: Any, x: Any, reflected: str) -> bool:
    """Is the method of the right operand called first: is its class a subclass of the left one's, with a method of its own?"""
    if isinstance(x, Array) or type(x) is type(y) or not isinstance(y, type(x)):
        return isinstance(x, Array) and isinstance(y, ArrayOfClass)
    return reflected in COMPARED or found_in_class(type(y), reflected) is not found_in_class(type(x), reflected)


COMPARED = ("__eq__", "__lt__", "__le__", "__gt__", "__ge__")


def compared(r: Reader, name: str, x: Any, y: Any, cls: Any) -> Any:
    """A comparison of two objects as `dataclasses` makes it for their class or a base of it."""
    fields = [f.name for f in dataclasses.fields(cls) if f.compare]
    a, b = (tuple(r.getattr(v, f) for f in fields) for v in (x, y))
    return r.operator(name, a, b)


def _numpy_before(r: Reader, name: str, x: Any, y: Any, method: Any) -> Any:
    """x op y, where y's class has the reflected method, as NumPy decides it; NotImplemented where that method is simply called."""
    if not isinstance(x, (Array, np.generic)) and not (isinstance(x, Arr) and not x.weak):
        return NotImplemented
    cls = type(y)
    ufunc: Any = getattr(cls, "__array_ufunc__", NotImplemented)
    if ufunc is None or (
        ufunc is NotImplemented and getattr(cls, "__array_priority__", -1e6) > (0.0 if isinstance(x, Array) else -1e6)
    ):
        return NotImplemented
    if ufunc is not NotImplemented:
        return r.call(types.MethodType(ufunc, y), [_UFUNCS[name], "__call__", x, y])
    if python_method(y, "__array__") is not None:
        return r.operator(name, x, r.call(np.asarray, [y]))
    if is_sequence(y):
        return r.operator(name, x, r.call(np.array, [elements(r, y)]))
    if isinstance(x, Array) and x.shape:
        raise UnsupportedError(
            f"NumPy makes an array of objects of {describe(x)} and {describe(y)}; put the object first, or say __array_ufunc__ = None in "
            "its class, so that its method is called with the array"
        )
    if name in _SWAPPED:
        return NotImplemented
    return r.call(types.MethodType(method, y), [r.call(r.getattr(x, "item"), [])])


_UFUNCS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide, "mod": np.remainder,
    "pow": np.power, "matmul": np.matmul, "and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal,
}  # fmt: skip
