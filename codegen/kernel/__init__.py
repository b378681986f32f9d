"""The kernel form: its statements, text, verifier, interpreter, costs and proofs."""
