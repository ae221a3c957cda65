"""Protects how convolutions are cut into tiles: every output once, with exactly its taps, within the registers."""

from hypothesis import given
from hypothesis import strategies as st

from graphflow._core.codegen.cpu.kernels import conv_tiles as tiles
from graphflow._core.codegen.cpu.kernels.kernel_source import VectorUnit, vector_unit
from graphflow._core.kernels.nn.windows import Axis, Taps

axes = st.builds(
    Axis.of,
    st.integers(1, 20),
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from(["SAME", "VALID"]),
    st.integers(1, 3),
)


def expanded(runs: tuple[tiles.TileRun, ...]) -> list[tuple[int, list[tuple[int, int]]]]:
    """Each column that the runs write, with its taps."""
    found = []
    for run in runs:
        for i in range(run.repeats):
            for pixel, column in enumerate(run.columns):
                taps = []
                for tap in run.taps:
                    for j in range(tap.repeats):
                        source = tap.inputs[pixel]
                        if source is not None:
                            base = run.first_input + i * run.input_step
                            taps.append((tap.first + j * tap.step, base + source + j * tap.input_step))
                found.append((run.first + i * run.step + column, taps))
    return found


def check_tiles(taps: Taps, stride: int, pixels: int) -> None:
    groups = [range(first, len(taps), stride) for first in range(stride)]
    found = expanded(tiles.tile_runs(taps, groups, pixels))
    assert sorted(found) == [(column, list(pairs)) for column, pairs in enumerate(taps)]


@given(axes, st.integers(1, 14))
def test_tiles_cover_every_column_with_its_taps(axis: Axis, pixels: int) -> None:
    check_tiles(axis.taps(), 1, pixels)
    check_tiles(axis.transposed_taps(), axis.stride, pixels)


@given(axes)
def test_row_tables_name_every_tap(axis: Axis) -> None:
    for taps in (axis.taps(), axis.transposed_taps()):
        table = tiles.row_table(taps)
        found = tuple(
            tuple((first + i * table.step, source + i * table.input_step) for i in range(count))
            for first, source, count in zip(table.first, table.inputs, table.counts)
        )
        assert found == taps


@given(st.integers(1, 200), st.sampled_from([1, 2, 4, 8, 16]), st.integers(2, 8))
def test_vectors_cover_the_channels_and_overlap_only_within_a_block(
    channels: int, lanes: int, most: int
) -> None:
    lanes = tiles.vector_lanes(channels, lanes)
    seen: set[int] = set()
    for run in tiles.vector_blocks(channels, lanes, most):
        for i in range(run.repeats):
            first = run.first + i * run.step
            block = {first + start + lane for start in run.starts for lane in range(lanes)}
            assert len(run.starts) <= most and not block & seen
            seen |= block
    assert seen == set(range(channels))


@given(
    st.integers(1, 60),
    st.integers(1, 40),
    st.sampled_from([VectorUnit(64, 32), VectorUnit(32, 16)]),
    st.booleans(),
)
def test_tiles_fit_into_the_registers(columns: int, vectors: int, unit: VectorUnit, exact: bool) -> None:
    pixels, block = tiles.choose_tile(columns, vectors, unit, exact)
    assert 1 <= pixels <= columns and 1 <= block <= vectors
    assert pixels * block + block + 1 < unit.registers
    assert not exact or block > 1 or vectors == 1


def test_vector_units_by_processor() -> None:
    assert vector_unit("x86_64", frozenset({"avx2", "fma", "avx512f", "avx512vl"})) == VectorUnit(64, 32)
    assert vector_unit("x86_64", frozenset({"avx2", "fma"})) == VectorUnit(32, 16)
    assert vector_unit("x86_64", frozenset()) == VectorUnit(16, 16, fused=False)
    assert vector_unit("arm64", frozenset()) == VectorUnit(16, 32)
