"""What an exported function takes and gives, as C sees it: names, types, what is passed by value, where each output comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from irad.core.lazy_dataclass import dataclass
from irad.core.tree import TreeDef, structured_nodes
from irad.core.types import Type, is_complex, real_dtype
from irad.errors import IradValueError, UnsupportedError
from irad.frontend.arguments import definition
from irad.frontend.values.traced import Traced
from irad.options import parameters

_C = {"f64": "double", "f32": "float", "f16": "uint16_t", "bool": "uint8_t"}
_C |= {f"{s}{n}": f"{'u' if s == 'u' else ''}int{n}_t" for s in "iu" for n in (8, 16, 32, 64)}
_TAKEN = frozenset(
    """auto bool break case catch char class const const_cast continue default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new not operator or and private protected public register
    reinterpret_cast restrict return short signed sizeof static static_cast struct switch template this throw true try typedef typeid
    typename union unsigned using virtual void volatile wchar_t while xor alignas alignof char16_t char32_t constexpr decltype noexcept
    nullptr static_assert thread_local complex imaginary workspace workspace_size""".split()
)


@dataclass(frozen=True)
class Input:
    """An argument. `text`: how Python finds it; `changed`: does the function write it? `param`: its number among the parameters
    of the code, None for one that nothing reads."""

    name: str
    text: str
    type: Type
    param: int
    changed: bool = False

    @property
    def by_value(self) -> bool:
        """A number that C passes as such; those that it has no type for are passed by their addresses."""
        return not self.type.shape and not self.changed and not is_complex(self.type.dtype) and self.type.dtype != "f16"


@dataclass(frozen=True)
class Output:
    """A result: number `result` of the code's, or a copy of input `copy`."""

    name: str
    text: str
    type: Type
    result: int | None = None
    copy: int | None = None


@dataclass(frozen=True)
class Signature:
    """What a C function takes and gives. `changes`: (input, number of the result that is its final content); `fixed`: results that are
    constants, and static arguments, as text."""

    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    changes: tuple[tuple[int, int], ...]
    fixed: tuple[str, ...]


def c_type(t: Type) -> str:
    """The C type of an element; a complex number is two of them."""
    return _C[real_dtype(t.dtype)]


def signature(fn: Any, traced: Traced, grad: bool, wrt: Sequence[int]) -> Signature:
    """The C signature of a traced function; `grad`: of its value and its gradient with respect to the arguments `wrt`."""
    _check(fn, traced)
    taken: set[str] = set()
    texts = argument_paths(fn, traced.in_tree)
    changed = {m.target[1] for m in traced.mutated}
    inputs: list[Input] = []
    number: dict[int, int] = {}
    fixed: list[str] = []
    for k, (text, leaf) in enumerate(zip(texts, traced.in_leaves)):
        if leaf.param is None:
            fixed.append(f"{text} is {leaf.value!r}")
            continue
        number[k] = len(inputs)
        inputs.append(Input(_identifier(text, taken), text, leaf.type, leaf.param, k in changed))
    outputs: list[Output] = []
    names = _gradient_names(texts, traced, wrt) if grad else _result_names(traced.out_tree)
    for r, (name, text) in zip(traced.results, names):
        if r.kind == "static":
            fixed.append(f"{text} is {r.value!r}")
        elif r.same_as is not None:
            k = number[r.same_as[1]]
            outputs.append(Output(_identifier(name, taken), text, inputs[k].type, copy=k))
        else:
            assert r.index is not None
            outputs.append(Output(_identifier(name, taken), text, _whole(fn, traced.graph.results[r.index].type, text), r.index))
    changes = tuple((number[m.target[1]], m.index) for m in traced.mutated)
    return Signature(tuple(inputs), tuple(outputs), changes, tuple(fixed))


def _whole(fn: Any, t: Type, text: str) -> Type:
    if not t.static:
        why = f"the length of {text} ({t}) is known at run time only; return an array of the largest length, and how much of it counts"
        raise UnsupportedError(f"for export, {why}", definition(fn))
    return t


def _check(fn: Any, t: Traced) -> None:
    """Refuse what a C function cannot do for its caller."""
    at = definition(fn)
    if t.writes or any(m.target[0] != "arg" for m in t.mutated) or any(_outside(r.same_as) for r in t.results):
        raise UnsupportedError(
            "for export, a function changes nothing but its arguments: pass the state as arguments, and return it", at
        )
    if structured_nodes(t.in_tree) or structured_nodes(t.out_tree):
        raise UnsupportedError("for export, pass the fields of structured arrays one by one", at)


def _outside(same_as: tuple[str, Any] | None) -> bool:
    return same_as is not None and same_as[0] != "arg"


# ---- names -----------------------------------------------------------------------------------------------------------------


def argument_paths(fn: Any, tree: TreeDef) -> list[str]:
    """How each leaf of the arguments is written in Python: `x`, `params['w']`."""
    names = parameters(fn)[0]
    (args, kwargs) = tree.children
    placed = [names[k] if k < len(names) else f"arg{k}" for k in range(len(args.children))]
    return [
        *(path for name, t in zip(placed, args.children) for path in _paths(t, name)),
        *(path for name, t in zip(kwargs.meta, kwargs.children) for path in _paths(t, str(name))),
    ]


def _paths(tree: TreeDef, start: str) -> list[str]:
    """How the leaves of a tree are found from `start`."""
    if tree.cls is None:
        return [start]
    meta, names = tree.meta, getattr(tree.meta, "names", None) or getattr(tree.cls, "_fields", None)
    if issubclass(tree.cls, dict):
        keys = meta if tree.cls is dict else meta[0]
        steps = [f"[{key!r}]" for key in keys]
    elif names is not None:
        steps = [f".{name}" for name in names]
    else:
        steps = [f"[{k}]" for k in range(len(tree.children))]
    return [path for step, t in zip(steps, tree.children) for path in _paths(t, start + step)]


def _result_names(tree: TreeDef) -> list[tuple[str, str]]:
    texts = _paths(tree, "result")
    return [(text, text) for text in texts]


def _gradient_names(texts: Sequence[str], traced: Traced, wrt: Sequence[int]) -> list[tuple[str, str]]:
    """Names of the results of `value_and_grad`: the value, and a gradient for each leaf of the arguments `wrt`."""
    args = traced.in_tree.children[0].children
    starts = [sum(t.size for t in args[:k]) for k in range(len(args))]
    leaves = [j for k in wrt for j in range(starts[k], starts[k] + args[k].size)]
    names = [("value", "the value"), *((f"grad_{texts[j]}", f"the gradient by {texts[j]}") for j in leaves)]
    assert len(names) == len(traced.results)
    return names


def _identifier(text: str, taken: set[str]) -> str:
    """A C name that none of `taken` is; it is one of them afterwards."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "x"
    name = f"x{name}" if name[0].isdigit() else name
    found, k = name + "_" * (name in _TAKEN), 1
    while found in taken:
        k += 1
        found = f"{name}_{k}"
    taken.add(found)
    return found


def prefix_of(stem: str) -> str:
    """The prefix of the C names of a library: its own name, with lib before it if no C name can begin so."""
    name = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_")
    return f"{'' if name and not name[0].isdigit() else 'lib'}{name}_"


def checked_prefix(prefix: str) -> str:
    """The prefix, if C names can begin with it. Raises IradValueError."""
    if not re.fullmatch(r"[A-Za-z_]\w*", prefix, re.ASCII):
        raise IradValueError(f"prefix: the beginning of a C name, such as model_, not {prefix!r}")
    return prefix
