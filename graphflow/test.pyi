"""What tests of programs need (tf.test): TestCase, main, and the gradient checker."""

from graphflow.testing.benchmark import Benchmark as Benchmark
from graphflow.testing.case import TestCase as TestCase
from graphflow.testing.gradient_checker import compute_gradient as compute_gradient
from graphflow.testing.gradient_checker import compute_gradient_error as compute_gradient_error
from graphflow.testing.clusters import create_local_cluster as create_local_cluster
from graphflow.testing.programs import get_temp_dir as get_temp_dir
from graphflow.testing.programs import gpu_device_name as gpu_device_name
from graphflow.testing.programs import is_built_with_cuda as is_built_with_cuda
from graphflow.testing.programs import is_built_with_rocm as is_built_with_rocm
from graphflow.testing.programs import is_gpu_available as is_gpu_available
from graphflow.testing.programs import main as main
from unittest import mock as mock
from graphflow.testing.programs import test_src_dir_path as test_src_dir_path
