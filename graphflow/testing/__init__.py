"""What tests of programs built on graphflow need; also under TensorFlow's names, as gf.test."""

from __future__ import annotations

from graphflow.testing.gradient_checker import compute_gradient as compute_gradient
from graphflow.testing.gradient_checker import compute_gradient_error as compute_gradient_error
from graphflow.testing.strategies import check_strategy as check_strategy
