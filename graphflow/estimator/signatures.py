"""The signatures of an exported model, and the folder into which it is written."""

from __future__ import annotations

import os
import time
from typing import Any, Final

from graphflow._core.common.files import storage
from graphflow.estimator.export import PredictOutput, ServingInputReceiver
from graphflow.estimator.spec import EstimatorSpec
from graphflow.saved_model import signature_constants

_MOST_FOLDER_TRIES: Final = 1000


def signatures_of(spec: EstimatorSpec, receiver: ServingInputReceiver) -> dict[str, Any]:
    """The SignatureDef messages by name: of each output, and of each with each alternative of what is received."""
    default = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    outputs = dict(spec.export_outputs or {default: PredictOutput(spec.predictions)})
    if len(outputs) == 1:
        outputs[default] = next(iter(outputs.values()))
    found = {name: output.signature(receiver.receiver_tensors) for name, output in outputs.items()}
    for name, tensors in receiver.receiver_tensors_alternatives.items():
        for key, output in outputs.items():
            found[f"{name}:{key}"] = output.signature(tensors)
    return found


def new_folder(base: str) -> str:
    """A folder under `base` named by the time in seconds or the first after it that is not there yet."""
    now = int(time.time())
    for later in range(_MOST_FOLDER_TRIES):
        folder = os.path.join(base, str(now + later))
        if not storage.exists(folder):
            return folder
    raise RuntimeError(f"Failed to obtain a unique export directory name in {base}.")
