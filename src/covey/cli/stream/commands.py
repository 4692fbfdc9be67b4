"""`covey stream`: run a stream, or decide a range of past events again."""

from __future__ import annotations

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
from covey.cli.next_step import print_next_step
from covey.cli.session import SessionLauncher, check_kafka
from covey.cli.stream.connectors import (
    PACKAGES_ADVICE,
    check_connector,
    list_jar_files,
    resolve_packages,
)
from covey.errors import InvalidArgumentError, prefix_errors

if TYPE_CHECKING:
    from covey.stream import StreamConfig

__all__ = ["open_stream_session", "stream"]

_PACKAGES_SETTING = "spark.jars.packages"
_REPLAY_PANEL = "Replay of past events"


def stream(
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG", help="TOML file of the stream; see docs/reference/configuration.md."
        ),
    ],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="OFFSETS",
            rich_help_panel=_REPLAY_PANEL,
            help='First offsets by topic and partition, for example {"ads": {"0": 1200}}.',
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="OFFSETS",
            rich_help_panel=_REPLAY_PANEL,
            help="End offsets, exclusive. If missing: the current end of each partition.",
        ),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=_REPLAY_PANEL,
            help="Version of the subscriptions that decides all events. If missing, each event is "
            "decided by the same version as before.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=_REPLAY_PANEL,
            help="New file for the notifications and dead letters that would be sent, one per "
            "line.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            rich_help_panel=_REPLAY_PANEL,
            help="Required with --from: a replay sends no notifications.",
        ),
    ] = False,
) -> None:
    """Match events on Kafka as they arrive, with subscriptions that may change at any time.

    Logs one line of JSON for each batch on stderr. The line "ready" contains the starting offsets.

    Example: covey stream alerts.toml
    """
    with exit_on_error():
        from covey.stream import StreamConfig

        _check_replay_options(
            from_, dry_run, {"--to": to, "--version": version, "--output": output}
        )
        chosen = StreamConfig.from_file(config)
        with prefix_errors(str(config)):
            check_connector(chosen.spark)
        if from_ is None:
            _run_stream(chosen, config)
            print_next_step(f"covey stream {config}   # continue where the stream ended")
        else:
            from covey.cli.stream.replay import replay_range

            replay_range(chosen, open_stream_session(chosen), from_, to, version, output)
            print_next_step(
                f"covey explain {config} --event-offset TOPIC-PARTITION-OFFSET --subscription ID"
            )


@contextmanager
def open_stream_session(config: StreamConfig) -> Iterator[SparkSession]:
    """Start the Spark session of a stream; `[spark] conf` overrides the default settings.

    Raises:
        InvalidArgumentError: the session lacks the connector of Kafka, or that of Delta if the
            stream writes to a Delta table, or `[spark]` is wrong.
    """
    from covey.stream.spark_defaults import SPARK_DEFAULTS

    settings = {**SPARK_DEFAULTS, **config.spark.conf}
    packages = resolve_packages(config.spark.packages)
    if packages:
        more = settings.get(_PACKAGES_SETTING, "").split(",")
        settings[_PACKAGES_SETTING] = ",".join(dict.fromkeys([*filter(None, more), *packages]))
    conf = [f"{key}={value}" for key, value in settings.items()]
    jars = None if config.spark.jars is None else ",".join(list_jar_files(config.spark.jars))
    session = SessionLauncher.from_options(
        config.spark.master, conf, jars, needs_delta=config.notifications.sink == "delta"
    )
    with session.launch() as spark:
        check_kafka(spark, PACKAGES_ADVICE)
        yield spark


def _run_stream(config: StreamConfig, path: Path) -> None:
    from covey.stream.metrics import configure_json_logging
    from covey.stream.topics import check_startup, read_starting_offsets

    with prefix_errors(str(path)):
        check_startup(config)
        starting_offsets = read_starting_offsets(config)
    configure_json_logging()
    imports = threading.Thread(target=lambda: import_module("covey.stream.pipeline"), daemon=True)
    imports.start()  # imports take seconds, so they run while Java starts
    with open_stream_session(config) as spark:
        imports.join()
        from covey.stream import Pipeline

        pipeline = Pipeline(spark, config, starting_offsets=starting_offsets)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: pipeline.stop())
        pipeline.run()


def _check_replay_options(
    from_: str | None, dry_run: bool, other_options: dict[str, object]
) -> None:
    """Raise InvalidArgumentError if an option of a replay lacks the options that it needs.

    `--from` and `--dry-run` need each other; all other options of a replay need both.

    Args:
        from_: value of `--from`.
        dry_run: whether `--dry-run` is used.
        other_options: values of the other options of a replay by their names; None if not used.
    """
    given = [name for name, value in other_options.items() if value is not None]
    if from_ is None and (given or dry_run):
        raise InvalidArgumentError(
            f"{(given or ['--dry-run'])[0]} is for a replay of past events: add --from"
        )
    if from_ is not None and not dry_run:
        raise InvalidArgumentError(
            "--from needs --dry-run, because a replay sends no notifications: add --dry-run"
        )
