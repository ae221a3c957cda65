"""A list of datasets is one component, of which the rows are datasets."""

from __future__ import annotations

import pytest

import graphflow as gf

Dataset = gf.data.Dataset


def _drained(dataset: gf.data.Dataset) -> list[int]:
    following = dataset.make_one_shot_iterator().get_next()
    found = []
    with gf.Session() as session:
        while True:
            try:
                found.append(int(session.run(following)))
            except gf.errors.OutOfRangeError:
                return found


def test_each_of_a_list_of_datasets_is_an_element() -> None:
    with gf.Graph().as_default():
        several = Dataset.from_tensor_slices([Dataset.range(n) for n in range(4)])
        assert several.element_spec == gf.data.DatasetSpec(gf.TensorSpec([], gf.int64))
        assert _drained(several.flat_map(lambda inner: inner)) == [0, 0, 1, 0, 1, 2]


def test_datasets_of_other_types_are_no_list() -> None:
    with gf.Graph().as_default(), pytest.raises(TypeError, match="of one type"):
        Dataset.from_tensor_slices([Dataset.range(3), Dataset.from_tensors("a")])


def test_a_length_beyond_the_last_boundary_cannot_be_padded_to_it() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        lengths = Dataset.from_tensor_slices(gf.constant([1, 2, 5])).map(gf.range)
        buckets = gf.data.experimental.bucket_by_sequence_length(
            lambda x: gf.size(x), [2, 4], [1, 1, 1], pad_to_bucket_boundary=True
        )
        following = lengths.apply(buckets).make_one_shot_iterator().get_next()
        assert [session.run(following).tolist() for _ in range(2)] == [[[0]], [[0, 1, 0]]]
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"max\(bucket_boundaries\)"):
            session.run(following)


def test_sizes_to_pad_to_are_checked() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        sizes = gf.constant([-5], gf.int64) + 0
        following = Dataset.from_tensors([1, 2]).padded_batch(2, sizes).make_one_shot_iterator().get_next()
        with pytest.raises(gf.errors.InvalidArgumentError, match="padded_shapes"):
            session.run(following)


@pytest.mark.parametrize(
    ("start", "step", "expected"), [(3, 4, [3, 7, 11]), (0, -1, [0, -1, -2]), (5, 1, [5, 6, 7])]
)
def test_a_counter_goes_on_for_ever_in_both_directions(start: int, step: int, expected: list[int]) -> None:
    with gf.Graph().as_default():
        assert _drained(gf.data.experimental.Counter(start=start, step=step).take(3)) == expected
