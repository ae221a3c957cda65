"""Records what TensorFlow 1.15.5 answers to every oracle case, for graphflow to be compared with.

TensorFlow 1.15 needs Python 3.7, so graphflow's tests cannot ask it; they read what it said. To record:

    python3.7 -m venv oracle && oracle/bin/pip install tensorflow==1.15.5 "protobuf<3.21" "numpy<1.19"
    oracle/bin/python tests/oracle/record.py                 # the families whose cases have changed names
    oracle/bin/python tests/oracle/record.py reductions      # one family, from scratch
    oracle/bin/python tests/oracle/record.py --all           # everything, from scratch
    oracle/bin/python tests/oracle/record.py --show "tf.cumsum(f(3), 0)"   # ask TensorFlow a question, record nothing

To run graphflow against the recordings:

    pytest tests/oracle                                  # all
    pytest tests/oracle -k reductions                    # one family
    pytest tests/oracle -k "arrays and strided_slice"    # cases whose expression holds a word
    pytest tests/oracle -k "math and grad" --maxfail=5

Each failure prints the case's source, and got and expected of what differs. Cases live in `cases/`, one module a
family: `FAMILY.expressions` (values, dtypes, static shapes, names), `FAMILY.differentiable` (the same, and the
gradients), `FAMILY.gradients`, `FAMILY.errors` (every line must raise) and functions under `@FAMILY.case()`. The names
that an expression may use are the methods of `harness.Tools`: `ph(value, static_shape)` makes a fed placeholder,
`f(2, 3)` a float32 array and so on. A case that raises in TensorFlow though it is not declared so, that does not raise
though it is, or that does not give the same twice, is not recorded, and the recorder ends with status 1.
"""

from __future__ import annotations

import builtins
import os
import sys
import warnings
from typing import Any, Dict, List, Optional

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402

EXPECTED_VERSION = "1.15.5"


def load_tensorflow() -> Any:
    import tensorflow as tf

    if tf.__version__ != EXPECTED_VERSION:
        raise SystemExit("TensorFlow %s is needed, this is %s" % (EXPECTED_VERSION, tf.__version__))
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.FATAL)
    return tf


def public_errors(tf: Any, record: Any) -> Any:
    """Name each error by its first public class: TensorFlow's private subclasses are not to be matched."""
    if not isinstance(record, dict):
        return record
    kept = {key: public_errors(tf, value) for key, value in record.items() if key != "classes"}
    if "classes" in record:
        known = [name for name in record["classes"] if hasattr(builtins, name) or hasattr(tf.errors, name)]
        kept["class"] = known[0]
    return kept


def record_case(tf: Any, case: harness.Case) -> Any:
    """The record of one case, or a string that says why there is none."""
    found: List[Any] = []
    for _ in range(2):
        try:
            found.append(harness.perform(tf, case))
            raised = False
        except harness.CaseFailed as failed:
            found.append(harness.record_of_failure(failed))
            raised = True
            if not case.raises:
                return "raised %s" % str(failed).split("\n")[0]
    if case.raises and not raised:
        return "did not raise"
    if repr(found[0]) != repr(found[1]):
        return "gave two different results:\n  %s\n  %s" % (found[0], found[1])
    return public_errors(tf, found[0])


def record_family(tf: Any, family: harness.Family) -> int:
    recording: Dict[str, Any] = {}
    refused = 0
    for case in family.cases:
        record = record_case(tf, case)
        if isinstance(record, str):
            refused += 1
            print("NOT RECORDED %r\n  %s" % (case, record))
        else:
            recording[case.name] = record
    harness.save_recording(family.name, recording)
    size = os.path.getsize(harness.recording_path(family.name))
    print("%-18s %4d cases, %6d bytes" % (family.name, len(recording), size))
    return refused


def show(tf: Any, expression: str) -> None:
    family = harness.Family("question")
    family.expressions(expression)
    try:
        print(harness.perform(tf, family.cases[0]))
    except harness.CaseFailed as failed:
        print(failed)


def main(arguments: Optional[List[str]] = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    tf = load_tensorflow()
    if arguments[:1] == ["--show"]:
        show(tf, arguments[1])
        return 0
    families = harness.families()
    if arguments == ["--all"]:
        wanted = list(families)
    elif arguments:
        wanted = arguments
    else:
        wanted = [
            name
            for name in families
            if [case.name for case in families[name].cases] != list(harness.load_recording(name))
        ]
    refused = sum(record_family(tf, families[name]) for name in wanted)
    if refused:
        print("%d cases were not recorded" % refused)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
