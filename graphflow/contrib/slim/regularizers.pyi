"""Losses of weights (tf.contrib.slim.regularizers)."""

from graphflow.layers.regularizers import apply_regularization as apply_regularization
from graphflow.layers.regularizers import l1_l2_regularizer as l1_l2_regularizer
from graphflow.layers.regularizers import l1_regularizer as l1_regularizer
from graphflow.layers.regularizers import l2_regularizer as l2_regularizer
from graphflow.layers.regularizers import sum_regularizer as sum_regularizer
