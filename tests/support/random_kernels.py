"""What random kernels are made with."""

from __future__ import annotations

import random


class Maker:
    """A source of random numbers, and names that are new."""

    def __init__(self, seed: int):
        self.r, self.count = random.Random(seed), 0

    def fresh(self) -> str:
        """A name that no other statement has."""
        self.count += 1
        return f"v{self.count}"
