"""Recurrent layers as cuDNN has them, which run anywhere, and cells of the same weights (tf.contrib.cudnn_rnn)."""

from graphflow.contrib.cudnn_rnn.cells import CudnnCompatibleGRUCell as CudnnCompatibleGRUCell
from graphflow.contrib.cudnn_rnn.cells import CudnnCompatibleLSTMCell as CudnnCompatibleLSTMCell
from graphflow.contrib.cudnn_rnn.layers import CudnnGRU as CudnnGRU
from graphflow.contrib.cudnn_rnn.layers import CudnnLSTM as CudnnLSTM
from graphflow.contrib.cudnn_rnn.layers import CudnnRNNRelu as CudnnRNNRelu
from graphflow.contrib.cudnn_rnn.layers import CudnnRNNTanh as CudnnRNNTanh
