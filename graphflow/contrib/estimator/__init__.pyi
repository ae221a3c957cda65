"""What programs put around optimizers and models of ready-made estimators (tf.contrib.estimator)."""

from graphflow.estimator.canned.baseline import BaselineEstimator as BaselineEstimator
from graphflow.estimator.canned.dnn import DNNEstimator as DNNEstimator
from graphflow.estimator.canned.combined import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator
from graphflow.estimator.evaluator_hook import InMemoryEvaluatorHook as InMemoryEvaluatorHook
from graphflow.estimator.canned.linear import LinearEstimator as LinearEstimator
from graphflow.estimator.extenders import add_metrics as add_metrics
from graphflow.estimator.canned.mean_heads import binary_classification_head as binary_classification_head
from graphflow.contrib.estimator.clipping import clip_gradients_by_norm as clip_gradients_by_norm
from graphflow.estimator.extenders import forward_features as forward_features
from graphflow.estimator.early_stopping import make_early_stopping_hook as make_early_stopping_hook
from graphflow.estimator.canned.mean_heads import multi_class_head as multi_class_head
from graphflow.estimator.early_stopping import read_eval_metrics as read_eval_metrics
from graphflow.estimator.canned.mean_heads import regression_head as regression_head
from graphflow.estimator.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from graphflow.estimator.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from graphflow.estimator.early_stopping import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from graphflow.estimator.early_stopping import stop_if_no_increase_hook as stop_if_no_increase_hook
from graphflow.estimator.canned.mean_heads import logistic_regression_head as logistic_regression_head
from graphflow.estimator.canned.mean_heads import multi_head as multi_head
from graphflow.estimator.canned.mean_heads import multi_label_head as multi_label_head
from graphflow.estimator.canned.mean_heads import poisson_regression_head as poisson_regression_head
