"""Runner of benchmarks from the command line, with sizes divided."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.blocks import ROOT

__all__ = ["measure"]


def measure(name: str, shrink: dict[str, str], *only: str) -> dict[str, float]:
    """Run a benchmark in a process of its own and return the numbers of its last line."""
    only_arguments = ["--only", *only] if only else []
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", name, *only_arguments],
        cwd=ROOT,
        env={**os.environ, **shrink},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured
