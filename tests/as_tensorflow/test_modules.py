"""Protects `import tensorflow`: which modules there are, whose their names are, and what is said of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from graphflow.as_tensorflow.modules import SOURCES
from graphflow.as_tensorflow.names import NAMES
from graphflow.as_tensorflow.synonyms import SYNONYMS

HOOKED: Final = "import graphflow.as_tensorflow\ngraphflow.as_tensorflow.install()\nimport graphflow as gf\n"
SAME: Final = """
import tensorflow as tf
import tensorflow.compat.v1 as tf1
import tensorflow.contrib.slim as slim_module
import tf_slim
from tensorflow.contrib import layers, rnn, slim
from tensorflow.contrib.layers.python.layers.initializers import xavier_initializer
from tensorflow.contrib.layers.python.layers import layers as deep
from tensorflow.core.example import example_pb2
from tensorflow.core.framework.summary_pb2 import Summary
from tensorflow.core.protobuf import config_pb2
from tensorflow.python import pywrap_tensorflow
from tensorflow.python.client import device_lib, timeline
from tensorflow.python.framework import dtypes, graph_util, ops, tensor_shape, tensor_util
from tensorflow.python.framework.ops import Tensor, convert_to_tensor, name_scope
from tensorflow.python.lib.io import file_io
from tensorflow.python.ops import array_ops, control_flow_ops, math_ops, nn_ops, variable_scope
from tensorflow.python.ops.rnn_cell_impl import LSTMStateTuple
from tensorflow.python.platform import app, flags, gfile, tf_logging
from tensorflow.python.saved_model import builder, tag_constants
from tensorflow.python.training import moving_averages, optimizer
from tensorflow.python.training.session_run_hook import SessionRunHook
from tensorflow.python.util import compat, deprecation, nest, tf_contextlib, tf_decorator

for ours, theirs in [
    (gf.nn.relu, tf.nn.relu), (gf.Session, tf1.Session), (gf.contrib.slim.conv2d, slim.conv2d),
    (gf.contrib.slim.conv2d, tf_slim.conv2d), (gf.contrib.slim.conv2d, slim_module.conv2d),
    (gf.contrib.slim.conv2d, tf.contrib.slim.conv2d), (gf.contrib.rnn.GRUCell, rnn.GRUCell),
    (gf.contrib.layers.xavier_initializer, xavier_initializer), (gf.contrib.layers.conv2d, layers.conv2d),
    (gf.fake_quant_with_min_max_vars, tf.quantization.fake_quant_with_min_max_vars),
    (gf.contrib.cudnn_rnn.CudnnLSTM, tf.contrib.cudnn_rnn.python.layers.cudnn_rnn.CudnnLSTM),
    (gf.while_loop, tf.python.keras.backend.control_flow_ops.while_loop),
    (gf.Tensor, Tensor), (gf.convert_to_tensor, convert_to_tensor), (gf.name_scope, name_scope), (gf.Graph, ops.Graph),
    (gf.GraphKeys, ops.GraphKeys), (gf.int32, dtypes.int32), (gf.bool, dtypes.bool),
    (gf.TensorShape, tensor_shape.TensorShape), (gf.concat, array_ops.concat), (gf.matmul, math_ops.matmul),
    (gf.cond, control_flow_ops.cond), (gf.variable_scope, variable_scope.variable_scope),
    (gf.nn.conv2d, nn_ops.conv2d), (gf.nn.rnn_cell.LSTMStateTuple, LSTMStateTuple), (gf.app.run, app.run),
    (gf.flags.FLAGS, flags.FLAGS), (gf.gfile.Exists, gfile.Exists), (gf.gfile.Exists, file_io.file_exists),
    (gf.logging.info, tf_logging.info), (gf.nest.flatten, nest.flatten), (gf.compat.as_bytes, compat.as_bytes),
    (gf.train.Optimizer, optimizer.Optimizer), (gf.train.SessionRunHook, SessionRunHook),
    (gf.train.NewCheckpointReader, pywrap_tensorflow.NewCheckpointReader),
    (gf.graph_util.convert_variables_to_constants, graph_util.convert_variables_to_constants),
    (gf.saved_model.builder.SavedModelBuilder, builder.SavedModelBuilder), (gf.Summary, Summary),
    (gf.saved_model.tag_constants.SERVING, tag_constants.SERVING), (gf.train.Example, example_pb2.Example),
]:
    assert ours is theirs, (ours, theirs)
assert moving_averages.assign_moving_average.__module__.startswith("graphflow.")
assert tensor_util.constant_value(tf.constant(3)) == 3 and tensor_shape.scalar().as_list() == []
assert device_lib.list_local_devices()[0].device_type == "CPU"
assert tf.__version__ == tf1.__version__ == tf.VERSION == tf.version.VERSION == "1.15.5" != gf.__version__
deprecation._PRINT_DEPRECATION_WARNINGS = False
assert deprecation.deprecated_args(None, "use b", "a")(max) is max is deprecation.deprecated_alias("a", "b", max)
assert deprecation.deprecated_argument_lookup("b", None, "a", 3) == 3 == deprecation.deprecated("d", "b")(3)
made = tf_decorator.make_decorator(max, lambda *args: min(*args))
assert tf_decorator.unwrap(made) == ([made], max) and made.__name__ == "max" and made(1, 2) == 1
with deprecation.silence(), tf_contextlib.suppress(KeyError):
    {}[0]
assert tf.logging.__dict__["INFO"] == tf1.logging.INFO == tf_logging.__dict__["INFO"] == gf.logging.INFO
tf1.disable_v2_behavior()
tf1.enable_resource_variables()
assert not tf.executing_eagerly() and "reduce_mean" in dir(tf) and deep.conv2d is layers.conv2d
metadata = tf.RunMetadata()
with tf.Session() as session:
    session.run(tf.constant(1.0) + 1.0, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
                run_metadata=metadata)
assert "traceEvents" in timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
cells = [kind for kind in rnn.__dict__.values() if isinstance(kind, type) and issubclass(kind, rnn.RNNCell)]
assert rnn.GRUCell in cells and len(cells) > 20 and vars(tf)["reduce_mean"] is gf.reduce_mean
vars(rnn)["OwnCell"] = rnn.GRUCell
assert rnn.OwnCell is rnn.GRUCell and "OwnCell" in dir(rnn)
namespace = {}
exec("from tensorflow.contrib.slim import *", namespace)
assert namespace["conv2d"] is slim.conv2d
"""
BEFORE_ONE: Final = """
import tensorflow as tf
from tensorflow.estimator import inputs
from tensorflow.python.estimator.estimator import Estimator

x = tf.pack([tf.mul(2.0, 3.0), tf.sub(1.0, 2.0), tf.neg(3.0)])
for summary in (tf.scalar_summary("loss", x[0]), tf.histogram_summary("rows", x),
                tf.image_summary("picture", tf.zeros([4, 2, 2, 1]), 2)):
    assert summary in tf.get_collection(tf.GraphKeys.SUMMARIES)
found = tf.concat_v2([x, tf.select(x > 0, x, -x)], 0), tf.unpack(x)
product = tf.batch_matmul(tf.ones([2, 2, 3]), tf.ones([2, 4, 3]), adj_y=True)
with tf.Session() as session:
    session.run([tf.initialize_all_variables(), tf.initialize_all_tables()])
    assert session.run(found)[0].tolist() == [6, -1, -3, 6, 1, 3] and session.run(found)[1] == [6, -1, -3]
    assert session.run(product).shape == (2, 2, 4) and session.run(tf.merge_all_summaries())
assert tf.train.SummaryWriter is gf.summary.FileWriter and Estimator is gf.estimator.Estimator
assert inputs.numpy_input_fn is gf.estimator.inputs.numpy_input_fn
assert tf.nn.seq2seq.sequence_loss is gf.contrib.legacy_seq2seq.sequence_loss
assert not hasattr(gf, "mul") and not hasattr(gf, "scalar_summary")
"""
WRONG: Final = {
    "import tensorflow.python.ops.maths_ops": "tensorflow.python.ops has no attribute 'maths_ops'.*math_ops",
    "from tensorflow.python.ops import maths_ops": "tensorflow.python.ops has no attribute 'maths_ops'.*math_ops",
    "import tensorflow.nothing.at_all": "tensorflow has no attribute 'nothing'",
    "import tensorflow.core.framework.of_nothing_pb2": "tensorflow.core.framework has no attribute 'of_nothing_pb2'",
    "from tensorflow.contrib.layers import conv2f": "conv2f",
    "from tensorflow import reduce_meen": "reduce_mean",
}
"""What is not there, and what the ImportError says."""


def run(program: str, *, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A program's end, in a process of its own, since the hook is for the whole process."""
    project = Path(__file__).resolve().parents[2]
    found = f"import sys; sys.path[:0] = [{str(project)!r}, {str(path or project)!r}]\n"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", found + program],
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip


def test_names_are_the_same_objects() -> None:
    pytest.importorskip("tensorboard")
    ended = run(HOOKED + SAME)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_names_of_before_1_0_are_there_in_that_process_alone() -> None:
    pytest.importorskip("tensorboard")
    ended = run(HOOKED + BEFORE_ONE)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_what_is_not_there_is_an_error_that_names_the_nearest() -> None:
    checks = "".join(
        f"try:\n    {statement}\nexcept ImportError as error:\n"
        f"    assert re.search({pattern!r}, str(error)), error\nelse:\n    raise AssertionError({statement!r})\n"
        for statement, pattern in WRONG.items()
    )
    attribute = "import tensorflow as tf\ntry:\n    tf.reduce_meen\nexcept AttributeError as error:\n    print(error)\n"
    ended = run(f"{HOOKED}import re\n{checks}{attribute}")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(
        "tensorflow has no attribute 'reduce_meen': the nearest names are reduce_mean"
    )


def test_every_module_of_the_list_can_be_imported() -> None:
    places = [place for place in (*SOURCES, *SYNONYMS) if place]
    lines = "".join(f"import tensorflow.{place}\n" for place in places)
    names = "".join(f"tensorflow.{place}\n" for place in NAMES)
    ended = run(f"{HOOKED}{lines}{names}")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_tensorflow_that_is_installed_is_not_used_and_that_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("raise AssertionError('not this one')\n")
    ended = run(f"{HOOKED}graphflow.as_tensorflow.install()\nimport tensorflow\n", path=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("import tensorflow gives graphflow in this process, and not") == 1


def test_a_tensorflow_that_is_imported_already_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "tensorflow.py").write_text("")
    ended = run(f"import tensorflow\n{HOOKED}", path=tmp_path)
    assert ended.returncode == 1
    assert "RuntimeError: tensorflow is imported already" in ended.stderr


def test_without_the_hook_there_is_no_tensorflow_and_no_older_name() -> None:
    ended = run(
        "import graphflow.as_tensorflow, numpy, collections, importlib.machinery, sys\n"
        "assert not any('as_tensorflow' in type(finder).__module__ for finder in sys.meta_path)\n"
        "assert not hasattr(collections, 'Mapping')\n"
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_importing_tensorflow_loads_no_more_than_graphflow_does() -> None:
    ended = run(
        f"{HOOKED}import sys\nimport tensorflow as tf\nassert tf.__version__\n"
        "print(*(name for name in ('numba', 'zmq', 'tensorboard', 'graphflow.train', 'graphflow.contrib',"
        " 'graphflow._core.graph', 'graphflow.contrib.learn.datasets.mnist') if name in sys.modules))\n"
    )
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "", "")


def test_pytest_takes_it_as_a_plugin(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import tensorflow as tf\n")
    (tmp_path / "test_it.py").write_text(
        "import tensorflow as tf\n\n\ndef test_it():\n    assert tf.__version__ == '1.15.5'\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "graphflow.as_tensorflow",
        "-p",
        "no:cacheprovider",
        ".",
    ]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout
