"""Data classes that cost a few microseconds each to define: `dataclass`, `field` and `replace` as of the standard module.

The standard decorator compiles up to eight methods per class when the module is imported, which is most of the time that
importing a compiler of two hundred modules takes. Here `__init__`, `__eq__` and `__hash__` are compiled at their first call.
Fields are the annotated names of the class and its bases; annotations are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")
_MISSING: Any = object()


class Field:
    """What `field` says about one field."""

    __slots__ = ("default", "default_factory", "init", "repr")

    def __init__(self, default: Any, default_factory: Any, init: bool, repr: bool):
        self.default, self.default_factory, self.init, self.repr = default, default_factory, init, repr


def field(*, default: Any = _MISSING, default_factory: Any = _MISSING, init: bool = True, repr: bool = True) -> Any:
    """A field with a default made anew for each object, or that is no parameter, or that is not printed."""
    return Field(default, default_factory, init, repr)


@overload
def dataclass(cls: type[T], /) -> type[T]: ...
@overload
def dataclass(*, eq: bool = True, frozen: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(field,))
def dataclass(cls: Any = None, /, *, eq: bool = True, frozen: bool = False) -> Any:
    """Give a class `__init__` and `__repr__`, with `eq` also `__eq__` and, if frozen, `__hash__`; methods it has stay.

    Objects of a frozen class raise AttributeError when an attribute is set or deleted.
    """
    if cls is None:
        return lambda cls: _process(cls, eq, frozen)
    return _process(cls, eq, frozen)


def replace(obj: T, /, **changes: Any) -> T:
    """A copy with some fields changed; `__post_init__` runs."""
    fields: dict[str, Field] = type(obj).__record__  # type: ignore[attr-defined]
    kept = {name: getattr(obj, name) for name, f in fields.items() if f.init and name not in changes}
    return type(obj)(**kept, **changes)


def _process(cls: type[T], eq: bool, frozen: bool) -> type[T]:
    own = cls.__dict__
    fields: dict[str, Field] = dict(getattr(cls, "__record__", ()))
    for name in own.get("__annotations__", ()):
        found = own.get(name, _MISSING)
        fields[name] = found if isinstance(found, Field) else Field(found, _MISSING, True, True)
        if isinstance(found, Field):
            if found.default is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, found.default)
    added: dict[str, Any] = {"__record__": fields, "__repr__": _repr, "__init__": _deferred(cls, "__init__", _init)}
    if eq:
        hashed = _deferred(cls, "__hash__", _hash) if frozen else None
        added |= {"__eq__": _deferred(cls, "__eq__", _eq), "__hash__": hashed}
    if frozen:
        added |= {"__setattr__": _refuse, "__delattr__": _refuse}
    added["__match_args__"] = tuple(name for name, f in fields.items() if f.init)
    for name, value in added.items():
        # a class with `__eq__` and no `__hash__` of its own has None there
        if name not in own or name == "__hash__" and own[name] is None:
            setattr(cls, name, value)
    return cls


def _deferred(cls: type, name: str, make: Callable[[type], str]) -> Callable[..., Any]:
    """A method that, when it is called first, puts the one that `make` writes in its place."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope = {"_fields": cls.__record__, "_missing": _MISSING, "_set": object.__setattr__}  # type: ignore[attr-defined]
        exec(make(cls), scope)
        made: Any = scope[name]
        made.__qualname__, made.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
        setattr(cls, name, made)
        return made(self, *args, **kwargs)

    method.__name__ = name
    return method


def _init(cls: Any) -> str:
    params, body = ["self"], []
    frozen = cls.__setattr__ is _refuse
    for name, f in cls.__record__.items():
        value = name
        if f.default_factory is not _MISSING:
            made = f"_fields[{name!r}].default_factory()"
            value = f"{made} if {name} is _missing else {name}" if f.init else made
        if f.init:
            optional = f.default is not _MISSING or f.default_factory is not _MISSING
            params.append(f"{name}=_fields[{name!r}].default" if optional else name)
        elif f.default_factory is _MISSING:
            continue
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return f"def __init__({', '.join(params)}):\n " + "\n ".join(body or ["pass"])


def _eq(cls: Any) -> str:
    same = " and ".join(f"(self.{n} is other.{n} or self.{n} == other.{n})" for n in cls.__record__) or "True"
    return f"def __eq__(self, other):\n return {same} if other.__class__ is self.__class__ else NotImplemented"


def _hash(cls: Any) -> str:
    return f"def __hash__(self):\n return hash(({''.join(f'self.{n}, ' for n in cls.__record__)}))"


def _repr(self: Any) -> str:
    shown = ", ".join(f"{n}={getattr(self, n)!r}" for n, f in type(self).__record__.items() if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse(self: Any, name: str, *value: Any) -> None:
    raise AttributeError(f"{type(self).__name__}.{name} cannot change: the object is immutable")
