"""Dense loops to kernel form: order of axes, lanes, where folds accumulate, register tiles."""
