"""Estimators of models written for TPUs, which run on the CPU or a GPU as with use_tpu=False (gf.estimator.tpu)."""

from graphflow.estimator.tpu.config import InputPipelineConfig as InputPipelineConfig
from graphflow.estimator.tpu.config import RunConfig as RunConfig
from graphflow.estimator.tpu.config import TPUConfig as TPUConfig
from graphflow.estimator.tpu.estimator import TPUEstimator as TPUEstimator
from graphflow.estimator.tpu.spec import TPUEstimatorSpec as TPUEstimatorSpec
