"""How convolutions and pools become kernels made for their shape, or of any sizes until these are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.cpu.kernels import conv, pooling
from graphflow._core.codegen.cpu.kernels.kernel_source import Kernel, host_vector_unit
from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.codegen.cpu.sources import windows
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode, StandIn, Statements
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
    unit, most = host_vector_unit(), x.shape[0]
    kernel = conv.forward(described, unit, bool(bias), relu)
    places = [x, w, target, *bias]

    def emit(kernels: Sequence[int], address: Address, images: int = most) -> Sequence[Any]:
        return [_step(kernel, kernels[0], [address(v) for v in places], images)]

    def stand_in() -> StandIn:
        call = windows.forward(described, unit, relu, kernel.grain)

        def steps(kernels: Sequence[int], address: Address, images: int = most) -> Sequence[Any]:
            addresses = [address(v) for v in places]
            return [call.step(kernels[0], addresses if bias else [*addresses, 0], images)]

        return StandIn([call.source], steps, emit, most)

    reads = [x, w, *bias]
    return ConvolutionNode(
        i,
        reads,
        [target.root],
        sources=[kernel.source],
        emit=emit,
        stand_in=stand_in,
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
    most, sources = shape[0], [turn.source, kernel.source]

    def emit(kernels: Sequence[int], address: Address, images: int = most) -> Sequence[Any]:
        return [
            _step(turn, kernels[0], [address(w), address(turned)], 1),
            _step(kernel, kernels[1], [address(dy), address(turned), address(target)], images),
        ]

    def stand_in() -> StandIn:
        first = windows.turned_filter(described, unit, turn.grain)
        second = windows.input_gradient(described, unit, kernel.grain)

        def steps(kernels: Sequence[int], address: Address, images: int = most) -> Sequence[Any]:
            return [
                first.step(kernels[0], [address(w), address(turned)], 1),
                second.step(kernels[1], [address(dy), address(turned), address(target), 0], images),
            ]

        return StandIn([first.source, second.source], steps, emit, most)

    makes = [turned.root, target.root]
    lowering.add(KernelNode(i, [w, dy], makes, sources=sources, emit=emit, stand_in=stand_in))
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
    most = x.shape[0]
    total = None if groups == 1 else conv.filter_group_sum(described, unit)
    partial = target
    if total is not None:
        partial = lowering.temporary(i.name, x.dtype, (groups, target.size))

    def emit(kernels: Sequence[int], address: Address, images: int = most) -> Sequence[Any]:
        steps = [_step(kernel, kernels[0], [address(x), address(dy), address(partial), images], images)]
        if total is not None:
            steps.append(_step(total, kernels[1], [address(partial), address(target)], images))
        return steps

    def stand_in() -> StandIn:
        grain = 1 if total is None else total.grain
        sums = windows.group_sum(described, unit, groups, grain)

        def steps(kernels: Sequence[int], address: Address, images: int = most) -> Sequence[Any]:
            first = windows.filter_gradient(described, unit, images, groups)
            found = [first.step(kernels[0], [address(x), address(dy), address(partial)], images)]
            if total is not None:
                found.append(sums.step(kernels[1], [address(partial), address(target)], images))
            return found

        sources = [windows.filter_gradient(described, unit, most, groups).source, sums.source]
        return StandIn(sources[: len(own)], steps, emit, most)

    own = [kernel.source] if total is None else [kernel.source, total.source]
    makes = list(dict.fromkeys([partial.root, target.root]))
    return KernelNode(i, [x, dy], makes, sources=own, emit=emit, stand_in=stand_in)


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
        x, target, unit = values[0], lowering.result(i), host_vector_unit()
        kernel, most = (pooling.max_pool if largest else pooling.avg_pool)(described, unit), x.shape[0]

        def emit(kernels: Sequence[int], address: Address, images: int = most) -> Sequence[Any]:
            return [_step(kernel, kernels[0], [address(x), address(target)], images)]

        def stand_in() -> StandIn:
            call = windows.pooled(described, unit, largest, kernel.grain)

            def steps(kernels: Sequence[int], address: Address, images: int = most) -> Sequence[Any]:
                return [call.step(kernels[0], [address(x), address(target)], images)]

            return StandIn([call.source], steps, emit, most)

        sources = [kernel.source]
        lowering.add(KernelNode(i, [x], [target.root], sources=sources, emit=emit, stand_in=stand_in))
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

    most = target.shape[0]

    def emit(kernels: Sequence[int], address: Address, images: int = most) -> Sequence[Any]:
        return [_step(kernel, kernels[0], [*map(address, values), address(target)], images)]

    def stand_in() -> StandIn:
        call = windows.pool_gradient(described, unit, largest, relu, kernel.grain)

        def steps(kernels: Sequence[int], address: Address, images: int = most) -> Sequence[Any]:
            inputs = [*map(address, values)] if largest else [0, *map(address, values)]
            return [call.step(kernels[0], [*inputs, address(target)], images)]

        return StandIn([call.source], steps, emit, most)

    return PoolGradientNode(
        i,
        list(values),
        [target.root],
        sources=[kernel.source],
        emit=emit,
        stand_in=stand_in,
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
