"""Words of texts as numbers (tf.keras.preprocessing.text)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from graphflow.keras.typing import Config

__all__ = ["Tokenizer", "hashing_trick", "one_hot", "text_to_word_sequence", "tokenizer_from_json"]

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(
    text: str, filters: str = _FILTERS, lower: bool = True, split: str = " "
) -> list[str]:
    """The words of a text; characters of `filters` part them (tf.keras.preprocessing.text.text_to_word_sequence).

    Args:
        text: The text.
        filters: Characters that part words.
        lower: Whether words are made lower case.
        split: What else parts words.

    Returns:
        The words.
    """
    text = text.lower() if lower else text
    for character in filters:
        text = text.replace(character, split)
    return [word for word in text.split(split) if word]


def hashing_trick(
    text: str,
    n: int,
    hash_function: Callable[[str], int] | str | None = None,
    filters: str = _FILTERS,
    lower: bool = True,
    split: str = " ",
) -> list[int]:
    """Words as numbers from 1 to n - 1 by their hash (tf.keras.preprocessing.text.hashing_trick).

    Args:
        text: The text.
        n: One more than the largest number.
        hash_function: A function of a word that gives an int; "md5"; or by default Python's hash, which differs from
            run to run.
        filters: Characters that part words.
        lower: Whether words are made lower case.
        split: What else parts words.

    Returns:
        The numbers, one for each word; two words may have the same.
    """
    if hash_function is None:
        function: Callable[[str], int] = hash
    elif callable(hash_function):
        function = hash_function
    else:

        def function(word: str) -> int:
            return int(hashlib.md5(word.encode()).hexdigest(), 16)

    return [function(word) % (n - 1) + 1 for word in text_to_word_sequence(text, filters, lower, split)]


def one_hot(text: str, n: int, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    """Words as numbers from 1 to n - 1 by Python's hash (tf.keras.preprocessing.text.one_hot).

    Args:
        text: The text.
        n: One more than the largest number.
        filters: Characters that part words.
        lower: Whether words are made lower case.
        split: What else parts words.

    Returns:
        The numbers, one for each word; two words may have the same.
    """
    return hashing_trick(text, n, hash, filters, lower, split)


class Tokenizer:
    """Gives words numbers, the most frequent first (tf.keras.preprocessing.text.Tokenizer).

    Args:
        num_words: Only the num_words - 1 most frequent words are kept.
        filters: Characters that part words.
        lower: Whether capitals are small letters.
        split: What parts words.
        char_level: Whether each character is a word.
        oov_token: The word that stands for those that are not known.
        **kwargs: nb_words, the old name of num_words.
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = _FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.num_words: Any = kwargs.pop("nb_words", num_words)
        kwargs.pop("document_count", None)
        self.filters: str = filters
        self.lower: bool = lower
        self.split: str = split
        self.char_level: bool = char_level
        self.oov_token: str | None = oov_token
        self.word_counts: OrderedDict[str, int] = OrderedDict()
        self.word_docs: Counter[str] = Counter()
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}
        self.index_docs: dict[int, int] = {}
        self.document_count: int = 0

    def _words(self, text: Any) -> list[str]:
        if self.char_level or isinstance(text, list):
            return [w.lower() for w in text] if self.lower else list(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Counts the words of texts, and gives them numbers.

        Args:
            texts: Texts, or lists of words.
        """
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            self.word_docs.update(set(words))
        ranked = [w for w, _ in sorted(self.word_counts.items(), key=lambda pair: pair[1], reverse=True)]
        every = ([] if self.oov_token is None else [self.oov_token]) + ranked
        self.word_index = {word: number for number, word in enumerate(every, 1)}
        self.index_word = {number: word for word, number in self.word_index.items()}
        self.index_docs = {self.word_index[w]: count for w, count in self.word_docs.items()}

    def fit_on_sequences(self, sequences: Iterable[Sequence[int]]) -> None:
        """Counts the documents that numbers are in.

        Args:
            sequences: Lists of numbers of words.
        """
        counts: Counter[int] = Counter(self.index_docs)
        for sequence in sequences:
            self.document_count += 1
            counts.update(set(sequence))
        self.index_docs = dict(counts)

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """Texts as lists of numbers; words that are not known are left out, or the oov_token's.

        Args:
            texts: Texts, or lists of words.

        Returns:
            A list of ints for each text.
        """
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """Texts as lists of numbers, one by one.

        Args:
            texts: Texts, or lists of words.

        Returns:
            An iterator of lists of ints.
        """
        unknown = self.word_index.get(self.oov_token) if self.oov_token is not None else None
        for text in texts:
            found = []
            for word in self._words(text):
                number = self.word_index.get(word)
                if number is None or (self.num_words and number >= self.num_words):
                    number = unknown
                if number is not None:
                    found.append(number)
            yield found

    def sequences_to_texts(self, sequences: Iterable[Sequence[int]]) -> list[str]:
        """Lists of numbers as texts.

        Args:
            sequences: Lists of numbers of words.

        Returns:
            The texts.
        """
        found = []
        for sequence in sequences:
            words = [
                self.index_word.get(n) if not self.num_words or n < self.num_words else None for n in sequence
            ]
            found.append(" ".join(w or self.oov_token or "" for w in words if w or self.oov_token))
        return found

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> Any:
        """A row for each text, a column for each word.

        Args:
            texts: Texts, or lists of words.
            mode: "binary" for whether a word is there, "count" for how often, "freq" for its share, "tfidf" for how
                often by how rare it is.

        Returns:
            An array of floats [texts, words].

        Raises:
            ValueError: The mode is none of these, or how many words there are is not known.
        """
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Sequence[Sequence[int]], mode: str = "binary") -> Any:
        """A row for each list of numbers, a column for each word.

        Args:
            sequences: Lists of numbers of words.
            mode: "binary" for whether a word is there, "count" for how often, "freq" for its share, "tfidf" for how
                often by how rare it is.

        Returns:
            An array of floats [texts, words].

        Raises:
            ValueError: The mode is none of these, or how many words there are is not known.
        """
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError(f"Unknown vectorization mode: {mode}")
        if not self.num_words and not self.word_index:
            raise ValueError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        size = self.num_words or len(self.word_index) + 1
        found = np.zeros((len(sequences), size))
        for row, sequence in enumerate(sequences):
            for number, count in Counter(n for n in sequence if n < size).items():
                if mode == "count":
                    found[row, number] = count
                elif mode == "freq":
                    found[row, number] = count / len(sequence)
                elif mode == "binary":
                    found[row, number] = 1
                else:
                    rarity = np.log(1 + self.document_count / (1 + self.index_docs.get(number, 0)))
                    found[row, number] = (1 + np.log(count)) * rarity
        return found

    def get_config(self) -> Config:
        """Its arguments and what it has counted, in Keras's form."""
        return {
            "num_words": self.num_words, "filters": self.filters, "lower": self.lower, "split": self.split,
            "char_level": self.char_level, "oov_token": self.oov_token, "document_count": self.document_count,
            "word_counts": json.dumps(self.word_counts), "word_docs": json.dumps(self.word_docs),
            "index_docs": json.dumps(self.index_docs), "index_word": json.dumps(self.index_word),
            "word_index": json.dumps(self.word_index),
        }  # fmt: skip

    def to_json(self, **kwargs: Any) -> str:
        """Its configuration as JSON.

        Args:
            **kwargs: More arguments of json.dumps.

        Returns:
            The text.
        """
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """The tokenizer that to_json wrote (tf.keras.preprocessing.text.tokenizer_from_json).

    Args:
        json_string: The text.

    Returns:
        The tokenizer.
    """
    config = json.loads(json_string)["config"]
    counted = {
        name: json.loads(config.pop(name))
        for name in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
    }
    count = config.pop("document_count")
    made = Tokenizer(**config)
    made.document_count = count
    made.word_counts, made.word_docs = OrderedDict(counted["word_counts"]), Counter(counted["word_docs"])
    made.word_index = counted["word_index"]
    made.index_word = {int(k): v for k, v in counted["index_word"].items()}
    made.index_docs = {int(k): v for k, v in counted["index_docs"].items()}
    return made
