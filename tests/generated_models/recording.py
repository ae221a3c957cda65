"""Runs texts of programs under TensorFlow 1.15 and keeps what they give: python recording.py PROGRAMS.json FOLDER.

Valid under Python 3.7, and alone with `harness` beside it.
"""

import json
import logging
import os
import sys
import warnings

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    warnings.simplefilter("ignore")
    import tensorflow as tf

    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    harness.GATED = True
    with open(sys.argv[1]) as file:
        programs = json.load(file)
    for program in programs:
        namespace = dict(vars(harness))
        exec(program["text"], namespace)
        arrays, errors = {}, {}
        try:
            prepared = harness.prepared(namespace["build"], tf, program["dtype"])
            found = harness.outcome(prepared, tf, program["batches"])
        except Exception as error:
            found, errors["all"] = [], f"{type(error).__name__}: {' '.join(str(error).split())[-300:]}"
        for number, run in enumerate(found):
            if isinstance(run, str):
                errors[str(number)] = run
            else:
                arrays.update({f"{number} {name}".replace("/", "|"): v for name, v in run.items()})
        path = os.path.join(sys.argv[2], str(program["seed"]))
        np.savez(path + ".npz", **arrays)
        with open(path + ".json", "w") as file:
            json.dump(errors, file)
        print(program["seed"], "ran" if found else errors["all"], flush=True)


if __name__ == "__main__":
    main()
