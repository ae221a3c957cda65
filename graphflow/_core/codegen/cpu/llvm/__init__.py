"""What kernels call, as LLVM's instructions: memory, casts, elementary functions."""
