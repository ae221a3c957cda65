"""Assertions about collections and texts that tf.test.TestCase has of absl, and unittest's older names.

Tests of TensorFlow 1's time use both; Python 3.12 took the older names out of unittest.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import unittest
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, AnyStr


class CheckedThread:
    """A thread whose join raises what its function raised, so that the test fails (TestCase.checkedThread).

    Args:
        target: The function.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
    """

    def __init__(
        self, target: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> None:
        self._call = (target, tuple(args), dict(kwargs or {}))
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        target, args, kwargs = self._call
        try:
            target(*args, **kwargs)
        except BaseException as error:
            self._error = error

    def start(self) -> None:
        """Begins the thread."""
        self._thread.start()

    def join(self) -> None:
        """Waits for its end, and raises what the function raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def is_alive(self) -> bool:
        """Whether the function still runs."""
        return self._thread.is_alive()


class CapturedWrites:
    """What a file of this process was written.

    Args:
        stream: The file.
        file: Where its text goes.
    """

    def __init__(self, stream: IO[str], file: IO[bytes]) -> None:
        self._stream, self._file = stream, file

    def contents(self) -> str:
        """The text so far."""
        self._stream.flush()
        written = os.fstat(self._file.fileno()).st_size
        return os.pread(self._file.fileno(), written, 0).decode()


class CollectionAssertions(unittest.TestCase):
    """What tf.test.TestCase asserts about collections and texts besides unittest."""

    def assertItemsEqual(self, first: Iterable[Any], second: Iterable[Any], msg: str | None = None) -> None:
        """The same elements as often, in any order.

        Args:
            first: The elements of one.
            second: Those of the other.
            msg: What the failure says, too.
        """
        self.assertCountEqual(first, second, msg)

    def assertSameElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """The same elements in any order, however often.

        Args:
            expected_seq: The elements of one.
            actual_seq: Those of the other.
            msg: What the failure says, too.
        """
        self.assertCountEqual(set(expected_seq), set(actual_seq), msg)

    def assertContainsSubset(
        self, expected_subset: Iterable[Any], actual_set: Iterable[Any], msg: str | None = None
    ) -> None:
        """Each element of the first is in the second.

        Args:
            expected_subset: What must be there.
            actual_set: Where it must be.
            msg: What the failure says, too.
        """
        lacking = set(expected_subset) - set(actual_set)
        self.assertFalse(lacking, self._formatMessage(msg, f"not there: {lacking}"))

    def assertLen(self, container: Collection[Any], expected_len: int, msg: str | None = None) -> None:
        """A collection has so many elements.

        Args:
            container: The collection.
            expected_len: How many.
            msg: What the failure says, too.
        """
        self.assertEqual(
            len(container), expected_len, self._formatMessage(msg, f"the length of {container!r}")
        )

    def assertEmpty(self, container: Collection[Any], msg: str | None = None) -> None:
        """A collection has no element.

        Args:
            container: The collection.
            msg: What the failure says, too.
        """
        self.assertFalse(len(container), self._formatMessage(msg, f"not empty: {container!r}"))

    def assertNotEmpty(self, container: Collection[Any], msg: str | None = None) -> None:
        """A collection has an element.

        Args:
            container: The collection.
            msg: What the failure says, too.
        """
        self.assertTrue(len(container), self._formatMessage(msg, f"empty: {container!r}"))

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """minv <= value <= maxv.

        Args:
            value: A value.
            minv: The smallest that is allowed.
            maxv: The largest.
            msg: What the failure says, too.
        """
        self.assertTrue(
            minv <= value <= maxv, self._formatMessage(msg, f"{value!r} is not between {minv!r} and {maxv!r}")
        )

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:
        """A text ends with another.

        Args:
            actual: The text.
            expected_end: What it ends with.
            msg: What the failure says, too.
        """
        self.assertTrue(
            actual.endswith(expected_end),
            self._formatMessage(msg, f"{actual!r} does not end with {expected_end!r}"),
        )

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """A text begins with another.

        Args:
            actual: The text.
            expected_start: What it begins with.
            msg: What the failure says, too.
        """
        self.assertTrue(
            actual.startswith(expected_start),
            self._formatMessage(msg, f"{actual!r} does not start with {expected_start!r}"),
        )

    def assertNotStartsWith(self, actual: str, unexpected_start: str, msg: str | None = None) -> None:
        """A text does not begin with another.

        Args:
            actual: The text.
            unexpected_start: What it does not begin with.
            msg: What the failure says, too.
        """
        self.assertFalse(
            actual.startswith(unexpected_start),
            self._formatMessage(msg, f"{actual!r} starts with {unexpected_start!r}"),
        )

    def assertNotEndsWith(self, actual: str, unexpected_end: str, msg: str | None = None) -> None:
        """A text does not end with another.

        Args:
            actual: The text.
            unexpected_end: What it does not end with.
            msg: What the failure says, too.
        """
        self.assertFalse(
            actual.endswith(unexpected_end),
            self._formatMessage(msg, f"{actual!r} ends with {unexpected_end!r}"),
        )

    def assertSequenceStartsWith(self, prefix: Any, whole: Sequence[Any], msg: str | None = None) -> None:
        """A sequence begins with the elements of another, or with one element.

        Args:
            prefix: The elements, or one.
            whole: The sequence.
            msg: What the failure says, too.
        """
        first = list(prefix) if isinstance(prefix, Sequence) and not isinstance(prefix, str) else [prefix]
        self.assertEqual(list(whole[: len(first)]), first, msg)

    def assertNoCommonElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Nothing is in both collections.

        Args:
            expected_seq: One.
            actual_seq: The other.
            msg: What the failure says, too.
        """
        common = set(expected_seq) & set(actual_seq)
        self.assertFalse(common, self._formatMessage(msg, f"{sorted(map(repr, common))} are in both"))

    def assertTotallyOrdered(self, *groups: Iterable[Any]) -> None:
        """Those of a group are equal to one another, and less than those of all later groups.

        Args:
            groups: The groups.
        """
        ranked = [(rank, value) for rank, group in enumerate(groups) for value in group]
        for rank, value in ranked:
            for other_rank, other in ranked:
                pair = f"{value!r} and {other!r}"
                self.assertEqual(rank < other_rank, value < other, f"< of {pair}")
                self.assertEqual(rank > other_rank, value > other, f"> of {pair}")
                self.assertEqual(rank == other_rank, value == other, f"== of {pair}")
                self.assertEqual(rank != other_rank, value != other, f"!= of {pair}")
                self.assertEqual(rank <= other_rank, value <= other, f"<= of {pair}")
                self.assertEqual(rank >= other_rank, value >= other, f">= of {pair}")

    def assertRegexMatch(
        self, actual_str: AnyStr, regexes: Sequence[AnyStr], message: str | None = None
    ) -> None:
        """One of several patterns is found in a text.

        Args:
            actual_str: The text.
            regexes: The patterns.
            message: What the failure says, too.
        """
        self.assertFalse(isinstance(regexes, str | bytes), "assertRegexMatch takes a list of patterns")
        self.assertTrue(
            any(re.search(regex, actual_str) for regex in regexes),
            self._formatMessage(message, f"none of {list(regexes)!r} is found in {actual_str!r}"),
        )

    @contextmanager
    def assertRaisesWithLiteralMatch(
        self, expected_exception: type[BaseException], expected_exception_message: str
    ) -> Iterator[None]:
        """The block raises such an exception, whose text is exactly this one.

        Args:
            expected_exception: The class of the exception.
            expected_exception_message: The text.
        """
        with self.assertRaises(expected_exception) as caught:
            yield
        self.assertEqual(str(caught.exception), expected_exception_message)

    def assertContainsInOrder(self, strings: Sequence[str], target: str, msg: str | None = None) -> None:
        """Texts are found in another, one after the other.

        Args:
            strings: The texts.
            target: Where they are looked for.
            msg: What the failure says, too.
        """
        position = 0
        for text in [strings] if isinstance(strings, str) else strings:
            found = target.find(text, position)
            self.assertGreaterEqual(
                found, 0, self._formatMessage(msg, f"{text!r} is not after {target[:position]!r}")
            )
            position = found + len(text)

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Sequence[Any],
        actual_seq: Sequence[Any],
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """assertAlmostEqual for each pair of two sequences of one length.

        Args:
            expected_seq: The numbers expected.
            actual_seq: The numbers.
            places: How many digits after the point count.
            msg: What the failure says, too.
            delta: The largest difference, instead of places.
        """
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        for one, other in zip(expected_seq, actual_seq, strict=True):
            if delta is None:
                self.assertAlmostEqual(one, other, places=places, msg=msg)
            else:
                self.assertAlmostEqual(one, other, msg=msg, delta=delta)

    def assertEquals(self, first: Any, second: Any, msg: str | None = None) -> None:
        """assertEqual, by the name that unittest had.

        Args:
            first: A value.
            second: A value.
            msg: What the failure says, too.
        """
        self.assertEqual(first, second, msg)

    def assertNotEquals(self, first: Any, second: Any, msg: str | None = None) -> None:
        """assertNotEqual, by the name that unittest had.

        Args:
            first: A value.
            second: A value.
            msg: What the failure says, too.
        """
        self.assertNotEqual(first, second, msg)

    def assertAlmostEquals(self, first: Any, second: Any, *args: Any, **kwargs: Any) -> None:
        """assertAlmostEqual, by the name that unittest had.

        Args:
            first: A number.
            second: A number.
            *args: Those of assertAlmostEqual.
            **kwargs: Those of assertAlmostEqual.
        """
        self.assertAlmostEqual(first, second, *args, **kwargs)

    def assertRaisesRegexp(self, *args: Any, **kwargs: Any) -> Any:
        """assertRaisesRegex, by the name that unittest had.

        Args:
            *args: Those of assertRaisesRegex.
            **kwargs: Those of assertRaisesRegex.
        """
        return self.assertRaisesRegex(*args, **kwargs)

    def assertRegexpMatches(self, text: Any, expected_regexp: Any, msg: Any = None) -> None:
        """assertRegex, by the name that unittest had.

        Args:
            text: A text.
            expected_regexp: The pattern that is looked for.
            msg: What the failure says, too.
        """
        self.assertRegex(text, expected_regexp, msg)

    @contextmanager
    def captureWritesToStream(self, stream: IO[str]) -> Iterator[CapturedWrites]:
        """A block in which what is written to a file of this process, such as sys.stderr, goes elsewhere.

        Args:
            stream: A file that the operating system knows.

        Yields:
            What gives the text that was written so far.
        """
        stream.flush()
        kept = os.dup(stream.fileno())
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), stream.fileno())
            try:
                yield CapturedWrites(stream, file)
            finally:
                stream.flush()
                os.dup2(kept, stream.fileno())
                os.close(kept)

    def checkedThread(
        self, target: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> CheckedThread:
        """A thread, not begun yet, whose join raises what its function raised.

        Args:
            target: The function.
            args: Its positional arguments.
            kwargs: Its keyword arguments.

        Returns:
            The thread.
        """
        return CheckedThread(target, args, kwargs)
