"""Layers (tf.keras.layers)."""

from graphflow.keras.engine.base_layer import Layer as Layer
from graphflow.keras.engine.input_layer import Input as Input
from graphflow.keras.engine.input_layer import InputLayer as InputLayer
from graphflow.layers.input_spec import InputSpec as InputSpec
from graphflow.keras.engine.network_config import deserialize_layer as _deserialize_layer
from graphflow.keras.engine.network_config import serialize_layer as _serialize_layer
from graphflow.keras.engine.training import Model as Model
from graphflow.keras.engine.sequential import Sequential as Sequential
from graphflow.keras.layers.core import Activation as Activation
from graphflow.keras.layers.core import ActivityRegularization as ActivityRegularization
from graphflow.keras.layers.core import Dense as Dense
from graphflow.keras.layers.noise import Dropout as Dropout
from graphflow.keras.layers.embedding import Embedding as Embedding
from graphflow.keras.layers.core import Flatten as Flatten
from graphflow.keras.layers.lambda_layer import Lambda as Lambda
from graphflow.keras.layers.core import Masking as Masking
from graphflow.keras.layers.core import Permute as Permute
from graphflow.keras.layers.core import RepeatVector as RepeatVector
from graphflow.keras.layers.core import Reshape as Reshape
from graphflow.keras.layers.noise import SpatialDropout1D as SpatialDropout1D
from graphflow.keras.layers.noise import SpatialDropout2D as SpatialDropout2D
from graphflow.keras.layers.noise import SpatialDropout3D as SpatialDropout3D
from graphflow.keras.layers.noise import AlphaDropout as AlphaDropout
from graphflow.keras.layers.advanced import ELU as ELU
from graphflow.keras.layers.noise import GaussianDropout as GaussianDropout
from graphflow.keras.layers.noise import GaussianNoise as GaussianNoise
from graphflow.keras.layers.advanced import LeakyReLU as LeakyReLU
from graphflow.keras.layers.advanced import PReLU as PReLU
from graphflow.keras.layers.advanced import ReLU as ReLU
from graphflow.keras.layers.advanced import Softmax as Softmax
from graphflow.keras.layers.advanced import ThresholdedReLU as ThresholdedReLU
from graphflow.keras.layers.convolutional import Conv1D as Conv1D
from graphflow.keras.layers.convolutional import Conv2D as Conv2D
from graphflow.keras.layers.convolutional import Conv2DTranspose as Conv2DTranspose
from graphflow.keras.layers.convolutional import Conv3D as Conv3D
from graphflow.keras.layers.convolutional import Conv3DTranspose as Conv3DTranspose
from graphflow.keras.layers.resizing import Cropping1D as Cropping1D
from graphflow.keras.layers.resizing import Cropping2D as Cropping2D
from graphflow.keras.layers.resizing import Cropping3D as Cropping3D
from graphflow.keras.layers.convolutional import DepthwiseConv2D as DepthwiseConv2D
from graphflow.keras.layers.convolutional import SeparableConv1D as SeparableConv1D
from graphflow.keras.layers.convolutional import SeparableConv2D as SeparableConv2D
from graphflow.keras.layers.resizing import UpSampling1D as UpSampling1D
from graphflow.keras.layers.resizing import UpSampling2D as UpSampling2D
from graphflow.keras.layers.resizing import UpSampling3D as UpSampling3D
from graphflow.keras.layers.resizing import ZeroPadding1D as ZeroPadding1D
from graphflow.keras.layers.resizing import ZeroPadding2D as ZeroPadding2D
from graphflow.keras.layers.resizing import ZeroPadding3D as ZeroPadding3D
from graphflow.keras.layers.convolutional import Conv1D as _Conv1D
from graphflow.keras.layers.convolutional import Conv2D as _Conv2D
from graphflow.keras.layers.convolutional import Conv2DTranspose as _Conv2DTranspose
from graphflow.keras.layers.convolutional import Conv3D as _Conv3D
from graphflow.keras.layers.convolutional import Conv3DTranspose as _Conv3DTranspose
from graphflow.keras.layers.convolutional import SeparableConv1D as _SeparableConv1D
from graphflow.keras.layers.convolutional import SeparableConv2D as _SeparableConv2D
from graphflow.keras.layers.local import LocallyConnected1D as LocallyConnected1D
from graphflow.keras.layers.local import LocallyConnected2D as LocallyConnected2D
from graphflow.keras.layers.features import DenseFeatures as DenseFeatures
from graphflow.keras.layers.recurrent.convolutional import ConvLSTM2D as ConvLSTM2D
from graphflow.keras.layers.pooling import AveragePooling1D as AveragePooling1D
from graphflow.keras.layers.pooling import AveragePooling2D as AveragePooling2D
from graphflow.keras.layers.pooling import AveragePooling3D as AveragePooling3D
from graphflow.keras.layers.pooling import MaxPooling1D as MaxPooling1D
from graphflow.keras.layers.pooling import MaxPooling2D as MaxPooling2D
from graphflow.keras.layers.pooling import MaxPooling3D as MaxPooling3D
from graphflow.keras.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from graphflow.keras.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from graphflow.keras.layers.pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from graphflow.keras.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from graphflow.keras.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from graphflow.keras.layers.pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from graphflow.keras.layers.pooling import AveragePooling1D as _AveragePooling1D
from graphflow.keras.layers.pooling import AveragePooling2D as _AveragePooling2D
from graphflow.keras.layers.pooling import AveragePooling3D as _AveragePooling3D
from graphflow.keras.layers.pooling import MaxPooling1D as _MaxPooling1D
from graphflow.keras.layers.pooling import MaxPooling2D as _MaxPooling2D
from graphflow.keras.layers.pooling import MaxPooling3D as _MaxPooling3D
from graphflow.keras.layers.pooling import GlobalAveragePooling1D as _GlobalAveragePooling1D
from graphflow.keras.layers.pooling import GlobalAveragePooling2D as _GlobalAveragePooling2D
from graphflow.keras.layers.pooling import GlobalAveragePooling3D as _GlobalAveragePooling3D
from graphflow.keras.layers.pooling import GlobalMaxPooling1D as _GlobalMaxPooling1D
from graphflow.keras.layers.pooling import GlobalMaxPooling2D as _GlobalMaxPooling2D
from graphflow.keras.layers.pooling import GlobalMaxPooling3D as _GlobalMaxPooling3D
from graphflow.keras.layers.normalization import BatchNormalization as BatchNormalization
from graphflow.keras.layers.normalization import LayerNormalization as LayerNormalization
from graphflow.keras.layers.merging import Add as Add
from graphflow.keras.layers.merging import AdditiveAttention as AdditiveAttention
from graphflow.keras.layers.merging import Attention as Attention
from graphflow.keras.layers.merging import Average as Average
from graphflow.keras.layers.merging import Concatenate as Concatenate
from graphflow.keras.layers.merging import Dot as Dot
from graphflow.keras.layers.merging import Maximum as Maximum
from graphflow.keras.layers.merging import Minimum as Minimum
from graphflow.keras.layers.merging import Multiply as Multiply
from graphflow.keras.layers.merging import Subtract as Subtract
from graphflow.keras.layers.merging import add as add
from graphflow.keras.layers.merging import average as average
from graphflow.keras.layers.merging import concatenate as concatenate
from graphflow.keras.layers.merging import dot as dot
from graphflow.keras.layers.merging import maximum as maximum
from graphflow.keras.layers.merging import minimum as minimum
from graphflow.keras.layers.merging import multiply as multiply
from graphflow.keras.layers.merging import subtract as subtract
from graphflow.keras.layers.recurrent.cells import GRUCell as GRUCell
from graphflow.keras.layers.recurrent.cells import LSTMCell as LSTMCell
from graphflow.keras.layers.recurrent.cells import SimpleRNNCell as SimpleRNNCell
from graphflow.keras.layers.recurrent.cells import StackedRNNCells as StackedRNNCells
from graphflow.keras.layers.recurrent.layers import AbstractRNNCell as AbstractRNNCell
from graphflow.keras.layers.recurrent.layers import CuDNNGRU as CuDNNGRU
from graphflow.keras.layers.recurrent.layers import CuDNNLSTM as CuDNNLSTM
from graphflow.keras.layers.recurrent.layers import GRU as GRU
from graphflow.keras.layers.recurrent.layers import LSTM as LSTM
from graphflow.keras.layers.recurrent.layers import RNN as RNN
from graphflow.keras.layers.recurrent.layers import SimpleRNN as SimpleRNN
from graphflow.keras.layers.wrappers import Bidirectional as Bidirectional
from graphflow.keras.layers.wrappers import TimeDistributed as TimeDistributed
from graphflow.keras.layers.wrappers import Wrapper as Wrapper

deserialize = _deserialize_layer
serialize = _serialize_layer
Convolution1D = _Conv1D
Convolution2D = _Conv2D
Convolution2DTranspose = _Conv2DTranspose
Convolution3D = _Conv3D
Convolution3DTranspose = _Conv3DTranspose
SeparableConvolution1D = _SeparableConv1D
SeparableConvolution2D = _SeparableConv2D
AvgPool1D = _AveragePooling1D
AvgPool2D = _AveragePooling2D
AvgPool3D = _AveragePooling3D
MaxPool1D = _MaxPooling1D
MaxPool2D = _MaxPooling2D
MaxPool3D = _MaxPooling3D
GlobalAvgPool1D = _GlobalAveragePooling1D
GlobalAvgPool2D = _GlobalAveragePooling2D
GlobalAvgPool3D = _GlobalAveragePooling3D
GlobalMaxPool1D = _GlobalMaxPooling1D
GlobalMaxPool2D = _GlobalMaxPooling2D
GlobalMaxPool3D = _GlobalMaxPooling3D
