"""Match events in Spark's workers, and write the matches as rows.

`transform` matches with one `mapInArrow`, or with two if zones have replication "smart". A worker
opens a version of the store once and maps its files into memory; all workers of a machine share
this memory. Small batches are joined, so that matching is efficient. Batches with too many matches
are split, so that memory does not grow with the numbers of events and matches, except for the
matches of one event.

Modules, in the order in which data passes through them:

    worker_cache       snapshots that are open in this worker process
    match_task         `MatchTask`: join and split batches of events, and match them
    output             `PairRows` and `ArrayRows`: a row for each match, or for each event
    late_evaluation    SQL with which Spark decides the candidates that have late conditions
    late_encoding      late conditions of candidates as Arrow arrays
    late_output        the same rows as `output`, for subscriptions with late conditions
    evaluation_errors  find undecided pairs: an expression raises an error on the event
    late_errors        the same for the expressions of late conditions
    table_function     table function for SQL that matches with a model

`covey.stream` matches micro-batches with the same functions: `rebatch`, `to_events` and
`match_bounded`.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.spark.matching.evaluation_errors import (
        find_computable_rows,
        find_raising_attributes,
        find_undecided_pairs,
    )
    from covey.spark.matching.late_encoding import encode_in_parts
    from covey.spark.matching.late_evaluation import (
        CONDITIONS_COLUMN,
        LateEvaluation,
        check_reserved,
    )
    from covey.spark.matching.match_task import match_bounded, rebatch, to_events
    from covey.spark.matching.worker_cache import (
        freeze_gc,
        open_live_snapshot,
        open_live_zone_snapshot,
        open_snapshot,
        preopen_latest,
    )

__all__ = [
    "CONDITIONS_COLUMN",
    "LateEvaluation",
    "check_reserved",
    "encode_in_parts",
    "find_computable_rows",
    "find_raising_attributes",
    "find_undecided_pairs",
    "freeze_gc",
    "match_bounded",
    "open_live_snapshot",
    "open_live_zone_snapshot",
    "open_snapshot",
    "preopen_latest",
    "rebatch",
    "to_events",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "CONDITIONS_COLUMN": "late_evaluation",
        "LateEvaluation": "late_evaluation",
        "check_reserved": "late_evaluation",
        "encode_in_parts": "late_encoding",
        "find_computable_rows": "evaluation_errors",
        "find_raising_attributes": "evaluation_errors",
        "find_undecided_pairs": "evaluation_errors",
        "freeze_gc": "worker_cache",
        "match_bounded": "match_task",
        "open_live_snapshot": "worker_cache",
        "open_live_zone_snapshot": "worker_cache",
        "open_snapshot": "worker_cache",
        "preopen_latest": "worker_cache",
        "rebatch": "match_task",
        "to_events": "match_task",
    },
)
