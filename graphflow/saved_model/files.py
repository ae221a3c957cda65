"""saved_model.pb and its like: how the message is put on disk and read back.

TensorFlow's message carries no checksum, so a flipped bit in a constant would be a wrong answer and no error. A file
written here ends with a field that TensorFlow skips, which holds a checksum of all before it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import graphflow.protos as protos
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow.saved_model import constants

if TYPE_CHECKING:
    from os import PathLike

_CHECKSUM_FIELD: Final = 2**29 - 1
_CHECKSUM_KEY: Final = b"\xf9\xff\xff\xff\x0f"
"""How protocol buffers write that field's number, with eight bytes as its type."""
_CHECKSUM_SIZE: Final = 8


def serialized(model: Any) -> bytes:
    """The bytes of saved_model.pb.

    Args:
        model: The SavedModel message.

    Returns:
        The bytes.

    Raises:
        ValueError: The message is larger than a protocol buffer can be.
    """
    import xxhash
    from google.protobuf.message import EncodeError

    try:
        data: bytes = model.SerializeToString()
    except (EncodeError, ValueError) as error:
        raise ValueError(
            f"The graph does not fit into saved_model.pb: {error}. A protocol buffer holds at most 2 GB, so keep large "
            "arrays in variables rather than in constants."
        ) from error
    return data + _CHECKSUM_KEY + xxhash.xxh3_64_digest(data)


def read_saved_model(export_dir: str | PathLike[str]) -> Any:
    """The SavedModel message of a folder, from saved_model.pb or else saved_model.pbtxt.

    Args:
        export_dir: The folder.

    Returns:
        The message.

    Raises:
        OSError: There is none, or it cannot be read; its text says what is wrong.
    """
    folder = user_path(export_dir)
    binary = os.path.join(folder, constants.SAVED_MODEL_FILENAME_PB)
    written = os.path.join(folder, constants.SAVED_MODEL_FILENAME_PBTXT)
    if storage.exists(binary):
        return _parsed(storage.read(binary), binary)
    if storage.exists(written):
        return _parsed_text(written)
    raise OSError(
        f"SavedModel file does not exist at: {folder}/{{{constants.SAVED_MODEL_FILENAME_PBTXT}|"
        f"{constants.SAVED_MODEL_FILENAME_PB}}}"
    )


def _parsed(data: bytes, path: str) -> Any:
    import xxhash
    from google.protobuf.message import DecodeError
    from google.protobuf.unknown_fields import UnknownFieldSet

    model = protos.saved_model_pb2.SavedModel()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise OSError(f"Cannot parse file {path}: {error}. It is damaged, or not a SavedModel.") from error
    extra = [field.field_number for field in UnknownFieldSet(model)]
    if not extra:
        return model
    body, key, digest = (
        data[: -len(_CHECKSUM_KEY) - _CHECKSUM_SIZE],
        data[-len(_CHECKSUM_KEY) - _CHECKSUM_SIZE : -_CHECKSUM_SIZE],
        data[-_CHECKSUM_SIZE:],
    )
    if extra != [_CHECKSUM_FIELD] or key != _CHECKSUM_KEY or digest != xxhash.xxh3_64_digest(body):
        raise OSError(
            f"Cannot use file {path}: it is damaged, since its checksum does not hold. If it was changed on purpose, "
            "call DiscardUnknownFields() on the message before writing it, which leaves the checksum out."
        )
    model.DiscardUnknownFields()
    return model


def _parsed_text(path: str) -> Any:
    from google.protobuf import text_format

    model = protos.saved_model_pb2.SavedModel()
    try:
        return text_format.Parse(storage.read(path).decode(), model)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {path}: {error}") from error


def assets_of(meta_graph: Any) -> list[Any]:
    """The AssetFileDef messages of a meta graph.

    Args:
        meta_graph: The MetaGraphDef message.

    Returns:
        The messages.

    Raises:
        ValueError: They cannot be read, or name a file elsewhere.
    """
    from google.protobuf.message import DecodeError

    if meta_graph.asset_file_def:
        found = list(meta_graph.asset_file_def)
    else:
        found = []
        packed = meta_graph.collection_def.get(constants.ASSETS_KEY)
        for item in packed.any_list.value if packed is not None else ():
            try:
                found.append(protos.meta_graph_pb2.AssetFileDef.FromString(item.value))
            except DecodeError as error:
                raise ValueError(f"An asset of the SavedModel cannot be read: {error}.") from error
    for asset in found:
        parts = asset.filename.replace("\\", "/").split("/")
        if os.path.isabs(asset.filename) or "\0" in asset.filename or not {"", ".", ".."}.isdisjoint(parts):
            raise ValueError(
                f"The SavedModel names the asset {asset.filename!r}, which does not lie in its folder "
                f"{constants.ASSETS_DIRECTORY}/. It is damaged or hostile."
            )
    return found


def variables_path(export_dir: str | PathLike[str]) -> str:
    """The prefix of the checkpoint that holds the variables.

    Args:
        export_dir: The model's folder.

    Returns:
        The prefix.
    """
    folder = user_path(export_dir)
    return os.path.join(folder, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)
