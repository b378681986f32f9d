"""What statuses stand for, in C: a table of messages, and a function that writes a message with the numbers of the failed call."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from irad.codegen.interface import ErrorCode
from irad.core.lazy_dataclass import dataclass, field
from irad.ops.text import CLASSES, PAIR, PARTS, choices_of, shows_class, unescaped, with_fields

TOO_SMALL = -1  # the status of a call whose workspace is too small
_PLAIN = re.compile(r":[-+ 0#]*\d*(\.\d+)?[feEgG]?")  # formats that printf has too


@dataclass
class Message:
    """A text for printf; `values`: of each of its values the kind ("f", "i", "u") or the strings of which the number chooses one."""

    text: str
    values: list[str | tuple[str, ...]] = field(default_factory=list)

    @property
    def plain(self) -> str:
        """The message without numbers."""
        return re.sub(r"%[-+ 0#]*[\d.]*(ll[iu]|[feEgGs])", "?", self.text).replace("%%", "%")


def message(code: ErrorCode) -> Message:
    """The message of an error code."""
    out, dtypes = Message(""), iter(code.dtypes)

    def printed(given: str) -> str:
        dtype = next(dtypes)
        if given[1:].startswith(PAIR):
            next(dtypes)
            if shows_class(given):
                out.values += ["f", ("",) * len(CLASSES)]
                return "%.16g%s"
            out.values += ["f", "f"]
            return "(%.16g%+.16gj)"
        chosen = choices_of(given) or (("False", "True") if dtype == "bool" else None)
        if chosen is not None:
            out.values.append(chosen)
            return "%s"
        if dtype[0] == "f":
            out.values.append("f")
            asked = re.search(r":.*", given[:-1])
            fits = asked is not None and _PLAIN.fullmatch(asked[0]) and asked[0][-1].isalpha()
            return f"%{asked[0][1:]}" if asked is not None and fits else "%.16g" if dtype == "f64" else "%.8g"
        out.values.append("u" if dtype == "u64" else "i")
        return "%llu" if dtype == "u64" else "%lli"

    template = with_fields(code.message.replace("%", "%%"), printed)
    text = unescaped(template).replace(PARTS, ", ")
    where = f" ({os.path.basename(code.loc.file).replace('%', '%%')}:{code.loc.line})" if code.loc is not None else ""
    out.text = f"{code.exc.rsplit('.', 1)[-1]}{': ' if text else ''}{text}{where}"
    return out


def string(text: str) -> str:
    """A C string as a constant of LLVM."""
    data = text.encode() + b"\0"
    return f'[{len(data)} x i8] c"{"".join(chr(b) if 32 <= b < 127 and chr(b) not in _QUOTED else f"{chr(92)}{b:02X}" for b in data)}"'


_QUOTED = '"\\'


def module(prefix: str, messages: Sequence[Message], fingerprint: int) -> str:
    """The functions of a library that are about its statuses, and its fingerprint."""
    return "\n".join(
        [*_tables(messages), *_message(prefix, len(messages)), *_describe(prefix, messages), *_print(prefix, fingerprint)]
    )


def _tables(messages: Sequence[Message]) -> Iterator[str]:
    yield f"@none = constant {string('no such status')}"
    yield f"@fine = constant {string('no error')}"
    yield f"@small = constant {string('the workspace is NULL or smaller than the header says')}"
    for k, m in enumerate(messages):
        yield f"@text{k} = constant {string(m.plain)}"
        if m.values:
            yield f"@format{k} = constant {string(m.text)}"
        for j, v in enumerate(m.values):
            if isinstance(v, tuple):
                for i, option in enumerate(v):
                    yield f"@option{k}_{j}_{i} = constant {string(option)}"
                pointers = ", ".join(f"ptr @option{k}_{j}_{i}" for i in range(len(v)))
                yield f"@options{k}_{j} = constant [{len(v)} x ptr] [{pointers}]"
    yield f"@texts = constant [{len(messages) + 1} x ptr] [{', '.join(['ptr @fine', *(f'ptr @text{k}' for k in range(len(messages)))])}]"


def _message(prefix: str, count: int) -> Iterator[str]:
    yield f"""define ptr @{prefix}message(i32 %status) {{
  %least = icmp eq i32 %status, {TOO_SMALL}
  br i1 %least, label %small, label %other
small:
  ret ptr @small
other:
  %known = icmp ule i32 %status, {count}
  br i1 %known, label %there, label %unknown
unknown:
  ret ptr @none
there:
  %k = zext i32 %status to i64
  %p = getelementptr ptr, ptr @texts, i64 %k
  %text = load ptr, ptr %p
  ret ptr %text
}}"""


def _describe(prefix: str, messages: Sequence[Message]) -> Iterator[str]:
    cases = [k for k, m in enumerate(messages) if m.values]
    labels = " ".join(f"i32 {k + 1}, label %case{k}" for k in cases)
    yield f"@plain = constant {string('%s')}"
    yield "declare i32 @snprintf(ptr, i64, ptr, ...)"
    yield f"""define i32 @{prefix}describe(i32 %status, ptr %workspace, ptr %text, i64 %size) {{
  %at = ptrtoint ptr %workspace to i64
  %up = add i64 %at, 63
  %start = and i64 %up, -64
  %err = inttoptr i64 %start to ptr
  %given = icmp ne ptr %workspace, null
  br i1 %given, label %choose, label %short
choose:
  switch i32 %status, label %short [ {labels} ]
short:
  %m = call ptr @{prefix}message(i32 %status)
  %n = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %text, i64 %size, ptr @plain, ptr %m)
  ret i32 %n"""
    for k in cases:
        yield f"case{k}:"
        args = []
        for j, v in enumerate(messages[k].values):
            yield f"  %p{k}_{j} = getelementptr i64, ptr %err, i64 {j}"
            ty = "double" if v == "f" else "i64"
            yield f"  %v{k}_{j} = load {ty}, ptr %p{k}_{j}"
            if isinstance(v, tuple):
                yield f"  %i{k}_{j} = urem i64 %v{k}_{j}, {len(v)}"
                yield f"  %o{k}_{j} = getelementptr ptr, ptr @options{k}_{j}, i64 %i{k}_{j}"
                yield f"  %s{k}_{j} = load ptr, ptr %o{k}_{j}"
                args.append(f"ptr %s{k}_{j}")
            else:
                args.append(f"{ty} %v{k}_{j}")
        given = ", ".join(["ptr %text", "i64 %size", f"ptr @format{k}", *args])
        yield f"  %n{k} = call i32 (ptr, i64, ptr, ...) @snprintf({given})"
        yield f"  ret i32 %n{k}"
    yield "}"


def _print(prefix: str, fingerprint: int) -> Iterator[str]:
    yield f"define i64 @{prefix}fingerprint() {{\n  ret i64 {fingerprint}\n}}\n"
