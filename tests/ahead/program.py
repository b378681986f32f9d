"""A C program that calls exported functions: inputs are in it as bytes, outputs come as bytes on its standard output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from irad.core.lazy_dataclass import dataclass

C = {
    "float64": "double",
    "float32": "float",
    "bool": "uint8_t",
    "complex128": "double",
    "complex64": "float",
    "float16": "uint16_t",
}

START = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
"""

CALL = """
typedef struct {{ {outs} }} out_{name};
static void *run_{name}(void *given) {{
  out_{name} *o = given;
  size_t size = {name}_workspace_size();
  char *w = malloc(size + 1) ;
  if (size != {macro}_WORKSPACE_SIZE) exit(3);
  for (int k = 0; k < {repeats}; k++) {{
    memset(w, k, size + 1);
    memset(o, k, sizeof *o);
    {copies}
    int status = {name}({args}, w + 1, size);
    if (status != 0) {{
      char text[300];
      {prefix}describe(status, w + 1, text, sizeof text);
      fprintf(stderr, "{name}: %s\\n", text);
      exit(1);
    }}
  }}
  free(w);
  return NULL;
}}
static void threads_{name}(void) {{
  static out_{name} o[3];
  pthread_t t[3];
  for (int k = 0; k < 3; k++) pthread_create(&t[k], NULL, run_{name}, &o[k]);
  for (int k = 0; k < 3; k++) pthread_join(t[k], NULL);
  for (int k = 1; k < 3; k++) if (memcmp(&o[0], &o[k], sizeof o[0])) exit(4);
  {writes}
}}
"""


@dataclass(frozen=True)
class Call:
    """A call of the C function `name`: arrays and numbers in, arrays out; `changed`: inputs that it writes, which follow the outputs."""

    name: str
    prefix: str
    inputs: Sequence[Any]
    outputs: Sequence[np.ndarray]
    changed: Sequence[int] = ()
    repeats: int = 3


def _type(a: np.ndarray) -> str:
    return C.get(a.dtype.name, f"{a.dtype.name}_t")


def _words(a: np.ndarray) -> int:
    """Elements in C: a complex number is two."""
    return max(1, a.size) * (2 if a.dtype.kind == "c" else 1)


def _call(c: Call) -> Iterator[str]:
    arrays = [np.asarray(x) for x in c.inputs]
    for k, a in enumerate(arrays):
        data = ", ".join(map(str, a.tobytes())) or "0"
        yield f"static union {{ unsigned char bytes[{max(1, a.nbytes)}]; {_type(a)} a[{_words(a)}]; }} in_{c.name}_{k} = {{{{{data}}}}};"
    outs = [f"{_type(o)} o{k}[{_words(o)}];" for k, o in enumerate(c.outputs)]
    outs += [f"{_type(arrays[k])} c{k}[{_words(arrays[k])}];" for k in c.changed]
    args, copies = [], []
    for k, a in enumerate(arrays):
        if k in c.changed:
            copies.append(f"memcpy(o->c{k}, in_{c.name}_{k}.a, sizeof o->c{k});")
            args.append(f"o->c{k}")
        else:
            args.append(f"in_{c.name}_{k}.a" + "[0]" * (a.ndim == 0 and a.dtype.kind != "c"))
    args += [f"o->o{k}" for k in range(len(c.outputs))]
    names = [*(f"o{k}" for k in range(len(c.outputs))), *(f"c{k}" for k in c.changed)]
    yield CALL.format(
        name=c.name, prefix=c.prefix, macro=c.name.upper(), repeats=c.repeats, outs=" ".join(outs), args=", ".join(args),
        copies=" ".join(copies), writes=" ".join(f"fwrite(o[0].{n}, 1, sizeof o[0].{n}, stdout);" for n in names),
    )  # fmt: skip


def program(headers: Sequence[str], calls: Sequence[Call]) -> str:
    """The text of the program."""
    lines = [START, *(f'#include "{h}"' for h in headers)]
    for c in calls:
        lines += _call(c)
    return "\n".join([*lines, "int main(void) {", *(f"  threads_{c.name}();" for c in calls), "  return 0;", "}", ""])


def results(calls: Sequence[Call], data: bytes) -> Iterator[list[np.ndarray]]:
    """What each call gave, of what the program wrote."""
    at = 0
    for c in calls:
        found = []
        for a in [*c.outputs, *(np.asarray(c.inputs[k]) for k in c.changed)]:
            size = max(1, a.size) * a.itemsize
            found.append(np.frombuffer(data[at : at + size], a.dtype)[: a.size].reshape(a.shape))
            at += size
        yield found
    assert at == len(data)
