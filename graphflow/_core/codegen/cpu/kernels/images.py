"""Kernels of images of another size, and of boxes cut out of images.

A resize is told by tables, whatever its method, and so is its gradient: of each new row the old rows that it is made of
and their weights, and the same for columns. A row of the result is first mixed of whole rows, which vector instructions
do, then of single pixels. Crops find their places as they go, since boxes are values. Nothing outside a buffer is
touched: an image that is not there writes ERROR_INDEX to the status word.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphflow._core.codegen.cpu.kernels.nnkernels import ERROR_INDEX
from graphflow._core.codegen.cpu.programs.machine import Step

ROWS_TOGETHER = 8
"""Rows of a result that are one unit, and share the space for a mixed row."""
_FEW_CHANNELS = 4
_GRAIN_ELEMENTS = 16384


def resize_source(dtype: str, channels: int) -> str:
    """Source of weighted sums over rows and columns; unit: some rows of a result's image, float32.

    TensorFlow's ResizeBilinear, ResizeBicubic, ResizeArea, and the gradients of the first two.
    """
    if channels <= _FEW_CHANNELS:
        names = [f"total{c}" for c in range(channels)]
        lines = [f"{name} = float32(0)" for name in names]
        lines += ["for k in range(low, high):", "    by = load(column_weights, k, 0)"]
        lines += [f"    at = int64(load(column_pixels, k, 0)) * {channels} + line"]
        lines += [
            f"    {name} = accumulate_sum({name}, load(mixed, at + {c}, 1) * by)"
            for c, name in enumerate(names)
        ]
        lines += [f"store(out, place + {c}, {name}, 2)" for c, name in enumerate(names)]
    else:
        lines = [
            f"for c in range({channels}):",
            "    store(out, place + c, float32(0), 2)",
            "for k in range(low, high):",
            "    by = load(column_weights, k, 0)",
            f"    at = int64(load(column_pixels, k, 0)) * {channels} + line",
            f"    for c in range({channels}):",
            "        store(out, place + c, load(out, place + c, 2) + load(mixed, at + c, 1) * by, 2)",
        ]
    body = "\n".join(" " * 16 + line for line in lines)
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    row_starts = pointer_int32(args[1])
    row_pixels = pointer_int32(args[2])
    row_weights = pointer_float32(args[3])
    column_starts = pointer_int32(args[4])
    column_pixels = pointer_int32(args[5])
    column_weights = pointer_float32(args[6])
    mixed = pointer_float32(args[7])
    out = pointer_float32(args[8])
    height = args[9]
    wide = args[10]
    rows = args[11]
    columns = args[12]
    bands = (rows + {ROWS_TOGETHER - 1}) // {ROWS_TOGETHER}
    for unit in range(begin, end):
        image = unit // bands
        first = unit % bands * {ROWS_TOGETHER}
        line = unit * wide
        for row in range(first, min(first + {ROWS_TOGETHER}, rows)):
            for j in range(wide):
                store(mixed, line + j, float32(0), 1)
            for k in range(int64(load(row_starts, row, 0)), int64(load(row_starts, row + 1, 0))):
                source = (image * height + int64(load(row_pixels, k, 0))) * wide
                weight = load(row_weights, k, 0)
                for j in range(wide):
                    old = load(mixed, line + j, 1)
                    store(mixed, line + j, old + to_float32(load(x, source + j, 0)) * weight, 1)
            target = (image * rows + row) * columns * {channels}
            for p in range(columns):
                low = int64(load(column_starts, p, 0))
                high = int64(load(column_starts, p + 1, 0))
                place = target + p * {channels}
{body}
"""


def resize_steps(
    kernel: int,
    x: int,
    tables: Sequence[int],
    mixed: int,
    out: int,
    batch: int,
    size: tuple[int, int],
    new_size: tuple[int, int],
    channels: int,
) -> list[Step]:
    """Steps for contiguous images; `tables` are the addresses of starts, pixels and weights of rows, then of columns.

    mixed: space for resize_space(...) float32.
    """
    units = resize_units(batch, new_size[0])
    words = [x, *tables, mixed, out, size[0], size[1] * channels, *new_size]
    work = ROWS_TOGETHER * (size[1] + new_size[1]) * channels
    return [Step(kernel, words, 0, units, max(1, _GRAIN_ELEMENTS // work))]


def resize_units(batch: int, rows: int) -> int:
    """How many units a resize has; each needs the space of an old row."""
    return batch * -(-rows // ROWS_TOGETHER)


# ---- boxes ------------------------------------------------------------------------------------------------------

_BOX = f"""
        owner = int64(load(owners, box, 0))
        if owner < 0 or owner >= images:
            store(status, 0, {ERROR_INDEX}, 2)
            return
        reach_y = to_float32(height - 1)
        reach_x = to_float32(width - 1)
        y1 = load(boxes, box * 4, 0)
        x1 = load(boxes, box * 4 + 1, 0)
        y2 = load(boxes, box * 4 + 2, 0)
        x2 = load(boxes, box * 4 + 3, 0)
        if rows > 1:
            begin_y = y1 * reach_y
            step_y = (y2 - y1) * reach_y / to_float32(rows - 1)
        else:
            begin_y = float32(0.5) * (y1 + y2) * reach_y
            step_y = float32(0)
        if columns > 1:
            begin_x = x1 * reach_x
            step_x = (x2 - x1) * reach_x / to_float32(columns - 1)
        else:
            begin_x = float32(0.5) * (x1 + x2) * reach_x
            step_x = float32(0)
"""
_ROW = """
            at_y = begin_y + to_float32(y) * step_y
            inside_y = at_y >= float32(0) and at_y <= reach_y
            top = int64(at_y) if inside_y else 0
            below = top + 1 if inside_y and at_y > to_float32(top) else top
            dy = at_y - to_float32(top)
            upper = (owner * height + top) * width
            lower = (owner * height + below) * width
"""
_PIXEL = """
                at_x = begin_x + to_float32(x) * step_x
                inside = inside_y and at_x >= float32(0) and at_x <= reach_x
                left = int64(at_x) if inside else 0
                right = left + 1 if inside and at_x > to_float32(left) else left
                dx = at_x - to_float32(left)
                a = (upper + left) * channels
                b = (upper + right) * channels
                c = (lower + left) * channels
                d = (lower + right) * channels
"""
_ARGUMENTS = """
    status = pointer_int64(args[0])
    boxes = pointer_float32(args[1])
    owners = pointer_int32(args[2])
    images = args[5]
    height = args[6]
    width = args[7]
    channels = args[8]
    rows = args[9]
    columns = args[10]
"""


def crop_source(dtype: str, outside: float) -> str:
    """Source of bilinear crops; unit: a box. TensorFlow's CropAndResize."""
    return f"""
@kernel_function
def kernel(args, begin, end):{_ARGUMENTS}
    image = pointer_{dtype}(args[3])
    out = pointer_float32(args[4])
    outside = float32({outside!r})
    for box in range(begin, end):{_BOX}
        for y in range(rows):{_ROW}
            for x in range(columns):{_PIXEL}
                place = ((box * rows + y) * columns + x) * channels
                if inside:
                    for k in range(channels):
                        one = to_float32(load(image, a + k, 0))
                        two = to_float32(load(image, b + k, 0))
                        three = to_float32(load(image, c + k, 0))
                        four = to_float32(load(image, d + k, 0))
                        over = one + (two - one) * dx
                        under = three + (four - three) * dx
                        store(out, place + k, over + (under - over) * dy, 1)
                else:
                    for k in range(channels):
                        store(out, place + k, outside, 1)
"""


def crop_gradient_source() -> str:
    """Source of the gradient of bilinear crops to the images, float32; unit: a channel.

    TensorFlow's CropAndResizeGradImage.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):{_ARGUMENTS}
    grads = pointer_float32(args[3])
    out = pointer_float32(args[4])
    count = args[11]
    one = float32(1)
    for pixel in range(images * height * width):
        for k in range(begin, end):
            store(out, pixel * channels + k, float32(0), 1)
    for box in range(count):{_BOX}
        for y in range(rows):{_ROW}
            for x in range(columns):{_PIXEL}
                if inside:
                    place = ((box * rows + y) * columns + x) * channels
                    for k in range(begin, end):
                        g = load(grads, place + k, 0)
                        over = g * (one - dy)
                        under = g * dy
                        store(out, a + k, load(out, a + k, 1) + over * (one - dx), 1)
                        store(out, b + k, load(out, b + k, 1) + over * dx, 1)
                        store(out, c + k, load(out, c + k, 1) + under * (one - dx), 1)
                        store(out, d + k, load(out, d + k, 1) + under * dx, 1)
"""


def crop_steps(
    kernel: int,
    status: int,
    boxes: int,
    owners: int,
    source: int,
    target: int,
    shape: tuple[int, ...],
    crops: tuple[int, ...],
    gradient: bool,
) -> list[Step]:
    """Steps for images of `shape` and crops [boxes, height, width, channels], all contiguous.

    source and target: the images and the crops, or of the gradient the crops' gradients and the images'.
    """
    words = [status, boxes, owners, source, target, *shape, *crops[1:3], crops[0]]
    work = crops[1] * crops[2] * (crops[0] if gradient else crops[3])
    if not gradient:
        return [Step(kernel, words, 0, crops[0], max(1, _GRAIN_ELEMENTS // work))]
    return [Step(kernel, words, 0, shape[3], -(-max(64, _GRAIN_ELEMENTS // work) // 16) * 16)]
