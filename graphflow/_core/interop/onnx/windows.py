"""ONNX forms of convolutions, pooling and batch normalization: ONNX has channels before the places, TensorFlow last."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from graphflow._core.graph.elements import Operation
from graphflow._core.interop.onnx.forms import Writer, form, refuse

_PADDING: Final = {"SAME": "SAME_UPPER", "VALID": "VALID"}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _channels_first(op: Operation) -> bool:
    return _text(op.attrs.get("data_format", "NHWC")) == "NCHW"


def _places(op: Operation, values: Any) -> list[int]:
    """Of a number for each axis those of the places; those of batch and channels have to be 1."""
    values = [int(value) for value in values]
    first = 2 if _channels_first(op) else 1
    places: list[int] = values[first : first + 2]
    if any(v != 1 for v in values[:first] + values[first + 2 :]):
        raise refuse(op, "it has a window or a stride over batch or channels")
    return places


def _around(w: Writer, op: Operation, name: str, write: Any) -> str:
    """What `write` makes of an input with the channels in front, with the channels where they were."""
    if _channels_first(op):
        return str(write(name))
    return w.node("Transpose", [write(w.node("Transpose", [name], perm=[0, 3, 1, 2]))], perm=[0, 2, 3, 1])


def _padding(op: Operation) -> dict[str, Any]:
    padding = _text(op.attrs["padding"])
    if padding in _PADDING:
        return {"auto_pad": _PADDING[padding]}
    pads = np.asarray(op.attrs["explicit_paddings"]).reshape(-1, 2)
    places = pads[2:] if _channels_first(op) else pads[1:3]
    return {"pads": places.T.reshape(-1).tolist()}


@form("Conv2D")
def _convolution(w: Writer, op: Operation) -> str:
    value = w.value(op.inputs[1])
    if value is None:
        kernel = w.node("Transpose", [w(op.inputs[1])], perm=[3, 2, 0, 1])
    else:
        kernel = w.constant(np.transpose(value, (3, 2, 0, 1)))
    return _convolved(w, op, kernel, 1)


@form("DepthwiseConv2dNative")
def _depthwise(w: Writer, op: Operation) -> str:
    value = w.known(op, 1, "filter")
    height, width, depth, each = value.shape
    kernel = np.transpose(value, (2, 3, 0, 1)).reshape(depth * each, 1, height, width)
    return _convolved(w, op, w.constant(kernel), depth)


def _convolved(w: Writer, op: Operation, kernel: str, group: int) -> str:
    options = {
        "strides": _places(op, op.attrs["strides"]),
        "dilations": _places(op, op.attrs.get("dilations") or [1, 1, 1, 1]),
        "kernel_shape": op.inputs[1].shape.as_list()[:2],
        "group": group,
        **_padding(op),
    }
    if "auto_pad" in options and options["dilations"] != [1, 1]:
        options |= _same_pads(op, options)
    return _around(w, op, w(op.inputs[0]), lambda x: w.node("Conv", [x, kernel], **options))


def _same_pads(op: Operation, options: dict[str, Any]) -> dict[str, Any]:
    """Pads in numbers: not every runtime works them out where there are dilations."""
    if options.pop("auto_pad") == "VALID":
        return {"pads": [0, 0, 0, 0]}
    if options["strides"] != [1, 1]:
        raise refuse(op, "it has strides and dilations at once")
    wide = [d * (k - 1) for k, d in zip(options["kernel_shape"], options["dilations"], strict=True)]
    return {"pads": [n // 2 for n in wide] + [n - n // 2 for n in wide]}


@form("Conv2DBackpropInput")
def _deconvolution(w: Writer, op: Operation) -> str:
    first = _channels_first(op)
    places = slice(2, 4) if first else slice(1, 3)
    before, after = op.inputs[2].shape.as_list()[places], op.outputs[0].shape.as_list()[places]
    if None in before or None in after:
        raise refuse(op, "the height and width of its input and its result are not known")
    height, width, _, _ = op.inputs[1].shape.as_list()
    strides = _places(op, op.attrs["strides"])
    if _places(op, op.attrs.get("dilations") or [1, 1, 1, 1]) != [1, 1]:
        raise refuse(op, "it has dilations")
    # What a convolution of the result with these pads and strides would be: of this many places, the input.
    over = [(b - 1) * s + k - a for b, a, s, k in zip(before, after, strides, (height, width), strict=True)]
    pads = [max(n, 0) for n in over]
    if _text(op.attrs["padding"]) == "EXPLICIT":
        raise refuse(op, "it has explicit paddings")
    options = {
        "strides": strides,
        "kernel_shape": [height, width],
        "pads": [n // 2 for n in pads] + [n - n // 2 for n in pads],
        "output_padding": [max(-n, 0) for n in over],
    }
    weights = w.value(op.inputs[1])
    if weights is None:
        kernel = w.node("Transpose", [w(op.inputs[1])], perm=[3, 2, 0, 1])
    else:
        kernel = w.constant(np.transpose(weights, (3, 2, 0, 1)))
    return _around(w, op, w(op.inputs[2]), lambda x: w.node("ConvTranspose", [x, kernel], **options))


@form("MaxPool")
def _max_pool(w: Writer, op: Operation) -> str:
    return _pooled(w, op, "MaxPool")


@form("AvgPool")
def _average_pool(w: Writer, op: Operation) -> str:
    return _pooled(w, op, "AveragePool")


def _pooled(w: Writer, op: Operation, kind: str) -> str:
    options = {
        "kernel_shape": _places(op, op.attrs["ksize"]),
        "strides": _places(op, op.attrs["strides"]),
        **_padding(op),
    }
    return _around(w, op, w(op.inputs[0]), lambda x: w.node(kind, [x], **options))


@form("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _batch_norm(w: Writer, op: Operation) -> list[str]:
    """x · scale / √(variance + ε) + (offset - mean · scale / √(variance + ε)), along the channels."""
    x, scale, offset, mean, variance = w.inputs(op)
    shape = w.integers([-1, 1, 1])

    def along(name: str) -> str:
        return w.node("Reshape", [name, shape]) if _channels_first(op) else name

    if op.attrs["is_training"]:
        axes = w.integers([0, 2, 3] if _channels_first(op) else [0, 1, 2])
        mean = w.node("ReduceMean", [x, axes], keepdims=0)
        off = w.node("Sub", [x, along(mean)])
        variance = w.node("ReduceMean", [w.node("Mul", [off, off]), axes], keepdims=0)
    epsilon = w.scalar(op.attrs["epsilon"], op.inputs[1])
    factor = w.node("Div", [scale, w.node("Sqrt", [w.node("Add", [variance, epsilon])])])
    shift = w.node("Sub", [offset, w.node("Mul", [mean, factor])])
    result = w.node("Add", [w.node("Mul", [x, along(factor)]), along(shift)])
    # What else it gives is for training alone.
    return [result, mean, variance, mean, variance, mean][: len(op.outputs)]


@form("DepthToSpace")
def _depth_to_space(w: Writer, op: Operation) -> str:
    size = int(op.attrs["block_size"])
    return _around(w, op, w(op.inputs[0]), lambda x: w.node("DepthToSpace", [x], blocksize=size, mode="DCR"))


@form("SpaceToDepth")
def _space_to_depth(w: Writer, op: Operation) -> str:
    size = int(op.attrs["block_size"])
    return _around(w, op, w(op.inputs[0]), lambda x: w.node("SpaceToDepth", [x], blocksize=size))


@form("ResizeBilinear")
def _resize_bilinear(w: Writer, op: Operation) -> str:
    return _resized(w, op, {"mode": "linear"})


@form("ResizeNearestNeighbor")
def _resize_nearest(w: Writer, op: Operation) -> str:
    if op.attrs.get("align_corners"):
        raise refuse(op, "it takes the nearest place with align_corners")
    return _resized(w, op, {"mode": "nearest", "nearest_mode": "floor"})


def _resized(w: Writer, op: Operation, options: dict[str, Any]) -> str:
    if op.attrs.get("align_corners"):
        rule = "align_corners"
    else:
        rule = "half_pixel" if op.attrs.get("half_pixel_centers") else "asymmetric"
    height, width = np.asarray(w.known(op, 1, "size")).tolist()
    shape = w.node("Shape", [w(op.inputs[0])])
    batch, depth = (w.node("Slice", [shape, w.integers([n]), w.integers([n + 1])]) for n in (0, 3))
    sizes = w.node("Concat", [batch, depth, w.integers([height, width])], axis=0)
    options["coordinate_transformation_mode"] = rule
    return _around(w, op, w(op.inputs[0]), lambda x: w.node("Resize", [x, "", "", sizes], **options))
