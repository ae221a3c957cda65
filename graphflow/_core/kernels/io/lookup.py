"""The ops of tables. A table lives in the store, under its shared name or its op's; its handle is the table itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.tables import LookupTable
from graphflow.errors import InvalidArgumentError, NotFoundError

WHOLE_LINE, LINE_NUMBER = -2, -1
"""In place of the number of a column of a text file."""


@kernel("HashTableV2", stateful=True)
def _table(node: Node) -> Kernel:
    attrs = node.attrs
    name = attrs["shared_name"] or node.name
    wanted = (attrs["key_dtype"], attrs["value_dtype"])
    key = resource_name(attrs, node.name, "table/")

    def find(run: Any) -> LookupTable:
        table: LookupTable = run.store.other(key, lambda: LookupTable(name, *wanted))
        if table.dtypes != wanted:
            found = [d.name for d in table.dtypes]
            raise invalid(f"Table {name!r} is of {found}, but is wanted of {[d.name for d in wanted]}")
        return table

    return find


@kernel("InitializeTableV2", stateful=True)
def _initialize(node: Node) -> Kernel:
    def run(_: Any, table: LookupTable, keys: Any, values: Any) -> None:
        if keys.shape != values.shape or keys.ndim != 1:
            raise invalid(f"Keys and values are vectors of one size, got {keys.shape} and {values.shape}")
        if not len(keys):
            raise invalid("keys and values cannot be empty")
        table.initialize(keys.tolist(), values.tolist())

    return run


def _column(lines: list[bytes], index: int, delimiter: bytes, dtype: DType, path: str) -> list[Any]:
    if index == LINE_NUMBER:
        return list(range(len(lines)))
    if index == WHOLE_LINE:
        texts = lines
    else:
        parts = [line.split(delimiter) for line in lines]
        short = next((at for at, part in enumerate(parts) if index >= len(part)), None)
        if short is not None:
            raise invalid(
                f"Invalid number of columns in {path} line {short} ({lines[short]!r}): expected more than {index}, "
                f"got {len(parts[short])}"
            )
        texts = [part[index] for part in parts]
    if dtype.name == "string":
        return texts
    try:
        return list(np.array(texts, dtype=object).astype(dtype.native).tolist())
    except ValueError as error:
        raise invalid(f"A field of {path} is not a valid {dtype.name}: {error}") from error


@kernel("InitializeTableFromTextFileV2", stateful=True)
def _initialize_from_file(node: Node) -> Kernel:
    attrs = node.attrs
    size, delimiter = attrs["vocab_size"], attrs["delimiter"].encode()

    def run(_: Any, table: LookupTable, filename: Any) -> None:
        path = (filename.item() if hasattr(filename, "item") else filename).decode()
        try:
            with storage.opened(user_path(path)) as file:
                lines = [line.rstrip(b"\r\n") for line in file]
        except FileNotFoundError as error:
            raise NotFoundError(None, None, f"{path}; No such file or directory") from error
        if size >= 0:
            if len(lines) < size:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Invalid vocab_size in {path}: expected {size} but got {len(lines)} lines.",
                )
            lines = lines[:size]
        keys, values = (
            _column(lines, attrs[f"{what}_index"], delimiter, dtype, path)
            for what, dtype in zip(("key", "value"), table.dtypes, strict=True)
        )
        table.initialize(keys, values)

    return run


@kernel("LookupTableFindV2", stateful=True)
def _find(node: Node) -> Kernel:
    return lambda run, table, keys, default: table.find(keys, default)


@kernel("LookupTableSizeV2", stateful=True)
def _size(node: Node) -> Kernel:
    return lambda run, table: np.int64(table.size())


@kernel("LookupTableExportV2", stateful=True)
def _export(node: Node) -> Kernel:
    return lambda run, table: table.export()
