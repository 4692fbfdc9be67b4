"""`covey stream` and `covey explain`: run a stream, and say what it decided on an event."""

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

from covey.cli.errors import exit_on_error
from covey.cli.session import SessionLauncher, check_kafka
from covey.errors import InvalidArgumentError

if TYPE_CHECKING:
    from covey.stream import StreamConfig

__all__ = ["explain", "open_stream_session", "stream"]

_REPLAY_PANEL = "A stretch of the past"


def stream(
    config: Annotated[
        Path, typer.Argument(help="A TOML file; docs/reference/configuration.md has its keys.")
    ],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="OFFSETS",
            rich_help_panel=_REPLAY_PANEL,
            help='Where it begins, as {"ads": {"0": 1200}}.',
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="OFFSETS", rich_help_panel=_REPLAY_PANEL, help="Before what; else all of it."
        ),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=_REPLAY_PANEL, help="What decides; else the version of each batch."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=_REPLAY_PANEL, help="A file for what would be sent, line by line."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", rich_help_panel=_REPLAY_PANEL, help="Needed: nobody is notified."
        ),
    ] = False,
) -> None:
    """Match events on Kafka as they come, against subscriptions that change meanwhile."""
    with exit_on_error():
        from covey.stream import StreamConfig

        _check_replay_options(
            from_, dry_run, {"--to": to, "--version": version, "--output": output}
        )
        chosen = StreamConfig.from_file(config)
        if from_ is None:
            _run_stream(chosen)
        else:
            from covey.cli.stream.replay import replay_range

            replay_range(chosen, open_stream_session(chosen), from_, to, version, output)


@contextmanager
def open_stream_session(config: StreamConfig) -> Iterator[SparkSession]:
    """The session that a stream wants, with Kafka: what the user sets comes last."""
    from covey.stream.spark_defaults import SPARK_DEFAULTS

    conf = [f"{key}={value}" for key, value in {**SPARK_DEFAULTS, **config.spark.conf}.items()]
    jars = config.spark.jars
    if jars is not None:
        found = sorted(glob.glob(jars))
        if not found:
            raise InvalidArgumentError(f"[spark] jars: no file is {jars}")
        jars = ",".join(found)
    session = SessionLauncher.from_options(
        config.spark.master, conf, jars, needs_delta=config.notifications.sink == "delta"
    )
    with session.launch() as spark:
        check_kafka(spark)
        yield spark


def _run_stream(config: StreamConfig) -> None:
    from covey.stream.metrics import configure_json_logging

    configure_json_logging()
    imports = threading.Thread(target=lambda: import_module("covey.stream.pipeline"), daemon=True)
    imports.start()  # takes seconds, and so does Java
    with open_stream_session(config) as spark:
        imports.join()
        from covey.stream import Pipeline

        pipeline = Pipeline(spark, config)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: pipeline.stop())
        pipeline.run()


def _check_replay_options(
    from_: str | None, dry_run: bool, other_options: dict[str, object]
) -> None:
    """Options of a stretch of the past go together."""
    given = [name for name, value in other_options.items() if value is not None]
    if from_ is None and (given or dry_run):
        raise InvalidArgumentError(
            f"{(given or ['--dry-run'])[0]} is for a stretch of the past: add --from"
        )
    if from_ is not None and not dry_run:
        raise InvalidArgumentError(
            "the past is computed again with --dry-run only: nobody is notified"
        )


def explain(
    config: Annotated[Path, typer.Argument(help="The TOML file of `covey stream`.")],
    event_offset: Annotated[
        str, typer.Option(metavar="TOPIC-PARTITION-OFFSET", help="Where the event is on Kafka.")
    ],
    subscription: Annotated[str, typer.Option(metavar="ID", help="Whom it is about.")],
) -> None:
    """Say what was decided on an event for a subscription, by the version of then, and why."""
    with exit_on_error():
        from covey.stream import StreamConfig
        from covey.stream.explain import explain_decision, parse_event_ref

        chosen, place = StreamConfig.from_file(config), parse_event_ref(event_offset)
        with open_stream_session(chosen) as spark:
            typer.echo(str(explain_decision(spark, chosen, place, subscription)))
