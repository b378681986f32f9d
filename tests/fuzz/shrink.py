"""Smaller cases: blocks of lines left out (delta debugging), and simpler lines."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.case import Case


def reduce(case: Case) -> Iterator[Case]:
    """The case with fewer statements, the largest cuts first; then with simpler expressions. All of them parse."""
    lines = case.source.splitlines()
    for name in case.without:
        yield replace(case, without=tuple(n for n in case.without if n != name))
    size = max(1, len(lines) // 2)
    while True:
        for at in range(0, len(lines), size):
            if text := _parses(lines[:at] + lines[at + size :]):
                yield replace(case, source=text)
        if size == 1:
            break
        size //= 2
    for at in range(len(lines)):
        for cut in (_unnested(lines, at), _emptied(lines, at)):
            if cut and (text := _parses(cut)):
                yield replace(case, source=text)


def shrink(
    case: Case, fails: Callable[[Case], bool], reducer: Callable[[Case], Iterator[Case]] = reduce, most: int = 400
) -> Case:
    """The smallest case found that still fails, trying at most so many."""
    tried: set[tuple[str, tuple[str, ...]]] = set()
    while True:
        for smaller in reducer(case):
            key = (smaller.source, smaller.without)
            if key in tried:
                continue
            if len(tried) >= most:
                return case
            tried.add(key)
            if fails(smaller):
                case = smaller
                break
        else:
            return case


def _parses(lines: list[str]) -> str:
    text = "\n".join(lines) + "\n"
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ""
    return text if any(isinstance(s, ast.FunctionDef) and s.name == "main" for s in tree.body) else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block(lines: list[str], at: int) -> int:
    """Where the block that line `at` opens ends."""
    end = at + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > _indent(lines[at])):
        end += 1
    return end


def _unnested(lines: list[str], at: int) -> list[str]:
    """The block that a line opens, without that line."""
    if not lines[at].rstrip().endswith(":") or lines[at].startswith(("def ", "class ")):
        return []
    end = _block(lines, at)
    return lines[:at] + [line[4:] for line in lines[at + 1 : end]] + lines[end:]


def _emptied(lines: list[str], at: int) -> list[str]:
    """A whole block left out, with the line that opens it."""
    end = _block(lines, at)
    return lines[:at] + lines[end:] if end > at + 1 else []
