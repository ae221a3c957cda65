"""Programs as people write models, drawn by chance, to compare the ways in which one program can run.

`generating` draws a program from a seed: layers over values of one to five dimensions, views between them, values
that are used many times, loops, branches, optimizers. A program is data (`program`): steps of Python text with the
names that they take and make, so that it prints as a program that runs by itself, and steps can be dropped from it.
`harness` runs the text, under TensorFlow 1.15 too. `comparison` runs it in the NumPy tier, compiled, on two devices
and on a cluster, and says what rounding explains. `interpreted` runs the compiler's loop nests in Python rather than
through LLVM, which takes a tenth of the time. `shrinking` finds a small program that still fails, and `mutations` are
faults planted into the compiler, which the programs must find. `python -m tests.generated_models` runs as many as
there is time for.
"""
