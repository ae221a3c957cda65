"""Losses with predictions before labels, and weights by example (tf.contrib.losses): gf.losses with other arguments."""

from . import metric_learning as metric_learning
from graphflow.contrib.losses.functions import absolute_difference as absolute_difference
from graphflow.contrib.losses.functions import add_loss as add_loss
from graphflow.contrib.losses.functions import compute_weighted_loss as compute_weighted_loss
from graphflow.contrib.losses.functions import cosine_distance as cosine_distance
from graphflow.contrib.losses.functions import get_total_loss as get_total_loss
from graphflow.contrib.losses.functions import hinge_loss as hinge_loss
from graphflow.contrib.losses.functions import log_loss as log_loss
from graphflow.contrib.losses.functions import mean_pairwise_squared_error as mean_pairwise_squared_error
from graphflow.contrib.losses.functions import mean_squared_error as mean_squared_error
from graphflow.contrib.losses.functions import sigmoid_cross_entropy as sigmoid_cross_entropy
from graphflow.contrib.losses.functions import softmax_cross_entropy as softmax_cross_entropy
from graphflow.contrib.losses.functions import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy
from graphflow.losses import get_losses as get_losses
from graphflow.losses import get_regularization_losses as get_regularization_losses
