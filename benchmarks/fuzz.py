"""Malformed predicates: a million texts raise covey's own errors only, fast and in little memory.

Each text is parsed alone, and the time is that of one parse. `--full` runs a million texts.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.harness import Value, progress
from covey import CompilerError, Parser, SessionSettings
from covey.testing.invalid_texts import malformed_predicates
from covey.testing.random_cases import random_space

KEYS = {
    "fuzz_texts": "texts parsed",
    "fuzz_foreign_errors": "exceptions that are not covey's own",
    "fuzz_slowest_s": "seconds of the slowest text",
    "fuzz_peak_mb": "peak resident memory of the process in MiB",
}

_AT_ONCE = 50  # texts of one example of hypothesis
_ROUND = 20_000  # texts until hypothesis is restarted: it stores all texts that it has drawn


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Parse texts from hypothesis, each alone, and return the worst results."""
    rounds = 50 if full else 1
    worst = _Worst(
        [Parser(random_space(s)) for s in (SessionSettings(), SessionSettings("Asia/Tokyo", False))]
    )
    for n in range(rounds):
        progress(n, rounds, f"rounds of {_ROUND:,} texts")
        _round(worst, n)
    progress(rounds, rounds, f"rounds of {_ROUND:,} texts")
    print(f"slowest: {worst.slowest[1]!r}", file=sys.stderr)
    results: dict[str, Value] = {
        "fuzz_texts": worst.texts,
        "fuzz_foreign_errors": worst.foreign,
        "fuzz_slowest_s": round(worst.slowest[0], 3),
        "fuzz_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    return {key: value for key, value in results.items() if key in only}


@dataclass
class _Worst:
    """The worst results of all texts so far."""

    parsers: list[Parser]
    texts: int = 0
    foreign: int = 0
    slowest: tuple[float, str] = (0.0, "")

    def __post_init__(self) -> None:
        for parser in self.parsers:
            parser.parse(["i32 > 5 AND name = 'x'"])

    def add(self, text: str) -> None:
        """Parse a text, and update the number of foreign errors and the slowest text."""
        start = time.perf_counter()
        try:
            rejected = self.parsers[self.texts % 2].parse([text]).rejected
            if isinstance(rejected.get(0), CompilerError):
                raise rejected[0]
        except Exception as error:
            self.foreign += 1
            print(f"{type(error).__name__} on {text!r}", file=sys.stderr)
        self.slowest = max(self.slowest, (time.perf_counter() - start, text))
        self.texts += 1


def _round(worst: _Worst, number: int) -> None:
    @seed(number)
    @settings(
        max_examples=_ROUND // _AT_ONCE, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(
        st.lists(malformed_predicates(worst.parsers[0].space), min_size=_AT_ONCE, max_size=_AT_ONCE)
    )
    def parse_all(texts: list[str]) -> None:
        for text in texts:
            worst.add(text)

    parse_all()
    gc.collect()
