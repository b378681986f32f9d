"""LLVM text that never changes is package data: `NAME.ll` beside the module that uses it. LLVM parses each file by itself."""

from __future__ import annotations

import functools
import importlib.resources
import re


@functools.cache
def read(package: str, *names: str) -> str:
    """The files `names` of the folder irad.codegen.`package` as one text, without comments.

    What one file declares and another one defines, or declares too, stands there once.
    """
    folder = importlib.resources.files("irad.codegen") / package
    lines = "\n".join((folder / f"{name}.ll").read_text(encoding="utf-8") for name in names).splitlines()
    there = {m[1] for line in lines if (m := re.match(r"define .*?@([\w.]+)\(", line))}
    out = []
    for line in lines:
        if line and not line.startswith(";"):
            outside = re.match(r"declare .*?@([\w.]+)\(|[@%]([\w.]+) = (?:external|type) ", line)
            name = outside and (outside[1] or outside[2])
            if name is None or name not in there:
                out.append(line)
            if name is not None:
                there.add(name)
    return "\n".join([*out, ""])
