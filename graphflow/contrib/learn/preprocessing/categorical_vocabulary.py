"""A vocabulary: numbers for words, in the order in which they come or of how often they do."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

__all__ = ["CategoricalVocabulary"]


class CategoricalVocabulary:
    """Numbers for words (tf.contrib.learn.preprocessing.CategoricalVocabulary). 0 is the unknown word.

    Args:
        unknown_token: The unknown word.
        support_reverse: Whether `reverse` finds the word of a number.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._support_reverse = support_reverse
        self._reverse_mapping: list[Any] = [unknown_token]
        self._freq: dict[Any, int] = {}
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Lets new words be unknown from now on, or again get numbers.

        Args:
            freeze: Which of the two.
        """
        self._freeze = freeze

    def get(self, category: Hashable) -> int:
        """The number of a word: a new one if it has none, and the vocabulary is not frozen; 0 if it is.

        Args:
            category: The word.
        """
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Hashable, count: int = 1) -> None:
        """Counts a word, which gets a number if it has none.

        Args:
            category: The word.
            count: How often it came.
        """
        if self.get(category) > 0:
            self._freq[category] = self._freq.get(category, 0) + count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps words that came more than `min_frequency` times, and numbers them anew, the most frequent first.

        Words of the same frequency are in the order of the alphabet.

        Args:
            min_frequency: Words must have come more often.
            max_frequency: Words must have come less often, if it is above 0.
        """
        ordered = sorted(self._freq.items(), key=lambda item: (-item[1], isinstance(item[0], str), item[0]))
        frequent = [(word, count) for word, count in ordered if count > min_frequency]
        kept = [word for word, count in frequent if max_frequency <= 0 or count < max_frequency]
        self._reverse_mapping = [self._unknown_token, *kept]
        self._mapping = {word: number for number, word in enumerate(self._reverse_mapping)}
        self._freq = dict(frequent[: len(kept)])

    def reverse(self, class_id: int) -> Any:
        """The word of a number.

        Args:
            class_id: The number.

        Raises:
            ValueError: If the vocabulary does not support it.
        """
        if not self._support_reverse:
            raise ValueError(
                "This vocabulary was made with support_reverse=False: it finds no word of a number."
            )
        return self._reverse_mapping[class_id]

    def content(self) -> dict[str, Any]:
        """What it is made of, for a file: numbers, texts and lists."""
        words = self._reverse_mapping
        if not all(isinstance(word, str) for word in words):
            raise TypeError("Only a vocabulary of texts can be saved.")
        return {
            "words": words,
            "counts": [self._freq.get(word, 0) for word in words],
            "support_reverse": self._support_reverse,
            "frozen": self._freeze,
        }

    @classmethod
    def of_content(cls, content: dict[str, Any]) -> CategoricalVocabulary:
        """The vocabulary that `content` described.

        Args:
            content: What `content` gave.
        """
        words, counts = content["words"], content["counts"]
        if not words or len(words) != len(counts) or len(set(words)) != len(words):
            raise ValueError("The words of a vocabulary must differ, each with how often it came.")
        if not all(isinstance(word, str) for word in words) or not all(type(n) is int for n in counts):
            raise ValueError("The words of a vocabulary are texts, and how often they came whole numbers.")
        found = cls(words[0], bool(content["support_reverse"]))
        found._reverse_mapping = list(words)
        found._mapping = {word: number for number, word in enumerate(words)}
        found._freq = {word: count for word, count in zip(words, counts, strict=True) if count}
        found._freeze = bool(content["frozen"])
        return found
