"""What keras takes besides tensors: words for what may have several forms, in which its parameters are annotated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Tensors: TypeAlias = Any
"""A tensor, or a list, tuple or dictionary of them."""

Arrays: TypeAlias = Any
"""An array, a list of arrays or a dictionary of them by names, a dataset, a generator: data as `fit` takes it."""

Shapes: TypeAlias = Any
"""A shape, as a tuple or TensorShape, or a structure of shapes."""

Config: TypeAlias = Any
"""What get_config gave: a dictionary as a rule, of what JSON can hold."""

Objects: TypeAlias = Mapping[str, Any] | None
"""Classes and functions of a program by the names that a configuration says."""

Named: TypeAlias = str | Callable[..., Any] | Mapping[str, Any] | None
"""An activation, initializer, regularizer or constraint: its name, a function or object, its configuration, or none."""

Phase: TypeAlias = Any
"""Whether a call is training: a bool, 0 or 1, a scalar bool tensor, or None for the learning phase."""

Losses: TypeAlias = Any
"""A loss, its name, or a list or dictionary of them by outputs."""

Metrics: TypeAlias = Any
"""A list of metrics or their names, or a list of such lists or a dictionary of them by outputs."""

Elements: TypeAlias = Any
"""An object of any class: what a function passes on or looks at."""
