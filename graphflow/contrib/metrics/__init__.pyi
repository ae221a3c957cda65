"""Measures with predictions before labels (tf.contrib.metrics), and those that are only there."""

from graphflow.contrib.metrics.streaming import accuracy as accuracy
from graphflow.contrib.metrics.streaming import aggregate_metric_map as aggregate_metric_map
from graphflow.contrib.metrics.streaming import aggregate_metrics as aggregate_metrics
from graphflow.contrib.metrics.streaming import streaming_accuracy as streaming_accuracy
from graphflow.contrib.metrics.streaming import streaming_auc as streaming_auc
from graphflow.contrib.metrics.streaming import streaming_false_negatives as streaming_false_negatives
from graphflow.contrib.metrics.streaming import streaming_false_positives as streaming_false_positives
from graphflow.contrib.metrics.streaming import streaming_mean as streaming_mean
from graphflow.contrib.metrics.streaming import streaming_mean_absolute_error as streaming_mean_absolute_error
from graphflow.contrib.metrics.streaming import streaming_mean_cosine_distance as streaming_mean_cosine_distance
from graphflow.contrib.metrics.streaming import streaming_mean_iou as streaming_mean_iou
from graphflow.contrib.metrics.streaming import streaming_mean_relative_error as streaming_mean_relative_error
from graphflow.contrib.metrics.streaming import streaming_mean_squared_error as streaming_mean_squared_error
from graphflow.contrib.metrics.streaming import streaming_mean_tensor as streaming_mean_tensor
from graphflow.contrib.metrics.streaming import streaming_percentage_less as streaming_percentage_less
from graphflow.contrib.metrics.streaming import streaming_precision as streaming_precision
from graphflow.contrib.metrics.streaming import streaming_precision_at_thresholds as streaming_precision_at_thresholds
from graphflow.contrib.metrics.streaming import streaming_recall as streaming_recall
from graphflow.contrib.metrics.streaming import streaming_recall_at_k as streaming_recall_at_k
from graphflow.contrib.metrics.streaming import streaming_recall_at_thresholds as streaming_recall_at_thresholds
from graphflow.contrib.metrics.streaming import streaming_root_mean_squared_error as streaming_root_mean_squared_error
from graphflow.contrib.metrics.streaming import streaming_sensitivity_at_specificity as streaming_sensitivity_at_specificity
from graphflow.contrib.metrics.streaming import streaming_sparse_precision_at_k as streaming_sparse_precision_at_k
from graphflow.contrib.metrics.streaming import streaming_sparse_recall_at_k as streaming_sparse_recall_at_k
from graphflow.contrib.metrics.streaming import streaming_specificity_at_sensitivity as streaming_specificity_at_sensitivity
from graphflow.contrib.metrics.streaming import streaming_true_negatives as streaming_true_negatives
from graphflow.contrib.metrics.streaming import streaming_true_positives as streaming_true_positives
from graphflow.contrib.metrics.relations import cohen_kappa as cohen_kappa
from graphflow.contrib.metrics.relations import f1_score as f1_score
from graphflow.contrib.metrics.relations import streaming_covariance as streaming_covariance
from graphflow.contrib.metrics.relations import streaming_pearson_correlation as streaming_pearson_correlation
from graphflow.contrib.metrics.gathering import count as count
from graphflow.contrib.metrics.gathering import streaming_concat as streaming_concat
from graphflow._core.ops.math.sorting import confusion_matrix as confusion_matrix
from graphflow.metrics.classes import recall_at_top_k as _recall_at_top_k
from graphflow._core.ops.sparse.sets import set_size as set_size
from graphflow._core.ops.sparse.sets import set_intersection as set_intersection
from graphflow._core.ops.sparse.sets import set_difference as set_difference
from graphflow._core.ops.sparse.sets import set_union as set_union

sparse_recall_at_top_k = _recall_at_top_k
