"""What tests of programs need (tf.test): TestCase, main, and the gradient checker."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing

globals().update(exports("testing", "testing.case", "testing.programs"))
__getattr__ = missing("gf.test", globals())
