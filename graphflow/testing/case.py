"""TestCase: unittest's, with comparisons of arrays and a session for each test (tf.test.TestCase).

Every test begins with an empty default graph and the same seeds, so that tests neither share variables nor depend on
the order in which they run.
"""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import MethodType
from typing import Any

import numpy as np

import graphflow.errors as errors
import graphflow.nest as nest
from graphflow._core.common import arrays
from graphflow._core.graph.defaults import forget_default_graphs, get_default_session
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.random_seed import set_random_seed
from graphflow._core.graph.slices import IndexedSlicesValue, SparseTensorValue
from graphflow._core.ops.state.variable import Variable
from graphflow._core.session import Session
from graphflow.config import ConfigProto
from graphflow.testing.assertions import CollectionAssertions

SEED = 87654321
"""The graph seed, and NumPy's and Python's, of every test."""


class _NotATest:
    """A method whose name begins with "test", but which unittest must not collect: no function on the class itself."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self._function, instance)


class TestCase(CollectionAssertions):
    """A test case whose assertions take arrays, numbers, tensors and structures of them (tf.test.TestCase).

    Tensors are evaluated in the session that is open: `with self.session():`.
    """

    _cached_session: Session | None = None

    def setUp(self) -> None:
        """An empty default graph with a seed; NumPy and Python's random seeded."""
        super().setUp()
        self._cached_session = None
        random.seed(SEED)
        np.random.seed(SEED % 2**32)
        forget_default_graphs()
        set_random_seed(SEED)

    def tearDown(self) -> None:
        """Closes the session that test_session and cached_session keep."""
        if self._cached_session is not None:
            self._cached_session.close()
            self._cached_session = None
        super().tearDown()

    # ---- sessions and files ---------------------------------------------------------------------------------------

    @contextmanager
    def session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """A session of its own on a graph, by default the default one, open as the default session.

        Args:
            graph: The graph; by default the default graph.
            config: A gf.ConfigProto.
            use_gpu: Whether to place operations on a GPU if there is one, or in any case.
            force_gpu: Whether to place operations on a GPU if there is one, or in any case.
        """
        with Session(graph=graph, config=config) as session:
            yield session

    @contextmanager
    def cached_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """One session for the whole test, so that variables keep their values between its uses.

        Args:
            graph: The graph; by default the default graph.
            config: A gf.ConfigProto.
            use_gpu: Whether to place operations on a GPU if there is one, or in any case.
            force_gpu: Whether to place operations on a GPU if there is one, or in any case.

        Raises:
            ValueError: If it is asked for with another graph than before.
        """
        if self._cached_session is None:
            self._cached_session = Session(graph=graph, config=config)
        elif graph is not None and graph is not self._cached_session.graph:
            raise ValueError(
                "The graph of the cached session is another one than that passed to cached_session()."
            )
        with self._cached_session.graph.as_default(), self._cached_session.as_default():
            yield self._cached_session

    @_NotATest
    def test_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> AbstractContextManager[Session]:
        """cached_session without a graph, else session; the older name."""
        if graph is None:
            return self.cached_session(config=config)
        return self.session(graph, config)

    def evaluate(self, tensors: Any) -> Any:
        """The values of a structure of tensors in the open session, without one in the test's cached session.

        Args:
            tensors: Tensors, variables, or a nested structure of them.

        Returns:
            Arrays in the same structure.
        """
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as cached:
            return cached.run(tensors)

    def get_temp_dir(self) -> str:
        """A folder of this test's own, removed after it."""
        folder: str | None = getattr(self, "_folder", None)
        if folder is None:
            folder = self._folder = tempfile.mkdtemp(prefix=f"{type(self).__name__}_")
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    # ---- arrays ---------------------------------------------------------------------------------------------------

    def _value(self, given: Any) -> Any:
        """A value without tensors."""
        if isinstance(given, Tensor | Variable):
            return self.evaluate(given)
        if isinstance(given, Mapping):
            return {key: self._value(part) for key, part in given.items()}
        if isinstance(given, IndexedSlicesValue | SparseTensorValue):
            return tuple(given)
        if isinstance(given, list | tuple) and any(
            isinstance(x, Tensor | Variable) for x in nest.flatten(given)
        ):
            return [self._value(part) for part in given]
        return given

    def _array(self, given: Any) -> Any:
        return np.asarray(self._value(given))

    def _each(self, a: Any, b: Any, compare: Callable[[Any, Any, str], None], path: str = "") -> None:
        """Compares arrays, or dictionaries and uneven lists of them part by part."""
        a, b = self._value(a), self._value(b)
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            if not (isinstance(a, Mapping) and isinstance(b, Mapping)) or set(a) != set(b):
                self.fail(f"The keys of {a!r} and {b!r} differ{path and f' at {path}'}.")
            for key in a:
                self._each(a[key], b[key], compare, f"{path}[{key!r}]")
            return
        try:
            compare(np.asarray(a), np.asarray(b), path)
        except ValueError:
            # No array can be made of lists of different lengths.
            self.assertEqual(len(a), len(b), f"The lengths differ{path and f' at {path}'}.")
            for index, (x, y) in enumerate(zip(a, b, strict=True)):
                self._each(x, y, compare, f"{path}[{index}]")

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """|a - b| <= atol + rtol * |b| everywhere, shapes equal; NaN is close to NaN.

        Args:
            a: A value to compare: an array, a number, a tensor's value, or what becomes one.
            b: A value to compare: an array, a number, a tensor's value, or what becomes one.
            rtol: The relative tolerance.
            atol: The absolute tolerance.
            msg: What the failure says, too.
        """

        def compare(x: Any, y: Any, path: str) -> None:
            if (
                x.dtype.kind not in "fc"
                and y.dtype.kind not in "fc"
                and "O" not in (x.dtype.kind, y.dtype.kind)
            ):
                x, y = x.astype(np.float64), y.astype(np.float64)
            x, y = (v.astype(np.float32) if arrays.is_bfloat16(v.dtype) else v for v in (x, y))
            self._same_shape(x, y, path, msg)
            np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=f"{path} {msg or ''}")

        self._each(a, b, compare)

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """assertAllClose with the tolerance of the less precise of the two dtypes.

        Args:
            a: A value to compare: an array, a number, a tensor's value, or what becomes one.
            b: A value to compare: an array, a number, a tensor's value, or what becomes one.
            rtol: The relative tolerance.
            atol: The absolute tolerance.
            float_rtol: The relative tolerance.
            float_atol: The absolute tolerance.
            half_rtol: The relative tolerance.
            half_atol: The absolute tolerance.
            bfloat16_rtol: The relative tolerance.
            bfloat16_atol: The absolute tolerance.
            msg: What the failure says, too.
        """

        def compare(x: Any, y: Any, path: str) -> None:
            kinds = {x.dtype.name, y.dtype.name}
            wide = (rtol, atol)
            if kinds & {"float32", "complex64"}:
                wide = (max(rtol, float_rtol), max(atol, float_atol))
            if "float16" in kinds:
                wide = (max(wide[0], half_rtol), max(wide[1], half_atol))
            if "bfloat16" in kinds:
                wide = (max(wide[0], bfloat16_rtol), max(wide[1], bfloat16_atol))
            self.assertAllClose(x, y, *wide, msg=msg)

        self._each(a, b, compare)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """Fails if assertAllClose would pass.

        Args:
            a: A value to compare: an array, a number, a tensor's value, or what becomes one.
            b: A value to compare: an array, a number, a tensor's value, or what becomes one.
            **kwargs: The tolerances and the text, as of assertAllClose.
        """
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        self.fail("The two values are close at all elements.")

    def _same_shape(self, x: Any, y: Any, path: str, msg: str | None) -> None:
        self.assertEqual(
            x.shape, y.shape, f"Shape mismatch{path and f' at {path}'}: {x.shape}, {y.shape}. {msg or ''}"
        )

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Equal everywhere, shapes too; NaN equals NaN.

        Args:
            a: A value to compare: an array, a number, a tensor's value, or what becomes one.
            b: A value to compare: an array, a number, a tensor's value, or what becomes one.
            msg: What the failure says, too.
        """

        def compare(x: Any, y: Any, path: str) -> None:
            self._same_shape(x, y, path, msg)
            np.testing.assert_array_equal(x, y, err_msg=f"{path} {msg or ''}")

        self._each(a, b, compare)

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fails if assertAllEqual would pass.

        Args:
            a: A value to compare: an array, a number, a tensor's value, or what becomes one.
            b: A value to compare: an array, a number, a tensor's value, or what becomes one.
            msg: What the failure says, too.
        """
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(f"The two values are equal at all elements. {msg or ''}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Every element is greater than a number.

        Args:
            a: A value to compare: an array, a number, a tensor's value, or what becomes one.
            comparison_target: A number.
        """
        self.assertGreater(np.min(self._array(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Every element is less than a number.

        Args:
            a: A value to compare: an array, a number, a tensor's value, or what becomes one.
            comparison_target: A number.
        """
        self.assertLess(np.max(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Every element is at least a number.

        Args:
            a: A value to compare: an array, a number, a tensor's value, or what becomes one.
            comparison_target: A number.
        """
        self.assertGreaterEqual(np.min(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Every element is at most a number.

        Args:
            a: A value to compare: an array, a number, a tensor's value, or what becomes one.
            comparison_target: A number.
        """
        self.assertLessEqual(np.max(self._array(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: float,
        upper_bound: float,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Every element is between two bounds, which are in the range unless said to be open; NaN is not.

        Args:
            target: An array or a tensor's value.
            lower_bound: The smallest number.
            upper_bound: The largest number.
            open_lower_bound: Whether the smallest is not in the range.
            open_upper_bound: Whether the largest is not in the range.
        """
        values = self._array(target)
        low = values > lower_bound if open_lower_bound else values >= lower_bound
        high = values < upper_bound if open_upper_bound else values <= upper_bound
        wrong = values[~(low & high)]
        self.assertFalse(wrong.size, f"Not between {lower_bound} and {upper_bound}: {wrong[:10]}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Every element is one of a set.

        Args:
            target: An array or a tensor's value.
            expected_set: The values that are allowed.
        """
        wrong = set(np.unique(self._array(target)).tolist()) - set(expected_set)
        self.assertFalse(wrong, f"Not among {expected_set}: {wrong}")

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """The dtype, or those of a list's parts.

        Args:
            target: An array or a tensor's value.
            expected_dtype: A dtype of NumPy or of gf.
        """
        for part in self._value(target) if isinstance(target, list) else [self._array(target)]:
            self.assertEqual(
                np.asarray(part).dtype, np.dtype(getattr(expected_dtype, "as_numpy_dtype", expected_dtype))
            )

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """An array's shape is a tensor's static shape.

        Args:
            np_array: A value to compare: an array, a number, a tensor's value, or what becomes one.
            tf_tensor: A tensor.
            msg: What the failure says, too.
        """
        if not isinstance(np_array, np.ndarray | np.generic):
            raise TypeError(f"np_array must be a NumPy array, got {type(np_array).__name__}")
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list(), msg)

    # ---- numbers, texts, messages, devices ------------------------------------------------------------------------

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """|f1 - f2| <= err, or both the same infinity.

        Args:
            f1: A value to compare: an array, a number, a tensor's value, or what becomes one.
            f2: A value to compare: an array, a number, a tensor's value, or what becomes one.
            err: The largest difference.
            msg: What the failure says, too.
        """
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1} is not within {err} of {f2}. {msg or ''}")

    def assertArrayNear(
        self, farray1: Sequence[float], farray2: Sequence[float], err: float, msg: str | None = None
    ) -> None:
        """assertNear for each pair of two sequences of one length.

        Args:
            farray1: A value to compare: an array, a number, a tensor's value, or what becomes one.
            farray2: A value to compare: an array, a number, a tensor's value, or what becomes one.
            err: The largest difference.
            msg: What the failure says, too.
        """
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        """The Euclidean distance of two arrays of one shape is at most err.

        Args:
            ndarray1: A value to compare: an array, a number, a tensor's value, or what becomes one.
            ndarray2: A value to compare: an array, a number, a tensor's value, or what becomes one.
            err: The largest difference.
            msg: What the failure says, too.
        """
        x, y = self._array(ndarray1), self._array(ndarray2)
        self._same_shape(x, y, "", msg)
        self.assertLessEqual(float(np.linalg.norm((x - y).ravel())), err, msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Two names of devices, or what has a device, mean the same.

        Args:
            device1: A name, or an operation or tensor.
            device2: The same.
            msg: What the failure says, too.
        """
        names = [getattr(device, "device", device) or "" for device in (device1, device2)]
        one, other = (DeviceSpec.from_string(name).to_string() if name else "" for name in names)
        self.assertEqual(one, other, msg)

    def assertProtoEquals(
        self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None
    ) -> None:
        """A protobuf message equals another, or one written in protobuf's text format.

        Args:
            expected_message_maybe_ascii: The message expected, or its text.
            message: The message.
            msg: What the failure says, too.
        """
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            from google.protobuf import text_format

            expected = text_format.Parse(expected, type(message)())
        self.assertEqual(str(expected), str(message), msg)

    # ---- errors ---------------------------------------------------------------------------------------------------

    @contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: type[BaseException], expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """The block raises such an exception, whose text a pattern is found in, or which a function accepts.

        Args:
            exception_type: The class of the exception.
            expected_err_re_or_predicate: A pattern, or a function of the exception.
        """
        try:
            yield
        except exception_type as error:
            if callable(expected_err_re_or_predicate):
                matches = bool(expected_err_re_or_predicate(error))
            else:
                text = error.message if isinstance(error, errors.OpError) else str(error)
                operation = getattr(error, "op", None)
                text += f"\n{operation.name}" if isinstance(operation, Operation) else ""
                matches = re.search(expected_err_re_or_predicate, text) is not None
            if not matches:
                raise AssertionError(
                    f"Exception of type {type(error).__name__} does not match {expected_err_re_or_predicate!r}: {error}"
                ) from error
        else:
            self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> AbstractContextManager[None]:
        """assertRaisesWithPredicateMatch for errors of running a graph.

        Args:
            expected_err_re_or_predicate: A pattern, or a function of the error.
        """
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)
