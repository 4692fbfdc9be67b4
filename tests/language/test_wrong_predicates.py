"""The page of wrong predicates: parsing each predicate gives the message on the page.

A `text` block is a predicate, a line `---` and a message. A line of a `sql` block is a valid
predicate; under the heading on predicates that never match, it has no region.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from covey import Parser, Space

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "wrong-predicates.md").read_text(encoding="utf-8")


def blocks(language: str) -> Iterator[str]:
    """Iterate over the blocks of one language, in order."""
    for match in re.finditer(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        yield match.group(1)


WRONG = [tuple(block.removesuffix("\n").split("\n---\n")) for block in blocks("text")]
NEVER, SELDOM = (block.splitlines() for block in blocks("sql"))


@pytest.fixture(scope="module")
def space() -> Space:
    names: dict[str, object] = {}
    exec(next(blocks("python")), names)
    declared = names["space"]
    assert isinstance(declared, Space)
    return declared


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text[:40] for text, _ in WRONG])
def test_a_wrong_predicate_gets_its_message(space: Space, text: str, message: str) -> None:
    rejected = Parser(space).parse([text]).rejected
    assert str(rejected.get(0)) == message


def test_the_page_has_at_least_40_different_predicates() -> None:
    assert len(dict(WRONG)) == len(WRONG) >= 40


def test_every_message_says_what_to_write() -> None:
    assert [text for text, message in WRONG if "; " not in message.splitlines()[0]] == []


def test_a_batch_gives_the_same_messages(space: Space) -> None:
    rejected = Parser(space).parse([text for text, _ in WRONG]).rejected
    assert [str(rejected[i]) for i in range(len(WRONG))] == [message for _, message in WRONG]


def test_predicates_that_never_match_are_unsatisfiable(space: Space) -> None:
    predicates = Parser(space).parse(NEVER)
    assert not predicates.rejected
    assert predicates.unsatisfiable.tolist() == list(range(len(NEVER)))


def test_predicates_with_an_unusual_meaning_are_accepted(space: Space) -> None:
    predicates = Parser(space).parse(SELDOM)
    assert not predicates.rejected
    assert not len(predicates.unsatisfiable)
