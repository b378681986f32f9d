"""Forward and reverse mode, what to save and what to compute again, checkpoints, Jacobians."""
