"""Records what TensorFlow 1.15.5 makes of the zoo's models, for graphflow to be compared with.

    oracle/bin/python tests/zoo/record.py              # the models that have no recording
    oracle/bin/python tests/zoo/record.py lenet vae    # these, from scratch
    oracle/bin/python tests/zoo/record.py --all        # everything, from scratch

tests/oracle/record.py says how that environment is made. A model is recorded if its numbers mean something: if they are
the same once more with another number of threads, and with weights that differ by an epsilon, within a part of what
`kept.py` allows. What fails that is not recorded, and the recorder ends with status 1.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir)))

import numpy as np  # noqa: E402

from tests.zoo import kept, programs  # noqa: E402

EXPECTED_VERSION = "1.15.5"
PART = 0.5
"""Which part of the tolerance rounding in TensorFlow itself may take."""


def load_tensorflow() -> Any:
    import tensorflow as tf

    if tf.__version__ != EXPECTED_VERSION:
        raise SystemExit(f"TensorFlow {EXPECTED_VERSION} is needed, this is {tf.__version__}")
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.FATAL)
    return tf


def order_writes(program: programs.Program) -> None:
    """Lets the first operation of a step write after all losses are computed, as graphflow promises it for fetches."""
    losses = [tensor.op for tensor in program.losses.values()]
    before = above(losses) | {variable.initializer for variable in program.variables}
    for op in above([program.train[0]]) - before:
        if "Assign" in op.type or "Apply" in op.type or op.type.startswith("Scatter"):
            op._add_control_inputs(losses)


def above(operations: list[Any]) -> set[Any]:
    """Some operations, and all that they depend on."""
    found, open_ends = set(operations), list(operations)
    while open_ends:
        op = open_ends.pop()
        for other in [tensor.op for tensor in op.inputs] + list(op.control_inputs):
            if other not in found:
                found.add(other)
                open_ends.append(other)
    return found


def performed(tf: Any, program: programs.Program, threads: int, disturbed: bool) -> dict[str, Any]:
    """What a session gives; disturbed: with weights changed by an epsilon."""
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    with tf.Session(graph=program.graph, config=config) as session:
        programs.initialize(tf, program, session)
        chosen = programs.start(program, programs.values(program, session))
        if disturbed:
            random = np.random.RandomState(1)
            for name, value in chosen.items():
                nudge = 1.0 + np.finfo(value.dtype).eps * random.choice([-1.0, 1.0], value.shape)
                chosen[name] = np.asarray(value * nudge, value.dtype)
        programs.begin(program, session, chosen)
        initial = programs.values(program, session)
        found = programs.look(program, session)
        found.update(programs.train(program, session, initial))
    return kept.keep_all({key: value for key, value in found.items() if not key.startswith(kept.WEIGHTS)})


def record(tf: Any, name: str) -> bool:
    """Records a model; whether it could be."""
    began = time.time()
    program = programs.build(tf, name)
    order_writes(program)
    expected = performed(tf, program, 1, False)
    worst = {}
    for what, threads, disturbed in (("again", 2, False), ("nudged weights", 1, True)):
        for key, share in kept.excesses(expected, performed(tf, program, threads, disturbed)).items():
            worst[key + ", " + what] = share
    share, key = max((share, key) for key, share in worst.items())
    dead = [k for k, entry in expected.items() if k.startswith("gradient/") and not kept.largest(entry)]
    endless = [k for k, e in expected.items() if not np.isfinite(e["elements"]).all()]
    good = share <= PART and not dead and not endless
    if good:
        kept.save(name, expected)
    series = next(e["elements"] for k, e in expected.items() if k.startswith("losses/"))
    recorded = f"{os.path.getsize(kept.path(name)):6d} bytes" if good else "NOT RECORDED"
    print(
        f"{name:24} {recorded}, {len(expected):3d} arrays, {time.time() - began:4.1f} s, "
        f"loss {series[0]:.4g} to {series[-1]:.4g}, rounding takes {share:.3f} of the tolerance ({key})"
    )
    if dead or endless:
        print(f"  gradients that are zero: {dead}; not finite: {endless}")
    return good


def main(arguments: list[str]) -> int:
    tf = load_tensorflow()
    known = programs.names()
    wanted = arguments or [name for name in known if not os.path.exists(kept.path(name))]
    good = [record(tf, name) for name in (known if arguments == ["--all"] else wanted)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
