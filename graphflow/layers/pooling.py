"""Pooling layers of one to three axes (tf.layers)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, IntsLike
from graphflow._core.ops.array import array
from graphflow._core.ops.nn import pooling, volumes
from graphflow.layers.arguments import integers, layout_of, padding_of
from graphflow.layers.base import Layer, functional
from graphflow.layers.input_spec import InputSpec

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope

FORMATS = {
    (1, "channels_last"): "NWC", (1, "channels_first"): "NCW", (2, "channels_last"): "NHWC",
    (2, "channels_first"): "NCHW", (3, "channels_last"): "NDHWC", (3, "channels_first"): "NCDHW",
}  # fmt: skip
"""The layouts of gf.nn by the number of axes besides batch and channels."""


class _Pooling(Layer):
    """What the pooling layers share; those derived say over how many axes, and by which function.

    Args:
        pool_size: The window's size, an integer or one for each axis.
        strides: How far the window moves, an integer or one for each axis; None for the window's size.
        padding: "valid" or "same".
        data_format: "channels_last" or "channels_first".
        name: Of its operations; by default that of the class in small letters, made unique.
        trainable: Accepted: there are no variables.
        dtype: Accepted: the outputs have that of the inputs.
        _scope: The variable scope, for the functions of gf.layers.
        _reuse: For the functions of gf.layers.
    """

    axes: ClassVar[int]
    function: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        pool_size: IntsLike,
        strides: IntsLike | None,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        trainable: bool = True,
        dtype: DTypeLike | None = None,
        _scope: str | VariableScope | None = None,
        _reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(trainable, name, dtype, None, _scope, _reuse)
        self.pool_size: tuple[int, ...] = integers(pool_size, self.axes, "pool_size")
        self.strides: tuple[int, ...] = integers(
            pool_size if strides is None else strides, self.axes, "strides"
        )
        self.padding: str = padding_of(padding)
        self.data_format: str = layout_of(data_format)
        self.input_spec: InputSpec = InputSpec(ndim=self.axes + 2)

    def call(self, inputs: Any) -> Tensor:
        """The pooled inputs."""
        window, steps = self.pool_size, self.strides
        first = self.data_format == "channels_first"
        if self.axes == 1:
            inputs = array.expand_dims(inputs, 3 if first else 2)
            window, steps = (*window, 1), (*steps, 1)
        around = ((1, 1), ()) if first else ((1,), (1,))
        outputs = type(self).function(
            inputs,
            [*around[0], *window, *around[1]],
            [*around[0], *steps, *around[1]],
            self.padding.upper(),
            data_format=FORMATS[max(self.axes, 2), self.data_format],
        )
        return array.squeeze(outputs, 3 if first else 2) if self.axes == 1 else outputs


class MaxPooling1D(_Pooling):
    """The largest element of each window of sequences [batch, steps, channels] (tf.layers.MaxPooling1D)."""

    axes = 1
    function: ClassVar[Callable[..., Tensor]] = staticmethod(pooling.max_pool)


class MaxPooling2D(_Pooling):
    """The largest element of each window of images [batch, rows, columns, channels] (tf.layers.MaxPooling2D)."""

    axes = 2
    function: ClassVar[Callable[..., Tensor]] = staticmethod(pooling.max_pool)


class MaxPooling3D(_Pooling):
    """The largest element of each window of volumes (tf.layers.MaxPooling3D).

    Volumes are [batch, planes, rows, columns, channels].
    """

    axes = 3
    function: ClassVar[Callable[..., Tensor]] = staticmethod(volumes.max_pool3d)


class AveragePooling1D(_Pooling):
    """The mean of each window of sequences [batch, steps, channels] (tf.layers.AveragePooling1D); see MaxPooling1D."""

    axes = 1
    function: ClassVar[Callable[..., Tensor]] = staticmethod(pooling.avg_pool)


class AveragePooling2D(_Pooling):
    """The mean of each window of images (tf.layers.AveragePooling2D); for the arguments see MaxPooling2D."""

    axes = 2
    function: ClassVar[Callable[..., Tensor]] = staticmethod(pooling.avg_pool)


class AveragePooling3D(_Pooling):
    """The mean of each window of volumes (tf.layers.AveragePooling3D); for the arguments see MaxPooling3D."""

    axes = 3
    function: ClassVar[Callable[..., Tensor]] = staticmethod(volumes.avg_pool3d)


max_pooling1d: Final[Callable[..., Tensor]] = functional(MaxPooling1D, "max_pooling1d", shares=False)
max_pooling2d: Final[Callable[..., Tensor]] = functional(MaxPooling2D, "max_pooling2d", shares=False)
max_pooling3d: Final[Callable[..., Tensor]] = functional(MaxPooling3D, "max_pooling3d", shares=False)
average_pooling1d: Final[Callable[..., Tensor]] = functional(
    AveragePooling1D, "average_pooling1d", shares=False
)
average_pooling2d: Final[Callable[..., Tensor]] = functional(
    AveragePooling2D, "average_pooling2d", shares=False
)
average_pooling3d: Final[Callable[..., Tensor]] = functional(
    AveragePooling3D, "average_pooling3d", shares=False
)
