"""Documents as rows of numbers: of words by a vocabulary, or of bytes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

import graphflow.gfile as gfile
from graphflow.contrib.learn.preprocessing.categorical_vocabulary import CategoricalVocabulary
from graphflow.errors import DataLossError

__all__ = ["TOKENIZER_RE", "ByteProcessor", "CategoricalVocabulary", "VocabularyProcessor", "tokenizer"]

TOKENIZER_RE: Final = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)
"""What is a word: capitals that stand together, the parts of CamelCase, letters, digits, hyphens and apostrophes."""

_FORMAT: Final = "graphflow.VocabularyProcessor 1"


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each document.

    Args:
        iterator: Documents.

    Yields:
        Lists of words.
    """
    for document in iterator:
        yield TOKENIZER_RE.findall(document)


class ByteProcessor:
    """Documents as rows of bytes (tf.contrib.learn.preprocessing.ByteProcessor).

    Args:
        max_document_length: How many bytes a row has; longer documents are cut, shorter ones end in zeros.
    """

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Iterable[str | bytes]) -> None:
        """Does nothing.

        Args:
            x: Documents.
        """

    def fit_transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray[Any, Any]]:
        """As transform.

        Args:
            x: Documents.
        """
        return self.transform(x)

    def transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray[Any, Any]]:
        """The bytes of each document, in UTF-8.

        Args:
            x: Documents.

        Yields:
            uint8 [max_document_length].
        """
        for document in x:
            content = document.encode() if isinstance(document, str) else document
            found = np.frombuffer(content[: self.max_document_length], np.uint8)
            yield np.pad(found, (0, self.max_document_length - len(found)))

    def reverse(self, x: Iterable[np.ndarray[Any, Any]]) -> Iterator[str]:
        """The documents of rows of bytes; empty where they are no UTF-8.

        Args:
            x: Rows.

        Yields:
            Documents.
        """
        for row in x:
            content = np.trim_zeros(row.astype(np.uint8), trim="b").tobytes()
            try:
                yield content.decode()
            except UnicodeDecodeError:
                yield ""


class VocabularyProcessor:
    """Documents as rows of words' numbers (tf.contrib.learn.preprocessing.VocabularyProcessor).

    Args:
        max_document_length: How many words a row has; longer documents are cut, shorter ones end in zeros.
        min_frequency: Words must come more often to get a number.
        vocabulary: A CategoricalVocabulary; None for a new one.
        tokenizer_fn: A function from documents to lists of words; None for `tokenizer`.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[..., Iterable[Sequence[Any]]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_: CategoricalVocabulary = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Numbers the words of documents; from then on others are unknown.

        Args:
            raw_documents: Documents.
            unused_y: Not needed.

        Returns:
            Itself.
        """
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(
        self, raw_documents: Iterable[str], unused_y: Any = None
    ) -> Iterator[np.ndarray[Any, Any]]:
        """Numbers the words of documents, and gives these as rows.

        Args:
            raw_documents: Documents.
            unused_y: Not needed.

        Returns:
            int64 [max_document_length] of each.
        """
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray[Any, Any]]:
        """Documents as rows.

        Args:
            raw_documents: Documents.

        Yields:
            int64 [max_document_length].
        """
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for place, word in zip(range(self.max_document_length), words):
                row[place] = self.vocabulary_.get(word)
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """The words of rows, with spaces between them.

        Args:
            documents: Rows.

        Yields:
            Documents.
        """
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in row)

    def save(self, filename: str | os.PathLike[str]) -> None:
        """Writes the vocabulary to a file, as JSON.

        Args:
            filename: The path.

        Raises:
            TypeError: If a word is no text, or a function of the program's finds the words, which no file holds.
        """
        if self._tokenizer is not tokenizer:
            raise TypeError(
                "A VocabularyProcessor with a tokenizer_fn cannot be saved, since no code is written to files: save "
                "its words, and make it anew."
            )
        content = {
            "format": _FORMAT,
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "vocabulary": self.vocabulary_.content(),
        }
        with gfile.GFile(filename, "w") as file:
            file.write(json.dumps(content))

    @classmethod
    def restore(cls, filename: str | os.PathLike[str]) -> VocabularyProcessor:
        """Reads what `save` wrote.

        TensorFlow's files of vocabularies are pickled. These are not read: unpickling runs what a file says.

        Args:
            filename: The path.

        Raises:
            DataLossError: If the file is another one.
        """
        with gfile.GFile(filename, "rb") as file:
            data = file.read()
        if data[:1] in (b"\x80", b"c", b"("):
            raise DataLossError(
                None,
                None,
                f"{os.fspath(filename)} is a pickle, as TensorFlow writes vocabularies. Unpickling runs what a file "
                "says, so it is not read: write the words to a text file with the program that has made it, and fit a "
                "VocabularyProcessor to them.",
            )
        try:
            content = json.loads(data)
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {content['format']!r}, not {_FORMAT!r}")
            vocabulary = CategoricalVocabulary.of_content(content["vocabulary"])
            return cls(int(content["max_document_length"]), int(content["min_frequency"]), vocabulary)
        except (ValueError, KeyError, TypeError) as error:
            raise DataLossError(
                None,
                None,
                f"{os.fspath(filename)} is no vocabulary that VocabularyProcessor.save wrote: {error}.",
            ) from None
