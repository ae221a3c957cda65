"""Values that one run puts aside for another (tf.contrib.staging)."""

from graphflow.contrib.staging.area import StagingArea as StagingArea
