"""A model of the zoo trained by PyTorch in a process of its own; see measure_zoo.py, whose commands it answers.

usage: python measure_zoo_torch.py MODE MODEL    MODE: eager or compile; MODEL: a file of tests/zoo/models

A model that zoo_torch has no twin of is answered `missing`. In the mode `compile`, torch.compile compiles forward and
backward; what it cannot compile is an error.
"""

import json
import sys

import numpy as np
import torch
import zoo_torch
from measure_zoo import serve


def build(mode, name):
    """A twin."""
    torch.manual_seed(2019)
    training = zoo_torch.TWINS[name](np.random.RandomState(1))
    if mode == "compile":
        training.compile()
    return training


def main():
    """Serves a twin."""
    mode, name = sys.argv[1:]
    if name in zoo_torch.TWINS:
        serve(lambda: build(mode, name))
    else:
        print(json.dumps({"missing": True}))


if __name__ == "__main__":
    main()
