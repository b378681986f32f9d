"""What classes have for assigning and deleting attributes in place of what every class has."""

from __future__ import annotations

import types
from typing import Any

from irad.frontend.values.objects import found_in_class, python_method

C_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def hook(obj: Any, name: str) -> Any:
    """The method `__setattr__` or `__delattr__` of an object's class; None for what every class has."""
    found = found_in_class(type(obj), name)
    if isinstance(found, C_METHODS):
        return found if found.__name__ != name else None  # __setattr__ = dict.__setitem__
    method = python_method(obj, name)
    return None if method is None or method.__module__ == "dataclasses" or is_generated(method) else method


def is_generated(f: types.FunctionType) -> bool:
    """Was a function made from text, as `dataclasses` and `collections.namedtuple` make theirs?"""
    return f.__code__.co_filename == "<string>"
