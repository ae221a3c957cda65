"""What may change of estimators in TensorFlow: hooks that end training early (tf.estimator.experimental)."""

from graphflow.estimator.evaluator_hook import InMemoryEvaluatorHook as InMemoryEvaluatorHook
from graphflow.estimator.canned.kmeans import KMeans as KMeans
from graphflow.estimator.early_stopping import make_early_stopping_hook as make_early_stopping_hook
from graphflow.estimator.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from graphflow.estimator.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from graphflow.estimator.early_stopping import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from graphflow.estimator.early_stopping import stop_if_no_increase_hook as stop_if_no_increase_hook
