"""Late conditions: matching with and without them, evaluations per second, and hostile ones.

Spark runs as `local[2]`. Each of 100,000 subscriptions compares one of 20,000 keys, so an event
has 5 candidates on average. A late condition has one of 100 templates, such as
`(a * 3.5D) + b < 20.5D`, with literals of its own. A time is that of a `transform` whose arrays of
ids go into the sink `noop`, from a Parquet file; before, every model is fitted and run once. Ratios
are of medians of runs in turns. The matches of each set on 2,000 events are compared with Spark's
`where`; a difference raises an error.

`hostile` compares 100,000 such subscriptions, a tenth of them with a late condition, alone and
beside 200 hostile ones. A third of these raise errors on all events that satisfy the rest, a third
takes about a thousand times as long as a cheap condition, and a third does so on every event,
because an index can use no condition of it: limits refuse it.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.harness import Value, interleaved, progress
from benchmarks.on_spark.session import drain, session
from covey.spark import Matcher, MatcherModel
from covey.testing.spark_oracle import match_with_spark

KEYS = {
    "late_vs_plain": "events/s if one subscription in ten has a late condition, relative to none",
    "late_per_s": "evaluations of late conditions per second if all subscriptions have one",
    "all_late_vs_plain": "events/s if all subscriptions have a late condition, relative to none",
    "patterns_per_s": "evaluations per second if all late conditions are RLIKE with 100 patterns",
    "hostile_refused": "hostile subscriptions, of 200, that limits refuse",
    "hostile_changed": "normal subscriptions whose matches change beside hostile ones: should be 0",
    "hostile_share": "events/s of normal subscriptions beside 200 hostile ones, relative to alone",
}

_SUBSCRIPTIONS, _KEYS, _EVENTS, _REPEATS = 100_000, 20_000, 500_000, 5
_COLUMNS = "abcde"
_TEMPLATES = [
    f"({first} {inner} {{:.1f}}D) {outer} {second} < {{:.1f}}D"
    for first in _COLUMNS
    for second in _COLUMNS
    for inner in "*+"
    for outer in "+-"
]
_HOSTILE = 200


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Return the results for the keys in `only`, at the published sizes even without `full`."""
    results: dict[str, Value] = {}
    with tempfile.TemporaryDirectory(prefix="covey-") as folder, session() as spark:
        events = _events(spark, Path(folder) / "events")
        for step, (keys, part) in enumerate(_PARTS.items()):
            progress(step, len(_PARTS), "parts")
            if only & set(keys):
                results |= part(events)
        progress(len(_PARTS), len(_PARTS), "parts")
    return {key: value for key, value in results.items() if key in only}


def _events(spark: SparkSession, path: Path) -> DataFrame:
    """Return events from a Parquet file: a number, a key, five numbers and a title."""
    columns = [
        (F.rand(seed) * 100).alias(name) for seed, name in enumerate(_COLUMNS, start=1)
    ]  # fmt: skip
    words = F.array(*(F.lit(word) for word in ("red", "blue", "bike", "sofa", "lamp", "old")))
    title = F.concat_ws(" ", F.shuffle(words, seed=9))
    key = F.concat(F.lit("k"), F.floor(F.rand(7) * _KEYS).cast("string"))
    rows = spark.range(0, _EVENTS, 1, 4)
    rows.select(
        F.col("id").alias("n"), key.alias("key"), *columns, title.alias("title")
    ).write.parquet(str(path))
    return spark.read.parquet(str(path))


def _predicates(late_share: float, condition: Callable[[random.Random], str]) -> dict[str, str]:
    """Return the predicates by id; a share of them has a late condition."""
    rng = random.Random(3)
    texts = {}
    for i in range(_SUBSCRIPTIONS):
        text = f"key = 'k{i % _KEYS}' AND a > {rng.random() * 2:.6f}"
        is_late = rng.random() < late_share
        late = condition(rng)
        texts[f"s{i}"] = f"{text} AND {late}" if is_late else text
    return texts


def _cheap(rng: random.Random) -> str:
    template = rng.choice(_TEMPLATES[:100])
    return template.format(rng.uniform(1, 50), rng.uniform(20, 200))


def _pattern(rng: random.Random) -> str:
    first, second = rng.sample(["red", "blue", "bike", "sofa", "lamp", "old"], 2)
    return f"title RLIKE '{first} ({second}|{rng.choice(['x', 'y', 'z', 'zz'])})'"


def _fit(events: DataFrame, texts: dict[str, str]) -> MatcherModel:
    """Return a model whose output has an array of ids for each event."""
    matcher = Matcher(eventSchema=events.schema, eventCols=["n"], outputMode="arrays")
    table = events.sparkSession.createDataFrame(list(texts.items()), "id STRING, predicate STRING")
    model = matcher.fit(table.repartition(4).localCheckpoint())
    _check(model, events.where("n % 250 = 0"), texts)
    return model


def _check(model: MatcherModel, events: DataFrame, texts: dict[str, str]) -> None:
    """Compare the matches of 500 subscriptions with Spark's, on some events.

    Raises:
        RuntimeError: the matches differ.
    """
    events = events.localCheckpoint()
    keys = {row["key"] for row in events.collect()}
    refused = {row["id"] for row in model.rejectedSubscriptions.select("id").collect()}
    sample = {
        id_: text for id_, text in texts.items()
        if id_ not in refused and text[:20].split("'")[1:2] and text.split("'")[1] in keys
    }  # fmt: skip
    sample = dict(list(sample.items())[:500])
    found = {
        (row["n"], id_) for row in model.transform(events).collect() for id_ in row[-1]
        if id_ in sample
    }  # fmt: skip
    if found != match_with_spark(events, sample, "n"):
        raise RuntimeError("the matches differ from those of where")


def _shares(events: DataFrame) -> dict[str, Value]:
    models = {
        "plain": _fit(events, _predicates(0, _cheap)),
        "tenth": _fit(events, _predicates(0.1, _cheap)),
        "all": _fit(events, _predicates(1, _cheap)),
    }
    seconds = _times(events, models)
    candidates = _EVENTS * _SUBSCRIPTIONS / _KEYS * 0.98  # a > 0 to 2 of 100
    return {
        "late_vs_plain": round(seconds["plain"] / seconds["tenth"], 3),
        "all_late_vs_plain": round(seconds["plain"] / seconds["all"], 3),
        "late_per_s": round(candidates / seconds["all"]),
    }


def _patterns(events: DataFrame) -> dict[str, Value]:
    seconds = _times(events, {"patterns": _fit(events, _predicates(1, _pattern))})
    candidates = _EVENTS * _SUBSCRIPTIONS / _KEYS * 0.99
    return {"patterns_per_s": round(candidates / seconds["patterns"])}


def _hostile_texts() -> dict[str, str]:
    """Return hostile predicates by id."""
    slow = "sha2(repeat(title, {}), 512) > 'f'"
    kinds = [
        lambda i: f"key = 'k{i}' AND CAST(title AS INT) + {i} > 3",
        lambda i: f"key = 'k{i}' AND {slow.format(2_000 + i)}",
        lambda i: slow.format(20_000 + i),
    ]
    return {f"h{i}": kinds[i % len(kinds)](i) for i in range(_HOSTILE)}


def _hostility(events: DataFrame) -> dict[str, Value]:
    normal, hostile = _predicates(0.1, _cheap), _hostile_texts()
    models = {"alone": _fit(events, normal), "beside": _fit(events, normal | hostile)}
    refused = {row["id"] for row in models["beside"].rejectedSubscriptions.collect()}
    some = events.where("n < 20000").localCheckpoint()
    pairs = {
        name: {(r["n"], id_) for r in model.transform(some).collect() for id_ in r[-1]}
        for name, model in models.items()
    }
    changed = {id_ for _, id_ in pairs["alone"] ^ pairs["beside"] if id_ not in hostile}
    seconds = _times(events, models)
    return {
        "hostile_refused": len(refused),
        "hostile_changed": len(changed),
        "hostile_share": round(seconds["alone"] / seconds["beside"], 3),
    }


def _times(events: DataFrame, models: dict[str, MatcherModel]) -> dict[str, float]:
    """Return the median seconds of each model's transform of all events."""
    runs = {name: partial(_drain_matches, model, events) for name, model in models.items()}
    for warm in runs.values():
        warm()
    return interleaved(_REPEATS, **runs)


def _drain_matches(model: MatcherModel, events: DataFrame) -> None:
    drain(model.transform(events))


_PARTS: dict[tuple[str, ...], Callable[[DataFrame], dict[str, Value]]] = {
    ("late_vs_plain", "late_per_s", "all_late_vs_plain"): _shares,
    ("patterns_per_s",): _patterns,
    ("hostile_refused", "hostile_changed", "hostile_share"): _hostility,
}
