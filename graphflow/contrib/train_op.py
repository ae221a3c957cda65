"""A training step in one tensor: the loss, which moves the variables when it runs (tf.contrib.training)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.control_flow.checking import check_numerics as checked
from graphflow._core.ops.control_flow.flow_basics import no_op, with_dependencies
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.io.summaries import histogram, scalar
from graphflow._core.ops.math.clip import clip_by_norm, global_norm
from graphflow._core.ops.state.variable_collections import trainable_variables
from graphflow.layers.optimize_loss import scaled_gradient
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.sessions.training_session import MonitoredTrainingSession
from graphflow.train.steps import get_or_create_global_step

if TYPE_CHECKING:
    from graphflow.config import ConfigProto
    from graphflow.train.sessions.scaffold import Scaffold

_log = logging.getLogger(__name__)

Pairs = list[tuple[Any, Any]]
USE_GLOBAL_STEP: Final = 0
"""Stands for the graph's global step, where None stands for none."""


def add_gradients_summaries(grads_and_vars: Pairs, separator: str = "_") -> list[Tensor]:
    """Summaries of gradients: NAME_gradient, its distribution, and NAME_gradient_norm.

    TensorFlow: tf.contrib.training.add_gradients_summaries.

    Args:
        grads_and_vars: Pairs (gradient, variable); those whose gradient is None are left out.
        separator: What stands between the variable's name and "gradient".

    Returns:
        The summaries, strings.
    """
    summaries = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            _log.info("Variable %s has no gradient.", variable.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        name = f"{variable.op.name}{separator}gradient"
        summaries.append(histogram(name, values))
        summaries.append(scalar(f"{name}_norm", global_norm([values])))
    return summaries


def clip_gradient_norms(gradients_to_variables: Pairs, max_norm: TensorLike) -> Pairs:
    """Each gradient scaled down to a norm of max_norm at most (tf.contrib.training.clip_gradient_norms).

    Args:
        gradients_to_variables: Pairs (gradient, variable).
        max_norm: The largest norm.

    Returns:
        Such pairs.
    """

    def clipped(gradient: Any) -> Any:
        if isinstance(gradient, IndexedSlices):
            values = clip_by_norm(gradient.values, max_norm)
            return IndexedSlices(values, gradient.indices, gradient.dense_shape)
        return None if gradient is None else clip_by_norm(gradient, max_norm)

    return [(clipped(gradient), variable) for gradient, variable in gradients_to_variables]


def clip_gradient_norms_fn(max_norm: TensorLike) -> Callable[[Pairs], Pairs]:
    """clip_gradient_norms as a function of the pairs alone (tf.contrib.training.clip_gradient_norms_fn).

    Args:
        max_norm: The largest norm.

    Returns:
        A function of pairs.
    """
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def multiply_gradients(grads_and_vars: Pairs, gradient_multipliers: Mapping[Any, Any]) -> Pairs:
    """The gradients of some variables times factors (tf.contrib.training.multiply_gradients).

    Args:
        grads_and_vars: Pairs (gradient, variable).
        gradient_multipliers: {variable or its name: factor}.

    Raises:
        ValueError: If one of them has no gradient.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers or not isinstance(gradient_multipliers, Mapping):
        raise ValueError(
            f"`gradient_multipliers` must be a dict and not empty, got {gradient_multipliers!r}."
        )
    result = []
    for gradient, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable.op.name
        if key in gradient_multipliers:
            if gradient is None:
                raise ValueError(f"Requested multiple of `None` gradient: that of {variable.op.name}.")
            gradient = scaled_gradient(gradient, gradient_multipliers[key])
        result.append((gradient, variable))
    return result


def create_train_op(
    total_loss: Tensor,
    optimizer: Optimizer,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    transform_grads_fn: Callable[[Pairs], Pairs] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: int | None = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """The loss, as a tensor that makes a step of training when it runs (tf.contrib.training.create_train_op).

    Args:
        total_loss: A scalar.
        optimizer: A gf.train.Optimizer.
        global_step: By default the graph's, which is made; None counts no steps.
        update_ops: Run before the loss, by default UPDATE_OPS.
        variables_to_train: By default the trainable ones.
        transform_grads_fn: A function of the list of (gradient, variable).
        summarize_gradients: Whether gradients are summarised.
        gate_gradients: Whether updates wait until all gradients are there.
        aggregation_method: How gradients of several uses are added, of gf.AggregationMethod.
        colocate_gradients_with_ops: Whether gradients are placed with the operations they belong to.
        check_numerics: A run raises InvalidArgumentError if the loss is infinite or no number.

    Raises:
        ValueError: If there is nothing to train, or a variable is not trainable.
    """
    graph = get_default_graph()
    step = get_or_create_global_step() if global_step is USE_GLOBAL_STEP else global_step
    collected = graph.get_collection(GraphKeys.UPDATE_OPS)
    updates = list(dict.fromkeys(collected if update_ops is None else update_ops))
    if not set(collected) <= set(updates):
        _log.warning("create_train_op: update_ops does not contain all of the collection UPDATE_OPS.")
    loss = convert_to_tensor(total_loss)
    if updates:
        with graph.control_dependencies(updates):
            barrier = no_op(name="update_barrier")
        loss = with_dependencies([barrier], loss)
    trainable = trainable_variables()
    variables = trainable if variables_to_train is None else list(variables_to_train)
    if not variables:
        raise ValueError("create_train_op: there are no variables to train.")
    for variable in variables:
        if not (variable.trainable or variable in trainable):
            raise ValueError(f"create_train_op: the variable {variable.op.name} is not trainable.")
    pairs = optimizer.compute_gradients(
        loss,
        variables,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with graph.name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    applied = optimizer.apply_gradients(pairs, global_step=step)
    with graph.name_scope("train_op"):
        if check_numerics:
            loss = checked(loss, "LossTensor is inf or nan")
        train_op: Tensor = with_dependencies([applied], loss)
    graph.get_collection_ref(GraphKeys.TRAIN_OP).append(train_op)
    return train_op


def train(
    train_op: Any,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Scaffold | None = None,
    hooks: Sequence[Any] | None = None,
    chief_only_hooks: Sequence[Any] | None = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: ConfigProto | None = None,
    max_wait_secs: float = 7200,
    run_metadata: Any = None,
) -> Any:
    """Runs train_op in a MonitoredTrainingSession until a hook ends it; the last loss (tf.contrib.training.train).

    Args:
        train_op: What runs in each step.
        logdir: Where checkpoints and events are written.
        master: The target of the session.
        is_chief: Whether this task initialises and saves.
        scaffold: A gf.train.Scaffold.
        hooks: Hooks of the session's runs.
        chief_only_hooks: Hooks of the chief alone.
        save_checkpoint_secs: The period of checkpoints in seconds.
        save_summaries_steps: The period of summaries in steps.
        config: A gf.ConfigProto.
        max_wait_secs: The longest wait for the chief, in seconds.
        run_metadata: A gf.RunMetadata that is filled in.

    Returns:
        What the last run of `train_op` gave.

    Raises:
        ValueError: If the chief has no logdir, but is to save checkpoints or summaries.
    """
    if logdir is None and is_chief and (save_summaries_steps or save_checkpoint_secs):
        raise ValueError(
            "logdir cannot be None unless save_summaries_steps and save_checkpoint_secs are None, too."
        )
    with MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        loss = None
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss
