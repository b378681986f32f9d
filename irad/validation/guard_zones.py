"""Arrays between zones that nobody may write to: code that stores past the end of an array changes one."""

from __future__ import annotations

import numpy as np

ZONE = 128  # bytes before and after an array: more than a vector register
PATTERN = 0xA5


class GuardZones:
    """Makes arrays, and tells whether the zones around them are what they were."""

    def __init__(self) -> None:
        self._memory: list[np.ndarray] = []

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array that is not set."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        memory = np.full(size + 2 * ZONE, PATTERN, np.uint8)
        self._memory.append(memory)
        return memory[ZONE : ZONE + size].view(dtype).reshape(shape)

    def copy(self, x: np.ndarray) -> np.ndarray:
        """An array with the elements of x."""
        out = self.array(x.shape, x.dtype)
        out[...] = x
        return out

    def changed(self) -> str:
        """Which array was written past, or ""."""
        for k, m in enumerate(self._memory):
            if np.any(m[:ZONE] != PATTERN) or np.any(m[len(m) - ZONE :] != PATTERN):
                return f"memory beside array {k} of {len(self._memory)} was written"
        return ""
