"""What computes: a NumPy kernel for every op, and generated code for the hot ones."""
