"""graphflow saved-model: what is in a SavedModel, and what it answers.

`show` reads the messages alone: it builds no graph and runs nothing, so it may be used on a model from anywhere.
Values that are given to `run` are numbers and text, never code: literals, or arrays without pickled objects.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import numpy as np

import graphflow.errors as errors
import graphflow.train as train
from graphflow._core.common.files import numpy_files, storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.common.printable import printable
from graphflow._core.common.shown.tables import table
from graphflow._core.common.shown.terminal import tell
from graphflow._core.common.syntax import literal
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.slices import SparseTensorValue
from graphflow._core.session import Session
from graphflow.cli.main import UsageError
from graphflow.saved_model import constants, signature_constants
from graphflow.saved_model.files import assets_of, read_saved_model, variables_path
from graphflow.saved_model.loader import init_op_name, load, meta_graph_with_tags
from graphflow.saved_model.utils import get_tensor_from_tensor_info

_RUN_EPILOG: Final = """\
examples:
  graphflow saved-model run model --input-exprs 'x=[[1.0, 2.0, 3.0]]'
  graphflow saved-model run model --inputs x=features.npy --outdir answers
  graphflow saved-model run model --inputs 'x=data.npz[features]' --signature again
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = "Shows what a SavedModel holds, or runs one of its signatures."
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    show = actions.add_parser(
        "show",
        help="list tags, signatures, variables and assets",
        description="Lists the tags of a SavedModel, its signatures with their inputs and outputs, and its variables. "
        "Nothing of the model is run.",
    )
    _add_common(show, "show this meta graph alone: its tags, separated by commas (default: all)")
    show.add_argument("--signature", metavar="NAME", help="show this signature alone (default: all)")
    show.add_argument("--all", action="store_true", help="the op types and all collections too")
    show.set_defaults(run=_show)

    run = actions.add_parser(
        "run",
        help="feed a signature's inputs and print its outputs",
        description="Loads a SavedModel, feeds the inputs of a signature and prints its outputs.",
        epilog=_RUN_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_common(
        run, "the tags of the meta graph, separated by commas (default: serve, or the only one there is)"
    )
    run.add_argument(
        "--signature", metavar="NAME", help="the signature (default: serving_default, or the only one)"
    )
    run.add_argument(
        "--inputs", metavar="NAME=FILE", action="append", default=[],
        help="an input from FILE.npy, or from an array of an archive as FILE.npz[KEY]; may be given again",
    )  # fmt: skip
    run.add_argument(
        "--input-exprs", metavar="NAME=LITERAL", action="append", default=[],
        help="an input as a Python literal: a number, a string, or nested lists of these; may be given again",
    )  # fmt: skip
    run.add_argument("--outdir", metavar="DIR", help="write each output to DIR/NAME.npy too")
    run.add_argument("--overwrite", action="store_true", help="let --outdir replace files that are there")
    run.set_defaults(run=_run)


def _add_common(parser: argparse.ArgumentParser, tags_help: str) -> None:
    parser.add_argument("directory", metavar="DIR", help="the folder that holds saved_model.pb")
    parser.add_argument("--tag-set", metavar="TAGS", help=tags_help)


# ---- show -------------------------------------------------------------------------------------------------------


def _show(arguments: argparse.Namespace) -> int:
    model = _read(arguments.directory)
    chosen = [_chosen(model, arguments.tag_set)] if arguments.tag_set is not None else list(model.meta_graphs)
    if arguments.signature is not None:
        chosen = [meta_graph for meta_graph in chosen if arguments.signature in meta_graph.signature_def]
        if not chosen:
            raise UsageError(_no_signature(model.meta_graphs, arguments.signature))
    tell(
        f"SavedModel {printable(arguments.directory)}: {_count(len(model.meta_graphs), 'meta graph')}, "
        f"schema version {model.saved_model_schema_version}"
    )
    try:
        for meta_graph in chosen:
            _print_meta_graph(meta_graph, arguments)
    except ValueError as error:
        raise UsageError(_one_line(error)) from error
    if arguments.signature is None:
        _print_variables(arguments.directory)
    return 0


def _print_meta_graph(meta_graph: Any, arguments: argparse.Namespace) -> None:
    tags = ", ".join(printable(tag) for tag in meta_graph.meta_info_def.tags) or "(none)"
    info = meta_graph.meta_info_def
    ours = info.tensorflow_git_version.startswith("graphflow ")
    writer = info.tensorflow_git_version if ours else f"TensorFlow {info.tensorflow_version or '?'}"
    written = f", written by {printable(writer)}"
    tell(f"\ntags: {tags} ({_count(len(meta_graph.graph_def.node), 'operation')}{written})")
    for key, signature in sorted(meta_graph.signature_def.items()):
        if key in (constants.INIT_OP_SIGNATURE_KEY, constants.TRAIN_OP_SIGNATURE_KEY):
            continue
        if arguments.signature is None or key == arguments.signature:
            tell(f"  signature {printable(key)}, method {printable(signature.method_name) or '(none)'}")
            rows = list(_tensor_rows("input", signature.inputs))
            _print_rows(rows + list(_tensor_rows("output", signature.outputs)), "    ")
    if arguments.signature is not None:
        return
    init_op = init_op_name(meta_graph)
    tell(f"  main operation: {printable(init_op) or 'none'}")
    assets = assets_of(meta_graph)
    tell("  assets:" if assets else "  assets: none")
    folder = os.path.join(user_path(arguments.directory), constants.ASSETS_DIRECTORY)
    _print_rows(
        [(a.filename, _size(os.path.join(folder, a.filename)), f"for {a.tensor_info.name}") for a in assets],
        "    ",
    )
    if arguments.all:
        tell("  collections:")
        _print_rows(
            [(key, _collection_size(value)) for key, value in sorted(meta_graph.collection_def.items())],
            "    ",
        )
        tell("  operations:")
        counted = Counter(node.op for node in meta_graph.graph_def.node)
        _print_rows([(op, str(number)) for op, number in sorted(counted.items())], "    ")


def _tensor_rows(what: str, tensors: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, info in sorted(tensors.items()):
        shape = "[...]" if info.tensor_shape.unknown_rank else _shape(d.size for d in info.tensor_shape.dim)
        yield what, key, _dtype_name(info.dtype), shape, _tensor_name(info)


def _tensor_name(info: Any) -> str:
    if info.WhichOneof("encoding") == "coo_sparse":
        return f"sparse, values in {info.coo_sparse.values_tensor_name}"
    return str(info.name)


def _dtype_name(number: int) -> str:
    try:
        return as_dtype(number).name
    except TypeError:
        return f"dtype {number}"


def _shape(sizes: Iterable[int]) -> str:
    return f"[{', '.join('?' if size < 0 else str(size) for size in sizes)}]"


def _collection_size(collection: Any) -> str:
    kind = collection.WhichOneof("kind")
    return _count(len(getattr(collection, kind).value) if kind else 0, "item")


def _size(path: str) -> str:
    return f"{storage.status(path).size:,} bytes" if storage.is_file(path) else "missing"


def _print_variables(directory: str) -> None:
    prefix = variables_path(directory)
    if not train.checkpoint_exists(prefix):
        tell("\nvariables: none")
        return
    try:
        reader = train.NewCheckpointReader(prefix)
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    except (errors.OpError, OSError, ValueError) as error:
        raise UsageError(f"The variables cannot be read: {_one_line(error)}") from error
    rows = []
    total = 0
    for name in sorted(shapes):
        dims = tuple(shapes[name])
        dtype = as_dtype(dtypes[name])
        size = int(np.prod(dims, dtype=np.int64)) * dtype.size
        total += size
        rows.append((name, dtype.name, _shape(dims), f"{size:,} bytes"))
    tell(f"\nvariables: {len(rows)}, {total:,} bytes")
    _print_rows(rows, "  ")


# ---- run --------------------------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace) -> int:
    model = _read(arguments.directory)
    meta_graph = _chosen(model, arguments.tag_set)
    key = _signature_key(meta_graph, arguments.signature)
    signature = meta_graph.signature_def[key]
    values = dict(_values(arguments))
    _check_names(signature, values)
    if arguments.outdir is not None:
        _check_outputs(arguments, signature)
    try:
        with Graph().as_default() as graph, Session(graph=graph) as session:
            load(session, meta_graph.meta_info_def.tags, arguments.directory)
            tensors = {name: get_tensor_from_tensor_info(info) for name, info in signature.inputs.items()}
            fetches = {name: get_tensor_from_tensor_info(info) for name, info in signature.outputs.items()}
            fed = {tensors[name]: value for name, value in values.items()}
            results = session.run(fetches, fed)
    except (errors.OpError, OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        raise UsageError(_one_line(error)) from error
    for name, result in sorted(results.items()):
        tell(f"{printable(name)}:\n{result}")
        if arguments.outdir is not None:
            _write(arguments.outdir, name, result)
    return 0


def _signature_key(meta_graph: Any, asked: str | None) -> str:
    default = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    keys = list(meta_graph.signature_def)
    if asked is None and default not in keys and len(keys) == 1:
        return str(keys[0])
    key = default if asked is None else asked
    if key not in keys:
        raise UsageError(_no_signature([meta_graph], key))
    return key


def _values(arguments: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """The inputs that were given, by name."""
    seen = set()
    for option, given, reader in (
        ("--inputs", arguments.inputs, _array_from_file),
        ("--input-exprs", arguments.input_exprs, _literal),
    ):
        for part in given:
            name, sign, text = part.partition("=")
            if not sign or not name or not text:
                raise UsageError(f"{option} takes NAME=VALUE, not {part!r}.")
            if name in seen:
                raise UsageError(f"The input {name!r} is given twice.")
            seen.add(name)
            yield name, reader(name, text)


def _array_from_file(name: str, text: str) -> Any:
    path, key = text, None
    found = re.fullmatch(r"(.+)\[([^\[\]]+)\]", text)
    if found and not os.path.exists(text):
        path, key = found[1], found[2]
    try:
        loaded = numpy_files.load(path)
    except numpy_files.reading_errors as error:
        raise UsageError(f"The input {name!r} cannot be read from {path}: {_one_line(error)}") from error
    if not isinstance(loaded, dict):
        if key is not None:
            raise UsageError(f"{path} holds one array: write {name}={path}.")
        return loaded
    keys = list(loaded)
    if key is None and len(keys) == 1:
        key = keys[0]
    if key not in keys:
        raise UsageError(
            f"{path} holds the arrays {', '.join(map(printable, keys)) or '(none)'}: write {name}={path}[KEY]."
        )
    return loaded[key]


def _literal(name: str, text: str) -> Any:
    try:
        value = literal(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise UsageError(
            f'The input {name!r} must be a Python literal, such as [[1.0, 2.0]] or "text", not {text!r}.'
        ) from error
    if not isinstance(value, int | float | complex | str | bytes | list | tuple):
        raise UsageError(f"The input {name!r} must be a number, a string or a list of these, not {text!r}.")
    return value


def _check_names(signature: Any, values: Mapping[str, Any]) -> None:
    unknown = sorted(values.keys() - set(signature.inputs))
    missing = sorted(set(signature.inputs) - values.keys())
    named = ", ".join(map(printable, sorted(signature.inputs))) or "none"
    if unknown:
        raise UsageError(
            f"The signature has no input {', '.join(map(printable, unknown))}. Its inputs: {named}."
        )
    if missing:
        first = printable(missing[0])
        raise UsageError(
            f"Give a value for {', '.join(map(printable, missing))}: --inputs {first}=FILE.npy or --input-exprs "
            f"'{first}=LITERAL'."
        )
    for name in values:
        if signature.inputs[name].WhichOneof("encoding") != "name":
            raise UsageError(f"The input {name!r} is a sparse tensor, which cannot be fed from the shell.")


def _output_paths(directory: str, name: str, sparse: bool) -> list[str]:
    """Files in the folder itself, whatever a model calls its output: one, or one for each part of a sparse tensor."""
    parts = [f".{field}" for field in SparseTensorValue._fields] if sparse else [""]
    return [os.path.join(directory, f"{quote(name, safe=' ')}{part}.npy") for part in parts]


def _check_outputs(arguments: argparse.Namespace, signature: Any) -> None:
    try:
        os.makedirs(arguments.outdir, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--outdir {arguments.outdir} cannot be made: {error}") from error
    for name, info in sorted(signature.outputs.items()):
        for path in _output_paths(arguments.outdir, name, info.WhichOneof("encoding") == "coo_sparse"):
            if os.path.lexists(path) and not arguments.overwrite:
                raise UsageError(f"{path} exists: give --overwrite to replace it, or another --outdir.")


def _write(directory: str, name: str, result: Any) -> None:
    sparse = isinstance(result, SparseTensorValue)
    for path, part in zip(
        _output_paths(directory, name, sparse), result if sparse else [result], strict=True
    ):
        array = np.asarray(part)
        if array.dtype == object:  # Strings; as bytes of one size they need no pickle.
            array = np.asarray(array.tolist(), np.bytes_)
            if array.tolist() != np.asarray(part).tolist():
                raise UsageError(f"{path} cannot be written: NumPy drops zero bytes at the end of a string.")
        try:
            np.save(path, array, allow_pickle=False)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error}") from error


# ---- both -------------------------------------------------------------------------------------------------------


def _read(directory: str) -> Any:
    try:
        return read_saved_model(directory)
    except OSError as error:
        raise UsageError(_one_line(error)) from error


def _chosen(model: Any, tag_set: str | None) -> Any:
    if tag_set is None:
        if len(model.meta_graphs) == 1:
            return model.meta_graphs[0]
        tag_set = "serve"
    try:
        return meta_graph_with_tags(model, [tag.strip() for tag in tag_set.split(",") if tag.strip()])
    except RuntimeError as error:
        raise UsageError(_one_line(error)) from error


def _no_signature(meta_graphs: Iterable[Any], key: str) -> str:
    keys = sorted({k for meta_graph in meta_graphs for k in meta_graph.signature_def})
    return f"There is no signature {key!r}. There is: {', '.join(map(printable, keys)) or 'none'}."


def _one_line(error: Exception) -> str:
    return " ".join(str(error.args[0] if isinstance(error, KeyError) else error).split())


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _print_rows(rows: Sequence[tuple[str, ...]], indent: str) -> None:
    if rows:
        tell(table(rows, indent))
