"""TPUEstimator and what belongs to it, which run on the CPU or a GPU as with use_tpu=False (tf.contrib.tpu)."""

from graphflow.contrib.tpu.optimizer import CrossShardOptimizer as CrossShardOptimizer
from graphflow.estimator.tpu.config import InputPipelineConfig as InputPipelineConfig
from graphflow.estimator.tpu.config import RunConfig as RunConfig
from graphflow.estimator.tpu.config import TPUConfig as TPUConfig
from graphflow.estimator.tpu.estimator import TPUEstimator as TPUEstimator
from graphflow.estimator.tpu.spec import TPUEstimatorSpec as TPUEstimatorSpec
