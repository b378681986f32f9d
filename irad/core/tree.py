"""Trees: numbers and arrays in nested tuples, lists, dicts, named tuples, dataclasses, registered classes and structured arrays.

`flatten` gives the numeric leaves in order and a `TreeDef` that says how they were nested; what is not numeric (strings,
None, bools, enums, functions, any other object) is a static part of the `TreeDef`, compared by type and value.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from irad.core import structured
from irad.core.array_classes import ArrayOfClass, has_stand_in, is_of_class, parts_of, rebuilt
from irad.core.foreign import base_method, fill, is_followed, own_attributes, own_dict
from irad.core.lazy_dataclass import dataclass
from irad.core.structured import Bytes, Field, Structured, is_structured
from irad.errors import IradTypeError, UnsupportedError

_NUMBERS = (int, float, complex)
_REGISTRY: dict[type, tuple[Callable[[Any], tuple[Sequence[Any], Any]], Callable[[Any, Sequence[Any]], Any]]] = {}


def is_leaf(x: Any) -> bool:
    """A number or a numeric array. Python bools and enums are not: they shape the program; nor are times and texts, in arrays too."""
    if type(x) in _NUMBERS:
        return True
    if type(x) is not np.ndarray and isinstance(x, np.ndarray) and has_stand_in(type(x)):
        return False
    return isinstance(x, (np.ndarray, np.number, np.bool_)) and x.dtype.kind not in "mMUS" and not is_structured(x)


def register(
    cls: type, flatten: Callable[[Any], tuple[Sequence[Any], Any]], unflatten: Callable[[Any, Sequence[Any]], Any]
) -> None:
    """Make instances of `cls` tree nodes: `flatten(obj) -> (children, static part)`, `unflatten(static part, children)`.

    Children are trees; the static part is compared with `==`, and code is made for each. For classes whose attributes are not what they
    hold: others, dataclasses and named tuples among them, are read as they are.

    >>> class Pair:
    ...     def __init__(self, *xs): self.xs = xs
    >>> irad.register_type(Pair, lambda p: (p.xs, None), lambda _, xs: Pair(*xs))
    >>> irad.grad(lambda p: p.xs[0] * p.xs[1])(Pair(2.0, 5.0)).xs
    (5.0, 2.0)
    """
    _REGISTRY[cls] = (flatten, unflatten)


class TreeDef:
    """How leaves are nested. `cls` is the class of a node, `meta` its static part; a leaf has cls None."""

    __slots__ = ("cls", "meta", "children", "size", "_hash")

    def __init__(self, cls: type | None, meta: Any = None, children: tuple[TreeDef, ...] = ()):
        self.cls, self.meta, self.children = cls, meta, children
        self.size: int = 1 if cls is None else sum(c.size for c in children)
        self._hash: int | None = None

    @property
    def statics(self) -> list[Any]:
        """The parts that are no leaves, in order."""
        return [self.meta.value] if self.cls is TreeDef else [s for c in self.children for s in c.statics]

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """The nested object with these leaves. Raises IradTypeError if their number is not `size`."""
        if len(leaves) != self.size:
            raise IradTypeError(f"a tree of {self.size} leaves cannot be made from {len(leaves)}")
        return self._take(iter(leaves))

    def _take(self, leaves: Iterator[Any]) -> Any:
        if self.cls is None:
            return next(leaves)
        if self.cls is TreeDef:
            return self.meta.value
        return _rebuild(self.cls, self.meta, [c._take(leaves) for c in self.children])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeDef) or self.cls is not other.cls or len(self.children) != len(other.children):
            return False
        return bool(self.meta == other.meta) and self.children == other.children

    def __hash__(self) -> int:
        if self._hash is None:
            try:
                meta = hash(self.meta)
            except TypeError:
                meta = 0
            self._hash = hash((self.cls, meta, self.children))
        return self._hash

    def __repr__(self) -> str:
        if self.cls is None:
            return "*"
        if self.cls is TreeDef:
            return repr(self.meta.value)
        if self.cls is dict:
            return "{" + ", ".join(f"{k!r}: {c!r}" for k, c in zip(self.meta, self.children)) + "}"
        if self.cls is Structured:
            kind = "record" if self.meta.scalar else "structured array"
            return f"{kind}({', '.join(f'{f.name}: {c!r}' for f, c in zip(self.meta.fields, self.children))})"
        inner = ", ".join(map(repr, self.children))
        return f"({inner})" if self.cls is tuple else f"[{inner}]" if self.cls is list else f"{self.cls.__name__}({inner})"


class Static:
    """A part that is no leaf: equal if type and value are, or if it is the same object.

    Those that are `followed` are equal if their classes are: what is read of them is compared elsewhere (irad.frontend.values.captures).
    """

    __slots__ = ("value", "followed")

    def __init__(self, value: Any, followed: bool = False):
        self.value = value
        self.followed = followed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static):
            return False
        a, b = self.value, other.value
        if a is b or (self.followed and type(a) is type(b)):
            return True
        try:
            return type(a) is type(b) and bool(a == b)
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        if self.followed:
            return hash(type(self.value))
        try:
            return hash((type(self.value), self.value))
        except TypeError:
            return id(self.value)


LEAF = TreeDef(None)


@dataclass(frozen=True)
class Attributes:
    """Static part of a plain object that is taken apart: the names of its attributes, or the length of a deque."""

    names: tuple[str, ...]
    maxlen: int | None = None


@dataclass(frozen=True)
class Fields:
    """Static part of a dataclass: the names of its fields, and the values of the last of them that are no children (`nondiff`).

    In a `TreeDef` those are static children, so that what can change of them is followed.
    """

    names: tuple[str, ...]
    values: tuple[Static, ...] = ()

    @property
    def with_values(self) -> Fields:
        return Fields(self.names) if self.values else self


def flatten(
    obj: Any, leaf: Callable[[Any], bool] = is_leaf, opened: Callable[[Any], bool] = lambda x: False, nondiff: bool = False
) -> tuple[list[Any], TreeDef]:
    """Leaves in order, and their nesting. `leaf(x)` says what a leaf is, `opened(x)` which plain objects are taken apart, `nondiff`
    whether fields of dataclasses that are no part of a derivative are, too."""
    leaves: list[Any] = []
    try:
        return leaves, _flatten(obj, leaf, leaves, {}, opened, nondiff)
    except RecursionError:
        raise UnsupportedError(
            "a container among arguments or results that holds itself, or is nested too deeply: let the function capture it"
        ) from None


_Node = tuple[type, Any, Sequence[Any]]


def _flatten(
    obj: Any, leaf: Callable[[Any], bool], out: list[Any], shared: dict[int, _Node], opened: Callable[[Any], bool], nondiff: bool
) -> TreeDef:
    """`shared`: structured arrays met before, so that one that is met twice has the same leaves."""
    if leaf(obj):
        out.append(obj)
        return LEAF
    node = shared.get(id(obj)) or parts(obj) or (attributes(obj) if opened(obj) else None)
    if node is None:
        return static_part(obj)
    cls, meta, children = node
    if cls is Structured:
        shared[id(obj)] = node
    kids = [_flatten(c, leaf, out, shared, opened, nondiff) for c in children]
    if isinstance(meta, Fields):
        rest = [s.value for s in meta.values]
        kids += [_flatten(v, leaf, out, shared, opened, True) if nondiff else static_part(v) for v in rest]
        meta = meta.with_values
    return TreeDef(cls, meta, tuple(kids))


def static_part(x: Any) -> TreeDef:
    """What has no leaf; what of it can change is followed."""
    return TreeDef(TreeDef, Static(x, is_followed(x) or isinstance(x, np.ndarray)))


def parts(obj: Any) -> _Node | None:
    """(class, static part, children) of a node of a tree; None for what is no node."""
    cls = type(obj)
    if cls is tuple or cls is list:
        return cls, None, obj
    if cls is Structured or cls is Bytes or is_structured(obj):
        return structured.parts(obj)
    if cls is dict:
        return cls, tuple(obj), tuple(obj.values())
    if isinstance(obj, ArrayOfClass) or is_of_class(obj):
        found, names, values = parts_of(obj)
        return found, Attributes(names), values
    if cls in _REGISTRY:
        children, meta = _REGISTRY[cls][0](obj)
        return cls, _as_it_is(meta), tuple(children)
    if isinstance(obj, tuple) and hasattr(cls, "_fields"):
        own = own_dict(obj)
        return cls, tuple(own) or None, (*tuple.__iter__(obj), *own.values())
    if isinstance(obj, dict) and not own_dict(obj):
        factory = obj.default_factory if isinstance(obj, collections.defaultdict) else None
        return cls, (tuple(base_method(obj, "keys")()), Static(factory)), tuple(base_method(obj, "values")())
    if isinstance(obj, (list, tuple)) and cls.__init__ in (list.__init__, object.__init__) and not own_dict(obj):
        return cls, None, list(list.__iter__(obj) if isinstance(obj, list) else tuple.__iter__(obj))
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        names = _fields(obj)
        rest = [f.name for f in dataclasses.fields(obj) if _nondiff(f)]
        return cls, Fields((*names, *rest), tuple(Static(getattr(obj, n)) for n in rest)), tuple(getattr(obj, n) for n in names)
    return None


def _as_it_is(meta: Any) -> Any:
    """A static part that a class of the user gave: a copy, if it may change before it is compared with the next one."""
    try:
        hash(meta)
    except TypeError:
        return copy.deepcopy(meta)
    return meta


def attributes(obj: Any) -> _Node:
    """A plain object, or a deque, as a node of a tree."""
    if isinstance(obj, collections.deque):
        return type(obj), Attributes((), obj.maxlen), tuple(obj)
    own = own_attributes(obj)
    return type(obj), Attributes(tuple(own)), tuple(own.values())


def _nondiff(f: dataclasses.Field) -> bool:
    return bool(f.metadata.get("nondiff"))


def _fields(obj: Any) -> tuple[str, ...]:
    """The names of the fields that are set, then of the other attributes."""
    fields = dataclasses.fields(obj)
    names = {f.name for f in fields}
    return (*(f.name for f in fields if not _nondiff(f) and hasattr(obj, f.name)), *(n for n in own_dict(obj) if n not in names))


def rebuild(cls: type, meta: Any, children: Sequence[Any]) -> Any:
    """The node that `parts` took apart, with other children."""
    return _rebuild(cls, meta, list(children))


def _rebuild(cls: type, meta: Any, children: list[Any]) -> Any:
    if cls is tuple or cls is list:
        return cls(children)
    if cls is dict:
        return dict(zip(meta, children))
    if cls in _REGISTRY:
        return _REGISTRY[cls][1](meta, children)
    if cls is Structured or cls is Bytes:
        return structured.rebuild(cls, meta, children)
    if cls is functools.partial:
        f, *given = children
        n = len(given) - len(meta.names)
        return functools.partial(f, *given[:n], **dict(zip(meta.names, given[n:])))
    if isinstance(meta, Attributes):
        return _object(cls, meta, children)
    if hasattr(cls, "_fields") and issubclass(cls, tuple):
        n = len(children) - len(meta or ())
        made: Any = tuple.__new__(cls, children[:n])
        for name, child in zip(meta or (), children[n:]):  # a subclass of one may have attributes beside its fields
            object.__setattr__(made, name, child)
        return made
    if issubclass(cls, dict):
        keys, factory = meta
        new: Any = cls.__new__(cls)
        if factory.value is not None:
            new.default_factory = factory.value
        return fill(new, zip(keys, children))
    if issubclass(cls, tuple):
        return tuple.__new__(cls, children)
    if issubclass(cls, list):
        return _filled(list.__new__(cls), children)
    new = object.__new__(cls)
    for name, child in zip(meta.names, [*children, *(s.value for s in meta.values)]):
        object.__setattr__(new, name, child)
    return new


def _filled(new: list[Any], items: list[Any]) -> list[Any]:
    list.extend(new, items)
    return new


def _object(cls: Any, meta: Attributes, children: list[Any]) -> Any:
    if issubclass(cls, collections.deque):
        return cls(children, meta.maxlen)
    if issubclass(cls, ArrayOfClass):
        return rebuilt(cls, meta.names, children)
    new = cls.__new__(cls) if cls is types.SimpleNamespace else object.__new__(cls)
    for name, child in zip(meta.names, children):
        object.__setattr__(new, name, child)
    return new


def leaves_like(tree: TreeDef, obj: Any, what: str, leaf: Callable[[Any], bool] = is_leaf) -> list[Any]:
    """The leaves of `obj`, in the order of `tree`; a bool counts as a leaf, dicts may have another order of their keys.

    Raises IradTypeError where `obj` (called `what`) is not nested like `tree`; static parts of `tree` are not compared.
    """
    found: list[Any] = []
    _take_like(tree, obj, leaf, found, what, obj, tree)
    return found


def _take_like(tree: TreeDef, obj: Any, leaf: Callable[[Any], bool], out: list[Any], what: str, top: Any, whole: TreeDef) -> None:
    if tree.cls is TreeDef:
        return
    if tree.cls is None:
        if not (leaf(obj) or type(obj) is bool):
            raise _unlike(whole, top, what, leaf)
        out.append(obj)
        return
    node = None if leaf(obj) else attributes(obj) if isinstance(tree.meta, Attributes) and type(obj) is tree.cls else parts(obj)
    children: Sequence[Any] = () if node is None else (*node[2], *(node[1].values if isinstance(node[1], Fields) else ()))
    if node is None or node[0] is not tree.cls or len(children) != len(tree.children):
        raise _unlike(whole, top, what, leaf)
    if tree.cls is Structured and tree.meta.dtype.names != node[1].dtype.names:
        raise _unlike(whole, top, what, leaf)
    if isinstance(obj, dict):
        keys = tree.meta if tree.cls is dict else tree.meta[0]
        if any(k not in obj for k in keys):
            raise _unlike(whole, top, what, leaf)
        children = [obj[k] for k in keys]
    for t, child in zip(tree.children, children):
        _take_like(t, child, leaf, out, what, top, whole)


def _unlike(tree: TreeDef, obj: Any, what: str, leaf: Callable[[Any], bool]) -> IradTypeError:
    given = flatten(obj, lambda x: leaf(x) or type(x) is bool)[1]
    return IradTypeError(f"{what} is nested like {given!r}, but must be nested like {tree!r} (* stands for a number or an array)")


def leaf_fields(tree: TreeDef) -> list[Field | None]:
    """For each leaf, the field of a structured array that it is; None for leaves that are none."""
    if tree.cls is None:
        return [None]
    if tree.cls is not Structured:
        return [f for c in tree.children for f in leaf_fields(c)]
    pairs = zip(tree.meta.fields, tree.children)
    return [found for f, c in pairs for found in ([f] if c.cls is None else leaf_fields(c))]


def structured_nodes(tree: TreeDef) -> list[tuple[int, TreeDef]]:
    """The structured arrays in a tree, in order, without those that are fields of others; each with its first leaf's number."""
    if tree.cls is Structured:
        return [(0, tree)]
    found, first = [], 0
    for c in tree.children:
        found += [(first + k, t) for k, t in structured_nodes(c)]
        first += c.size
    return found


def map_leaves(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """`f` on corresponding leaves of trees of one structure. Raises IradTypeError if the structures differ."""
    leaves, treedef = flatten(tree)
    columns = [leaves]
    for other in others:
        more, other_def = flatten(other)
        if other_def != treedef:
            raise IradTypeError(f"trees of different structure: {treedef} and {other_def}")
        columns.append(more)
    return treedef.unflatten([f(*xs) for xs in zip(*columns)])
