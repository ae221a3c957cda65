"""The names under which ready-made estimators give predictions and metrics."""

from __future__ import annotations

from typing import Final


class PredictionKeys:
    """The names of predictions (tensorflow_estimator.python.estimator.canned.prediction_keys)."""

    CLASSES: Final = "classes"
    CLASS_IDS: Final = "class_ids"
    ALL_CLASSES: Final = "all_classes"
    ALL_CLASS_IDS: Final = "all_class_ids"
    LOGISTIC: Final = "logistic"
    LOGITS: Final = "logits"
    PREDICTIONS: Final = "predictions"
    PROBABILITIES: Final = "probabilities"
    TOP_K: Final = "top_k"


class MetricKeys:
    """The names of metrics; those with a % are filled with a threshold, the number of a class or its name."""

    LOSS: Final = "loss"
    LOSS_MEAN: Final = "average_loss"
    LOSS_REGULARIZATION: Final = "regularization_loss"
    ACCURACY: Final = "accuracy"
    PRECISION: Final = "precision"
    RECALL: Final = "recall"
    ACCURACY_BASELINE: Final = "accuracy_baseline"
    AUC: Final = "auc"
    AUC_PR: Final = "auc_precision_recall"
    LABEL_MEAN: Final = "label/mean"
    PREDICTION_MEAN: Final = "prediction/mean"
    ACCURACY_AT_THRESHOLD: Final = "accuracy/positive_threshold_%g"
    PRECISION_AT_THRESHOLD: Final = "precision/positive_threshold_%g"
    RECALL_AT_THRESHOLD: Final = "recall/positive_threshold_%g"
    PRECISION_AT_RECALL: Final = "precision_at_recall_%g"
    PROBABILITY_MEAN_AT_CLASS: Final = "probability_mean/class%d"
    AUC_AT_CLASS: Final = "auc/class%d"
    AUC_PR_AT_CLASS: Final = "auc_precision_recall/class%d"
    PROBABILITY_MEAN_AT_NAME: Final = "probability_mean/%s"
    AUC_AT_NAME: Final = "auc/%s"
    AUC_PR_AT_NAME: Final = "auc_precision_recall/%s"
