"""Compiled code is not trusted until it has agreed with NumPy.

When a plan goes over to compiled code, one run of it is done twice: by NumPy, as ever, and by the compiled plan, from
the same inputs and variables, with what cannot be done twice (queues, random numbers, the user's functions) given
again. Results and writes must agree within what rounding allows; otherwise the plan stays on NumPy, and a file
reproduces the difference.

    tape          what cannot be repeated in a run, recorded and given again
    shadow        a store and a run beside the real ones
    bounds        how far results may be apart
    rounding      how far rounding alone may bring them, found by trying
    steps         the roundings inside of a kernel, for that
    verification  the verified run and its verdict
    trial         what the verdict leads to
    report        the file that reproduces a disagreement
"""
