"""The passes of the kernel form: threads, signals, checks of memory."""
