"""Protects the words: docs/glossary.md is true, and a word that was retired does not come back as a name.

A retired word is one that a newcomer could not read, for which the field has a better one. Whole identifiers are
compared, underscores at the beginning left out, and names of files. Whoever renames something adds the old name here.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

PROJECT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = PROJECT / "graphflow"
GLOSSARY: Final = PROJECT / "docs" / "glossary.md"
MOST_WORDS: Final = 40
"""Words of an explanation: one sentence that can be read at once."""

EVERYWHERE: Final = ""
RETIRED: Final = {
    # the old name: the new one, and the folders or files of graphflow/ in which the old one is retired
    "AROUND": ("is_prologue", EVERYWHERE),
    "Crew": ("Scheduler", EVERYWHERE),
    "Door": ("Listener", EVERYWHERE),
    "Draft": ("CompileJob", EVERYWHERE),
    "Greetings": ("Handshake", EVERYWHERE),
    "HALVES": ("SPLIT", "_core/plan _core/cluster"),
    "Inquiries": ("Admin", EVERYWHERE),
    "Lane": ("LocalChannel", "_core/transport _core/cluster"),
    "LaneBroken": ("LocalChannelBroken", EVERYWHERE),
    "Loans": ("Borrows", EVERYWHERE),
    "Place": ("Body, or CacheHome", "_core/interop _core/common _core/codegen/cpu"),
    "Places": ("Buffers", "_core/compiler _core/runtime/gpu"),
    "LoopDraft": ("LoopJob", EVERYWHERE),
    "Manner": ("ExecutionOptions", EVERYWHERE),
    "PartRefused": ("SubgraphRefused", EVERYWHERE),
    "PartTaken": ("SubgraphRegistered", EVERYWHERE),
    "Parcel": ("OutgoingMessage", EVERYWHERE),
    "Runner": ("StageRunner", EVERYWHERE),
    "STRETCH": ("DEVICE_REGION", EVERYWHERE),
    "Straight": ("InlineScheduler", EVERYWHERE),
    "TierBook": ("TierState", EVERYWHERE),
    "VARIABLE_TYPES": ("is_variable", EVERYWHERE),
    "WaitingLane": ("BlockingLocalChannel", EVERYWHERE),
    "crew": ("scheduler", EVERYWHERE),
    "cut_stretches": ("cut_device_regions", EVERYWHERE),
    "door": ("listener", EVERYWHERE),
    "doubt": ("stall_check", EVERYWHERE),
    "draft_plan": ("prepare_job", EVERYWHERE),
    "drafting": ("prepare", EVERYWHERE),
    "greetings": ("handshake", EVERYWHERE),
    "halve_collectives": ("split_collectives", EVERYWHERE),
    "hand_over": ("donate_buffers", EVERYWHERE),
    "handover": ("donation", EVERYWHERE),
    "inquiries": ("admin", EVERYWHERE),
    "is_lent": ("is_borrowed", EVERYWHERE),
    "lane": ("local_channel", "_core/transport _core/cluster config.py"),
    "lanes": ("local_channels", "_core/transport _core/cluster"),
    "leased": ("pinned", EVERYWHERE),
    "lend": ("borrow", EVERYWHERE),
    "lending": ("borrowing", EVERYWHERE),
    "lends": ("borrows", EVERYWHERE),
    "lent": ("borrowed_from", EVERYWHERE),
    "let_go": ("remove_cleanup", EVERYWHERE),
    "loan": ("borrowed", EVERYWHERE),
    "loans": ("borrows", EVERYWHERE),
    "manner": ("options", EVERYWHERE),
    "others_train": ("cluster_has_clients", EVERYWHERE),
    "parcel": ("outgoing_message", EVERYWHERE),
    "place": ("body, cache_home", "_core/interop/import_contexts.py _core/common/files/signed_files.py"),
    "place_in": ("cache_home_in", EVERYWHERE),
    "pledge": ("on_abort", EVERYWHERE),
    "pledged": ("has_on_abort", EVERYWHERE),
    "redeem": ("remove_on_abort", EVERYWHERE),
    "stages": ("segments", "_core/plan"),
    "straight": ("inline_scheduler", EVERYWHERE),
    "stretches": ("device_regions", "_core/compiler"),
    "take_lane": ("accept_local_channel", EVERYWHERE),
    "takes_places": ("takes_refs", EVERYWHERE),
    "tier_book": ("tier_state", EVERYWHERE),
}  # fmt: skip


class Entry(NamedTuple):
    """A row of the glossary."""

    word: str
    meaning: str
    module: str
    elsewhere: str


def entries() -> list[Entry]:
    rows = re.findall(r"^\| (.+?) \|(.*)\|(.*)\|(.*)\|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    return [Entry(*[cell.strip() for cell in row]) for row in rows if row[0] not in ("word", "--")]


def words_of(text: str) -> str:
    """Text and names of a module as lower-case words, so that `LocalChannel` and `local_channel` read alike."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return re.sub(r"[\s_]+", " ", apart).lower()


@cache
def names(path: Path) -> frozenset[str]:
    """All names in a module, that of its file among them, without underscores at their beginning."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    found = {token.string for token in tokens if token.type == tokenize.NAME}
    return frozenset(name.lstrip("_") for name in (*found, path.stem))


def modules(where: str) -> Iterator[Path]:
    for part in where.split() or ["."]:
        path = PACKAGE / part
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def test_the_glossary_is_read() -> None:
    assert len(entries()) > 60


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.word)
def test_every_word_lives_where_the_glossary_says(entry: Entry) -> None:
    path = PACKAGE / "_core" / entry.module.strip("`")
    assert path.is_file(), f"{entry.word}: there is no graphflow/_core/{entry.module}"
    words = words_of(path.read_text(encoding="utf-8")) + words_of(f" {path.stem} ")
    stem = re.sub("[ey]$", "", re.escape(entry.word))  # As in "queries", "lowering".
    assert re.search(rf"\b{stem}", words), f"{entry.module} does not speak of {entry.word!r}"


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.word)
def test_a_meaning_is_one_short_sentence(entry: Entry) -> None:
    assert entry.meaning[0].isupper() and entry.meaning.endswith(".") and ". " not in entry.meaning
    assert len(entry.meaning.split()) <= MOST_WORDS


def test_every_word_has_one_meaning() -> None:
    found = [entry.word for entry in entries()]
    assert len(found) == len(set(found))


def test_words_are_in_order() -> None:
    for section in GLOSSARY.read_text(encoding="utf-8").split("\n## ")[1:]:
        found = re.findall(r"^\| (.+?) \|", section, re.MULTILINE)[2:]
        assert found == sorted(found), section.partition("\n")[0]


def test_no_retired_word_is_in_the_glossary() -> None:
    assert not {entry.word.replace(" ", "_") for entry in entries()} & RETIRED.keys()


@pytest.mark.parametrize("old", RETIRED)
def test_no_retired_name_comes_back(old: str) -> None:
    new, where = RETIRED[old]
    again = [str(path.relative_to(PROJECT)) for path in modules(where) if old in names(path)]
    assert not again, f"{old!r} is {new!r} now: {', '.join(again)}"
