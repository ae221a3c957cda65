"""An emulated GPU: NVIDIA's driver, as far as the library needs it, and a machine that runs what its compiler made.

What is real here: Numba's compiler and its cache, the assembly it makes (PTX, after linking), its way to launch,
streams, events, pinned memory, graphs, shuffles. What is not: time, cuBLAS, and the last step, from PTX to the code
of a chip.
"""
