"""Layers with variables of their own (tf.layers)."""

from typing import Any

from graphflow._core.graph.types import Activation as _Activation
from graphflow._core.graph.types import Constraint as _Constraint
from graphflow._core.graph.types import Initializer as _Initializer
from graphflow._core.graph.types import IntsLike as _IntsLike
from graphflow._core.graph.types import Regularizer as _Regularizer
from graphflow._core.ops.state.variable_scope import ReuseMode as _ReuseMode
from graphflow._core.graph.elements import Tensor as _Tensor
from graphflow._core.graph.types import TensorLike as _TensorLike
from graphflow.layers.pooling import AveragePooling1D as AveragePooling1D
from graphflow.layers.pooling import AveragePooling2D as AveragePooling2D
from graphflow.layers.pooling import AveragePooling3D as AveragePooling3D
from graphflow.layers.normalization import BatchNormalization as BatchNormalization
from graphflow.layers.convolutional import Conv1D as Conv1D
from graphflow.layers.convolutional import Conv2D as Conv2D
from graphflow.layers.channelwise import Conv2DTranspose as Conv2DTranspose
from graphflow.layers.convolutional import Conv3D as Conv3D
from graphflow.layers.channelwise import Conv3DTranspose as Conv3DTranspose
from graphflow.layers.core import Dense as Dense
from graphflow.layers.core import Dropout as Dropout
from graphflow.layers.core import Flatten as Flatten
from graphflow.layers.input_spec import InputSpec as InputSpec
from graphflow.layers.base import Layer as Layer
from graphflow.layers.pooling import MaxPooling1D as MaxPooling1D
from graphflow.layers.pooling import MaxPooling2D as MaxPooling2D
from graphflow.layers.pooling import MaxPooling3D as MaxPooling3D
from graphflow.layers.channelwise import SeparableConv1D as SeparableConv1D
from graphflow.layers.channelwise import SeparableConv2D as SeparableConv2D
from graphflow.layers.pooling import average_pooling1d as _average_pooling1d
from graphflow.layers.pooling import average_pooling2d as _average_pooling2d
from graphflow.layers.pooling import average_pooling3d as _average_pooling3d
from graphflow.layers.normalization import batch_normalization as batch_normalization
from graphflow.layers.convolutional import conv1d as _conv1d
from graphflow.layers.convolutional import conv2d as _conv2d
from graphflow.layers.channelwise import conv2d_transpose as _conv2d_transpose
from graphflow.layers.convolutional import conv3d as _conv3d
from graphflow.layers.channelwise import conv3d_transpose as _conv3d_transpose
from graphflow.layers.core import dense as _dense
from graphflow.layers.core import dropout as dropout
from graphflow.layers.core import flatten as flatten
from graphflow.layers.pooling import max_pooling1d as _max_pooling1d
from graphflow.layers.pooling import max_pooling2d as _max_pooling2d
from graphflow.layers.pooling import max_pooling3d as _max_pooling3d
from graphflow.layers.channelwise import separable_conv1d as _separable_conv1d
from graphflow.layers.channelwise import separable_conv2d as _separable_conv2d

def average_pooling1d(inputs: _TensorLike, pool_size: _IntsLike, strides: _IntsLike | None, padding: str = ..., data_format: str = ..., name: str | None = ..., trainable: bool = ...) -> _Tensor: ...
def average_pooling2d(inputs: _TensorLike, pool_size: _IntsLike, strides: _IntsLike | None, padding: str = ..., data_format: str = ..., name: str | None = ..., trainable: bool = ...) -> _Tensor: ...
def average_pooling3d(inputs: _TensorLike, pool_size: _IntsLike, strides: _IntsLike | None, padding: str = ..., data_format: str = ..., name: str | None = ..., trainable: bool = ...) -> _Tensor: ...
def conv1d(inputs: _TensorLike, filters: int, kernel_size: _IntsLike, strides: _IntsLike = ..., padding: str = ..., data_format: str = ..., dilation_rate: _IntsLike = ..., activation: _Activation | str | None = ..., use_bias: bool = ..., kernel_initializer: _Initializer | str | None = ..., bias_initializer: _Initializer | str = ..., kernel_regularizer: _Regularizer | None = ..., bias_regularizer: _Regularizer | None = ..., activity_regularizer: _Regularizer | None = ..., kernel_constraint: _Constraint | None = ..., bias_constraint: _Constraint | None = ..., trainable: bool = ..., name: str | None = ..., reuse: bool | _ReuseMode | None = ...) -> _Tensor: ...
def conv2d(inputs: _TensorLike, filters: int, kernel_size: _IntsLike, strides: _IntsLike = ..., padding: str = ..., data_format: str = ..., dilation_rate: _IntsLike = ..., activation: _Activation | str | None = ..., use_bias: bool = ..., kernel_initializer: _Initializer | str | None = ..., bias_initializer: _Initializer | str = ..., kernel_regularizer: _Regularizer | None = ..., bias_regularizer: _Regularizer | None = ..., activity_regularizer: _Regularizer | None = ..., kernel_constraint: _Constraint | None = ..., bias_constraint: _Constraint | None = ..., trainable: bool = ..., name: str | None = ..., reuse: bool | _ReuseMode | None = ...) -> _Tensor: ...
def conv2d_transpose(inputs: _TensorLike, filters: int, kernel_size: _IntsLike, strides: _IntsLike = ..., padding: str = ..., data_format: str = ..., activation: _Activation | str | None = ..., use_bias: bool = ..., kernel_initializer: _Initializer | str | None = ..., bias_initializer: _Initializer | str = ..., kernel_regularizer: _Regularizer | None = ..., bias_regularizer: _Regularizer | None = ..., activity_regularizer: _Regularizer | None = ..., kernel_constraint: _Constraint | None = ..., bias_constraint: _Constraint | None = ..., trainable: bool = ..., name: str | None = ..., reuse: bool | _ReuseMode | None = ...) -> _Tensor: ...
def conv3d(inputs: _TensorLike, filters: int, kernel_size: _IntsLike, strides: _IntsLike = ..., padding: str = ..., data_format: str = ..., dilation_rate: _IntsLike = ..., activation: _Activation | str | None = ..., use_bias: bool = ..., kernel_initializer: _Initializer | str | None = ..., bias_initializer: _Initializer | str = ..., kernel_regularizer: _Regularizer | None = ..., bias_regularizer: _Regularizer | None = ..., activity_regularizer: _Regularizer | None = ..., kernel_constraint: _Constraint | None = ..., bias_constraint: _Constraint | None = ..., trainable: bool = ..., name: str | None = ..., reuse: bool | _ReuseMode | None = ...) -> _Tensor: ...
def conv3d_transpose(inputs: _TensorLike, filters: int, kernel_size: _IntsLike, strides: _IntsLike = ..., padding: str = ..., data_format: str = ..., activation: _Activation | str | None = ..., use_bias: bool = ..., kernel_initializer: _Initializer | str | None = ..., bias_initializer: _Initializer | str = ..., kernel_regularizer: _Regularizer | None = ..., bias_regularizer: _Regularizer | None = ..., activity_regularizer: _Regularizer | None = ..., kernel_constraint: _Constraint | None = ..., bias_constraint: _Constraint | None = ..., trainable: bool = ..., name: str | None = ..., reuse: bool | _ReuseMode | None = ...) -> _Tensor: ...
def dense(inputs: _TensorLike, units: int, activation: _Activation | str | None = ..., use_bias: bool = ..., kernel_initializer: _Initializer | str | None = ..., bias_initializer: _Initializer | str = ..., kernel_regularizer: _Regularizer | None = ..., bias_regularizer: _Regularizer | None = ..., activity_regularizer: _Regularizer | None = ..., kernel_constraint: _Constraint | None = ..., bias_constraint: _Constraint | None = ..., trainable: bool = ..., name: str | None = ..., reuse: bool | _ReuseMode | None = ...) -> _Tensor: ...
def max_pooling1d(inputs: _TensorLike, pool_size: _IntsLike, strides: _IntsLike | None, padding: str = ..., data_format: str = ..., name: str | None = ..., trainable: bool = ...) -> _Tensor: ...
def max_pooling2d(inputs: _TensorLike, pool_size: _IntsLike, strides: _IntsLike | None, padding: str = ..., data_format: str = ..., name: str | None = ..., trainable: bool = ...) -> _Tensor: ...
def max_pooling3d(inputs: _TensorLike, pool_size: _IntsLike, strides: _IntsLike | None, padding: str = ..., data_format: str = ..., name: str | None = ..., trainable: bool = ...) -> _Tensor: ...
def separable_conv1d(inputs: _TensorLike, filters: int, kernel_size: _IntsLike, strides: _IntsLike = ..., padding: str = ..., data_format: str = ..., dilation_rate: _IntsLike = ..., depth_multiplier: int = ..., activation: _Activation | str | None = ..., use_bias: bool = ..., depthwise_initializer: _Initializer | str | None = ..., pointwise_initializer: _Initializer | str | None = ..., bias_initializer: _Initializer | str = ..., depthwise_regularizer: _Regularizer | None = ..., pointwise_regularizer: _Regularizer | None = ..., bias_regularizer: _Regularizer | None = ..., activity_regularizer: _Regularizer | None = ..., depthwise_constraint: _Constraint | None = ..., pointwise_constraint: _Constraint | None = ..., bias_constraint: _Constraint | None = ..., trainable: bool = ..., name: str | None = ..., reuse: bool | _ReuseMode | None = ...) -> _Tensor: ...
def separable_conv2d(inputs: _TensorLike, filters: int, kernel_size: _IntsLike, strides: _IntsLike = ..., padding: str = ..., data_format: str = ..., dilation_rate: _IntsLike = ..., depth_multiplier: int = ..., activation: _Activation | str | None = ..., use_bias: bool = ..., depthwise_initializer: _Initializer | str | None = ..., pointwise_initializer: _Initializer | str | None = ..., bias_initializer: _Initializer | str = ..., depthwise_regularizer: _Regularizer | None = ..., pointwise_regularizer: _Regularizer | None = ..., bias_regularizer: _Regularizer | None = ..., activity_regularizer: _Regularizer | None = ..., depthwise_constraint: _Constraint | None = ..., pointwise_constraint: _Constraint | None = ..., bias_constraint: _Constraint | None = ..., trainable: bool = ..., name: str | None = ..., reuse: bool | _ReuseMode | None = ...) -> _Tensor: ...
