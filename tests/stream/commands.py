"""Runs many command lines of covey in one process, which has one Spark session for all of them.

A line of JSON comes in for each, the list of its words; a line goes out, with its exit code and
what it printed. Run with the jars that Spark is to have, and settings as KEY=VALUE.
"""

from __future__ import annotations

import json
import sys

from typer.testing import CliRunner

from covey.cli import app
from covey.cli.session import Session
from covey.stream.session import SESSION


def main(jars: str, *conf: str) -> None:
    """Answers until there are no more."""
    usual = [f"{key}={value}" for key, value in SESSION.items()]
    with Session.of("local[2,4]", [*usual, *conf], jars).started():
        for line in sys.stdin:
            done = CliRunner().invoke(app, json.loads(line))
            problem = done.exception
            raised = None if problem is None or isinstance(problem, SystemExit) else repr(problem)
            answer = {"code": done.exit_code, "out": done.stdout, "err": done.stderr}
            print(json.dumps({**answer, "raised": raised}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
