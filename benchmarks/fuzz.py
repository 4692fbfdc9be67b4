"""Wrong texts by the million: covey's own errors only, none slow, none large.

Each text is parsed by itself; the timer holds one parse. `--full` runs a million texts.
"""

from __future__ import annotations

import resource
import sys
import time

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from benchmarks.harness import Value, progress
from covey import Parser, Settings
from covey.testing.generate import random_space
from covey.testing.texts import wrong_texts

KEYS = {
    "fuzz_texts": "texts parsed",
    "fuzz_foreign_errors": "exceptions that were not covey's own",
    "fuzz_slowest_s": "seconds of the slowest text",
    "fuzz_peak_mb": "most memory the process ever held",
}

_AT_ONCE = 50


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Parses texts from hypothesis, each alone, and keeps the worst of everything."""
    examples = (1_000_000 if full else 20_000) // _AT_ONCE
    space = random_space(Settings())
    parsers = [Parser(space), Parser(random_space(Settings("America/New_York", ansi=False)))]
    done = foreign = 0
    slowest = (0.0, "")

    @settings(
        max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(wrong_texts(space), min_size=_AT_ONCE, max_size=_AT_ONCE))
    def parse_all(texts: list[str]) -> None:
        nonlocal done, foreign, slowest
        for i, text in enumerate(texts):
            start = time.perf_counter()
            try:
                parsers[i % 2].parse([text])
            except Exception as error:
                foreign += 1
                print(f"{type(error).__name__} on {text!r}", file=sys.stderr)
            slowest = max(slowest, (time.perf_counter() - start, text))
        done += len(texts)
        progress(min(done, examples * _AT_ONCE - 1), examples * _AT_ONCE, "texts")

    for parser in parsers:
        parser.parse(["i32 > 5 AND name = 'x'"])
    parse_all()
    progress(done, done, "texts")
    print(f"slowest: {slowest[1]!r}", file=sys.stderr)
    found: dict[str, Value] = {
        "fuzz_texts": done,
        "fuzz_foreign_errors": foreign,
        "fuzz_slowest_s": round(slowest[0], 3),
        "fuzz_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    return {key: value for key, value in found.items() if key in only}
