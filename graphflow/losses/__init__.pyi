"""Losses for training, as tf.losses: each returns a scalar and adds it to the collection GraphKeys.LOSSES."""

from graphflow.losses.reduction import Reduction as Reduction
from graphflow.losses.functions import absolute_difference as absolute_difference
from graphflow.losses.reduction import add_loss as add_loss
from graphflow.losses.reduction import compute_weighted_loss as compute_weighted_loss
from graphflow.losses.functions import cosine_distance as cosine_distance
from graphflow.losses.reduction import get_losses as get_losses
from graphflow.losses.reduction import get_regularization_loss as get_regularization_loss
from graphflow.losses.reduction import get_regularization_losses as get_regularization_losses
from graphflow.losses.reduction import get_total_loss as get_total_loss
from graphflow.losses.functions import hinge_loss as hinge_loss
from graphflow.losses.functions import huber_loss as huber_loss
from graphflow.losses.functions import log_loss as log_loss
from graphflow.losses.functions import mean_pairwise_squared_error as mean_pairwise_squared_error
from graphflow.losses.functions import mean_squared_error as mean_squared_error
from graphflow.losses.functions import sigmoid_cross_entropy as sigmoid_cross_entropy
from graphflow.losses.functions import softmax_cross_entropy as softmax_cross_entropy
from graphflow.losses.functions import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy
