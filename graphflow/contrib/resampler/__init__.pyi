"""Images seen at places between their pixels (tf.contrib.resampler)."""

from graphflow.contrib.resampler.sampling import resampler as resampler
