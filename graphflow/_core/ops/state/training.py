"""The update rules of the optimizers, each written once as text.

A rule is a sequence of assignments to the variables it writes. From it come the NumPy kernel, for whole variables and
for single rows, and the fused compiled one. {name} is a value before the update, a bare name one computed earlier in
the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.common.records import dataclass
from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.ops.core import apply


@dataclass(frozen=True)
class UpdateRule:
    """How one step changes a variable and its slots.

    slots: the variables it writes, the trained one first. numbers: the scalars it takes. text: its assignments.
    order: names of the inputs in TensorFlow's order, if it differs from slots, numbers, grad.
    """

    name: str
    slots: tuple[str, ...]
    numbers: tuple[str, ...]
    text: tuple[str, ...]


_FTRL = (
    "accum_new = {accum} + {grad} * {grad}",
    "linear = {linear} + FULL - (pow(accum_new, -{lr_power}) - pow({accum}, -{lr_power})) / {lr} * {var}",
    "var = (({l1} * sign(linear) - linear) / (pow(accum_new, -{lr_power}) / {lr} + 2 * {l2})) "
    "if abs(linear) > {l1} else 0",
    "accum = accum_new",
)


def _ftrl(full_gradient: str) -> tuple[str, ...]:
    return tuple(line.replace("FULL", full_gradient) for line in _FTRL)


RULES: Final = (
    UpdateRule("GradientDescent", ("var",), ("alpha",), ("var = {var} - {alpha} * {grad}",)),
    UpdateRule(
        "Momentum",
        ("var", "accum"),
        ("lr", "momentum"),
        ("accum = {accum} * {momentum} + {grad}", "var = {var} - accum * {lr}"),
    ),
    UpdateRule(
        "NesterovMomentum",
        ("var", "accum"),
        ("lr", "momentum"),
        ("accum = {accum} * {momentum} + {grad}", "var = {var} - ({grad} * {lr} + accum * {momentum} * {lr})"),
    ),
    UpdateRule(
        "Adagrad",
        ("var", "accum"),
        ("lr",),
        ("accum = {accum} + {grad} * {grad}", "var = {var} - {grad} * {lr} / sqrt(accum)"),
    ),
    UpdateRule(
        "Adadelta",
        ("var", "accum", "accum_update"),
        ("lr", "rho", "epsilon"),
        (
            "accum = {accum} * {rho} + {grad} * {grad} * (1 - {rho})",
            "update = sqrt({accum_update} + {epsilon}) / sqrt(accum + {epsilon}) * {grad}",
            "var = {var} - update * {lr}",
            "accum_update = {accum_update} * {rho} + update * update * (1 - {rho})",
        ),
    ),
    UpdateRule(
        "RMSProp",
        ("var", "ms", "mom"),
        ("lr", "rho", "momentum", "epsilon"),
        (
            "ms = {ms} + ({grad} * {grad} - {ms}) * (1 - {rho})",
            "mom = {mom} * {momentum} + {grad} * {lr} / sqrt(ms + {epsilon})",
            "var = {var} - mom",
        ),
    ),
    UpdateRule(
        "CenteredRMSProp",
        ("var", "mg", "ms", "mom"),
        ("lr", "rho", "momentum", "epsilon"),
        (
            "ms = {ms} + ({grad} * {grad} - {ms}) * (1 - {rho})",
            "mg = {mg} + ({grad} - {mg}) * (1 - {rho})",
            "mom = {mom} * {momentum} + {grad} * {lr} / sqrt(ms - mg * mg + {epsilon})",
            "var = {var} - mom",
        ),
    ),
    UpdateRule(
        "Adam",
        ("var", "m", "v"),
        ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"),
        (
            "m = {m} + ({grad} - {m}) * (1 - {beta1})",
            "v = {v} + ({grad} * {grad} - {v}) * (1 - {beta2})",
            "var = {var} - m * ({lr} * sqrt(1 - {beta2_power}) / (1 - {beta1_power})) / (sqrt(v) + {epsilon})",
        ),
    ),
    UpdateRule("Ftrl", ("var", "accum", "linear"), ("lr", "l1", "l2", "lr_power"), _ftrl("{grad}")),
    UpdateRule(
        "FtrlV2",
        ("var", "accum", "linear"),
        ("lr", "l1", "l2", "l2_shrinkage", "lr_power"),
        _ftrl("{grad} + 2 * {l2_shrinkage} * {var}"),
    ),
    UpdateRule(
        "ProximalGradientDescent",
        ("var",),
        ("alpha", "l1", "l2"),
        (
            "prox = {var} - {alpha} * {grad}",
            "var = sign(prox) * max(abs(prox) - {alpha} * {l1}, 0) / (1 + {l2} * {alpha})",
        ),
    ),
    UpdateRule(
        "ProximalAdagrad",
        ("var", "accum"),
        ("lr", "l1", "l2"),
        (
            "accum = {accum} + {grad} * {grad}",
            "rate = {lr} / sqrt(accum)",
            "prox = {var} - rate * {grad}",
            "var = sign(prox) * max(abs(prox) - rate * {l1}, 0) / (1 + {l2} * rate)",
        ),
    ),
)  # fmt: skip
BY_NAME: Final = {rule.name: rule for rule in RULES}


def _dense_infer(op: Operation) -> Signature:
    variable, gradient = op.inputs[0], op.inputs[-1]
    if not shapes.compatible(variable.dims, gradient.dims):
        raise ValueError(
            f"var and grad do not have the same shape: {shapes.text(variable.dims)} {shapes.text(gradient.dims)}"
        )
    return [(variable.dtype, variable.dims)]


def _sparse_infer(op: Operation) -> Signature:
    variable, gradient, indices = op.inputs[0], op.inputs[-2], op.inputs[-1]
    if indices.dims is not None and len(indices.dims) != 1:
        raise ValueError(f"indices must be a vector, got shape {shapes.text(indices.dims)}.")
    if (
        variable.dims is not None
        and gradient.dims is not None
        and not shapes.compatible(variable.dims[1:], gradient.dims[1:])
    ):
        raise ValueError(
            f"rows of shape {shapes.text(gradient.dims[1:])} do not fit into a variable of shape "
            f"{shapes.text(variable.dims)}."
        )
    return [(variable.dtype, variable.dims)]


def _define(rule: UpdateRule, sparse: bool) -> OpDef:
    inputs = (
        [f"{slot}&: T=float" for slot in rule.slots]
        + [f"{number}: T" for number in rule.numbers]
        + ["grad: T"]
    )
    return op_def(
        f"{'SparseApply' if sparse else 'Apply'}{rule.name}",
        tuple(inputs + ["indices: I=index"] * sparse),
        infer=_sparse_infer if sparse else _dense_infer,
        gradient=NOT_DIFFERENTIABLE,
        scalar=None if sparse else rule.text,
        stateful=True,
        outputs=rule.slots,
    )


APPLY: Final = {rule.name: _define(rule, sparse=False) for rule in RULES}
SPARSE_APPLY: Final = {rule.name: _define(rule, sparse=True) for rule in RULES}


def apply_update(
    rule: str,
    variables: Sequence[Any],
    numbers: Sequence[Any],
    gradient: Any,
    use_locking: bool = False,
    name: str | None = None,
) -> Operation:
    """An operation that changes a variable and its slots by a rule, all at once."""
    return apply(APPLY[rule], (*variables, *numbers, gradient), {"use_locking": use_locking}, name)


def sparse_apply_update(
    rule: str,
    variables: Sequence[Any],
    numbers: Sequence[Any],
    gradient: Any,
    indices: Any,
    use_locking: bool = False,
    name: str | None = None,
) -> Operation:
    """An operation that changes some rows, no row twice, of a variable and its slots by a rule."""
    return apply(
        SPARSE_APPLY[rule], (*variables, *numbers, gradient, indices), {"use_locking": use_locking}, name
    )
