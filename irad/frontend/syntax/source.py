"""The syntax tree of a live function, checked against its code object before it is trusted."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import os
import sys
import textwrap
import types
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from irad.core.lazy_dataclass import dataclass
from irad.core.once import import_later
from irad.errors import Loc

FunctionNode = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, eq=False)
class Source:
    """A function's syntax tree; `locate` maps its nodes to places in the user's file."""

    node: FunctionNode
    file: str
    line_shift: int  # added to the tree's line numbers

    def locate(self, node: ast.AST) -> Loc:
        line = getattr(node, "lineno", 1) + self.line_shift
        col = getattr(node, "col_offset", 0)
        same_line = getattr(node, "end_lineno", None) == getattr(node, "lineno", None)
        return Loc(self.file, line, col, getattr(node, "end_col_offset", 0) if same_line else 0)


class NoSource(Exception):
    """The source of a function cannot be read, or is not the code that runs; the text says why."""


def source_of(code: types.CodeType) -> Source:
    """The syntax tree that `code` was compiled from.

    Raises NoSource if there is no text (exec, C), or the text on disk is no longer what the code was compiled from.
    """
    found = _sources.get(code)
    if found is None:
        found = _sources[code] = _find(code)
    return found


_sources: dict[types.CodeType, Source] = {}
_HOW = ", or its text into linecache (docs/troubleshooting.md)"


_carried: dict[str, list[str]] = {}  # texts of files that came with a function from another process


def carry(file: str, text: str) -> None:
    """The text of a file in another process, some functions of which are here without its name."""
    _carried[file] = lines = text.splitlines(keepends=True)
    if not os.path.exists(file):
        linecache.cache[file] = (len(text), None, lines, file)  # for errors


def _find(code: types.CodeType) -> Source:
    lines = linecache.getlines(code.co_filename) or _command(code.co_filename) or _frozen(code.co_filename)
    for file, text in _carried.items() if not lines else ():
        if _made_from(code, text, file) and (found := _in_text(code, text, file, exact=False)):
            return found
    for text, name in import_later("irad.frontend.syntax.typed").texts(code) if not lines else ():
        if found := _in_text(code, text, name, exact=True):
            return found
    if not lines:
        raise NoSource(
            f"the text of {code.co_filename} is not there: put the function into a file or the cell of a notebook{_HOW}"
        )
    source = _in_text(code, lines, code.co_filename, exact=code.co_filename == "<string>")
    if source is None:
        raise NoSource(f"the text at {code.co_filename}:{code.co_firstlineno} is not what it was compiled from")
    return source


def _in_text(code: types.CodeType, lines: list[str], file: str, exact: bool) -> Source | None:
    """The syntax tree in the text of a file, if it is there."""
    if code.co_firstlineno > len(lines):
        return None
    cls = _class_around(code)
    for found, shift in _lambdas(code, "".join(lines)) if code.co_name == "<lambda>" else _block(code, lines):
        node = found if cls is None else mangled(found, cls)
        if _matches(code, node, exact):
            if any(c.co_flags & inspect.CO_GENERATOR for c in (code, *_walk(code))):
                node = import_later("irad.frontend.syntax.yields").with_yields_apart(node)
            if any(isinstance(n, ast.Break) for n in ast.walk(node)):
                node = import_later("irad.frontend.syntax.cuts").with_cuts_after_loops(node)
            return Source(node, file, shift)
    return None


def _made_from(code: types.CodeType, lines: list[str], file: str) -> bool:
    """Is this code, at its line, among that of the whole file?"""
    try:
        whole = compile("".join(lines), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    what = lambda c: (c.co_qualname, c.co_firstlineno, c.co_code, c.co_names, c.co_varnames, _constants(c))
    return any(what(c) == what(code) for c in _walk(whole))


def _class_around(code: types.CodeType) -> str | None:
    """The name of the innermost class around a function, whose private names are its own."""
    parts = code.co_qualname.split(".")
    while len(parts) > 2 and parts[-2] == "<locals>":
        parts = parts[:-2]
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else None


_NAMED = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.keyword: "arg", ast.FunctionDef: "name", ast.ExceptHandler: "name",
          ast.MatchAs: "name", ast.MatchStar: "name", ast.MatchMapping: "rest", ast.alias: "asname"}  # fmt: skip


def mangled(function: FunctionNode, cls: str) -> FunctionNode:
    """A function with private names (`self.__x`) as Python has them in a class: `self._cls__x`. Its own name stays."""
    prefix = "_" + cls.lstrip("_")
    private = lambda name: isinstance(name, str) and name.startswith("__") and not name.endswith("__") and "." not in name
    if prefix == "_" or not any(
        private(getattr(n, _NAMED.get(type(n), ""), None)) for n in ast.walk(function) if n is not function
    ):
        return function
    out = copy.deepcopy(function)
    for n in ast.walk(out):
        field = _NAMED.get(type(n), "")
        if n is not out and private(getattr(n, field, None)):
            setattr(n, field, prefix + getattr(n, field))
        elif isinstance(n, (ast.Global, ast.Nonlocal)):
            n.names = [prefix + name if private(name) else name for name in n.names]
    return out


def _command(file: str) -> list[str]:
    """The text that was given with `python -c`, for code of the file "<string>"; other text of that name does not match it."""
    if file != "<string>":
        return []
    given = iter(sys.orig_argv[1:])
    for option in given:
        if not option.startswith("-") or option.startswith("--"):
            break
        at = next((k for k, letter in enumerate(option) if letter in "cmWX"), None)
        if at is None:
            continue
        value = option[at + 1 :] or next(given, "")
        if option[at] == "c":
            text = value if value.endswith("\n") else value + "\n"
            lines = text.splitlines(keepends=True)
            linecache.cache[file] = (len(text), None, lines, file)
            return lines
    return []


def _frozen(file: str) -> list[str]:
    """The text of a module that is frozen into Python (`<frozen _collections_abc>`), from the standard library's files."""
    name = file.removeprefix("<frozen ").removesuffix(">")
    path = getattr(sys.modules.get(name), "__file__", None) if name != file else None
    return linecache.getlines(path) if isinstance(path, str) else []


def _block(code: types.CodeType, lines: list[str]) -> Iterator[tuple[FunctionNode, int]]:
    """The `def` at the code's first line. An indented block is put below an `if`, so columns stay as they are."""
    first = code.co_firstlineno - 1
    if first >= len(lines):
        return
    indented = lines[first][:1].isspace()
    head, shift = ("if 1:\n", first - 1) if indented else ("", first)
    for end in _ends(code, lines):
        try:
            tree = ast.parse(head + "".join(lines[first:end]))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                yield node, shift
        return


def _ends(code: types.CodeType, lines: list[str]) -> Iterator[int]:
    """Where the block of a `def` may end: before lines that are indented no more than it, the first of which that leaves
    text that parses (others lie inside brackets or strings). `inspect` knows, but its tokenizer is slow to start."""
    indent = lambda line: len(line) - len(line.lstrip())
    own = indent(lines[code.co_firstlineno - 1])
    last = max(line for c in (code, *_walk(code)) for _, _, line in c.co_lines() if line)
    outside = (k for k in range(last, len(lines)) if lines[k].strip() and indent(lines[k]) <= own)
    ends = [*islice((k for k in outside if not lines[k].lstrip().startswith("#")), 8)]
    yield from ends if len(ends) == 8 else [*ends, len(lines)]
    yield code.co_firstlineno - 1 + len(inspect.getblock(lines[code.co_firstlineno - 1 :]))


def _lambdas(code: types.CodeType, text: str) -> Iterator[tuple[FunctionNode, int]]:
    """Lambdas of the file on the code's line: of those around the code's columns the innermost, or all if there are none."""
    start, end = _extent(code)
    found = [n for n in _parsed(text) if n.lineno <= code.co_firstlineno <= (n.end_lineno or n.lineno)]
    # Code may begin later and end earlier than its text: `x if 0 else y` is only y.
    spans = {n: _span(n.body) for n in found}
    around = [n for n, (first, last) in spans.items() if first <= start and end <= last]
    innermost = [n for n in around if all(spans[n][0] >= spans[m][0] and spans[n][1] <= spans[m][1] for m in around)]
    for node in innermost or found:
        yield node, 0


def _span(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _extent(code: types.CodeType) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where the body of a lambda begins and ends: the extremes over its instructions."""
    at = [p for p in code.co_positions() if p[0] and p[1] and p[2] is not None and p[3] is not None and (p[2], p[3]) != (0, 0)]
    starts = [(p[0], p[2]) for p in at]
    ends = [(p[1], p[3]) for p in at]
    return (min(starts), max(ends)) if at else ((0, 0), (0, 0))  # type: ignore[type-var, return-value]


@cache
def _parsed(text: str) -> list[ast.Lambda]:
    """Every lambda of a file."""
    try:
        return [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Lambda)]
    except SyntaxError:  # a cell of a notebook with magics, say
        return _loose_lambdas(text)


def _loose_lambdas(text: str) -> list[ast.Lambda]:
    """Lambdas of single lines, for text that does not parse as a whole."""
    found = []
    for k, line in enumerate(text.splitlines()):
        if "lambda" in line:
            try:
                tree = ast.parse(textwrap.dedent(line))
            except SyntaxError:
                continue
            pad = len(line) - len(textwrap.dedent(line))
            for n in ast.walk(tree):
                if hasattr(n, "lineno"):
                    n.lineno, n.end_lineno = n.lineno + k, (n.end_lineno or n.lineno) + k  # type: ignore[attr-defined]
                    n.col_offset, n.end_col_offset = n.col_offset + pad, (n.end_col_offset or 0) + pad  # type: ignore[attr-defined]
            found += [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
    return found


def _matches(code: types.CodeType, node: FunctionNode, exact: bool = False) -> bool:
    """Does the tree compile to this code? Byte for byte, or (unless `exact`) with the same arguments, names and constants.

    The looser test admits code whose asserts were rewritten or that was instrumented: what the tree says is all there.
    """
    fresh = _compile(code, node)
    if fresh is None:
        return False
    if fresh.co_code == code.co_code and _constants(fresh) == _constants(code) and fresh.co_names == code.co_names:
        return True
    if exact:
        return False
    count = code.co_argcount + code.co_kwonlyargcount
    same_arguments = fresh.co_varnames[:count] == code.co_varnames[:count]
    return same_arguments and _names(fresh) <= _names(code) and _constants(fresh) <= _constants(code)


def _names(code: types.CodeType) -> set[str]:
    return {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}


def _constants(code: types.CodeType) -> set[Any]:
    return {_constant(c) for c in code.co_consts if not isinstance(c, (types.CodeType, str))}


def _constant(c: Any) -> Any:
    """A constant, so that others are equal to it only if they are the same; a frozenset from a .pyc file may have another order."""
    if isinstance(c, (tuple, frozenset)):
        return type(c), type(c)(map(_constant, c))
    return type(c), repr(c)


def set_in_code(code: types.CodeType, function: ast.AST, e: ast.Set, values: set[Any]) -> set[Any] | frozenset[Any] | None:
    """What Python's compiler made of a display of constants, which has another order than one that is filled with them; else None.

    It keeps a frozenset, which a loop or comprehension goes over, and of which others are made.
    """
    iterated = e in _iterated(function)
    if not iterated and len(e.elts) < 3:
        return None
    wanted = _constant(frozenset(values))
    constants = (c for inner in (code, *_walk(code)) for c in inner.co_consts if isinstance(c, frozenset))
    found = next((c for c in constants if _constant(c) == wanted), None)
    if found is None or iterated:
        return found
    out: set[Any] = set()
    out.update(found)
    return out


@cache
def _iterated(function: ast.AST) -> frozenset[ast.expr]:
    return frozenset(n.iter for n in ast.walk(function) if isinstance(n, (ast.For, ast.comprehension)))


def _compile(code: types.CodeType, node: FunctionNode) -> types.CodeType | None:
    """The code of the tree, compiled inside a function that binds the names that were free."""
    inner: ast.stmt = ast.Expr(_without_defaults(node)) if isinstance(node, ast.Lambda) else _undecorated(node)
    names = list(code.co_freevars)
    bind: list[ast.stmt] = [ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in names]
    if not isinstance(node, ast.Lambda) and node.name not in names:
        bind.append(ast.Global([node.name]))  # so is its name inside it
    outer = ast.parse("def _irad_scope_(): pass").body[0]
    outer.body = [*bind, inner]  # type: ignore[attr-defined]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    try:
        compiled = compile(module, code.co_filename, "exec", dont_inherit=True, flags=code.co_flags & _FUTURE)
    except (SyntaxError, ValueError):
        return None
    return next((c for c in _walk(compiled) if c.co_name == code.co_name), None)


_FUTURE = 0x1FE0000  # the compiler flags of `from __future__` features


def _without_defaults(node: ast.Lambda) -> ast.Lambda:
    """Defaults are no part of the code, and may hold lambdas themselves."""
    args = copy.copy(node.args)
    args.defaults = [ast.Constant(None) for _ in args.defaults]
    args.kw_defaults = [d and ast.Constant(None) for d in args.kw_defaults]
    return ast.Lambda(args, node.body)


def _undecorated(node: ast.FunctionDef) -> ast.FunctionDef:
    plain = copy.copy(node)
    plain.decorator_list = []
    return plain


def _walk(code: types.CodeType) -> Iterator[types.CodeType]:
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield c
            yield from _walk(c)


def words_for(node: ast.AST) -> str:
    """What a kind of syntax is called in errors."""
    name = type(node).__name__
    return _NAMES.get(name, name.lower())


_NAMES = {
    "AsyncFunctionDef": "an async function", "AsyncFor": "async for", "AsyncWith": "async with", "Await": "await",
    "Global": "assigning a global variable (return the value instead)",
    "Import": "import", "TryStar": "except*", "Delete": "this kind of del",
}  # fmt: skip


def code_of(node: Any, source: Source, around: types.CodeType | None = None) -> types.CodeType:
    """The code of a function defined inside: that which the one `around` has for it, or else what it alone decides of it (names and
    numbers of arguments, variables, lines)."""
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    if around is not None and name != "<lambda>":
        line = min([node.lineno, *(d.lineno for d in node.decorator_list)]) + source.line_shift
        found = next((c for c in _walk(around) if c.co_name == name and c.co_firstlineno == line), None)
        if found is not None:
            return found
    body: Any = ast.copy_location(ast.Expr(node), node) if isinstance(node, ast.Lambda) else node
    module = compile(ast.fix_missing_locations(ast.Module([body], [])), source.file, "exec")
    code = next(c for c in module.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    return code.replace(co_firstlineno=code.co_firstlineno + source.line_shift)
