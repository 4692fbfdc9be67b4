"""Hostile subscriptions beside normal ones, whose results must be what they are without them.

Each is tried alone, and some together: in an update of a model, in a model with zones, and in a
stream. Where the results of normal subscriptions differ, those together are cut in two until it is
clear whose doing it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

from benchmarks.harness import Value, progress
from benchmarks.on_attack.comparison import FAILURES, Found, fitted, found_by, table_of, wrong_among
from benchmarks.on_attack.hostile import PROPERTY, hostile_predicates
from benchmarks.on_attack.live import Stream
from benchmarks.on_attack.sizes import Sizes
from benchmarks.on_attack.values import events_of, normal_predicates

__all__ = ["KEYS", "run"]

KEYS = {
    "attack_hostile": "hostile and unusual subscriptions that were tried",
    "attack_taken": "how many of them are taken and matched like any other",
    "attack_disturbed": "times that one changed or stopped the results of 1,000 normal ones",
    "attack_effects": "things that one of them did besides matching",
    "attack_wrong": "hostile ones that are taken and match other events than where keeps",
}

Texts = Mapping[str, str]

_ZONES = 4


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to match events with some more subscriptions, so many of them at once."""

    name: str
    attempt: Callable[[Texts], Found]
    together: int
    events: DataFrame

    def tried(self, some: Texts) -> Found | None:
        """What is found, None if the whole job fails."""
        try:
            return self.attempt(some)
        except FAILURES as error:
            print(f"{list(some.values())[:1]} …: {str(error)[:300]}", file=sys.stderr)
            return None


def run(spark: SparkSession, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Every hostile subscription beside all normal ones, in each way."""
    events = events_of(spark, sizes.events)
    normal = {f"normal{n}": text for n, text in enumerate(normal_predicates(sizes.normal))}
    model = fitted(events, normal)
    settings = dict(spark.conf.getAll)
    with (
        TemporaryDirectory(prefix="covey-attack-") as folder,
        TemporaryDirectory(prefix="covey-attack-", ignore_cleanup_errors=True) as of_stream,
        Stream.beside(normal, events, Path(of_stream)) as stream,
    ):
        texts = hostile_predicates(Path(folder))[: sizes.hostile]
        hostile = {f"hostile{n}": text for n, text in enumerate(texts)}
        ways = (
            _Way(
                "alone", lambda some: found_by(fitted(events, {**normal, **some}), events), 1,
                events,
            ),
            _Way(
                "updates", lambda some: found_by(model.update(table_of(events, some)), events),
                sizes.together, events,
            ),
            _Way(
                "zones",
                lambda some: found_by(fitted(events, {**normal, **some}, zones=_ZONES), events),
                sizes.together, events,
            ),
            _Way("stream", stream.attempt, sizes.together, stream.events(events)),
        )  # fmt: skip
        disturbed, wrong, taken = set[str](), set[str](), set[str]()
        for way in ways:
            expected = way.attempt({}).of(list(normal))
            ids = list(hostile)
            for start in range(0, len(ids), way.together):
                progress(start, len(ids), way.name)
                some = {id_: hostile[id_] for id_ in ids[start : start + way.together]}
                found = way.tried(some)
                disturbed |= _disturbing(way, some, found, expected, list(normal))
                if found is not None:
                    taken |= some.keys() - found.refused.keys()
                    wrong |= set(wrong_among(way.events, some, found))
        effects = len(list(Path(folder).iterdir()))
    effects += spark._jvm.System.getProperty(PROPERTY) is not None  # type: ignore[union-attr]
    effects += dict(spark.conf.getAll) != settings
    for id_ in sorted(wrong):
        print(f"wrong: {hostile[id_]}", file=sys.stderr)
    return {
        "attack_hostile": len(hostile), "attack_taken": len(taken),
        "attack_disturbed": len(disturbed), "attack_effects": int(effects),
        "attack_wrong": len(wrong),
    }  # fmt: skip


def _disturbing(
    way: _Way, some: Texts, found: Found | None, expected: frozenset[tuple[int, str]],
    normal: list[str],
) -> set[str]:  # fmt: skip
    """Who of some changes or stops what normal subscriptions find; nobody, it is hoped."""
    if found is not None and found.of(normal) == expected:
        return set()
    if len(some) == 1:
        print(f"disturbing, {way.name}: {next(iter(some.values()))[:200]}", file=sys.stderr)
        return {f"{way.name}: {next(iter(some))}"}
    ids, disturbing = list(some), set[str]()
    for half in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
        part = {id_: some[id_] for id_ in half}
        disturbing |= _disturbing(way, part, way.tried(part), expected, normal)
    return disturbing
