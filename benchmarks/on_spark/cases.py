"""The cases that are compared with bare operators: subscriptions, output and Arrow batches."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.on_spark.environment import Form
from benchmarks.on_spark.session import DEFAULT_BATCH, LARGE_BATCH

__all__ = ["CASES", "KEYS", "RUNS", "Case", "Run"]


@dataclass(frozen=True, slots=True)
class Case:
    """Subscriptions of a case.

    `stored` is the field of `Sizes` with their number, `text` describes them, and `repeats` is the
    number of turns of the runs.
    """

    stored: str
    text: str
    repeats: int
    form: Form = "predicates"


@dataclass(frozen=True, slots=True)
class Run:
    """One output of one case with one size of Arrow batches; `start` and `end` form the keys."""

    case: str
    start: str
    end: str = ""
    output: str = "arrays"
    batch: int = LARGE_BATCH

    @property
    def ratio(self) -> str:
        """Key of the events/s relative to a bare operator."""
        return f"{self.start}_vs_bare{self.end}"

    @property
    def rate(self) -> str:
        """Key of the events/s."""
        return f"{self.start}_events_per_s{self.end}"


CASES = {
    "1m": Case("stored", "1M subscriptions", 5),
    "wide": Case("stored", "1M subscriptions, 60 columns", 5, "wide"),
    "100k": Case("few", "100k subscriptions", 3),
    "10m": Case("many", "10M subscriptions", 3, "ranges"),
}
RUNS = (
    Run("1m", "arrays"),
    Run("1m", "pairs", output="pairs"),
    Run("1m", "arrays", "_default", batch=DEFAULT_BATCH),
    Run("1m", "pairs", "_default", "pairs", DEFAULT_BATCH),
    Run("wide", "wide"),
    Run("wide", "wide_pairs", output="pairs"),
    Run("100k", "arrays", "_100k"),
    Run("100k", "pairs", "_100k", "pairs"),
    Run("10m", "arrays", "_10m"),
    Run("10m", "pairs", "_10m", "pairs"),
)


def _lines(run: Run) -> dict[str, str]:
    how = f"{run.output}, {CASES[run.case].text}, Arrow batches of {run.batch:,}"
    ratio_text = f"events/s relative to a bare mapInArrow: {how}"
    return {run.ratio: ratio_text, run.rate: f"events/s: {how}"}


def _more_lines(name: str, case: Case) -> dict[str, str]:
    return {
        f"matches_per_event_{name}": f"matches per event, {case.text}",
        f"answers_{name}_pairs": f"pairs of some events, equal for Spark and covey: {case.text}",
        f"answers_{name}_hash": "sum of xxhash64(event_id, id) over these pairs, equal for both",
    }


KEYS = {key: line for run in RUNS for key, line in _lines(run).items()}
KEYS |= {key: line for n, case in CASES.items() for key, line in _more_lines(n, case).items()}
