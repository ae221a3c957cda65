"""Protects what may be fed to a session: values of every form, keys of every form, and what is refused by name."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import graphflow as gf
from graphflow._core.fetches import feed_array


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)
LAYOUTS = {
    "as it is": VALUES,
    "list": VALUES.tolist(),
    "tuple of arrays": tuple(VALUES),
    "float64": VALUES.astype(np.float64),
    "int8": VALUES.astype(np.int8),
    "column major": np.asfortranarray(VALUES),
    "transposed twice": np.ascontiguousarray(VALUES.T).T,
    "strided": np.repeat(VALUES, 2, axis=1)[:, ::2],
    "reversed": VALUES[::-1, ::-1].copy()[::-1, ::-1],
    "byte-swapped": VALUES.astype(">f4"),
    "byte-swapped float64": VALUES.astype(">f8"),
    "objects": VALUES.astype(object),
    "subclass": VALUES.view(type("Mine", (np.ndarray,), {})),
}


@pytest.mark.parametrize("tier", ["never", "always"])
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_feeds_of_every_layout_give_the_same(layout: str, tier: str) -> None:
    x = gf.placeholder(gf.float32, [None, 3])
    y = gf.matmul(x * 2.0 + 1.0, gf.ones([3, 2]))
    with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        got = session.run([x, y], {x: LAYOUTS[layout]})
    np.testing.assert_array_equal(got[0], VALUES)
    np.testing.assert_array_equal(got[1], (VALUES * 2 + 1) @ np.ones((3, 2), np.float32))
    assert got[0].dtype == np.float32 and got[0].flags.writeable and got[0].flags.c_contiguous or got[0].ndim


def test_a_read_only_feed_works_and_stays_as_it_is() -> None:
    x = gf.placeholder(gf.float32, [3])
    v = gf.Variable(gf.zeros([3]))
    fed = np.array([1.0, 2.0, 3.0], np.float32)
    fed.flags.writeable = False
    with gf.Session() as session:
        session.run(v.initializer)
        got = session.run([x * 2.0, v.assign(x), v.assign_add(x)], {x: fed})
    assert fed.tolist() == [1.0, 2.0, 3.0] and got[0].tolist() == [2.0, 4.0, 6.0]


def test_zero_stride_and_nan_feeds() -> None:
    x = gf.placeholder(gf.float32, [4])
    with gf.Session() as session:
        assert session.run(x + 1.0, {x: np.broadcast_to(np.float32(2), (4,))}).tolist() == [3.0] * 4
        got = session.run(x + 1.0, {x: [np.nan, np.inf, -np.inf, -0.0]})
    assert np.isnan(got[0]) and got[1] == np.inf and got[2] == -np.inf and got[3] == 1.0


BAD_FEEDS = [
    (gf.float32, [2], [1.0, 2.0, 3.0], ValueError),
    (gf.float32, [2], [[1.0, 2.0]], ValueError),
    (gf.float32, [], [1.0], ValueError),
    (gf.float32, [2], 1.0, ValueError),
    (gf.float32, None, "text", ValueError),
    (gf.float32, None, [[1.0], [1.0, 2.0]], ValueError),
    (gf.float32, None, None, ValueError),
    (gf.float32, None, [1.0, None], ValueError),
    (gf.float32, None, [object()], TypeError),
    (gf.float32, None, {}, TypeError),
    (gf.float32, None, 1j, TypeError),
    (gf.float32, None, np.datetime64("2020-01-01"), TypeError),
    (gf.float32, None, np.zeros(2, [("a", "f4")]), TypeError),
    (gf.int32, None, [0.5, 2.0**31], TypeError),
    (gf.int32, None, float("nan"), TypeError),
    (gf.int32, None, 2**40, TypeError),
    (gf.int32, None, np.array([2**40]), TypeError),
    (gf.int64, None, 2**70, TypeError),
    (gf.uint8, None, [-1], TypeError),
    (gf.uint8, None, [300], TypeError),
    (gf.bool, None, [2], TypeError),
    (gf.string, None, [1], TypeError),
    (gf.string, None, np.array(["a", 1], object), TypeError),
]


def _title(case: Any) -> str:
    """The same in each process of the tests, without the place of an object."""
    return re.sub(" at 0x[0-9a-f]+", "", f"{case[0].name} {case[1]} {case[2]!r}"[:60])


@pytest.mark.parametrize("case", BAD_FEEDS, ids=_title)
def test_a_bad_feed_is_refused_by_name(case: Any) -> None:
    dtype, shape, value, error = case
    x = gf.placeholder(dtype, shape, name="victim")
    good = {gf.string: "s", gf.bool: True}.get(dtype, np.zeros(shape or (), dtype.as_numpy_dtype))
    with gf.Session() as session:
        with pytest.raises(error, match="victim"):
            session.run(gf.identity(x), {x: value})
        session.run(gf.identity(x), {x: good})  # and the session goes on


GOOD_FEEDS = [
    (gf.int32, 3.0, 3),
    (gf.int32, [1.0, 2.0], [1, 2]),
    (gf.int64, np.array([1], np.uint8), [1]),
    (gf.float32, True, 1.0),
    (gf.float32, 7, 7.0),
    (gf.float16, 1e300, np.inf),
    (gf.float32, 1e300, np.inf),
    (gf.bool, [1, 0], [True, False]),
    (gf.complex64, 1.5, 1.5),
    (gf.string, "é", "é".encode()),
    (gf.string, ["a", b"b"], [b"a", b"b"]),
    (gf.string, np.array(["a", b"b"], object), [b"a", b"b"]),
    (gf.string, np.array(["x"]), [b"x"]),
    (gf.string, np.array([b"x"]), [b"x"]),
    (gf.float32, "1.5", 1.5),
    (gf.int32, 1.5, 1),
    (gf.int32, [0.5, -1.75, 2.0], [0, -1, 2]),
]


class OtherLibrary:
    """An array of another library, which gives it out by DLPack alone."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, *arguments: Any, **options: Any) -> Any:
        return self.array.__dlpack__(*arguments, **options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class WithGradient:
    """What a tensor of PyTorch is that takes part in a gradient."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )


def test_arrays_of_other_libraries() -> None:
    x = gf.placeholder(gf.float32, [None], name="victim")
    with gf.Session() as session:
        assert session.run(x * 2.0, {x: OtherLibrary(np.array([1.0, 2.0], np.float32))}).tolist() == [
            2.0,
            4.0,
        ]
        narrow = np.array([1.5, -2.0], ml_dtypes.bfloat16)
        assert session.run(x * 2.0, {x: narrow}).tolist() == [3.0, -4.0]
        with pytest.raises(TypeError, match=r"victim.*detach\(\)"):
            session.run(x, {x: WithGradient()})
        fetched = session.run(x * 2.0, {x: [1.0]})
        assert np.from_dlpack(fetched).tolist() == [2.0]


NARROW = {
    "bfloat16": (ml_dtypes.bfloat16, [1.5, -2.0], ml_dtypes.bfloat16),
    "float8": (ml_dtypes.float8_e4m3fn, [1.5, -2.0], np.float32),
    "int4": (ml_dtypes.int4, [1, -2], np.int8),
    "uint4": (ml_dtypes.uint4, [1, 15], None),
}


@pytest.mark.parametrize("form", ["array", "scalars", "arrays", "scalar"])
@pytest.mark.parametrize("kind", list(NARROW))
def test_narrow_numbers_of_a_package_are_taken_wherever_numpys_are(kind: str, form: str) -> None:
    narrow, numbers, wide = NARROW[kind]
    array = np.array(numbers, narrow)
    value: Any = {"array": array, "scalars": list(array), "arrays": [array, array], "scalar": array[0]}[form]
    expected: Any = {"arrays": [numbers, numbers], "scalar": numbers[0]}.get(form, numbers)
    x = gf.placeholder(gf.float32)
    made = [
        gf.identity(x),
        gf.constant(value),
        gf.constant(value, gf.float32),
        gf.Variable(value, dtype=gf.float32).initialized_value(),
    ]
    if form != "scalar":
        rows = gf.data.Dataset.from_tensor_slices(value).batch(2)
        made.append(gf.data.make_one_shot_iterator(rows).get_next())
    with gf.Session() as session:
        got = session.run(made, {x: value})
    for each in got:
        assert each.tolist() == expected
    assert got[1].dtype == wide or (wide is None and got[1].dtype.kind in "iu")


def test_constants_and_data_sets_take_what_other_libraries_hold() -> None:
    own = np.array([1.0, 2.0], np.float32)
    other = OtherLibrary(own)
    constant = gf.constant(other)
    row = gf.data.make_one_shot_iterator(gf.data.Dataset.from_tensor_slices(other)).get_next()
    product = gf.ones([2]) * other
    v = gf.Variable(other)
    own[:] = 9.0  # They have copies.
    with gf.Session() as session:
        session.run(v.initializer)
        got = session.run([constant, product, v])
        assert [each.tolist() for each in got] == [[1.0, 2.0]] * 3 and constant.dtype is gf.float32
        assert session.run(row) == 1.0
    for make in (gf.constant, gf.Variable, gf.data.Dataset.from_tensor_slices, gf.convert_to_tensor):
        with pytest.raises(TypeError, match=r"detach\(\)"):
            make(WithGradient())


def test_what_a_device_holds_is_refused_in_words() -> None:
    class OnADevice:
        def __dlpack_device__(self) -> Any:
            return (2, 0)

        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("The array is on a GPU: copy it to the host first.")

    x = gf.placeholder(gf.float32, name="victim")
    with gf.Session() as session, pytest.raises(TypeError, match=r"victim.*copy it to the host"):
        session.run(x, {x: OnADevice()})


class Frame:
    """What a table of pandas shows to NumPy."""

    def __init__(self, columns: Any) -> None:
        self._columns = columns

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._columns, dtype)


def test_tables_are_fed_by_their_numbers_and_texts() -> None:
    x, n, s = gf.placeholder(gf.float32), gf.placeholder(gf.int32), gf.placeholder(gf.string, name="s")
    with gf.Session() as session:
        assert session.run(x * 1.0, {x: Frame([[1.5, 1], [2.5, 2]])}).tolist() == [[1.5, 1.0], [2.5, 2.0]]
        assert session.run(n * 1, {n: Frame([1, 2])}).tolist() == [1, 2]
        objects = np.array([1, 2.5], object)
        assert session.run(x * 1.0, {x: Frame(objects)}).tolist() == [1.0, 2.5]
        assert session.run(gf.identity(s), {s: Frame(np.array(["a", "b"], object))}).tolist() == [b"a", b"b"]
        with pytest.raises(ValueError, match=r"could not convert string to float: 'x'"):
            session.run(x * 1.0, {x: Frame(np.array([[1, "x"]], object))})


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (gf.int32, np.float64(1.5), 1), (gf.int32, np.float32(-1.5), -1), (gf.int64, np.float16(1.5), 1),
        (gf.int32, np.array(1.5), 1), (gf.int32, np.bool_(True), 1), (gf.float32, np.int64(3), 3.0),
        (gf.float32, np.uint8(3), 3.0), (gf.int32, [np.float32(1.5), np.float64(-2.5)], [1, -2]),
        (gf.uint8, 1.5, 1), (gf.int32, np.array([1.9, -1.9], np.float32), [1, -1]), (gf.int32, -0.5, 0),
        (gf.bool, np.bool_(True), True), (gf.float16, np.float64(1.5), 1.5), (gf.complex64, np.float32(2), 2 + 0j),
    ],
)  # fmt: skip
def test_scalars_of_numpy_are_fed_as_in_tensorflow(dtype: Any, value: Any, expected: Any) -> None:
    """What TensorFlow 1.15.5 gave for the same feeds."""
    x = gf.placeholder(dtype)
    with gf.Session() as session:
        assert np.asarray(session.run(gf.identity(x), {x: value})).tolist() == expected


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "float32", "float64", "complex64"])
def test_what_is_fetched_is_handed_to_other_libraries(name: str) -> None:
    v = gf.Variable(np.array([1, 0], name))
    c = gf.constant(np.array([1, 0], name))
    with gf.Session() as session:
        session.run(v.initializer)
        for fetched in session.run([c, v, gf.identity(v), gf.reshape(v, [2, 1])]):
            other = np.from_dlpack(fetched)
            assert (
                other.dtype == name
                and np.shares_memory(other, fetched)
                and other.reshape(-1).tolist() == [1, 0]
            )


def test_fractions_that_an_integer_loses_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    labels = gf.placeholder(gf.int32, [None], name="labels")
    with gf.Session() as session:
        for _ in range(3):
            assert session.run(labels, {labels: [1.9, 2.0]}).tolist() == [1, 2]
    (line,) = [r.getMessage() for r in caplog.records if "fractions" in r.getMessage()]
    assert "'labels:0'" in line and "int32" in line


@pytest.mark.parametrize("case", GOOD_FEEDS, ids=lambda case: f"{case[0].name} {case[1]!r}"[:60])
def test_a_feed_is_converted_without_loss(case: Any) -> None:
    dtype, value, expected = case
    x = gf.placeholder(dtype)
    with gf.Session() as session:
        got = session.run(gf.identity(x), {x: value})
    assert np.asarray(got).tolist() == np.asarray(expected, object).tolist()
    if dtype is not gf.string:
        assert got.dtype == dtype.as_numpy_dtype


def test_a_key_may_be_the_state_of_a_cell() -> None:
    c, h, x = (gf.placeholder(gf.float32, [2], name=name) for name in "chx")
    state = gf.nn.rnn_cell.LSTMStateTuple(c, h)
    total = c + 2.0 * h
    ones, twos = np.ones(2, np.float32), np.full(2, 2, np.float32)
    with gf.Session() as session:
        for _ in range(2):  # The second run is one that is known.
            for key, value in (
                (state, gf.nn.rnn_cell.LSTMStateTuple(ones, twos)),
                ((c, h), [[1, 1], [2, 2]]),
                ((c, (h,)), (ones, [twos])),
                ((c, (h, x)), (ones, twos, ones)),
            ):
                assert list(session.run(total, {key: value})) == [5, 5]
        fed = session.run(total, {state: state._replace(c=ones, h=twos), x: ones})
        assert list(fed) == [5, 5]
        assert session.explain(total, {state: None}).startswith("feed c:0, h:0\n")
        with pytest.raises(ValueError, match="2 tensors, but its value is 1"):
            session.run(total, {state: ones})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
            session.run(total, {(c, 3.0): (ones, twos)})


def test_explain_takes_what_a_run_is_fed() -> None:
    sparse = gf.sparse_placeholder(gf.float32, [2, 2], name="sparse")
    with gf.Session() as session:
        assert "sparse/values:0" in session.explain(gf.sparse_tensor_to_dense(sparse), {sparse: None})


def test_tensors_and_variables_are_no_feeds() -> None:
    x = gf.placeholder(gf.float32)
    for value in (gf.constant(1.0), gf.Variable(1.0)):
        with gf.Session() as session, pytest.raises(TypeError, match=r"cannot be a gf.Tensor"):
            session.run(x, {x: value})


@pytest.mark.parametrize("feeds", [[1], 3, "x:0", {3: 1.0}, {"nothing:0": 1.0}, {None: 1.0}])
def test_a_feed_dict_that_is_none_is_a_type_error(feeds: Any) -> None:
    x = gf.placeholder(gf.float32, name="x")
    with gf.Session() as session, pytest.raises(TypeError):
        session.run(x, feeds)


def test_any_tensor_can_be_fed_also_a_constant_or_a_variable() -> None:
    c = gf.constant(1.0)
    twin = gf.constant(1.0)
    v = gf.Variable(5.0)
    inner = -c
    values, indices = gf.nn.top_k(gf.constant([1.0, 3.0, 2.0]), 1)
    with gf.Session() as session:
        assert session.run([c + 1.0, c.op, twin + 1.0], {c: 41.0})[::2] == [42.0, 2.0]
        assert session.run([-inner, inner.op], {inner: 7.0})[0] == -7.0
        assert session.run(v * 2.0, {v: 3.0}) == 6.0
        assert session.run([values, indices], {values: [9.0]})[0].tolist() == [9.0]
        assert session.run([values, indices], {values: [9.0]})[1].tolist() == [1]


def test_a_variable_is_not_written_while_it_is_fed() -> None:
    v = gf.Variable(5.0)
    with gf.Session() as session, pytest.raises(gf.errors.InvalidArgumentError, match="fed in the same run"):
        session.run(v.assign_add(1.0), {v: 3.0})


def test_a_tensor_fed_under_two_names_counts_once() -> None:
    x = gf.placeholder(gf.float32, name="x")
    with gf.Session() as session:
        for _ in range(2):
            assert session.run(x * 2.0, {"x:0": 1.0, x: 3.0}) == 6.0


def test_an_unfed_placeholder_is_named_with_its_line() -> None:
    x = gf.placeholder(gf.float32, [None, 2], name="wanted")
    with gf.Session() as session:
        with pytest.raises(gf.errors.InvalidArgumentError) as caught:
            session.run(x * 2.0)
        assert caught.value.op is x.op
        for part in ("wanted", "float32", "(?, 2)", "feed_dict", "test_feeds.py"):
            assert part in str(caught.value)
        assert session.run(x * 2.0, {x: [[1.0, 2.0]]}).tolist() == [[2.0, 4.0]]


def test_feed_array_gives_the_users_own_memory() -> None:
    x = gf.placeholder(gf.float32, [None, 3])
    for layout in ("as it is", "column major", "strided", "reversed", "subclass"):
        assert np.shares_memory(feed_array(x, LAYOUTS[layout]), LAYOUTS[layout])
