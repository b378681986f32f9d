"""Is it right? Every stage of the compiler against the one before, bisection, reduction, differences."""
