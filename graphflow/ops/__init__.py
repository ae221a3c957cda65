"""Every op, defined once: signature, shape rule, gradient. Kernels are in graphflow.kernels."""
