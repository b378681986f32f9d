"""Running native code: arguments in, results out, memory between calls."""
