"""Models that others can load and serve (tf.saved_model)."""

from graphflow.saved_model.constants import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from graphflow.saved_model.constants import ASSETS_KEY as ASSETS_KEY
from graphflow.saved_model.builder import SavedModelBuilder as _Builder
from graphflow.saved_model.signature_constants import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from graphflow.saved_model.signature_constants import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from graphflow.saved_model.signature_constants import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from graphflow.saved_model.signature_constants import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from graphflow.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY
from graphflow.saved_model.tag_constants import EVAL as EVAL
from graphflow.saved_model.tag_constants import GPU as GPU
from graphflow.saved_model.constants import LEGACY_INIT_OP_KEY as LEGACY_INIT_OP_KEY
from graphflow.saved_model.constants import MAIN_OP_KEY as MAIN_OP_KEY
from graphflow.saved_model.signature_constants import PREDICT_INPUTS as PREDICT_INPUTS
from graphflow.saved_model.signature_constants import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from graphflow.saved_model.signature_constants import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from graphflow.saved_model.signature_constants import REGRESS_INPUTS as REGRESS_INPUTS
from graphflow.saved_model.signature_constants import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from graphflow.saved_model.signature_constants import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from graphflow.saved_model.constants import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from graphflow.saved_model.constants import SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT
from graphflow.saved_model.constants import SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from graphflow.saved_model.tag_constants import SERVING as SERVING
from graphflow.saved_model.tag_constants import TPU as TPU
from graphflow.saved_model.tag_constants import TRAINING as TRAINING
from graphflow.saved_model.constants import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from graphflow.saved_model.constants import VARIABLES_FILENAME as VARIABLES_FILENAME
from graphflow.saved_model.signature_def_utils import build_signature_def as build_signature_def
from graphflow.saved_model.utils import build_tensor_info as build_tensor_info
from . import builder as builder
from graphflow.saved_model.signature_def_utils import classification_signature_def as classification_signature_def
from . import constants as constants
from graphflow.saved_model.loader import maybe_saved_model_directory as _contains_saved_model
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

Builder = _Builder
contains_saved_model = _contains_saved_model
