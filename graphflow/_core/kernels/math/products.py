"""How the kernels multiply matrices: by NumPy, unless the runs of the moment watch what their products take.

Kernels have no clocks, threads or locks of their own. The runtime, which does, puts its own function here while a run
watches (`runtime/compiled/sharing.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np


class Products:
    """Holds `multiply`, which every product of the NumPy tier goes through; takes what np.matmul takes."""

    __slots__ = ("multiply",)

    def __init__(self) -> None:
        self.multiply: Callable[..., Any] = np.matmul


PRODUCTS: Final = Products()
"""The products of this process."""
