"""What programs put around optimizers of ready-made estimators (tf.contrib.estimator)."""

from graphflow.contrib.estimator.clipping import clip_gradients_by_norm as clip_gradients_by_norm
