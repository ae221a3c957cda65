"""Summaries named after what they show (tf.contrib.slim.summaries)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.control_flow.checking import print_
from graphflow._core.ops.io.summaries import histogram, image, scalar
from graphflow.nn import zero_fraction


def _named(tensor: Any, name: str | None, prefix: str | None, postfix: str | None = None) -> str:
    parts = (prefix, name or tensor.op.name, postfix)
    return "/".join(part for part in parts if part)


def _printed(summary: Any, tensor: Any, name: str, print_summary: bool) -> Tensor:
    """The summary, which prints the tensor when it is computed, and is collected, if that is asked for."""
    if print_summary:
        summary = print_(summary, [tensor], name)
        get_default_graph().add_to_collection(GraphKeys.SUMMARIES, summary)
    result: Tensor = summary
    return result


def add_histogram_summary(tensor: TensorLike, name: str | None = None, prefix: str | None = None) -> Tensor:
    """The distribution of a tensor, by default under its name (tf.contrib.slim.summaries.add_histogram_summary).

    Args:
        tensor: The tensor to summarise.
        name: A name for the operation.
        prefix: What the summary's name begins with.
    """
    return histogram(_named(tensor, name, prefix), tensor)


def add_image_summary(
    tensor: TensorLike, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Images, by default under their tensor's name (tf.contrib.slim.summaries.add_image_summary).

    Args:
        tensor: The tensor to summarise.
        name: A name for the operation.
        prefix: What the summary's name begins with.
        print_summary: Whether it is printed to the log, too.
    """
    full = _named(tensor, name, prefix)
    made = image(full, tensor, collections=[] if print_summary else None)
    return _printed(made, tensor, full, print_summary)


def add_scalar_summary(
    tensor: TensorLike, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """A number, by default under its tensor's name (tf.contrib.slim.summaries.add_scalar_summary).

    Args:
        tensor: The tensor to summarise.
        name: A name for the operation.
        prefix: What the summary's name begins with.
        print_summary: Whether it is printed to the log, too.
    """
    full = _named(tensor, name, prefix)
    made = scalar(full, tensor, collections=[] if print_summary else None)
    return _printed(made, tensor, full, print_summary)


def add_zero_fraction_summary(
    tensor: TensorLike, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """The share of zeros in a tensor (tf.contrib.slim.summaries.add_zero_fraction_summary).

    Args:
        tensor: The tensor to summarise.
        name: A name for the operation.
        prefix: What the summary's name begins with.
        print_summary: Whether it is printed to the log, too.
    """
    full = _named(tensor, name, prefix, "Fraction_of_Zero_Values")
    return add_scalar_summary(zero_fraction(tensor), full, print_summary=print_summary)


def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """add_histogram_summary of several tensors (tf.contrib.slim.summaries.add_histogram_summaries).

    Args:
        tensors: The tensors.
        prefix: What the summary's name begins with.
    """
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """add_image_summary of several tensors (tf.contrib.slim.summaries.add_image_summaries).

    Args:
        tensors: The tensors.
        prefix: What the summary's name begins with.
    """
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


def add_scalar_summaries(
    tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False
) -> list[Tensor]:
    """add_scalar_summary of several tensors (tf.contrib.slim.summaries.add_scalar_summaries).

    Args:
        tensors: The tensors.
        prefix: What the summary's name begins with.
        print_summary: Whether it is printed to the log, too.
    """
    return [add_scalar_summary(tensor, prefix=prefix, print_summary=print_summary) for tensor in tensors]


def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """add_zero_fraction_summary of several tensors (tf.contrib.slim.summaries.add_zero_fraction_summaries).

    Args:
        tensors: The tensors.
        prefix: What the summary's name begins with.
    """
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
