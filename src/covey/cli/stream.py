"""`covey stream`: events on Kafka to notifications on Kafka, while subscriptions change."""

from __future__ import annotations

import glob
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pyspark.sql import SparkSession

from covey.cli.failures import reported
from covey.cli.session import Session, check_kafka
from covey.errors import ValueRefused

if TYPE_CHECKING:
    from covey.stream import Config

__all__ = ["stream", "stream_session"]

_PAST = "A stretch of the past"


def stream(
    config: Annotated[Path, typer.Argument(help="A TOML file; docs/stream.md says what is in it.")],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="OFFSETS", rich_help_panel=_PAST,
            help='Where it begins, as {"ads": {"0": 1200}}.',
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="OFFSETS", rich_help_panel=_PAST, help="Before what; else all of it."),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option(rich_help_panel=_PAST, help="What decides; else the version of each batch."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(rich_help_panel=_PAST, help="A file for what would be sent, line by line."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", rich_help_panel=_PAST, help="Needed: nobody is notified.")
    ] = False,
) -> None:  # fmt: skip
    """Match events on Kafka as they come, against subscriptions that change meanwhile."""
    with reported():
        from covey.stream import Config

        _check_together(from_, dry_run, {"--to": to, "--version": version, "--output": output})
        chosen = Config.read(config)
        if from_ is None:
            _run(chosen)
        else:
            from covey.cli.backfill import backfill

            backfill(chosen, stream_session(chosen), from_, to, version, output)


@contextmanager
def stream_session(config: Config) -> Iterator[SparkSession]:
    """The session that a stream wants, with Kafka: what the user sets comes last."""
    from covey.stream.session import SESSION

    conf = [f"{key}={value}" for key, value in {**SESSION, **config.spark.conf}.items()]
    jars = config.spark.jars
    if jars is not None:
        found = sorted(glob.glob(jars))
        if not found:
            raise ValueRefused(f"[spark] jars: no file is {jars}")
        jars = ",".join(found)
    session = Session.of(config.spark.master, conf, jars, config.notifications.sink == "delta")
    with session.started() as spark:
        check_kafka(spark)
        yield spark


def _run(config: Config) -> None:
    from covey.stream.logs import log_as_json

    log_as_json()
    imports = threading.Thread(target=lambda: import_module("covey.stream.pipeline"), daemon=True)
    imports.start()  # takes seconds, and so does Java
    with stream_session(config) as spark:
        imports.join()
        from covey.stream import Pipeline

        pipeline = Pipeline(spark, config)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: pipeline.stop())
        pipeline.run()


def _check_together(from_: str | None, dry_run: bool, others: dict[str, object]) -> None:
    """Options of a stretch of the past go together."""
    given = [name for name, value in others.items() if value is not None]
    if from_ is None and (given or dry_run):
        raise ValueRefused(
            f"{(given or ['--dry-run'])[0]} is for a stretch of the past: add --from"
        )
    if from_ is not None and not dry_run:
        raise ValueRefused("the past is computed again with --dry-run only: nobody is notified")
