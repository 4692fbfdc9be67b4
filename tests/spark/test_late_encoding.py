"""Encoding of late conditions: the same conditions as in the store, in parts and in one piece."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from covey import Space
from covey.geometry.tags import TagRule, Tags
from covey.index import TokenVocabulary
from covey.language import Parser
from covey.language.late_conditions import LateCondition
from covey.space import Events
from covey.space.events import ValueState
from covey.spark.matching import late_encoding, output
from covey.spark.matching.late_encoding import ConditionEncoder, VocabularyParser, encode_in_parts
from covey.spark.matching.late_evaluation import LateEvaluation
from covey.store import Changes, Snapshot, Store, UndecidedPairs
from tests.language.late_types import Types
from tests.store.simple import TINY

SPACE = Space.from_types({"x": pa.int32(), "name": pa.string()})
EVENTS = Events.from_arrow(
    pa.table({"x": pa.array(range(10), pa.int32()), "name": ["?"] * 10}), SPACE
)


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """Return a version with two segments, of which each has several templates."""
    with Store.create(tmp_path / "store", SPACE, merge_policy=TINY) as store:
        for start, count in ((0, 200), (500, 20)):
            texts = [
                f"x > {i % 9} AND levenshtein(name, 'n{start + i}') < {i % 4}" if i % 3 else
                f"x = {i % 9} AND length(name) > {i} OR x < 3 AND levenshtein(name, 'z') < {start}"
                for i in range(count)
            ]  # fmt: skip
            parsed = Parser(SPACE, types=Types()).parse(texts)
            ids = [start + i for i in range(count)]
            store.apply(Changes(ids, parsed.regions, parsed.predicate_rows))
        return store.snapshot()


def decode(evaluation: LateEvaluation, structs: pa.StructArray) -> list[list[tuple[int, str]]]:
    """Return for each candidate the region and the SQL of each condition."""
    fields = ["region", *evaluation.fields]
    return [
        [
            (values[0], evaluation.decode_condition(dict(zip(fields, values, strict=True))).sql)  # type: ignore[arg-type]
            for values in zip(*(row[name] for name in fields), strict=True)
        ]
        for row in structs.to_pylist()
    ]


@pytest.mark.parametrize("batch_bytes", [1, 300, 1 << 20])
@pytest.mark.parametrize("parsed_share", [1e-9, 4])
def test_encoded_conditions_are_those_of_the_store(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, batch_bytes: int, parsed_share: float
) -> None:
    monkeypatch.setattr(output, "_MAX_BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(late_encoding, "_PARSED_SHARE", parsed_share)
    assert len(snapshot.live_segments) == 2
    undecided = snapshot.match(EVENTS).undecided
    evaluation = LateEvaluation(tuple(snapshot.late_templates))
    found: list[list[tuple[int, str]]] = []
    for start, stop, structs in encode_in_parts(evaluation, undecided):
        assert (start, stop - start) == (len(found), len(structs))
        found += decode(evaluation, structs)
    expected = [
        [
            (region, LateCondition.from_token(token).sql)
            for region, tokens in enumerate(undecided.list_tokens(pair))
            for token in tokens
        ]
        for pair in range(len(undecided))
    ]
    assert found == expected
    assert len(found) > 300
    assert max(len(row) for row in found) == 2


def test_fields_of_rows_without_candidates_are_null(snapshot: Snapshot) -> None:
    undecided = snapshot.match(EVENTS).undecided
    encoder = ConditionEncoder(LateEvaluation(tuple(snapshot.late_templates)), undecided)
    fields = encoder.list_fields(np.array([0, 0, 3, 3], np.int64))
    for values in fields.values():
        assert values.is_null().to_pylist() == [True, False, True]
    assert len(fields["template"][1].as_py()) == 3


def test_no_pairs_have_no_conditions(snapshot: Snapshot) -> None:
    evaluation = LateEvaluation(tuple(snapshot.late_templates))
    assert list(encode_in_parts(evaluation, UndecidedPairs.empty())) == []
    encoder = ConditionEncoder(evaluation, UndecidedPairs.empty())
    fields = encoder.list_fields(np.zeros(3, np.int64))
    assert {values.null_count for values in fields.values()} == {2}


def test_a_parser_is_forgotten_with_its_vocabulary() -> None:
    def parse() -> int:
        tokens = Tags.from_rules([TagRule(ValueState.VALUE, frozenset({frozenset({'["x = 1"]'})}))])
        vocabulary = TokenVocabulary.from_tags(tokens)
        parsed, rows = VocabularyParser.for_vocabulary(vocabulary).parse(np.zeros(3, np.int64))
        assert ([*parsed.templates], rows.tolist()) == (["x = 1"], [0, 0, 0])
        return len(late_encoding._PARSERS)

    before = len(late_encoding._PARSERS)
    assert parse() == before + 1
    gc.collect()
    assert len(late_encoding._PARSERS) == before
