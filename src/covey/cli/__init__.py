"""The command line: `covey --help`.

Commands are thin: each reads its options, checks all that can be checked without Spark, and only
then imports and starts what takes seconds. Commands with more than one module are packages, whose
modules have the same names everywhere: `command` declares the options, `job` does the work,
`report` holds what was counted, `summary` prints it, `plot` draws it.

In the order in which a command uses them:

    main            the application: all commands, and `--version`
    options         options that several commands share, declared once
    errors          messages and exit codes for what goes wrong; no traceback of Spark's
    io              tables in files: formats, sources and targets
    session         start and stop the Spark session of a command
    progress        a bar and the seconds of each step
    match           `covey match`: all events of a table with all subscriptions of another
    preview         `covey preview`: what a predicate would have matched
    doctor          `covey doctor`: subscriptions that are wrong, redundant or too broad
    reduce          `covey compact`: redundant subscriptions, and few filters for all
    stream          `covey stream`, `covey status` and `covey explain`
    zones           `covey zones`: the zones of a saved model
    simulate        `covey simulate`: random runs of broker networks and CANs
    plan            `covey plan`: compare, make and deploy assignments of subscribers to brokers
    plotting        matplotlib and PNG code that plots share
    rejections      rejected subscriptions, and where in their predicate the mistake is
    console_format  percentages and tables without lines
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
