"""What programs that know TensorFlow's debugger import of it (tensorflow.python.debug)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.common.arrays import kind_of


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """Whether an array of floating-point or complex numbers has one that is infinite or no number.

    Args:
        datum: What the array is of; not looked at.
        tensor: The array.
    """
    array = np.asarray(tensor) if tensor is not None else np.zeros(0)
    return kind_of(array.dtype) in "fc" and not bool(np.isfinite(array).all())
