"""The text of what was typed at Python's prompt, or given on standard input from a file, for versions of Python that do not keep it.

From 3.13 on Python itself keeps what is typed. Before, the prompt's history has it, line by line without empty ones. A text is only a guess
here: it is compared with the code, byte for byte.
"""

from __future__ import annotations

import ast
import linecache
import os
import stat
import sys
import types
from collections.abc import Iterator
from functools import cache
from typing import Any

from irad.frontend.values.reach import codes

FILE = "<stdin>"
_FAR = 5000  # how many lines of the history are looked at
_MORE = 50  # lines after the last one of a lambda's code, to the end of its statement


def texts(code: types.CodeType) -> Iterator[tuple[list[str], str]]:
    """Texts that code of the file "<stdin>" may be from, each with a name under which `linecache` has it."""
    if code.co_filename != FILE:
        return
    if given := _given():
        yield list(given), _named("", list(given))
    lines = _history()
    first = code.co_firstlineno - 1  # each statement begins with line 1
    for start in range(len(lines) - 1, max(-1, len(lines) - _FAR), -1):
        if start + first < len(lines) and _may_be(code, lines[start + first]) and (text := _statement(code, lines[start:])):
            yield text, _named(f"-{start + 1}", text)


@cache
def _given() -> tuple[str, ...]:
    """Standard input, if it is a file: read without moving on in it."""
    try:
        about = os.fstat(0)
        if stat.S_ISREG(about.st_mode):
            return tuple(os.pread(0, about.st_size, 0).decode("utf-8").splitlines(keepends=True))
    except (OSError, ValueError, AttributeError):  # it is closed, is no text, or this system has no pread
        pass
    return ()


def _history() -> list[str]:
    """What was typed, with that of sessions before."""
    readline: Any = sys.modules.get("readline")
    if readline is None:
        return []
    n = readline.get_current_history_length()
    return [f"{readline.get_history_item(k) or ''}\n" for k in range(1, n + 1)]


def _may_be(code: types.CodeType, line: str) -> bool:
    """A quick look at the first line of a function."""
    return "lambda" in line if code.co_name == "<lambda>" else code.co_name in line or line.lstrip().startswith("@")


def _statement(code: types.CodeType, lines: list[str]) -> list[str]:
    """The lines of a statement that holds the code, which begins it; none if they do not parse."""
    last = max(line for c in codes(code) for _, _, line in c.co_lines() if line)
    for end in range(last, min(last + _MORE, len(lines)) + 1):
        try:
            ast.parse("".join(lines[:end]))
        except SyntaxError:
            continue
        return lines[:end]
    return []


def _named(part: str, lines: list[str]) -> str:
    file = f"<stdin{part}>"
    linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    return file
