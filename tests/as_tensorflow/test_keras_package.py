"""Protects that programs which import the package keras, of TensorFlow 1's time, get tf.keras, by all its modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

PROGRAM: Final = """
import numpy as np
from keras import backend as K, layers, models, optimizers
from keras.callbacks import EarlyStopping
from keras.engine.topology import InputSpec, Layer
from keras.layers import Dense, Input
from keras.layers.advanced_activations import LeakyReLU
from keras.layers.convolutional import Conv1D
from keras.layers.core import Activation, Dropout
from keras.layers.merge import concatenate
from keras.layers.normalization import BatchNormalization
from keras.models import Sequential
from keras.objectives import categorical_crossentropy
from keras.utils.np_utils import to_categorical
import keras
import keras.backend.tensorflow_backend as KTF
import tensorflow as tf

assert keras.layers.Dense is tf.keras.layers.Dense and KTF.set_session is tf.keras.backend.set_session
model = Sequential([Dense(3, input_dim=4), LeakyReLU(), Dense(1)])
model.compile(optimizers.Adam(lr=0.01), "mse")
history = model.fit(np.ones((8, 4)), np.full(8, 100.0), epochs=2, verbose=0)
print(history.history["loss"][1] < history.history["loss"][0], keras.__version__)
devices = tf.config.experimental.list_physical_devices("CPU")
print(devices[0].device_type, tf.manip.roll is tf.roll, tf.queue.FIFOQueue is tf.FIFOQueue)
"""


def test_the_package_keras_is_tf_keras(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    for command, said in (("run", "True 2.2.4-tf\nCPU True True\n"), ("check", "all are there.\n")):
        ended = subprocess.run(
            [sys.executable, "-m", "graphflow", command, str(tmp_path / "program.py")],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.endswith(said)


def test_a_keras_that_is_imported_already_is_left(tmp_path: Path) -> None:
    (tmp_path / "keras.py").write_text("mine = True\n")
    program = (
        "import keras, graphflow.as_tensorflow as a; a.install(); import keras, tensorflow; print(keras.mine)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).resolve().parents[2]}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout) == (0, "True\n"), ended.stderr
