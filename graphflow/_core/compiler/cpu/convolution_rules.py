"""How convolutions and pools become kernels made for their shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.cpu.kernels import conv, pooling
from graphflow._core.codegen.cpu.kernels.kernel_source import Kernel, host_vector_unit
from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode, Statements
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.nn.windows import Axis
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _step(kernel: Kernel, address: int, words: Sequence[int], images: int) -> Any:
    units = kernel.units * images if kernel.per_image else kernel.units
    return Step(address, words, 0, units, kernel.grain)


def _described(
    i: Instruction, image: tuple[int, ...], window: tuple[int, ...], outputs: tuple[int, ...], element: str
) -> conv.Convolution | None:
    """The convolution of an instruction; None for layouts and paddings without a kernel."""
    if _text(i.attrs.get("data_format", "NHWC")) != "NHWC" or _text(i.attrs["padding"]) not in (
        "SAME",
        "VALID",
    ):
        return None
    strides, dilations = i.attrs["strides"], i.attrs.get("dilations", [1, 1, 1, 1])
    padding = _text(i.attrs["padding"])
    if window[2] != image[3]:
        return None
    axes = [
        Axis.of(image[k + 1], window[k], int(strides[k + 1]), padding, int(dilations[k + 1])) for k in (0, 1)
    ]
    if (axes[0].outputs, axes[1].outputs) != outputs[1:3]:
        return None
    return conv.Convolution(axes[0], axes[1], window[2], window[3], element)


def _values(lowering: Lowering, i: Instruction, *positions: int) -> list[Value] | None:
    values = [lowering.value(i.inputs[k]) for k in positions]
    if any(v is None or v.dtype not in _FLOATS or len(v.shape) != 4 for v in values):
        return None
    return [lowering.compact(i, v) for v in values if v is not None]


def _forward(lowering: Lowering, i: Instruction) -> bool:
    values = _values(lowering, i, 0, 1)
    if values is None:
        return False
    x, w = values
    described = _described(i, x.shape, w.shape, lowering.shape(i.outputs[0]), x.dtype)
    if described is None:
        return False
    lowering.add(convolution_node(i, described, x, w, lowering.result(i)))
    return True


@dataclass(eq=False)
class ConvolutionNode(KernelNode):
    """A convolution, which may take the bias and the relu after it in."""

    described: conv.Convolution | None = None
    target: Value | None = None
    relu: bool = False

    def combined(self, following: Statements, position: int, target: Value) -> ConvolutionNode | None:
        """The node that does what a following one does to its result as well; None if there is none."""
        i = following.instruction
        if self.described is None or self.relu:
            return None
        x, w, *bias = self.reads
        if i.type == "Relu" and len(following.reads) == 1:
            return convolution_node(i, self.described, x, w, target, bias, relu=True)
        if i.type not in ("BiasAdd", "Add", "AddV2") or len(following.reads) != 2 or bias:
            return None
        added = following.reads[1 - position]
        if added.shape != (self.described.outputs,) or added.dtype != target.dtype or not added.contiguous:
            return None
        return convolution_node(i, self.described, x, w, target, [added])


def convolution_node(
    i: Instruction,
    described: conv.Convolution,
    x: Value,
    w: Value,
    target: Value,
    bias: Sequence[Value] = (),
    relu: bool = False,
) -> ConvolutionNode:
    kernel = conv.forward(described, host_vector_unit(), bool(bias), relu)
    places = [x, w, target, *bias]

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return [_step(kernel, kernels[0], [address(v) for v in places], x.shape[0])]

    reads = [x, w, *bias]
    return ConvolutionNode(
        i,
        reads,
        [target.root],
        sources=[kernel.source],
        emit=emit,
        described=described,
        target=target,
        relu=relu,
    )


def _input_gradient(lowering: Lowering, i: Instruction) -> bool:
    values = _values(lowering, i, 1, 2)
    if values is None:
        return False
    w, dy = values
    shape = lowering.shape(i.outputs[0])
    described = _described(i, shape, w.shape, dy.shape, dy.dtype)
    if described is None:
        return False
    unit = host_vector_unit()
    turn, kernel = conv.transposed_filter(described, unit), conv.input_gradient(described, unit)
    turned, target = lowering.temporary(i.name, w.dtype, w.shape), lowering.result(i)

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return [
            _step(turn, kernels[0], [address(w), address(turned)], 1),
            _step(kernel, kernels[1], [address(dy), address(turned), address(target)], shape[0]),
        ]

    lowering.add(
        KernelNode(i, [w, dy], [turned.root, target.root], sources=[turn.source, kernel.source], emit=emit)
    )
    return True


def _filter_gradient(lowering: Lowering, i: Instruction) -> bool:
    values = _values(lowering, i, 0, 2)
    if values is None:
        return False
    x, dy = values
    shape = lowering.shape(i.outputs[0])
    described = _described(i, x.shape, shape, dy.shape, x.dtype)
    if described is None:
        return False
    lowering.add(filter_gradient_node(lowering, i, described, x, dy, lowering.result(i)))
    return True


def filter_gradient_node(
    lowering: Lowering, i: Instruction, described: conv.Convolution, x: Value, dy: Value, target: Value
) -> KernelNode:
    """The node of target = the gradient to the filter; all three lie side by side."""
    unit = host_vector_unit()
    kernel = conv.filter_gradient(described, unit)
    groups = conv.filter_groups(described, unit)
    if groups == 1:

        def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
            return [
                _step(kernel, kernels[0], [address(x), address(dy), address(target), x.shape[0]], x.shape[0])
            ]

        return KernelNode(i, [x, dy], [target.root], sources=[kernel.source], emit=emit)
    total = conv.filter_group_sum(described, unit)
    partial = lowering.temporary(i.name, x.dtype, (groups, target.size))

    def emit_both(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return [
            _step(kernel, kernels[0], [address(x), address(dy), address(partial), x.shape[0]], x.shape[0]),
            _step(total, kernels[1], [address(partial), address(target)], x.shape[0]),
        ]

    return KernelNode(
        i, [x, dy], [partial.root, target.root], sources=[kernel.source, total.source], emit=emit_both
    )


def _pool_of(
    i: Instruction, image: tuple[int, ...], outputs: tuple[int, ...], element: str
) -> pooling.Pool | None:
    if _text(i.attrs.get("data_format", "NHWC")) != "NHWC" or _text(i.attrs["padding"]) not in (
        "SAME",
        "VALID",
    ):
        return None
    window, strides, padding = i.attrs["ksize"], i.attrs["strides"], _text(i.attrs["padding"])
    if any(int(window[k]) != 1 or int(strides[k]) != 1 for k in (0, 3)):
        return None
    axes = [Axis.of(image[k], int(window[k]), int(strides[k]), padding, 1) for k in (1, 2)]
    if (axes[0].outputs, axes[1].outputs) != outputs[1:3]:
        return None
    return pooling.Pool(axes[0], axes[1], image[3], element)


def _pool(largest: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        values = _values(lowering, i, 0)
        shape = lowering.shape(i.outputs[0])
        described = None if values is None else _pool_of(i, values[0].shape, shape, values[0].dtype)
        if values is None or described is None:
            return False
        x, target = values[0], lowering.result(i)
        kernel = (pooling.max_pool if largest else pooling.avg_pool)(described, host_vector_unit())

        def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
            return [_step(kernel, kernels[0], [address(x), address(target)], x.shape[0])]

        lowering.add(KernelNode(i, [x], [target.root], sources=[kernel.source], emit=emit))
        return True

    return rule


def _pool_gradient(largest: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        values = _values(lowering, i, 0, 2) if largest else _values(lowering, i, 1)
        if values is None:
            return False
        shape = lowering.shape(i.outputs[0])
        described = _pool_of(i, shape, values[-1].shape, values[-1].dtype)
        if described is None:
            return False
        lowering.add(_pool_gradient_node(i, described, values, lowering.result(i), largest))
        return True

    return rule


@dataclass(eq=False)
class PoolGradientNode(KernelNode):
    """A pool's gradient, which may take in the gradient of the relu that made the pool's input."""

    described: pooling.Pool | None = None
    largest: bool = False

    def combined(self, following: Statements, position: int, target: Value) -> PoolGradientNode | None:
        """The node that does what a following one does to its result as well; None if there is none."""
        i = following.instruction
        if i.type != "ReluGrad" or not self.largest or self.described is None or position != 0:
            return None
        if len(following.reads) != 2 or following.reads[1] != self.reads[0]:
            return None
        return _pool_gradient_node(i, self.described, self.reads, target, True, relu=True)


def _pool_gradient_node(
    i: Instruction,
    described: pooling.Pool,
    values: Sequence[Value],
    target: Value,
    largest: bool,
    relu: bool = False,
) -> PoolGradientNode:
    unit = host_vector_unit()
    kernel = (
        pooling.max_pool_gradient(described, unit, relu)
        if largest
        else pooling.avg_pool_gradient(described, unit)
    )

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return [_step(kernel, kernels[0], [*map(address, values), address(target)], target.shape[0])]

    return PoolGradientNode(
        i,
        list(values),
        [target.root],
        sources=[kernel.source],
        emit=emit,
        described=None if relu else described,
        largest=largest,
    )


CONVOLUTION_RULES: Final[dict[str, Rule]] = {
    "Conv2D": _forward,
    "Conv2DBackpropInput": _input_gradient,
    "Conv2DBackpropFilter": _filter_gradient,
    "MaxPool": _pool(True),
    "AvgPool": _pool(False),
    "MaxPoolGrad": _pool_gradient(True),
    "AvgPoolGrad": _pool_gradient(False),
}
