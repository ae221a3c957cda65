"""What writes summaries as the graph runs. Where no step is given it is the graph's global step."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import graphflow._core.ops.io.summary_writers as writers
import graphflow.train as train
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_session
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.shaping import placeholder

if TYPE_CHECKING:
    from graphflow._core.session import Session


def _step(step: TensorLike | None) -> Any:
    return train.get_or_create_global_step() if step is None else step


def record_summaries_every_n_global_steps(
    n: int, global_step: TensorLike | None = None
) -> AbstractContextManager[None]:
    """A context in which summaries are written in every n-th step.

    Args:
        n: The period in steps.
        global_step: The variable that counts them; by default the graph's global step.

    Returns:
        The context.
    """
    return writers.record_every(n, _step(global_step))


def scalar(name: str, tensor: TensorLike, family: str | None = None, step: TensorLike | None = None) -> Any:
    """Writes a number if summaries are written (tf.contrib.summary.scalar).

    Args:
        name: Its name, put after the name scope.
        tensor: A scalar of real numbers.
        family: What TensorBoard groups it under.
        step: The step, by default the global step.

    Returns:
        A bool tensor: whether it was written. An operation that does nothing if there is no default writer.
    """
    return writers.scalar(name, tensor, _step(step), family)


def histogram(
    name: str, tensor: TensorLike, family: str | None = None, step: TensorLike | None = None
) -> Any:
    """Writes the distribution of a tensor's elements if summaries are written (tf.contrib.summary.histogram).

    Args:
        name: Its name, put after the name scope.
        tensor: A tensor of real numbers.
        family: What TensorBoard groups it under.
        step: The step, by default the global step.

    Returns:
        A bool tensor, as `scalar` does.
    """
    return writers.histogram(name, tensor, _step(step), family)


def image(
    name: str,
    tensor: TensorLike,
    bad_color: None = None,
    max_images: int = 3,
    family: str | None = None,
    step: TensorLike | None = None,
) -> Any:
    """Writes the first images of a batch if summaries are written (tf.contrib.summary.image).

    Args:
        name: Their name, put after the name scope.
        tensor: [batch, height, width, channels], uint8 or float.
        bad_color: None: pixels that are not finite are red.
        max_images: How many images.
        family: What TensorBoard groups it under.
        step: The step, by default the global step.

    Returns:
        A bool tensor, as `scalar` does.

    Raises:
        ValueError: For another colour.
    """
    if bad_color is not None:
        raise ValueError(
            f"bad_color is None here, and pixels that are not finite are red; got {bad_color!r}."
        )
    return writers.image(name, tensor, max_images, _step(step), family)


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int,
    family: str | None = None,
    step: TensorLike | None = None,
) -> Any:
    """Writes the first sounds of a batch if summaries are written (tf.contrib.summary.audio).

    Args:
        name: Their name, put after the name scope.
        tensor: Float32 between -1 and 1, [batch, frames] or [batch, frames, channels].
        sample_rate: Frames per second.
        max_outputs: How many sounds.
        family: What TensorBoard groups it under.
        step: The step, by default the global step.

    Returns:
        A bool tensor, as `scalar` does.
    """
    return writers.audio(name, tensor, sample_rate, max_outputs, _step(step), family)


def generic(
    name: str,
    tensor: TensorLike,
    metadata: Any = None,
    family: str | None = None,
    step: TensorLike | None = None,
) -> Any:
    """Writes a whole tensor, for a plugin of TensorBoard, if summaries are written (tf.contrib.summary.generic).

    Args:
        name: Its name, put after the name scope.
        tensor: The tensor.
        metadata: A SummaryMetadata that names the plugin, or None.
        family: What TensorBoard groups it under.
        step: The step, by default the global step.

    Returns:
        A bool tensor, as `scalar` does.
    """
    return writers.generic(name, tensor, metadata, _step(step), family)


def graph(param: Tensor, step: TensorLike | None = None, name: str | None = None) -> Operation:
    """Writes a graph (tf.contrib.summary.graph); `initialize` does so with less ado.

    Args:
        param: A scalar string: the serialized GraphDef.
        step: The step, by default the global step.
        name: A name for the operation.

    Returns:
        The operation.

    Raises:
        TypeError: For anything else than a tensor.
    """
    return writers.graph(param, _step(step), name)


def initialize(graph: Graph | Any | None = None, session: Session | None = None) -> None:
    """Opens the writers of the graph, and writes a graph (tf.contrib.summary.initialize).

    Args:
        graph: A gf.Graph or a GraphDef to write; None for none.
        session: By default the default session.

    Raises:
        RuntimeError: If no writer is the default one.
        ValueError: If there is no session.
    """
    if writers.default_writer() is None:
        raise RuntimeError("No default summary writer found: enter one's as_default().")
    chosen = session or get_default_session()
    if chosen is None:
        raise ValueError("A session must be passed if no default session exists.")
    chosen.run(writers.summary_writer_initializer_op())
    if graph is not None:
        message = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
        text = placeholder(dtypes.string, [])
        chosen.run(writers.graph(text, 0), {text: message.SerializeToString()})


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """The folder of the summaries of evaluations (tf.contrib.summary.eval_dir).

    Args:
        model_dir: The folder of the model.
        name: Of the evaluations.

    Returns:
        The folder.
    """
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")


create_summary_file_writer = writers.create_file_writer
"""By its former name."""
