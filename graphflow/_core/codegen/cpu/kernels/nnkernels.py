"""Kernels that a fused loop nest cannot express: softmax and its losses in one pass over rows, rows by index,
transposition, argmax.

Each pair of functions is the source of a kernel and the program steps that run it. Indices are checked: one
that is out of range writes ERROR_INDEX to the status word, and nothing outside a buffer is touched. Copies,
slices, concatenation, splits and other permutations are regions with strides. Scattered updates are cut by
columns, so that rows named twice are updated in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphflow._core.codegen.cpu.programs.machine import Step

ERROR_INDEX = 2
_GRAIN_ELEMENTS = 16384
_TILE = 16
_BLOCK = 128
"""So many elements of a row are looked at before it is asked whether one is the largest yet."""


def _rows_step(kernel: int, words: Sequence[int], rows: int, row_elements: int) -> list[Step]:
    grain = max(1, _GRAIN_ELEMENTS // max(1, row_elements))
    return [Step(kernel, words, 0, rows, grain)] if rows else []


# ---- softmax --------------------------------------------------------------------------------------------------------


def _row_maximum(dtype: str) -> str:
    return f"""
        row = unit * columns
        top = {dtype}(-float('inf'))
        for j in range(columns):
            top = accumulate_max(top, load(x, row + j, 0))"""


def softmax_source(dtype: str, logarithm: bool) -> str:
    """Source of softmax, or log_softmax, over rows; unit: a row. TensorFlow's Softmax, LogSoftmax."""
    if logarithm:
        tail = """
        total = ZERO
        for j in range(columns):
            total = accumulate_sum(total, f_exp(load(x, row + j, 0) - top))
        logarithm = f_log(total)
        for j in range(columns):
            store(y, row + j, (load(x, row + j, 0) - top) - logarithm, 1)"""
    else:
        tail = """
        total = ZERO
        for j in range(columns):
            value = f_exp(load(x, row + j, 0) - top)
            store(y, row + j, value, 1)
            total = accumulate_sum(total, value)
        for j in range(columns):
            store(y, row + j, load(y, row + j, 1) / total, 1)"""
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    y = pointer_{dtype}(args[1])
    columns = args[2]
    for unit in range(begin, end):{_row_maximum(dtype)}{tail.replace("ZERO", f"{dtype}(0)")}
"""


def softmax_steps(kernel: int, x: int, y: int, rows: int, columns: int) -> list[Step]:
    """Steps for contiguous (rows, columns) matrices at x and y, which must not overlap."""
    return _rows_step(kernel, [x, y, columns], rows, columns)


def softmax_gradient_source(dtype: str, logarithm: bool) -> str:
    """Source of the gradient of softmax, (g - sum(g * y)) * y, or of log_softmax, g - exp(y) * sum(g).

    Unit: a row.
    """
    product, value = (
        ("g_j", "g_j - f_exp(y_j) * total") if logarithm else ("g_j * y_j", "(g_j - total) * y_j")
    )
    return f"""
@kernel_function
def kernel(args, begin, end):
    y = pointer_{dtype}(args[0])
    g = pointer_{dtype}(args[1])
    out = pointer_{dtype}(args[2])
    columns = args[3]
    for unit in range(begin, end):
        row = unit * columns
        total = {dtype}(0)
        for j in range(columns):
            y_j = load(y, row + j, 0)
            g_j = load(g, row + j, 0)
            total = accumulate_sum(total, {product})
        for j in range(columns):
            y_j = load(y, row + j, 0)
            g_j = load(g, row + j, 0)
            store(out, row + j, {value}, 1)
"""


def softmax_gradient_steps(kernel: int, y: int, g: int, out: int, rows: int, columns: int) -> list[Step]:
    """Steps over contiguous matrices: the op's result, the gradient of it, the gradient of its input."""
    return _rows_step(kernel, [y, g, out, columns], rows, columns)


def cross_entropy_source(dtype: str) -> str:
    """Source of the loss of each row and its gradient in one pass.

    TensorFlow's SoftmaxCrossEntropyWithLogits.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    labels = pointer_{dtype}(args[1])
    loss = pointer_{dtype}(args[2])
    gradient = pointer_{dtype}(args[3])
    columns = args[4]
    for unit in range(begin, end):{_row_maximum(dtype)}
        total = {dtype}(0)
        for j in range(columns):
            value = f_exp(load(x, row + j, 0) - top)
            store(gradient, row + j, value, 1)
            total = accumulate_sum(total, value)
        logarithm = f_log(total)
        cost = {dtype}(0)
        for j in range(columns):
            label = load(labels, row + j, 0)
            cost = accumulate_sum(cost, label * (logarithm - (load(x, row + j, 0) - top)))
            store(gradient, row + j, load(gradient, row + j, 1) / total - label, 1)
        store(loss, unit, cost, 2)
"""


def cross_entropy_steps(
    kernel: int, logits: int, labels: int, loss: int, gradient: int, rows: int, columns: int
) -> list[Step]:
    """Steps for contiguous (rows, columns) logits, labels and gradient, and (rows,) loss."""
    return _rows_step(kernel, [logits, labels, loss, gradient, columns], rows, 2 * columns)


def sparse_cross_entropy_source(dtype: str, label_dtype: str) -> str:
    """Source of the same with integer labels; TensorFlow's SparseSoftmaxCrossEntropyWithLogits."""
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    x = pointer_{dtype}(args[1])
    labels = pointer_{label_dtype}(args[2])
    loss = pointer_{dtype}(args[3])
    gradient = pointer_{dtype}(args[4])
    columns = args[5]
    for unit in range(begin, end):
        label = int64(load(labels, unit, 0))
        if label < 0 or label >= columns:
            store(status, 0, {ERROR_INDEX}, 3)
            continue{_row_maximum(dtype)}
        total = {dtype}(0)
        for j in range(columns):
            value = f_exp(load(x, row + j, 0) - top)
            store(gradient, row + j, value, 1)
            total = accumulate_sum(total, value)
        for j in range(columns):
            store(gradient, row + j, load(gradient, row + j, 1) / total, 1)
        store(gradient, row + label, load(gradient, row + label, 1) - {dtype}(1), 1)
        store(loss, unit, f_log(total) - (load(x, row + label, 0) - top), 2)
"""


def sparse_cross_entropy_steps(
    kernel: int, status: int, logits: int, labels: int, loss: int, gradient: int, rows: int, columns: int
) -> list[Step]:
    """Steps for contiguous (rows, columns) logits and gradient, (rows,) labels and loss.

    ERROR_INDEX for a bad label.
    """
    return _rows_step(kernel, [status, logits, labels, loss, gradient, columns], rows, 2 * columns)


# ---- rows by index --------------------------------------------------------------------------------------------------


def gather_source(index_dtype: str) -> str:
    """Source of copying rows by index, for any element type; unit: an index.

    TensorFlow's GatherV2 on axis 0.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    source = args[1]
    indices = pointer_{index_dtype}(args[2])
    target = args[3]
    row_bytes = args[4]
    rows = args[5]
    for unit in range(begin, end):
        index = int64(load(indices, unit, 0))
        if index < 0 or index >= rows:
            store(status, 0, {ERROR_INDEX}, 2)
        elif row_bytes == 4:
            store(pointer_int32(target), unit, load(pointer_int32(source), index, 0), 1)
        elif row_bytes == 8:
            store(pointer_int64(target), unit, load(pointer_int64(source), index, 0), 1)
        else:
            copy_bytes(target + unit * row_bytes, source + index * row_bytes, row_bytes)
"""


def gather_steps(
    kernel: int, status: int, source: int, rows: int, row_bytes: int, indices: int, count: int, target: int
) -> list[Step]:
    """Steps for target[i] = source[indices[i]] on contiguous rows.

    An index out of [0, rows) is ERROR_INDEX.
    """
    words = [status, source, indices, target, row_bytes, rows]
    return _rows_step(kernel, words, count, row_bytes // 4) if row_bytes else []


_SCATTER = {
    "add": "old + value",
    "sub": "old - value",
    "mul": "old * value",
    "div": "old / value",
    "min": "minimum(old, value)",
    "max": "maximum(old, value)",
    "update": "value",
}


def scatter_source(dtype: str, index_dtype: str, operation: str, scaled: bool = False) -> str:
    """Source of updating rows by index, in the order of the indices; unit: a column. TensorFlow's ScatterAdd
    and kin. Nothing is changed if an index is wrong.

    With `scaled` each value is first multiplied by a scalar in memory (the learning rate of a sparse update).
    """
    if dtype not in ("float32", "float64") and operation == "div":
        raise ValueError(f"scatter div is not generated for {dtype}")
    scale = f"scale = load(pointer_{dtype}(args[7]), 0, 0)" if scaled else "scale = 0"
    value = "scale * load(values, unit * columns + j, 0)" if scaled else "load(values, unit * columns + j, 0)"
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    target = pointer_{dtype}(args[1])
    indices = pointer_{index_dtype}(args[2])
    values = pointer_{dtype}(args[3])
    columns = args[4]
    rows = args[5]
    count = args[6]
    {scale}
    for unit in range(count):
        index = int64(load(indices, unit, 0))
        if index < 0 or index >= rows:
            store(status, 0, {ERROR_INDEX}, 2)
            return
    for unit in range(count):
        row = int64(load(indices, unit, 0)) * columns
        for j in range(begin, end):
            value = to_{dtype}({value})
            old = load(target, row + j, 1)
            store(target, row + j, to_{dtype}({_SCATTER[operation]}), 1)
"""


def scatter_steps(
    kernel: int,
    status: int,
    target: int,
    rows: int,
    columns: int,
    indices: int,
    count: int,
    values: int,
    scale: int = 0,
) -> list[Step]:
    """Steps for target[indices[i]] op= values[i] on contiguous rows of `columns` elements; ERROR_INDEX as in
    gather.

    `values` must not overlap `target`; `scale` is the address of the scalar of a scaled kernel.
    """
    if not (columns and count):
        return []
    words = [status, target, indices, values, columns, rows, count, scale]
    grain = -(-max(16, 2 * _GRAIN_ELEMENTS // count) // 16) * 16
    return [Step(kernel, words, 0, columns, grain)]


# ---- transposition, argmax ------------------------------------------------------------------------------------------


def transpose_source(item_bytes: int) -> str:
    """Source of a batched matrix transposition by tiles.

    Unit: a tile's worth of rows of the result in one matrix.
    """
    kind = {1: "uint8", 2: "uint16", 4: "int32", 8: "int64"}[item_bytes]
    side = min(8, 32 // item_bytes)
    return f"""
@kernel_function
def kernel(args, begin, end):
    source = pointer_{kind}(args[0])
    target = pointer_{kind}(args[1])
    rows = args[2]
    columns = args[3]
    bands = (rows + {_TILE - 1}) // {_TILE}
    for unit in range(begin, end):
        matrix = unit // bands * rows * columns
        low = unit % bands * {_TILE}
        high = min(low + {_TILE}, rows)
        whole = columns // {side} * {side} if high - low == {_TILE} else 0
        for left in range(0, whole, {side}):
            for i in range(low, high, {side}):
                first = matrix + left * rows + i
                transpose_block(source, first, rows, target, matrix + i * columns + left, columns, {side})
        for i in range(low, high):
            for j in range(whole, columns):
                store(target, matrix + i * columns + j, load(source, matrix + j * rows + i, 0), 1)
"""


def transpose_steps(kernel: int, source: int, target: int, batch: int, rows: int, columns: int) -> list[Step]:
    """Steps for target (batch, rows, columns) = the transposed matrices of source (batch, columns, rows),
    contiguous.
    """
    bands = -(-rows // _TILE)
    return (
        _rows_step(kernel, [source, target, rows, columns], batch * bands, _TILE * columns) if columns else []
    )


def argument_source(dtype: str, output_dtype: str, largest: bool) -> str:
    """Source of argmax or argmin along an axis (the first of equals.

    A NaN wins, as in NumPy); unit: a result. Of a row first the block is found in which it is, without branches.
    """
    better = "value > best" if largest else "value < best"
    accumulate = "accumulate_max" if largest else "accumulate_min"
    nan = "(value != value and best == best)" if dtype in ("float32", "float64") else "False"
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    out = pointer_{output_dtype}(args[1])
    count = args[2]
    inner = args[3]
    for unit in range(begin, end):
        first = unit // inner * count * inner + unit % inner
        best = load(x, first, 0)
        place = 0
        start = 1
        stop = count
        if inner == 1 and count > {_BLOCK}:
            chosen = 0
            for block in range(0, count, {_BLOCK}):
                value = load(x, first + block, 0)
                for j in range(block + 1, min(count, block + {_BLOCK})):
                    value = {accumulate}(value, load(x, first + j, 0))
                if {better} or {nan}:
                    best = value
                    chosen = block
            place = chosen
            best = load(x, first + place, 0)
            start = chosen + 1
            stop = min(count, chosen + {_BLOCK})
        for j in range(start, stop):
            value = load(x, first + j * inner, 0)
            if {better} or {nan}:
                best = value
                place = j
        store(out, unit, to_{output_dtype}(place), 1)
"""


def argument_steps(kernel: int, x: int, out: int, outer: int, count: int, inner: int) -> list[Step]:
    """Steps over contiguous (outer, count, inner) x for (outer, inner) results; `count` must not be 0."""
    return _rows_step(kernel, [x, out, count, inner], outer * inner, count)
