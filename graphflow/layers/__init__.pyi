"""Layers with variables of their own (tf.layers)."""

from typing import Any

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

def average_pooling1d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def average_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def average_pooling3d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def conv1d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def conv2d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def conv2d_transpose(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def conv3d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def conv3d_transpose(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def dense(inputs: Any, units: Any, activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def max_pooling1d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def max_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def max_pooling3d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def separable_conv1d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., depth_multiplier: Any = ..., activation: Any = ..., use_bias: Any = ..., depthwise_initializer: Any = ..., pointwise_initializer: Any = ..., bias_initializer: Any = ..., depthwise_regularizer: Any = ..., pointwise_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., depthwise_constraint: Any = ..., pointwise_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def separable_conv2d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., depth_multiplier: Any = ..., activation: Any = ..., use_bias: Any = ..., depthwise_initializer: Any = ..., pointwise_initializer: Any = ..., bias_initializer: Any = ..., depthwise_regularizer: Any = ..., pointwise_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., depthwise_constraint: Any = ..., pointwise_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
