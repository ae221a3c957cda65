"""What programs use of tf.contrib, a module for each part, so that `from graphflow.contrib import rnn` works, too."""

from graphflow.distribute import cluster_resolver as cluster_resolver
from . import crf as crf
from . import data as data
from . import distribute as distribute
from . import distributions as distributions
from . import estimator as estimator
from . import feature_column as feature_column
from . import framework as framework
from . import layers as layers
from . import learn as learn
from . import legacy_seq2seq as legacy_seq2seq
from . import lookup as lookup
from . import losses as losses
from . import memory_stats as memory_stats
from . import metrics as metrics
from . import opt as opt
from . import rnn as rnn
from . import seq2seq as seq2seq
from . import slim as slim
from . import summary as summary
from . import tensor_forest as tensor_forest
from . import tensorboard as tensorboard
from . import tfprof as tfprof
from . import tpu as tpu
from . import training as training
from . import util as util
