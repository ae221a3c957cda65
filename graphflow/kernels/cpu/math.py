"""NumPy kernels of elementwise arithmetic."""

from __future__ import annotations

import numpy as np

from graphflow.kernels.registry import simple

simple("Add", np.add)
simple("Neg", np.negative)
