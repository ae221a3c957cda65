"""Names of files, folders and collections of a SavedModel (tf.saved_model.constants)."""

from __future__ import annotations

from typing import Final

ASSETS_DIRECTORY: Final = "assets"
ASSETS_KEY: Final = "saved_model_assets"
LEGACY_INIT_OP_KEY: Final = "legacy_init_op"
MAIN_OP_KEY: Final = "saved_model_main_op"
TRAIN_OP_KEY: Final = "saved_model_train_op"
SAVED_MODEL_FILENAME_PB: Final = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT: Final = "saved_model.pbtxt"
SAVED_MODEL_SCHEMA_VERSION: Final = 1
VARIABLES_DIRECTORY: Final = "variables"
VARIABLES_FILENAME: Final = "variables"


INIT_OP_SIGNATURE_KEY: Final = "__saved_model_init_op"
"""The signature under which later versions of TensorFlow name the operation that runs when a model is loaded."""
TRAIN_OP_SIGNATURE_KEY: Final = "__saved_model_train_op"
"""The signature under which later versions of TensorFlow name the training step."""
