"""From a plan to kernels: specialise, lower, fuse, lay out, emit."""
