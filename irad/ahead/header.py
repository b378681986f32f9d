"""The C header of an exported library."""

from __future__ import annotations

from collections.abc import Sequence

from irad.ahead.entry import Function
from irad.ahead.functions import Input, Output, c_type
from irad.ahead.messages import TOO_SMALL
from irad.core.types import Type, is_complex

VERSION = 1  # of the interface: how functions of a library are called


def header(
    name: str, prefix: str, functions: Sequence[Function], docs: Sequence[str], made: Sequence[str], fingerprint: int
) -> str:
    """The text. `docs`: a line on each function; `made`: what the library was made of, and with."""
    guard = f"{prefix.upper()}H"
    lines = [
        f"/* {_comment(name)}: {_comment(made[0])}",
        *(f" * {_comment(line)}" for line in made[1:]),
        " *",
        " * Every function returns 0, or a status that says what went wrong; then the outputs hold nothing of use, and arguments that the",
        " * function changes are as they were. Arrays are row-major and contiguous, aligned as C aligns their elements; outputs overlap",
        " * neither each other nor arguments. A call works in the workspace that it is given, at any address, and nowhere else: it allocates",
        " * nothing, and calls with workspaces of their own may run at the same time. What a workspace holds between calls does not matter.",
        " */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        f"#define {prefix.upper()}API_VERSION {VERSION}",
        f"#define {prefix.upper()}FINGERPRINT UINT64_C(0x{fingerprint:016x})",
        f"#define {prefix.upper()}WORKSPACE_TOO_SMALL ({TOO_SMALL})",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
    ]
    for f, doc in zip(functions, docs):
        lines += _function(f, doc)
    lines += [
        "",
        "/* What a status stands for, in a text that is always there. */",
        f"const char *{prefix}message(int status);",
        "",
        "/* As message, with the numbers that the failed call left in its workspace; written and counted as snprintf does. */",
        f"int {prefix}describe(int status, const void *workspace, char *text, size_t size);",
        "",
        f"/* {prefix.upper()}FINGERPRINT of the header that belongs to the library. */",
        f"uint64_t {prefix}fingerprint(void);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _function(f: Function, doc: str) -> list[str]:
    s = f.signature
    macro = f"{f.name.upper()}_WORKSPACE_SIZE"
    rows = [(i.name, "in, out" if i.changed else "in", _shape(i.type), _told(i.name, i.text)) for i in s.inputs]
    rows += [(o.name, "out", _shape(o.type), o.text) for o in s.outputs]
    rows.append(("workspace", "", "", f"memory of at least {macro} bytes"))
    rows.append(("workspace_size", "in", "size_t", "how many bytes it has"))
    widths = [max(len(r[k]) for r in rows) for k in range(3)]
    table = [f" *   {'  '.join([*(c.ljust(w) for c, w in zip(r, widths)), _comment(r[3])]).rstrip()}" for r in rows]
    fixed = [f" * Fixed when the library was made: {_comment(text)}." for text in s.fixed]
    params = [*map(_input, s.inputs), *map(_output, s.outputs), "void *workspace", "size_t workspace_size"]
    return [
        "",
        f"#define {macro} ((size_t){f.workspace}u)",
        "",
        f"/* {_comment(doc)}",
        " *",
        *table,
        *([" *", *fixed] if fixed else []),
        " */",
        *_wrapped(f"int {f.name}(", params),
        f"size_t {f.name}_workspace_size(void);",
    ]


def _wrapped(start: str, params: Sequence[str]) -> list[str]:
    """A declaration in lines of at most 110 characters."""
    lines, line = [], start
    for k, p in enumerate(params):
        p += ", " if k + 1 < len(params) else ");"
        if len(line) + len(p) > 110 and line.strip():
            lines.append(line.rstrip())
            line = "    "
        line += p
    return [*lines, line]


def _comment(text: str) -> str:
    """A text as a line of a comment."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")


def _told(name: str, text: str) -> str:
    return "" if name == text else text


def _shape(t: Type) -> str:
    meaning = {"bool": "0 or 1", "f16": "the bits of half precision"}.get(t.dtype, "re, im" if is_complex(t.dtype) else "")
    return c_type(t) + "".join(f"[{d}]" for d in t.shape) + f" ({meaning})" * bool(meaning)


def _input(i: Input) -> str:
    return f"{c_type(i.type)} {i.name}" if i.by_value else f"{'' if i.changed else 'const '}{c_type(i.type)} *{i.name}"


def _output(o: Output) -> str:
    return f"{c_type(o.type)} *{o.name}"
