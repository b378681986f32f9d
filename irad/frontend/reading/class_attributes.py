"""Attributes of classes that the program assigns: counters of objects, and what they have in common; methods that assign attributes."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from irad.core.foreign import found_in_class, is_instance, is_library, own_dict
from irad.frontend.reader import Reader
from irad.frontend.values.objects import UNDEFINED, Poison, python_method
from irad.frontend.values.state import Name

C_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def of_classes(r: Reader, cls: type, name: str) -> Any:
    """What the program has assigned to a class or one of its bases, where Python finds that first; UNDEFINED if nothing."""
    for k in cls.__mro__ if r.outside else ():
        if name in (assigned := r.outside.names(k)):
            found = assigned[name]
            if isinstance(found, Poison):
                raise found.error(f"the attribute '{name}'")
            return found
        if name in vars(k):
            break
    return UNDEFINED


def set_class_attr(r: Reader, cls: type, name: str, value: Any) -> bool:
    """cls.name = value, of a class of the user's that has such data (a counter of its objects); False for other attributes."""
    now = vars(cls).get(name, UNDEFINED)
    plain = isinstance(now, (int, float, complex, np.ndarray, np.number, type(None)))
    if is_library(cls.__module__) or not plain or type(cls).__setattr__ is not type.__setattr__:
        return False
    path = r.captures.origin(cls)
    before = now if name in r.outside.names(cls) else r.captures.take(now, path.child("attr", name))
    r.state.assign(Name(r.outside.env(cls, path, "attr", name, before), name), value)
    return True


def hook(obj: Any, name: str) -> Any:
    """The method `__setattr__` or `__delattr__` of an object's class; None for what every class has."""
    found = found_in_class(type(obj), name)
    if isinstance(found, C_METHODS):
        return found if found.__name__ != name else None  # __setattr__ = dict.__setitem__
    method = python_method(obj, name)
    return None if method is None or method.__module__ == "dataclasses" or is_generated(method) else method


def items_are_attributes(obj: Any) -> bool:
    """A dict of a class that does `self.__dict__ = self`."""
    return isinstance(obj, dict) and own_dict(obj) is obj


def has_attribute_dict(obj: Any) -> bool:
    """An object of a class of the user's, which keeps attributes in a dict."""
    return is_instance(obj) and not isinstance(obj, type) and not is_library(type(obj).__module__) and hasattr(obj, "__dict__")


def is_generated(f: types.FunctionType) -> bool:
    """Was a function made from text, as `dataclasses` and `collections.namedtuple` make theirs?"""
    return f.__code__.co_filename.startswith("<string>")
