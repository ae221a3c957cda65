"""Sizes of what windows go over, and the arguments that say them, under the names of Keras's own conv_utils."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphflow.keras.layers.base import layout_of
from graphflow.layers.arguments import integers, padding_of

__all__ = [
    "conv_input_length", "conv_output_length", "convert_data_format", "deconv_output_length", "normalize_data_format",
    "normalize_padding", "normalize_tuple",
]  # fmt: skip


def normalize_tuple(value: int | Iterable[int], n: int, name: str) -> tuple[int, ...]:
    """One int for each of n axes.

    Args:
        value: An int for all, or one for each.
        n: How many axes there are.
        name: What they are, for the error.

    Returns:
        A tuple of n ints.

    Raises:
        ValueError: There is another number of them, or they are no ints.
    """
    return tuple(integers(value, n, name))


def normalize_padding(value: str) -> str:
    """The name of a padding in small letters.

    Args:
        value: "valid", "same" or "causal".

    Returns:
        The name.

    Raises:
        ValueError: It is none of these.
    """
    return str(padding_of(value, causal=True))


def normalize_data_format(value: str | None) -> str:
    """The layout that was said, or the default one.

    Args:
        value: "channels_last", "channels_first" or None.

    Returns:
        One of the two words.

    Raises:
        ValueError: It is none of these.
    """
    return layout_of(value)


def convert_data_format(data_format: str, ndim: int) -> str:
    """A layout as operations have it.

    Args:
        data_format: "channels_last" or "channels_first".
        ndim: The number of axes, with those of batch and channels.

    Returns:
        NHWC, NCHW or their like.
    """
    space = "DHW"[5 - ndim :]
    return f"N{space}C" if layout_of(data_format) == "channels_last" else f"NC{space}"


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """The length of an axis after a window has gone over it.

    Args:
        input_length: Its length before; None if that is not known.
        filter_size: The size of the window.
        padding: "valid", "same", "causal", or "full" for all windows that meet the axis.
        stride: The steps from one window to the next.
        dilation: The distance of a window's elements.

    Returns:
        The length; None if it is not known.
    """
    if input_length is None:
        return None
    reach = (filter_size - 1) * dilation + 1
    more = {"same": 0, "causal": 0, "valid": 1 - reach, "full": reach - 1}[padding]
    return -(-(input_length + more) // stride)


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """The length of an axis that a window goes over so that another length is left.

    Args:
        output_length: The length that is left; None if that is not known.
        filter_size: The size of the window.
        padding: "valid", "same" or "full".
        stride: The steps from one window to the next.

    Returns:
        The length; None if it is not known.
    """
    if output_length is None:
        return None
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(
    input_length: int | None, filter_size: int, padding: str, output_padding: int | None = None, stride: int = 0,
    dilation: int = 1,
) -> Any:  # fmt: skip
    """The length of an axis after a transposed convolution.

    Args:
        input_length: Its length before; None if that is not known.
        filter_size: The size of the window.
        padding: "valid", "same" or "full".
        output_padding: How many elements are added to the end; None for what fits.
        stride: The steps from one window to the next.
        dilation: The distance of a window's elements.

    Returns:
        The length; None if it is not known.
    """
    if input_length is None:
        return None
    reach = (filter_size - 1) * dilation + 1
    if output_padding is None:
        more = {"valid": max(reach - stride, 0), "full": -(stride + reach - 2), "same": 0}[padding]
        return input_length * stride + more
    pad = {"same": reach // 2, "valid": 0, "full": reach - 1}[padding]
    return (input_length - 1) * stride + reach - 2 * pad + output_padding
