"""Hostile subscriptions beside normal ones, whose results must be what they are without them.

Each is tried alone, and some together: in an update of a model, and in a model with zones. Where
the results of normal subscriptions differ, those together are cut in two until it is clear whose
doing it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from benchmarks.harness import Value, progress
from benchmarks.on_attack.comparison import FAILURES, Found, fitted, found_by, table_of, wrong_among
from benchmarks.on_attack.hostile import PROPERTY, hostile_predicates
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
Try = Callable[[Texts], Found]

_ZONES = 4


def run(spark: SparkSession, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Every hostile subscription beside all normal ones, in each way."""
    events = events_of(spark, sizes.events)
    normal = {f"normal{n}": text for n, text in enumerate(normal_predicates(sizes.normal))}
    model = fitted(events, normal)
    expected = found_by(model, events).of(list(normal))
    settings = dict(spark.conf.getAll)
    with TemporaryDirectory(prefix="covey-attack-") as folder:
        texts = hostile_predicates(Path(folder))[: sizes.hostile]
        hostile = {f"hostile{n}": text for n, text in enumerate(texts)}
        disturbed, wrong, taken = set[str](), set[str](), set[str]()
        ways: dict[str, tuple[Try, int]] = {
            "alone": (lambda some: found_by(fitted(events, {**normal, **some}), events), 1),
            "updates": (
                lambda some: found_by(model.update(table_of(events, some)), events),
                sizes.together,
            ),
            "zones": (
                lambda some: found_by(fitted(events, {**normal, **some}, zones=_ZONES), events),
                sizes.together,
            ),
        }
        for name, (attempt, together) in ways.items():
            ids = list(hostile)
            for start in range(0, len(ids), together):
                progress(start, len(ids), name)
                some = {id_: hostile[id_] for id_ in ids[start : start + together]}
                found = _tried(attempt, some)
                disturbed |= _disturbing(attempt, some, found, expected, list(normal), name)
                if name == "alone" and found is not None:
                    taken |= some.keys() - found.refused.keys()
                    wrong |= set(wrong_among(events, some, found))
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


def _tried(attempt: Try, some: Texts) -> Found | None:
    """What is found, None if the whole job fails."""
    try:
        return attempt(some)
    except FAILURES as error:
        print(f"{list(some.values())[:1]} …: {str(error)[:300]}", file=sys.stderr)
        return None


def _disturbing(
    attempt: Try, some: Texts, found: Found | None, expected: frozenset[tuple[int, str]],
    normal: list[str], way: str,
) -> set[str]:  # fmt: skip
    """Who of some changes or stops what normal subscriptions find; nobody, it is hoped."""
    if found is not None and found.of(normal) == expected:
        return set()
    if len(some) == 1:
        print(f"disturbing, {way}: {next(iter(some.values()))[:200]}", file=sys.stderr)
        return {f"{way}: {next(iter(some))}"}
    ids, disturbing = list(some), set[str]()
    for half in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
        part = {id_: some[id_] for id_ in half}
        disturbing |= _disturbing(attempt, part, _tried(attempt, part), expected, normal, way)
    return disturbing
