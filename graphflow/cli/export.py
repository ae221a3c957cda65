"""graphflow export: a model that lies in a file or a folder, as an ONNX file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, Final

import graphflow.errors as errors
import graphflow.graph_util as graph_util
import graphflow.protos as protos
import graphflow.train as train
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.common.shown.tables import readable_size
from graphflow._core.common.shown.terminal import tell
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.interop.import_graph import import_graph_def
from graphflow._core.session import Session
from graphflow.cli.main import UsageError
from graphflow.saved_model import signature_constants, tag_constants
from graphflow.saved_model.loader import load, maybe_saved_model_directory
from graphflow.saved_model.utils import get_tensor_from_tensor_info

_EPILOG: Final = """\
examples:
  graphflow export model.onnx saved_model/
  graphflow export model.onnx frozen.pb --outputs probabilities
  graphflow export model.onnx training/model-1000 --inputs x=images,training --outputs logits

SOURCE is the folder of a SavedModel, a file of a GraphDef without variables, or the prefix of a checkpoint beside which
its graph lies (PREFIX.meta).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = "Writes a model as an ONNX file, with the values of its variables."
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("model", metavar="MODEL.onnx", help="the file to write")
    parser.add_argument("source", metavar="SOURCE", help="where the model is")
    parser.add_argument(
        "--inputs", metavar="NAMES",
        help="tensors that the model is given, separated by commas, each as TENSOR or NAME=TENSOR (default: those of "
        "the signature, or all placeholders that the outputs need)",
    )  # fmt: skip
    parser.add_argument(
        "--outputs", metavar="NAMES",
        help="tensors that it computes, likewise (default: those of the signature, or the one that nothing takes)",
    )  # fmt: skip
    parser.add_argument(
        "--signature", metavar="NAME", default=signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY,
        help="of a SavedModel (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--tag-set", metavar="TAGS", default=tag_constants.SERVING,
        help="of a SavedModel, separated by commas (default: %(default)s)",
    )  # fmt: skip
    parser.set_defaults(run=_export)


def _export(arguments: argparse.Namespace) -> int:
    source, target = user_path(arguments.source), user_path(arguments.model)
    if not target.endswith(".onnx"):
        raise UsageError(f"{target} is the file to write, and ends with .onnx; SOURCE comes second.")
    with Graph().as_default() as graph, Session(graph=graph) as session:
        try:
            signature = _load(session, source, arguments)
            inputs, outputs = _ends(graph, signature, arguments)
            graph_util.export_onnx(session, target, inputs, outputs)
        except ModuleNotFoundError as error:
            raise UsageError(str(error)) from error
        except (errors.OpError, OSError, ValueError, RuntimeError, KeyError) as error:
            told = error.message if isinstance(error, errors.OpError) else str(error)
            op = getattr(error, "op", None)
            if op is not None:  # The line that built it here is that which read the file.
                told = told.replace(", built at {}:{},".format(*op.line), "")
            raise UsageError(f"{arguments.source}: {told}") from error
    size = readable_size(storage.status(target).size)
    tell(f"{target}: {size}, from {', '.join(inputs) or 'nothing'} to {', '.join(outputs)}")
    return 0


def _load(session: Session, source: str, arguments: argparse.Namespace) -> Any:
    """Brings a model into the session; its signature, None if it has none."""
    if maybe_saved_model_directory(source):
        meta_graph = load(session, arguments.tag_set.split(","), source)
        signatures = meta_graph.signature_def
        if arguments.signature not in signatures and not arguments.outputs:
            raise ValueError(
                f"it has no signature {arguments.signature!r}; there is {', '.join(signatures) or 'none'}"
            )
        return signatures.get(arguments.signature)
    prefix = source.removesuffix(".meta")
    if storage.is_file(f"{prefix}.meta"):
        saver = train.import_meta_graph(f"{prefix}.meta", clear_devices=True)
        if saver is not None:
            saver.restore(session, prefix)
        return None
    if not storage.is_file(source):
        raise ValueError("there is no SavedModel, no GraphDef and no checkpoint with its graph (PREFIX.meta)")
    import_graph_def(_graph_def(source), name="")
    return None


def _graph_def(path: str) -> Any:
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    data = storage.read(path)
    try:
        return protos.graph_pb2.GraphDef.FromString(data)
    except DecodeError as error:
        try:
            return text_format.Parse(data.decode(), protos.graph_pb2.GraphDef())
        except (text_format.ParseError, UnicodeDecodeError):
            raise ValueError(f"it is no GraphDef: {error}") from None


def _ends(
    graph: Graph, signature: Any, arguments: argparse.Namespace
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The inputs and outputs, by name."""
    if arguments.outputs:
        outputs = _named(graph, arguments.outputs)
    elif signature is not None:
        outputs = _of_infos(graph, signature.outputs)
    else:
        taken = {tensor.op for op in graph.get_operations() for tensor in op.inputs}
        last = [op for op in graph.get_operations() if op.outputs and op not in taken and not _is_fed(op)]
        if len(last) != 1:
            names = ", ".join(op.name for op in last[:20])
            raise ValueError(
                f"--outputs says which tensors the model computes; nothing takes {names or 'any'}"
            )
        outputs = {last[0].name: last[0].outputs[0]}
    if arguments.inputs:
        return _named(graph, arguments.inputs), outputs
    if signature is not None and not arguments.outputs:
        return _of_infos(graph, signature.inputs), outputs
    return {op.name: op.outputs[0] for op in _placeholders(list(outputs.values()))}, outputs


def _named(graph: Graph, text: str) -> dict[str, Tensor]:
    found = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, tensor = part.rpartition("=")
        name = name or tensor
        found[name] = graph.get_tensor_by_name(tensor if ":" in tensor else f"{tensor}:0")
    return found


def _of_infos(graph: Graph, infos: Mapping[str, Any]) -> dict[str, Tensor]:
    found = {}
    for name in sorted(infos):
        tensor = get_tensor_from_tensor_info(infos[name], graph)
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"{name!r} of the signature is a sparse tensor: name its parts by --inputs and --outputs"
            )
        found[name] = tensor
    return found


def _is_fed(op: Operation) -> bool:
    return op.type.startswith("Placeholder") and not op.inputs


def _placeholders(roots: Sequence[Tensor]) -> list[Any]:
    """The placeholders that tensors need, in the order of their names."""
    found, todo = set(), [tensor.op for tensor in roots]
    while todo:
        op = todo.pop()
        if op not in found:
            found.add(op)
            todo += [tensor.op for tensor in op.inputs]
    return sorted((op for op in found if _is_fed(op)), key=lambda op: str(op.name))
