"""The command line: `covey --help`.

Commands are thin: each reads its options, checks everything that can be checked without Spark, and
then imports and starts the parts that take seconds. A command with more than one module is a
package. Modules for the same purpose have the same name in these packages: `command` declares the
options (`commands` if there are several commands), `job` does the work, `report` contains the
counts, `summary` prints them, and `plot` draws them.

The modules and packages, in the order in which a command uses them, are:

    main            the application: all commands, and `--version`
    options         options that several commands share, declared once
    errors          messages and exit codes of failures, without Spark's tracebacks
    io              tables in files: formats, sources and targets
    session         start and stop the Spark session of a command
    progress        a progress bar, and the seconds of each step
    match           `covey match`: match a table of events with a table of subscriptions
    preview         `covey preview`: what a predicate would have matched
    doctor          `covey doctor`: find wrong, duplicate and too broad subscriptions
    explain         `covey explain`: why an event matched a subscription, or did not
    reduce          `covey reduce`: redundant subscriptions, and filters that cover all
    stream          `covey stream` and `covey status`: run a stream on Kafka, and watch it
    zones           `covey zones`: the zones of a saved model
    plan            `covey plan`: compare, make and deploy assignments of subscribers to brokers
    research        `covey research simulate`: random runs of broker networks and CANs
    plotting        matplotlib and PNG code that plots share
    rejections      rejected subscriptions by reason, with the position of each mistake
    console_format  the console, percentages, and tables without lines
    next_step       the last line of a command, which says what to do next
"""

try:
    from covey.cli.main import app
except ModuleNotFoundError as missing:
    module = (missing.name or "").partition(".")[0]
    if module not in ("typer", "rich", "pyspark", "py4j"):
        raise
    raise SystemExit(
        f"the command line needs {module}, which is not installed: pip install 'covey[cli,spark]'"
    ) from None

__all__ = ["app"]
