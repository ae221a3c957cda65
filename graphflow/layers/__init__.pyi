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
from . import arg_scope as arg_scope
from . import arguments as arguments
from . import base as base
from graphflow.layers.normalization import batch_normalization as batch_normalization
from . import channelwise as channelwise
from . import contrib as contrib
from . import contrib_channelwise as contrib_channelwise
from . import contrib_composed as contrib_composed
from . import contrib_scope as contrib_scope
from . import convolutional as convolutional
from . import core as core
from graphflow.layers.core import dense as dense
from graphflow.layers.core import dropout as dropout
from graphflow.layers.core import flatten as flatten
from . import input_spec as input_spec
from . import model_variables as model_variables
from . import named_outputs as named_outputs
from . import normalization as normalization
from . import optimize_loss as optimize_loss
from . import pooling as pooling
from . import regularizers as regularizers

def average_pooling1d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def average_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def average_pooling3d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def conv1d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def conv2d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def conv2d_transpose(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def conv3d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def conv3d_transpose(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def max_pooling1d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def max_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def max_pooling3d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., trainable: Any = ...) -> Any: ...
def separable_conv1d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., depth_multiplier: Any = ..., activation: Any = ..., use_bias: Any = ..., depthwise_initializer: Any = ..., pointwise_initializer: Any = ..., bias_initializer: Any = ..., depthwise_regularizer: Any = ..., pointwise_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., depthwise_constraint: Any = ..., pointwise_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
def separable_conv2d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., depth_multiplier: Any = ..., activation: Any = ..., use_bias: Any = ..., depthwise_initializer: Any = ..., pointwise_initializer: Any = ..., bias_initializer: Any = ..., depthwise_regularizer: Any = ..., pointwise_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., depthwise_constraint: Any = ..., pointwise_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., reuse: Any = ...) -> Any: ...
