"""Connectionist temporal classification: labels for sequences whose frames are not aligned with them.

The scores of a frame are those of the labels and, as the last class, of a blank. A path gives each frame a class; what
it says is its classes without repeats, then without blanks. (Graves et al., "Connectionist temporal classification:
labelling unsegmented sequence data with recurrent neural networks", 2006.)
"""

from __future__ import annotations

from typing import Any, cast

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.shaping import PREVENT_GRADIENT
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.math import math
from graphflow._core.ops.rules import require_rank


def _frames(op: Operation) -> tuple[Dims, int | None]:
    """The dims of the scores, and how many sequences there are."""
    scores = require_rank(op.inputs[0].dims, 3, "the inputs") or (None, None, None)
    lengths = require_rank(op.inputs[-1].dims, 1, "sequence_length") or (None,)
    (batch,) = shapes.merge((scores[1],), lengths) or (None,)
    return (scores[0], batch, scores[2]), batch


def _loss_infer(op: Operation) -> Signature:
    dims, batch = _frames(op)
    require_rank(op.inputs[1].dims, 2, "the indices of the labels")
    require_rank(op.inputs[2].dims, 1, "the values of the labels")
    dtype = op.inputs[0].dtype
    return [(dtype, (batch,)), (dtype, dims)]


def _loss_gradient(op: Operation, g_loss: Tensor, _: Any) -> tuple[Tensor, None, None, None]:
    message = "ctc_loss gives its derivative beside the loss, and has no second one."
    slope = apply(PREVENT_GRADIENT, (op.outputs[1],), {"message": message}).outputs[0]
    weights = array.expand_dims(array.expand_dims(g_loss, 0), -1)
    return math.multiply(weights, slope), None, None, None


CTC_LOSS = op_def(
    "CTCLoss",
    (
        "inputs: T=float32|float64(float32)",
        "labels_indices: int64",
        "labels_values: int32",
        "sequence_length: int32",
    ),
    infer=_loss_infer,
    gradient=_loss_gradient,
    outputs=("loss", "gradient"),
)


def _paths_infer(op: Operation, paths: int) -> Signature:
    _, batch = _frames(op)
    indices = [(dtypes.int64, (None, 2))] * paths
    values = [(dtypes.int64, (None,))] * paths
    sizes = [(dtypes.int64, (2,))] * paths
    return [*indices, *values, *sizes, (op.inputs[0].dtype, (batch, paths))]


CTC_GREEDY_DECODER = op_def(
    "CTCGreedyDecoder",
    ("inputs: T=float32|float64(float32)", "sequence_length: int32"),
    infer=lambda op: _paths_infer(op, 1),
    gradient=NOT_DIFFERENTIABLE,
    dynamic_shape=True,
    outputs=("decoded_indices", "decoded_values", "decoded_shape", "log_probability"),
)
CTC_BEAM_SEARCH_DECODER = op_def(
    "CTCBeamSearchDecoder",
    ("inputs: T=float32|float64(float32)", "sequence_length: int32"),
    infer=lambda op: _paths_infer(op, cast(int, op.get_attr("top_paths"))),
    gradient=NOT_DIFFERENTIABLE,
    dynamic_shape=True,
)


def ctc_loss(
    labels: SparseTensor,
    inputs: TensorLike | None = None,
    sequence_length: IntTensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> Tensor:
    """-log of the probability that the scores of a sequence say its labels (tf.nn.ctc_loss).

    Args:
        labels: A SparseTensor of int32; indices [sequence, place] with a label in [0, classes - 1). A label that is not
            below classes - 1, the blank, ends those of its sequence.
        inputs: Scores before any softmax, [frames, batch, classes] of float32 or float64.
        sequence_length: int32 [batch], how many frames each sequence has.
        preprocess_collapse_repeated: Whether labels that repeat the one before are left out.
        ctc_merge_repeated: Whether frames of the same label one after the other say it once, as in the paper.
        ignore_longer_outputs_than_inputs: Whether a sequence with more labels than frames has a loss of 0 and no
            gradient, rather than being an error.
        time_major: Whether inputs are [frames, batch, classes], and not [batch, frames, classes].
        logits: The later name of `inputs`.

    Returns:
        The loss of each sequence, [batch]: infinite if no path says its labels, as if repeats leave too few frames.
        InvalidArgumentError when it runs if a sequence has no labels, or more than frames.

    Raises:
        TypeError: The labels are no SparseTensor, or a dtype does not fit.
        ValueError: The shapes do not fit.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    given = inputs if logits is None else logits
    if given is None or (inputs is not None and logits is not None):
        raise ValueError("ctc_loss takes either inputs or logits, its later name.")
    scores = given
    if not time_major:
        scores = array.transpose(convert_to_tensor(given, preferred_dtype=dtypes.float32), [1, 0, 2])
    return apply(
        CTC_LOSS,
        (scores, labels.indices, labels.values, sequence_length),
        {
            "preprocess_collapse_repeated": bool(preprocess_collapse_repeated),
            "ctc_merge_repeated": bool(ctc_merge_repeated),
            "ignore_longer_outputs_than_inputs": bool(ignore_longer_outputs_than_inputs),
        },
    ).outputs[0]


def ctc_greedy_decoder(
    inputs: TensorLike, sequence_length: IntTensorLike, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """What the best class of each frame says (tf.nn.ctc_greedy_decoder).

    Args:
        inputs: Scores, [frames, batch, classes] of float32 or float64; the last class is the blank.
        sequence_length: int32 [batch], how many frames each sequence has.
        merge_repeated: Whether frames of the same label one after the other say it once.

    Returns:
        A list of one SparseTensor of int64, [batch, longest], and minus the sum of the best scores, [batch, 1].
    """
    outputs = apply(
        CTC_GREEDY_DECODER, (inputs, sequence_length), {"merge_repeated": bool(merge_repeated)}
    ).outputs
    return [SparseTensor(*outputs[:3])], outputs[3]


def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: IntTensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """What the scores say most probably, by a search of the best prefixes (tf.nn.ctc_beam_search_decoder).

    Args:
        inputs: Scores, [frames, batch, classes] of float32 or float64; the last class is the blank.
        sequence_length: int32 [batch], how many frames each sequence has.
        beam_width: How many prefixes are kept at each frame.
        top_paths: How many of the best are given, at most beam_width.
        merge_repeated: Whether equal labels one after the other are one in what is given, even if there is a blank
            between them in the scores.

    Returns:
        A list of top_paths SparseTensors of int64, [batch, longest], the most probable first, and the logarithms of
        their probabilities, [batch, top_paths]; 0 for a path that is not there.

    Raises:
        ValueError: top_paths is more than beam_width, or one of the two is not positive.
    """
    if not 1 <= top_paths <= beam_width:
        raise ValueError(f"requested more paths than the beam width: {top_paths} of {beam_width}.")
    with op_scope(None, "CTCBeamSearchDecoder", [inputs, sequence_length]) as scope:
        outputs = apply(
            CTC_BEAM_SEARCH_DECODER,
            (inputs, sequence_length),
            {
                "beam_width": int(beam_width),
                "top_paths": int(top_paths),
                "merge_repeated": bool(merge_repeated),
            },
            name=scope,
        ).outputs
    count = int(top_paths)
    parts = zip(outputs[:count], outputs[count : 2 * count], outputs[2 * count : 3 * count], strict=True)
    return [SparseTensor(*part) for part in parts], outputs[-1]
