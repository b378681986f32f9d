"""What tests share: programs, comparisons, references, small interpreters."""

from pathlib import Path

ROOT = Path(__file__).parents[2]  # of the repository
