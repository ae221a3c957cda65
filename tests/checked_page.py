"""Reads what is shown as HTML: a page, or a part of a notebook; and a name that would do harm if it was not escaped."""

from __future__ import annotations

from html.parser import HTMLParser

HOSTILE = "<script>alert(1)</script>\"'&\x1b]0;x\x07<b onload=x>"


class Checked(HTMLParser):
    """Reads a page; every element is closed in order, and nothing of it runs or is loaded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.counts: dict[str, int] = {}
        self.words: list[str] = []
        self.titles: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "iframe", "object", "embed", "link", "img", "base", "form"), tag
        for name, value in attrs:
            assert not name.startswith("on") and name not in ("src", "href", "xlink:href"), name
            assert "javascript:" not in (value or "") and "http" not in (value or "").replace(
                "http-equiv", ""
            )
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in ("meta", "br"):
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        (self.titles if self.open and self.open[-1] == "title" else self.words).append(data)

    @property
    def text(self) -> str:
        """What is read on it."""
        return " ".join(self.words)
