"""A day of classifieds: all new ads of a large site are matched with all of its saved searches.

`classifieds_transform_s` is the time from the call of `transform` to the last pair in the sink
`noop`; it includes reading the ads from Parquet files. Arrow batches have 50,000 rows. Before that,
the same ads are matched once to count the matches. The texts of the searches are generated and
written before any timer starts.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import functions as F

from benchmarks.harness import Value, interleaved
from benchmarks.on_spark import fits
from benchmarks.on_spark.answers import agreed, chosen_by_where, digest
from benchmarks.on_spark.environment import Environment
from benchmarks.on_spark.session import LARGE_BATCH, drain, set_batch

__all__ = ["KEYS", "run"]

_REPEATS = 3
_CHECKED = 1_000  # searches that are compared with Spark's `where`

KEYS = {
    "classifieds_transform_s": "seconds to match 700,000 ads to 8M saved searches, pairs",
    "classifieds_matches_per_ad": "saved searches that an ad matches, mean",
    "classifieds_matches_p50": "saved searches that an ad matches, median",
    "classifieds_matches_p99": "saved searches that an ad matches, 99th percentile",
    "classifieds_matches_max": "saved searches that an ad matches, largest",
    **fits.keys("classifieds_fit", "8M predicates of classifieds"),
    "answers_classifieds_pairs": "pairs of a sample of searches, equal for Spark's where and covey",
    "answers_classifieds_hash": "sum of xxhash64(event_id, id) over these pairs, equal for both",
}


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of the fit, and those of its model that `only` names."""
    fitted = environment.fitted("classifieds", environment.sizes.searches)
    results = fits.results("classifieds_fit", fitted)
    if any(key.startswith("answers") for key in only):
        results |= _answers(environment)
    if any(key.startswith(("classifieds_transform", "classifieds_matches")) for key in only):
        ads = environment.tables.events("classifieds", environment.sizes.ads)
        set_batch(environment.spark, LARGE_BATCH)
        size = F.size("matches")
        counts = (F.mean(size), F.median(size), F.percentile(size, 0.99), F.max(size))
        row = fitted.transform(ads, "arrays").agg(*counts).first()
        assert row is not None
        for key, value in zip(("per_ad", "p50", "p99", "max"), row, strict=True):
            results[f"classifieds_matches_{key}"] = round(float(value), 2)
        pairs = partial(fitted.transform, ads, "pairs")
        seconds = interleaved(_REPEATS, transform=lambda: drain(pairs()))
        results["classifieds_transform_s"] = round(seconds["transform"], 1)
    return results


def _answers(environment: Environment) -> dict[str, Value]:
    """Compare the pairs of a sample of the searches with those of `where`, and return them."""
    searches = environment.sizes.searches
    in_sample = f"id % {max(1, searches // _CHECKED)} = 0"
    ads = environment.tables.events("classifieds", environment.sizes.checked_ads)
    ours = environment.fitted("classifieds", searches).transform(ads, "pairs").where(in_sample)
    chosen = environment.tables.predicates("classifieds", searches).where(in_sample)
    same = agreed("classifieds", digest(ours), chosen_by_where(ads, chosen))
    return {"answers_classifieds_pairs": same.pairs, "answers_classifieds_hash": str(same.hash)}
