"""Measures gathered over many steps (tf.metrics)."""

from graphflow.metrics.averages import accuracy as accuracy
from graphflow.metrics.curves import auc as auc
from graphflow.metrics.ranked import average_precision_at_k as average_precision_at_k
from graphflow.metrics.counts import false_negatives as false_negatives
from graphflow.metrics.counts import false_negatives_at_thresholds as false_negatives_at_thresholds
from graphflow.metrics.counts import false_positives as false_positives
from graphflow.metrics.counts import false_positives_at_thresholds as false_positives_at_thresholds
from graphflow.metrics.averages import mean as mean
from graphflow.metrics.averages import mean_absolute_error as mean_absolute_error
from graphflow.metrics.averages import mean_cosine_distance as mean_cosine_distance
from graphflow.metrics.classes import mean_iou as mean_iou
from graphflow.metrics.classes import mean_per_class_accuracy as mean_per_class_accuracy
from graphflow.metrics.averages import mean_relative_error as mean_relative_error
from graphflow.metrics.averages import mean_squared_error as mean_squared_error
from graphflow.metrics.averages import mean_tensor as mean_tensor
from graphflow.metrics.averages import percentage_below as percentage_below
from graphflow.metrics.counts import precision as precision
from graphflow.metrics.classes import precision_at_k as precision_at_k
from graphflow.metrics.classes import precision_at_k as _sparse_precision_at_k
from graphflow.metrics.ranked import average_precision_at_k as _sparse_average_precision_at_k
from graphflow.metrics.counts import precision_at_thresholds as precision_at_thresholds
from graphflow.metrics.classes import precision_at_top_k as precision_at_top_k
from graphflow.metrics.counts import recall as recall
from graphflow.metrics.classes import recall_at_k as recall_at_k
from graphflow.metrics.counts import recall_at_thresholds as recall_at_thresholds
from graphflow.metrics.classes import recall_at_top_k as recall_at_top_k
from graphflow.metrics.averages import root_mean_squared_error as root_mean_squared_error
from graphflow.metrics.curves import sensitivity_at_specificity as sensitivity_at_specificity
from graphflow.metrics.curves import specificity_at_sensitivity as specificity_at_sensitivity
from graphflow.metrics.counts import true_negatives as true_negatives
from graphflow.metrics.counts import true_negatives_at_thresholds as true_negatives_at_thresholds
from graphflow.metrics.counts import true_positives as true_positives
from graphflow.metrics.counts import true_positives_at_thresholds as true_positives_at_thresholds

sparse_average_precision_at_k = _sparse_average_precision_at_k
sparse_precision_at_k = _sparse_precision_at_k
