"""The positions of the windows of convolutions and pooling along one axis of an image.

The NumPy kernels, the generated ones and the tests all read positions from here, so that SAME padding, strides and
dilation have one meaning. Padding is TensorFlow's: SAME puts the odd element behind.
"""

from __future__ import annotations

from graphflow._core.common.records import dataclass

Taps = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True)
class Axis:
    """One spatial axis: `size` window elements, `dilation` apart, moving by `stride` over `inputs` elements.

    `before` elements of padding lie in front; `outputs` is the number of window positions.
    """

    inputs: int
    size: int
    stride: int
    dilation: int
    before: int
    outputs: int

    @classmethod
    def of(cls, inputs: int, size: int, stride: int = 1, padding: str = "SAME", dilation: int = 1) -> Axis:
        """The axis of a convolution or a pool, its padding "SAME" or "VALID". ValueError says what does not fit."""
        if size < 1 or stride < 1 or dilation < 1 or inputs < 0:
            raise ValueError(
                f"window size {size}, stride {stride} and dilation {dilation} must be positive, "
                f"and the input's size {inputs} must not be negative"
            )
        extent = (size - 1) * dilation + 1
        if padding == "SAME":
            outputs = -(-inputs // stride)
            before = max((outputs - 1) * stride + extent - inputs, 0) // 2
        elif padding == "VALID":
            outputs, before = max(-(-(inputs - extent + 1) // stride), 0), 0
        else:
            raise ValueError(f"padding is {padding!r}; it must be 'SAME' or 'VALID'")
        return cls(inputs, size, stride, dilation, before, outputs)

    @property
    def extent(self) -> int:
        """The number of input elements from a window's first to its last."""
        return (self.size - 1) * self.dilation + 1

    @property
    def after(self) -> int:
        """The elements of padding behind the input that the last window reaches."""
        return max((self.outputs - 1) * self.stride + self.extent - self.before - self.inputs, 0)

    def taps(self) -> Taps:
        """For each output the pairs (window element, input) that it is computed from, padding left out."""
        return tuple(
            tuple(
                (k, position)
                for k in range(self.size)
                if 0 <= (position := output * self.stride + k * self.dilation - self.before) < self.inputs
            )
            for output in range(self.outputs)
        )

    def transposed_taps(self) -> Taps:
        """For each input the pairs (window element, output) that it takes part in."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(self.inputs)]
        for output, pairs in enumerate(self.taps()):
            for k, position in pairs:
                found[position].append((k, output))
        return tuple(tuple(sorted(pairs)) for pairs in found)
