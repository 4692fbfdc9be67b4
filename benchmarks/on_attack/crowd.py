"""Hostile subscriptions beside normal ones, whose results must not change.

Each hostile subscription is tried alone with normal ones in a model. Groups of hostile ones are
tried in an update of a model, in a model with zones, and in a stream. If the results of normal
subscriptions differ, the group is halved repeatedly until the cause is known.
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
    "attack_taken": "hostile subscriptions that were accepted and matched",
    "attack_disturbed": "hostile subscriptions that change results of normal ones: should be 0",
    "attack_effects": "side effects of hostile subscriptions besides matching: should be 0",
    "attack_wrong": "accepted hostile subscriptions whose matches differ from where: should be 0",
}

Texts = Mapping[str, str]

_ZONES = 4


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to match events with additional subscriptions, of which `together` form a group."""

    name: str
    attempt: Callable[[Texts], Found]
    together: int
    events: DataFrame

    def tried(self, some: Texts) -> Found | None:
        """Return the matches with additional subscriptions, or None if the job fails as a whole."""
        try:
            return self.attempt(some)
        except FAILURES as error:
            print(f"{list(some.values())[:1]} …: {str(error)[:300]}", file=sys.stderr)
            return None


def run(spark: SparkSession, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of all hostile subscriptions, beside all normal ones, in each way."""
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
        disturbed, wrong, accepted = set[str](), set[str](), set[str]()
        for way in ways:
            expected = way.attempt({}).of(list(normal))
            ids = list(hostile)
            for start in range(0, len(ids), way.together):
                progress(start, len(ids), way.name)
                group = {id_: hostile[id_] for id_ in ids[start : start + way.together]}
                outcome = way.tried(group)
                disturbed |= _disturbing(way, group, outcome, expected, list(normal))
                if outcome is not None:
                    accepted |= group.keys() - outcome.refused.keys()
                    wrong |= set(wrong_among(way.events, group, outcome))
        effects = len(list(Path(folder).iterdir()))
    effects += spark._jvm.System.getProperty(PROPERTY) is not None  # type: ignore[union-attr]
    effects += dict(spark.conf.getAll) != settings
    for id_ in sorted(wrong):
        print(f"wrong: {hostile[id_]}", file=sys.stderr)
    return {
        "attack_hostile": len(hostile), "attack_taken": len(accepted),
        "attack_disturbed": len(disturbed), "attack_effects": int(effects),
        "attack_wrong": len(wrong),
    }  # fmt: skip


def _disturbing(
    way: _Way, some: Texts, found: Found | None, expected: frozenset[tuple[int, str]],
    normal: list[str],
) -> set[str]:  # fmt: skip
    """Return the subscriptions of a group that change the pairs of normal ones or fail the job.

    Args:
        way: how the group was tried.
        some: the group.
        found: the matches with the group; None if the job failed.
        expected: pairs of the normal subscriptions without the group.
        normal: ids of the normal subscriptions.
    """
    if found is not None and found.of(normal) == expected:
        return set()
    if len(some) == 1:
        text = next(iter(some.values()))[:200]
        print(f"changes other results, {way.name}: {text}", file=sys.stderr)
        return {f"{way.name}: {next(iter(some))}"}
    ids, disturbing = list(some), set[str]()
    for half in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
        half_group = {id_: some[id_] for id_ in half}
        disturbing |= _disturbing(way, half_group, way.tried(half_group), expected, normal)
    return disturbing
