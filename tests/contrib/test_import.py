"""Protects that the parts of gf.contrib are imported as programs do it, and only when they are used."""

import subprocess
import sys

import pytest

import graphflow as gf

PROGRAM = """
import sys
import graphflow as tf
assert not [name for name in sys.modules if name.startswith("graphflow.contrib")]
import graphflow.contrib.layers as layers
from graphflow.contrib import rnn
from graphflow.contrib.distribute import MirroredStrategy
assert tf.contrib.layers is layers and tf.contrib.rnn is rnn
assert tf.contrib.distribute is tf.distribute and MirroredStrategy is tf.distribute.MirroredStrategy
assert rnn.BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell
import graphflow.contrib.slim as slim
from graphflow.contrib.slim import learning
from graphflow.contrib.slim.learning import train
assert tf.contrib.slim is slim and slim.learning is learning and learning.train is train
import graphflow.contrib.slim.summaries
assert slim.conv2d is layers.conv2d and slim.losses is tf.contrib.losses
"""


def test_the_forms_of_import() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(
        AttributeError, match=r"gf.contrib has no attribute 'lite': graphflow writes no TFLite files."
    ):
        _ = gf.contrib.lite
    with pytest.raises(AttributeError, match=r"gf.contrib.rnn has no attribute .*BasicLSTMCell"):
        _ = gf.contrib.rnn.BasicLstmCell
    assert "rnn" in dir(gf.contrib)
