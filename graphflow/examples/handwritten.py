"""Handwritten digits, small enough to lie in the package.

They are the test set of E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine
Learning Repository, https://doi.org/10.24432/C50P49, under the Creative Commons Attribution 4.0 International licence
(CC BY 4.0), taken unchanged from the copy that scikit-learn ships and stored as bytes. Each was made from a bitmap of
32 x 32, by counting the set pixels in every block of 4 x 4.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np


def digits() -> tuple[Any, Any]:
    """1,797 pictures of handwritten digits with their classes, always in the same order.

    Returns:
        (images, labels): uint8 [1797, 8, 8] of 0 to 16, and uint8 [1797] of 0 to 9; fresh arrays.
    """
    with files("graphflow.examples").joinpath("digits.npz").open("rb") as file, np.load(file) as data:
        return data["images"], data["labels"]
