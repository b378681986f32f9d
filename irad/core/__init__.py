"""What all parts share: types, the IR, its text, its verifier, its interpreter, trees of arguments."""
