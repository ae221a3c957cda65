"""What there is for an op type: a gradient, a NumPy kernel, compiled code, a kernel on a GPU, TensorFlow's own op.

Nothing is listed here: everything is asked of where it is registered. `graphflow ops` prints it.
"""

from __future__ import annotations

from graphflow._core.common.records import dataclass
from graphflow._core.compiler.added_rules import added_rules
from graphflow._core.compiler.cpu.rules import RULES
from graphflow._core.compiler.gpu.rules import has_kernel
from graphflow._core.compiler.gpu.without_kernel import reason_without_kernel
from graphflow._core.compiler.shapes.fixed import OF_SHAPES
from graphflow._core.graph.op_def import (
    FIRST_VERSION,
    NotDifferentiable,
    defined_in,
    is_extension,
    lookup,
    registry,
)
from graphflow._core.interop.op_table import tensorflow_op
from graphflow._core.kernels import registry as kernels
from graphflow._core.ops import load_all
from graphflow._core.plan.ir import PASS_THROUGH
from graphflow._core.plan.kinds import CONST, NO_OP


@dataclass(frozen=True)
class Support:
    """What there is for one op type.

    gradient: "yes", "none" if no gradient flows through it, "refused" if asking for one is an error.
    numpy: "kernel", "plan" if the plan itself holds what it is, "lifted" if it is a part of a branch or loop, which
        runs as a whole.
    compiled: "rule", "scalar" if code is made of its scalar text, "view" if it is only another way to walk memory,
        "shapes" if it is a constant once shapes are known, "plan" and "lifted" as above, "" if NumPy computes it
        between compiled stretches.
    gpu: whether a GPU runs it. gpu_reason: why not, "" if it does.
    tensorflow: whether TensorFlow 1.15 has an op of this name.
    extension: the package that defines it, "" if that is graphflow itself.
    since: the version of graphflow that has had it first, "" of an extension's.
    """

    name: str
    gradient: str
    numpy: str
    compiled: str
    gpu: bool
    gpu_reason: str
    tensorflow: bool
    extension: str = ""
    since: str = FIRST_VERSION


def support(op_type: str) -> Support:
    """What there is for an op type; KeyError for one that is not defined."""
    definition = lookup(op_type)
    gradient = definition.gradient
    if not isinstance(gradient, NotDifferentiable):
        differentiable = "yes"
    else:
        differentiable = "refused" if gradient.refused else "none"
    numpy = _numpy(op_type)
    gpu = has_kernel(op_type)
    extension = defined_in(op_type).partition(".")[0] if is_extension(op_type) else ""
    reason = (
        "its extension has no lowering rule for one" if extension else reason_without_kernel(op_type) or ""
    )
    return Support(
        op_type,
        differentiable,
        numpy,
        _compiled(op_type) if numpy == "kernel" else numpy,
        gpu,
        "" if gpu else reason,
        tensorflow_op(op_type) is not None,
        extension,
        "" if extension else definition.since,
    )


def op_types() -> list[str]:
    """The names of all op types, sorted."""
    load_all()
    return sorted(registry())


def _numpy(op_type: str) -> str:
    if lookup(op_type).is_variable or op_type in (CONST, NO_OP):
        return "plan"
    return "lifted" if kernels.factory(op_type) is None else "kernel"


def _compiled(op_type: str) -> str:
    """In the order in which Lowering asks."""
    definition = lookup(op_type)
    if op_type in OF_SHAPES:
        return "shapes"
    if op_type in PASS_THROUGH:
        return "view"
    if op_type in RULES or op_type in added_rules("cpu"):
        return "rule"
    if definition.scalar is not None:
        return "scalar"
    stateful = definition.stateful or kernels.is_stateful(op_type)
    return "view" if kernels.may_view(op_type) and not stateful else ""
