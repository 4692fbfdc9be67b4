"""Any text is parsed or refused: one error class, a position inside the text, a bounded result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Parser, PredicateError, SessionSettings, parse
from covey.testing.invalid_texts import malformed_predicates
from covey.testing.random_cases import random_space

SPACE = random_space(SessionSettings())


@given(st.lists(malformed_predicates(SPACE), min_size=1, max_size=20))
def test_any_text_is_parsed_or_refused(texts: list[str]) -> None:
    predicates = Parser(SPACE).parse(texts)
    for i, error in predicates.rejected.items():
        lines = texts[i].split("\n")
        assert type(error) is PredicateError
        assert error.text == texts[i]
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    accounted_for = {
        *predicates.predicate_rows.tolist(),
        *predicates.unsatisfiable.tolist(),
        *predicates.rejected,
    }
    assert accounted_for == set(range(len(texts)))


@pytest.mark.parametrize("text", ["i32 = true", "name = true", "name IN (true)", "flag = 'x'"])
def test_constants_of_other_types_are_parsed_or_refused(text: str) -> None:
    Parser(SPACE).parse([text])


@pytest.mark.parametrize("most", [1, 8, 64])
def test_the_normal_form_is_bounded(most: int) -> None:
    factors = [f"(i32 > {i} OR i64 > {i})" for i in range(40)]
    for n in range(1, len(factors) + 1):
        text = " AND ".join(factors[:n])
        if 2**n <= most:
            assert len(parse(SPACE, [text], max_regions=most).regions) == 2**n
        else:
            with pytest.raises(PredicateError, match=f"more than {most} alternatives"):
                parse(SPACE, [text], max_regions=most)
