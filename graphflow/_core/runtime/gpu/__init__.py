"""Plans on a GPU: variables that live there, rules that lower ops to its kernels, and what launches them."""
