"""Growth of memory and of the state folder in half an hour under load.

The load is the rate in an environment variable, or else 70% of the highest rate. If this run has
not measured the highest rate yet, it is measured first. Memory by kind of process and the size of
the state folder are read every ten seconds. A plot of these values is written to
`benchmarks/output/`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import Value, progress
from benchmarks.on_kafka.drains import drained
from benchmarks.on_kafka.environment import Environment, say
from benchmarks.on_kafka.memory import KINDS, folder_mb, memory_mb
from benchmarks.on_kafka.pipelines import COVEY, Pipeline
from benchmarks.on_kafka.processes import Process

__all__ = ["KEYS", "RATE", "run"]

RATE = "COVEY_LIVE_SOAK_RATE"  # environment variable: events/s instead of 70% of the highest rate
_MEASURED = (*KINDS, "state")
_TEXTS = {
    "driver": "memory of the driver's Python",
    "jvm": "memory of the JVM",
    "workers": "memory of Python workers",
    "state": "size of the state folder",
}
KEYS = {
    "soak": "half an hour at 70% of the highest rate: events/s, and peak sizes in MiB",
    **{f"soak_{name}_growth": f"{text}, largest over smallest" for name, text in _TEXTS.items()},
    "soak_behind_s": "seconds from the last event to the last notification",
}
_SHARE = 0.7
_OUTPUT = Path(__file__).parent.parent / "output"

Sample = dict[str, float]


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of one long run, and write its plot."""
    pipeline = environment.pipeline(COVEY)
    rate = _rate(environment, pipeline)
    say(f"soak at {rate:,} events/s for {environment.sizes.soak_s:.0f} s")
    samples, behind = _sampled(environment, pipeline, rate)
    _OUTPUT.mkdir(exist_ok=True)
    (_OUTPUT / "live-soak.json").write_text(json.dumps(samples), encoding="utf-8")
    draw(samples, rate, _OUTPUT / "live-soak.png")
    say(f"drawn to {_OUTPUT.name}/live-soak.png")
    warm = [sample for sample in samples if sample["s"] >= environment.sizes.soak_warm_s]
    peaks = ", ".join(f"{name} {max(sample[name] for sample in warm):,.0f}" for name in _MEASURED)
    results: dict[str, Value] = {"soak": f"{rate:,} events/s, MB: {peaks}", "soak_behind_s": behind}
    for name in _MEASURED:
        results[f"soak_{name}_growth"] = round(growth(warm, name), 3)
    return results


def growth(samples: Sequence[Sample], name: str) -> float:
    """Return the largest value of a sample, divided by the smallest.

    >>> growth([{"jvm": 100.0}, {"jvm": 125.0}, {"jvm": 110.0}], "jvm")
    1.25
    """
    sizes = [sample[name] for sample in samples]
    if not min(sizes):
        raise RuntimeError(f"a sample has no size of {name}")
    return max(sizes) / min(sizes)


def draw(samples: Sequence[Sample], rate: int, path: Path) -> None:
    """Plot memory and the size of the state folder over time into a file, one panel each."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 8), layout="constrained")
    for row, name in enumerate(_MEASURED, start=1):
        axes = figure.add_subplot(len(_MEASURED), 1, row)
        axes.plot([sample["s"] / 60 for sample in samples], [sample[name] for sample in samples])
        axes.set_ylim(bottom=0)
        axes.set_ylabel("MB")
        axes.set_title(_TEXTS[name], loc="left", fontsize=10)
    axes.set_xlabel(f"minutes at {rate:,} events/s")
    figure.savefig(path, dpi=120)


def _rate(environment: Environment, pipeline: Pipeline) -> int:
    if RATE in os.environ:
        return int(os.environ[RATE])
    if COVEY not in environment.rates:
        environment.rates[COVEY] = drained(environment, pipeline)
        say(f"highest rate: {environment.rates[COVEY]:,.0f} events/s")
    return int(_SHARE * environment.rates[COVEY])


def _sampled(environment: Environment, pipeline: Pipeline, rate: int) -> tuple[list[Sample], float]:
    """Return samples, and the seconds from the last event to the last notification."""
    topics, sizes, process = environment.topics, environment.sizes, pipeline.process()
    before, events = topics.size(pipeline.notifications), topics.size(pipeline.events)
    samples: list[Sample] = []
    try:
        process.start()
        with environment.loaded(pipeline, rate):
            environment.wait_for_first(pipeline, process, before)
            start = time.monotonic()
            while (now := time.monotonic() - start) < sizes.soak_s:
                progress(int(now), int(sizes.soak_s), "soak")
                samples.append({"s": round(now, 1), **_sample(pipeline, process)})
                time.sleep(max(0.0, sizes.sample_s * len(samples) - (time.monotonic() - start)))
                process.check()
            progress(int(sizes.soak_s), int(sizes.soak_s), "soak")
        ended = time.time()
        environment.wait_until_written(
            process,
            topics.size(pipeline.events) - events,
            lambda: topics.size(pipeline.notifications) - before,
        )
    finally:
        process.stop()
    return samples, round(max(0.0, _last(environment, pipeline) - ended), 1)


def _sample(pipeline: Pipeline, process: Process) -> Sample:
    sizes = memory_mb(process.pid, process.family())
    sizes["state"] = folder_mb(pipeline.state)
    return {name: round(size, 2) for name, size in sizes.items()}


def _last(environment: Environment, pipeline: Pipeline) -> float:
    """Return the append time of the last notification in seconds since 1970."""
    topics, name = environment.topics, pipeline.notifications
    ends = topics.ends(name)
    last = {partition: max(0, end - 1) for partition, end in ends.items()}
    batches = topics.read(name, last, ends)
    times = [message.timestamp()[1] for messages in batches for message in messages]
    return float(max(times)) / 1000
