"""Variables that begin with the rows of a checkpoint whose words stand at other places of another vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphflow._core.checkpoint.opening import open_checkpoint
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import text
from graphflow._core.ops.array.array import zeros
from graphflow._core.ops.array.indexing import gather, where
from graphflow._core.ops.core import constant
from graphflow._core.ops.state.checkpoints import restore_v2
from graphflow._core.ops.state.state import assign
from graphflow._core.ops.state.variable import Variable
from graphflow.train.saving.checkpoint_utils import checkpoint_prefix


class VocabInfo(
    NamedTuple(
        "VocabInfo",
        [
            ("new_vocab", str),
            ("new_vocab_size", int),
            ("num_oov_buckets", int),
            ("old_vocab", str),
            ("old_vocab_size", int),
            ("backup_initializer", Any),
            ("axis", int),
        ],
    )
):
    """Which words a variable's rows are for, now and in a checkpoint (tf.train.VocabInfo).

    Args:
        new_vocab: The file of the words now, one a line.
        new_vocab_size: How many of its words count.
        num_oov_buckets: How many rows come behind them for words that are not in it.
        old_vocab: The file of the words of the checkpoint.
        old_vocab_size: How many of its words count; -1 for all.
        backup_initializer: What makes the rows of words that are new; by default they are zeros.
        axis: 0 if rows are for words, 1 if columns are.

    Raises:
        ValueError: The axis is another one.

    Examples:
        >>> gf.train.VocabInfo("words.txt", 100, 1, "old_words.txt").axis
        0
    """

    __slots__ = ()

    def __new__(
        cls,
        new_vocab: str,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: str,
        old_vocab_size: int = -1,
        backup_initializer: Any = None,
        axis: int = 0,
    ) -> VocabInfo:
        """Checks the axis."""
        if axis not in (0, 1):
            raise ValueError(
                f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}"
            )
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


def begin_with_vocabulary(
    variables: Sequence[Variable], ckpt_dir_or_file: str, name: str, vocabulary: VocabInfo
) -> None:
    """Makes the initializers of a variable, or of the parts of one, take what a checkpoint has for the same words.

    Args:
        variables: The variable, or the parts of it, in their order.
        ckpt_dir_or_file: The checkpoint, or its folder.
        name: The tensor of the checkpoint.
        vocabulary: Which words its rows are for, and the variable's.

    Raises:
        ValueError: The checkpoint lacks the tensor, its shape differs otherwise, or a file has too few words.
    """
    prefix = checkpoint_prefix(ckpt_dir_or_file)
    file = open_checkpoint(prefix)
    if name not in file:
        raise ValueError(f"Tensor {name} is not found in {prefix} checkpoint: {', '.join(file.names()[:20])}")
    old, axis = file.shape(name), vocabulary.axis
    places = _places(vocabulary)
    for variable in variables:
        dims = tuple(int(size) for size in variable.shape)
        info = variable.get_save_slice_info()
        offsets = [0] * len(dims) if info is None else [int(offset) for offset in info.var_offset]
        whole = dims if info is None else tuple(int(size) for size in info.full_shape)
        others = [size for place, size in enumerate(whole) if place != axis]
        if len(old) != len(whole) or [size for place, size in enumerate(old) if place != axis] != others:
            raise ValueError(
                f"Shape of variable {variable.op.name} {text(whole)} doesn't match with shape of tensor {name} "
                f"{text(old)} from checkpoint reader, but for its axis {axis}."
            )
        if whole[axis] != len(places):
            raise ValueError(
                f"Variable {variable.op.name} has {whole[axis]} rows in axis {axis} for a vocabulary of "
                f"{vocabulary.new_vocab_size} words and {vocabulary.num_oov_buckets} buckets."
            )
        _begin(variable, prefix, name, old, [places, offsets, dims, axis], vocabulary.backup_initializer)


def _begin(
    variable: Variable, prefix: str, name: str, old: Sequence[int | None], where_from: list[Any], backup: Any
) -> None:
    places, offsets, dims, axis = where_from
    rows = np.asarray(places[offsets[axis] : offsets[axis] + dims[axis]])
    graph = get_default_graph()
    with graph.control_dependencies(None), graph.name_scope("checkpoint_initializer"):
        (stored,) = restore_v2(
            constant(prefix), constant([name]), constant([""]), [variable.dtype], None, [tuple(old)]
        )
        for place, (offset, size) in enumerate(zip(offsets, dims, strict=True)):
            wanted = np.maximum(rows, 0) if place == axis else np.arange(offset, offset + size)
            if place == axis or size != old[place]:
                stored = gather(stored, constant(wanted.astype(np.int64)), axis=place)
        shape = [-1 if place == axis else 1 for place in range(len(dims))]
        known = np.broadcast_to((rows >= 0).reshape(shape), dims)
        value = where(constant(known), stored, _first(backup, dims, variable))
        variable.set_initializer(value, assign(variable, value).op)


def _first(backup: Callable[..., Tensor] | None, dims: tuple[int, ...], variable: Variable) -> Tensor:
    if backup is None:
        return zeros(dims, dtype=variable.dtype)
    maker = backup() if isinstance(backup, type) else backup
    return maker(dims, dtype=variable.dtype)


def _places(vocabulary: VocabInfo) -> list[int]:
    """For each row of the variable the row of the checkpoint, -1 if it has none."""
    new, old = _words(vocabulary.new_vocab), _words(vocabulary.old_vocab)
    if len(new) < vocabulary.new_vocab_size:
        raise ValueError(
            f"The vocabulary {vocabulary.new_vocab} has {len(new)} words, fewer than {vocabulary.new_vocab_size}."
        )
    if vocabulary.old_vocab_size >= 0:
        old = old[: vocabulary.old_vocab_size]
    at = {word: place for place, word in enumerate(old)}
    return [at.get(word, -1) for word in new[: vocabulary.new_vocab_size]] + [-1] * vocabulary.num_oov_buckets


def _words(path: str) -> list[bytes]:
    return storage.read(user_path(path)).splitlines()
