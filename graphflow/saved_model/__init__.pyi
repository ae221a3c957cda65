"""Models that others can load and serve (tf.saved_model)."""

from graphflow.saved_model.builder import SavedModelBuilder as _Builder
from graphflow.saved_model.signature_def_utils import build_signature_def as build_signature_def
from graphflow.saved_model.utils import build_tensor_info as build_tensor_info
from . import builder as builder
from graphflow.saved_model.signature_def_utils import classification_signature_def as classification_signature_def
from . import constants as constants
from graphflow.saved_model.loader import maybe_saved_model_directory as _contains_saved_model
from . import files as files
from . import foreign as foreign
from graphflow.saved_model.utils import get_tensor_from_tensor_info as get_tensor_from_tensor_info
from graphflow.saved_model.signature_def_utils import is_valid_signature as is_valid_signature
from graphflow.saved_model.loader import load as load
from . import loader as loader
from . import main_op as main_op
from graphflow.saved_model.main_op import main_op_with_restore as main_op_with_restore
from graphflow.saved_model.loader import maybe_saved_model_directory as maybe_saved_model_directory
from graphflow.saved_model.signature_def_utils import predict_signature_def as predict_signature_def
from graphflow.saved_model.signature_def_utils import regression_signature_def as regression_signature_def
from . import signature_constants as signature_constants
from . import signature_def_utils as signature_def_utils
from graphflow.saved_model.builder import simple_save as simple_save
from . import tag_constants as tag_constants
from . import utils as utils

ASSETS_DIRECTORY: str
ASSETS_KEY: str
Builder = _Builder
CLASSIFY_INPUTS: str
CLASSIFY_METHOD_NAME: str
CLASSIFY_OUTPUT_CLASSES: str
CLASSIFY_OUTPUT_SCORES: str
DEFAULT_SERVING_SIGNATURE_DEF_KEY: str
EVAL: str
GPU: str
LEGACY_INIT_OP_KEY: str
MAIN_OP_KEY: str
PREDICT_INPUTS: str
PREDICT_METHOD_NAME: str
PREDICT_OUTPUTS: str
REGRESS_INPUTS: str
REGRESS_METHOD_NAME: str
REGRESS_OUTPUTS: str
SAVED_MODEL_FILENAME_PB: str
SAVED_MODEL_FILENAME_PBTXT: str
SAVED_MODEL_SCHEMA_VERSION: int
SERVING: str
TPU: str
TRAINING: str
VARIABLES_DIRECTORY: str
VARIABLES_FILENAME: str
contains_saved_model = _contains_saved_model
