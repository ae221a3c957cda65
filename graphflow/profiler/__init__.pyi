"""What a model has: parameters, floating-point operations, times, by name scope or type of operation (tf.profiler)."""

from graphflow.profiler.options import ProfileOptionBuilder as ProfileOptionBuilder
from graphflow.profiler.analysis import Profiler as Profiler
from graphflow.profiler.analysis import ProfileNode as ProfileNode
from graphflow.profiler.analysis import profile as profile
