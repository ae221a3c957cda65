"""Summaries: operations whose result is a protobuf Summary in bytes, which a FileWriter puts into an event file.

What TensorBoard shows a summary under, its tag, is the name of the operation; `family` comes before it once more, since
TensorBoard groups by what stands before the first slash.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

import graphflow.protos as protos
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, InferRule, OpDef, Signature, op_def
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.rules import scalar_of

_ILLEGAL: Final = re.compile(r"[^-/\w.]", re.ASCII)
_RED: Final = np.array([255, 0, 0, 255], np.uint8)
_log = logging.getLogger("graphflow")


def _scalar_infer(op: Operation) -> Signature:
    tags, values = op.inputs
    if not shapes.compatible(tags.dims, values.dims):
        raise ValueError(
            f"a scalar summary takes one value a tag, got values of shape {shapes.text(values.dims)} for tags of "
            f"shape {shapes.text(tags.dims)}. Take gf.reduce_mean of it, or gf.summary.histogram."
        )
    return [(dtypes.string, ())]


def _checked(position: int, ranks: tuple[int, ...], wanted: str, channels: tuple[int, ...] = ()) -> InferRule:
    """A scalar string, of an op whose input at this position has one of the ranks, and channels last."""

    def infer(op: Operation) -> Signature:
        dims = op.inputs[position].dims
        bad_channels = channels and dims is not None and dims[-1:] not in ((None,), *((c,) for c in channels))
        if dims is not None and (len(dims) not in ranks or bad_channels):
            raise ValueError(f"the summary takes {wanted}, got shape {shapes.text(dims)}.")
        return [(dtypes.string, ())]

    return infer


def _define(name: str, *inputs: str, infer: InferRule | None = None) -> OpDef:
    return op_def(
        name,
        inputs,
        infer=infer or scalar_of(dtypes.string),
        gradient=NOT_DIFFERENTIABLE,
        outputs=("summary",),
    )


SCALAR_SUMMARY = _define("ScalarSummary", "tags: string", "values: T=real", infer=_scalar_infer)
HISTOGRAM_SUMMARY = _define("HistogramSummary", "tag: string", "values: T=real(float32)")
IMAGE_SUMMARY = _define(
    "ImageSummary", "tag: string", "tensor: T=uint8|float(float32)",
    infer=_checked(1, (4,), "images of shape [batch, height, width, channels] with 1, 3 or 4 channels", (1, 3, 4)),
)  # fmt: skip
AUDIO_SUMMARY = _define(
    "AudioSummaryV2", "tag: string", "tensor: float32", "sample_rate: float32",
    infer=_checked(1, (2, 3), "sound of shape [batch, frames] or [batch, frames, channels]"),
)  # fmt: skip
TENSOR_SUMMARY = _define("TensorSummaryV2", "tag: string", "tensor: T", "serialized_summary_metadata: string")
MERGE_SUMMARY = _define("MergeSummary", "inputs*: string")


def _legal(name: str | None) -> str | None:
    """A name with "_" for what operations' names cannot have, and no slash at its start."""
    if name is None:
        return None
    legal = _ILLEGAL.sub("_", name).lstrip("/")
    if legal != name:
        _log.info("Summary name %s is illegal; using %s instead.", name, legal)
    return legal


@contextmanager
def _summary_scope(name: str | None, family: str | None, values: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Enters the scope of a summary; yields its tag and the scope's name."""
    _ = protos.summary_pb2  # The error that says what to install belongs here, not at the first run.
    name, family = _legal(name), _legal(family)
    if not name:
        raise ValueError("A summary needs a name: TensorBoard shows it under that.")
    with op_scope(name if family is None else f"{family}/{name}", "", values) as scope:
        tag = scope.rstrip("/")
        yield (tag if family is None else f"{family}/{tag}"), scope


def _collect(summary: Tensor, collections: Any) -> Tensor:
    keys = [GraphKeys.SUMMARIES] if collections is None else collections
    if summary.graph.scopes.seen is not None:  # One tower of several writes summaries: the first.
        return summary
    for key in keys:
        summary.graph.add_to_collection(key, summary)
    return summary


def scalar(
    name: str, tensor: TensorLike, collections: CollectionNames | None = None, family: str | None = None
) -> Tensor:
    """A summary with one number, a point of a curve in TensorBoard (tf.summary.scalar).

    Args:
        name: The curve's name, put after the name scope.
        tensor: A scalar of real numbers.
        collections: The graph's collections that it is added to; GraphKeys.SUMMARIES by default.
        family: What TensorBoard groups it under.

    Returns:
        A scalar string, a serialised Summary message, which FileWriter.add_summary writes.

    Raises:
        ModuleNotFoundError: The tensorboard package is not installed.

    Examples:
        >>> loss = gf.constant(0.5)
        >>> text = gf.Session().run(gf.summary.scalar("loss", loss))
        >>> gf.Summary.FromString(text).value[0].tag
        'loss'
    """
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        return _collect(apply(SCALAR_SUMMARY, (tag, tensor), None, scope).outputs[0], collections)


def histogram(
    name: str, values: TensorLike, collections: CollectionNames | None = None, family: str | None = None
) -> Tensor:
    """A summary with the distribution of a tensor's elements (tf.summary.histogram).

    The limits of its buckets grow by a tenth from one to the next.

    Args:
        name: The histogram's name, put after the name scope.
        values: A tensor of real numbers, of any shape.
        collections: The graph's collections that it is added to; GraphKeys.SUMMARIES by default.
        family: What TensorBoard groups it under.

    Returns:
        A scalar string, a serialised Summary message. InvalidArgumentError when it runs if a value is not finite.

    Examples:
        >>> text = gf.Session().run(gf.summary.histogram("weights", [1.0, 2.0, 2.5]))
        >>> gf.Summary.FromString(text).value[0].histo.num
        3.0
    """
    with _summary_scope(name, family, [values]) as (tag, scope):
        return _collect(apply(HISTOGRAM_SUMMARY, (tag, values), None, scope).outputs[0], collections)


def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: CollectionNames | None = None,
    family: str | None = None,
) -> Tensor:
    """A summary with the first `max_outputs` images of a batch, under NAME/image/0 and so on (tf.summary.image).

    A floating-point image without negative values is scaled so that its largest becomes 255; another so that
    its largest magnitude becomes 127 away from 128. Pixels that are not finite are red.

    Args:
        name: A name for the operation.
        tensor: [batch, height, width, channels]: 1 channel is grey, 3 red, green and blue, 4 with opacity.
            uint8 is taken as it is.
        max_outputs: How many images of the batch.
        collections: Collections that the summary is added to; by default GraphKeys.SUMMARIES.
        family: A prefix of the tag, by which TensorBoard groups.

    Returns:
        A scalar string tensor: the serialized Summary message.

    Examples:
        >>> text = gf.Session().run(gf.summary.image("digits", gf.zeros([1, 28, 28, 1])))
        >>> gf.Summary.FromString(text).value[0].image.width
        28
    """
    if max_outputs < 1:
        raise ValueError(f"max_outputs must be at least 1, got {max_outputs}.")
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        attrs = {"max_images": int(max_outputs), "bad_color": _RED}
        return _collect(apply(IMAGE_SUMMARY, (tag, tensor), attrs, scope).outputs[0], collections)


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: CollectionNames | None = None,
    family: str | None = None,
) -> Tensor:
    """A summary with the first `max_outputs` sounds of a batch as WAV files (tf.summary.audio).

    Args:
        name: A name for the operation.
        tensor: Float32 between -1 and 1, [batch, frames] or [batch, frames, channels].
        sample_rate: Frames per second.
        max_outputs: How many clips of the batch.
        collections: Collections that the summary is added to; by default GraphKeys.SUMMARIES.
        family: A prefix of the tag, by which TensorBoard groups.

    Returns:
        A scalar string tensor: the serialized Summary message.
    """
    if max_outputs < 1:
        raise ValueError(f"max_outputs must be at least 1, got {max_outputs}.")
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        attrs = {"max_outputs": int(max_outputs)}
        return _collect(apply(AUDIO_SUMMARY, (tag, tensor, rate), attrs, scope).outputs[0], collections)


def text(name: str, tensor: TensorLike, collections: CollectionNames | None = None) -> Tensor:
    """A summary with strings, which TensorBoard shows as Markdown, a matrix as a table (tf.summary.text).

    Args:
        name: A name for the operation.
        tensor: A tensor of strings.
        collections: Collections that the summary is added to; by default GraphKeys.SUMMARIES.

    Returns:
        A scalar string tensor: the serialized Summary message.
    """
    strings = convert_to_tensor(tensor)
    if strings.dtype is not dtypes.string:
        raise ValueError(f"Expected tensor {strings.name} to have dtype string, got {strings.dtype!r}")
    messages = protos.summary_pb2
    plugin = messages.SummaryMetadata.PluginData(plugin_name="text")
    metadata = messages.SummaryMetadata(plugin_data=plugin)
    return tensor_summary(name, strings, summary_metadata=metadata, collections=collections)


def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: str | None = None,
    collections: CollectionNames | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A summary with a whole tensor, for a plugin of TensorBoard (tf.summary.tensor_summary).

    Args:
        name: A name for the operation.
        tensor: The tensor.
        summary_description: A SummaryDescription message, or None.
        collections: Collections that the summary is added to; by default GraphKeys.SUMMARIES.
        summary_metadata: a SummaryMetadata that names the plugin; the description and the name to show may be
            given apart.
        family: A prefix of the tag, by which TensorBoard groups.
        display_name: The name that is shown.

    Returns:
        A scalar string tensor: the serialized Summary message.
    """
    metadata = protos.summary_pb2.SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = summary_description
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        inputs = (tag, tensor, metadata.SerializeToString())
        return _collect(apply(TENSOR_SUMMARY, inputs, None, scope).outputs[0], collections)


def merge(
    inputs: Sequence[Any], collections: CollectionNames | None = None, name: str | None = None
) -> Tensor:
    """A summary with all values of several (tf.summary.merge).

    Args:
        inputs: A list of scalar string tensors.
        collections: Collections that the summary is added to; by default GraphKeys.SUMMARIES.
        name: A name for the operation.

    Returns:
        A scalar string tensor: the serialized Summary message.

    Raises:
        InvalidArgumentError: At the run if two have the same tag.
    """
    if isinstance(inputs, str | bytes | Tensor):
        raise TypeError(f"merge takes a list of summaries, got {inputs!r}.")
    parts = list(inputs)
    if not parts:
        raise ValueError("merge takes at least one summary, got none.")
    with op_scope(name, "Merge", parts):
        merged = apply(MERGE_SUMMARY, (parts,), {"N": len(parts)}, name).outputs[0]
        return _collect(merged, [] if collections is None else collections)


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """All summaries of a collection merged (tf.summary.merge_all).

    Args:
        key: The collection.
        scope: A regular expression that the beginning of the names of those taken must match.
        name: A name for the operation.

    Returns:
        A scalar string, a serialised Summary message; None if there are no summaries.

    Examples:
        >>> one, other = gf.summary.scalar("loss", 0.5), gf.summary.scalar("rate", 0.1)
        >>> merged = gf.summary.merge_all()
        >>> [value.tag for value in gf.Summary.FromString(gf.Session().run(merged)).value]
        ['loss', 'rate']
    """
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None
