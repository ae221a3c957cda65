"""The signatures of an exported model, and the folder into which it is written."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, Final

import graphflow.logging as logging
from graphflow._core.common.files import storage
from graphflow._core.graph.elements import Tensor
from graphflow.estimator.export import ServingInputReceiver
from graphflow.estimator.spec import EstimatorSpec

_MOST_FOLDER_TRIES: Final = 1000


def signatures_of(spec: EstimatorSpec, receiver: ServingInputReceiver) -> dict[str, Any]:
    """The SignatureDef messages by name: of each output, and of each with each alternative of what is received.

    Those that there cannot be, such as a classification of what are not serialised Examples, are left out.
    """
    outputs = spec.export_outputs or {}
    found: dict[str, Any] = {}
    for name, output in outputs.items():
        _add(found, name, output, receiver.receiver_tensors)
    for name, tensors in receiver.receiver_tensors_alternatives.items():
        for key, output in outputs.items():
            _add(found, f"{name}:{key}", output, tensors)
    return found


def _add(found: dict[str, Any], name: str, output: Any, receivers: Mapping[str, Tensor]) -> None:
    """Adds the signature if there is one of this output for what is received; otherwise the log says why not."""
    try:
        found[name] = output.signature(receivers)
    except ValueError as error:
        logging.info("The model is exported without the signature %r: %s", name, error)


def new_folder(base: str) -> str:
    """A folder under `base` named by the time in seconds or the first after it that is not there yet."""
    now = int(time.time())
    for later in range(_MOST_FOLDER_TRIES):
        folder = os.path.join(base, str(now + later))
        if not storage.exists(folder):
            return folder
    raise RuntimeError(f"Failed to obtain a unique export directory name in {base}.")
