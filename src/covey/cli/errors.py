"""Messages and exit codes of commands that fail: what is wrong, where, and what to do.

Exit codes: 0 for success, 1 for findings, 2 for an expected error such as a wrong option, 3 for
success with rejected subscriptions, 130 for Ctrl-C. Spark's tracebacks are not shown; an error in
covey itself keeps its traceback.
"""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import typer
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from covey.errors import CoveyError, extract_worker_error

__all__ = [
    "EXIT_FINDINGS",
    "EXIT_MISTAKE",
    "EXIT_REJECTED",
    "SPARK_ERRORS",
    "check_extra",
    "exit_on_error",
    "report_rejected",
    "spark_error_message",
]

EXIT_FINDINGS, EXIT_MISTAKE, EXIT_REJECTED = 1, 2, 3

SPARK_ERRORS = (PySparkException, Py4JError)
_EXTRA_BY_MODULE = {
    "confluent_kafka": "stream",
    "highspy": "plan",
    "matplotlib": "report",
    "prometheus_client": "stream",
    "scipy": "plan",
}


_ADVICE = {
    "Malformed CSV record": "; check that the row has as many values as the header (put a "
    "predicate that contains a comma in double quotes), and that all lines of the file end in the "
    "same way",
    "Could not read footer": "; the file is empty, incomplete or not a Parquet file",
}
"""Advice for errors of Spark, by a part of the message."""


@contextmanager
def exit_on_error() -> Iterator[None]:
    """End the command with a message and an exit code if the body raises an expected error."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("covey: stopped", err=True)
        raise typer.Exit(130) from None
    except CoveyError as error:
        typer.echo(f"covey: {error}", err=True)
        raise typer.Exit(EXIT_MISTAKE) from None
    except ModuleNotFoundError as missing:
        module = (missing.name or "").partition(".")[0]
        if module not in _EXTRA_BY_MODULE:
            raise
        extra = f"pip install 'covey[{_EXTRA_BY_MODULE[module]}]'"
        text = f"covey: this command needs {module}, which is not installed: {extra}"
        typer.echo(text, err=True)
        raise typer.Exit(EXIT_MISTAKE) from None
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader of a pipe has closed it: typer handles that
            raise
        place = "" if error.filename is None else f"{error.filename}: "
        typer.echo(f"covey: {place}{error.strerror or error}", err=True)
        raise typer.Exit(EXIT_MISTAKE) from None
    except SPARK_ERRORS as error:
        typer.echo(f"covey: Spark failed: {spark_error_message(error)}", err=True)
        raise typer.Exit(EXIT_MISTAKE) from None


def check_extra(*modules: str) -> None:
    """Raise an error if a module of an optional package is not installed.

    Commands call it before a long computation that would need the module at its end.

    Raises:
        ModuleNotFoundError: a module is not installed; the message of `exit_on_error` names the
            extra that contains it.
    """
    for module in modules:
        if sys.modules.get(module, module) is None or find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def report_rejected(count: int, *, is_allowed: bool) -> int:
    """Return the exit code of a command that left out `count` subscriptions.

    It is 3 if subscriptions were left out and this is not allowed, and then the reason is printed;
    otherwise it is 0.
    """
    if not count or is_allowed:
        return 0
    subject = "1 subscription was" if count == 1 else f"{count:,} subscriptions were"
    text = f"covey: {subject} left out; to end with exit code 0, add --allow-rejected"
    typer.echo(text, err=True)
    return EXIT_REJECTED


def spark_error_message(error: Exception) -> str:
    """Return the message of an error of Spark in one line, with the message of its root cause.

    For an error that covey raised in a worker, return covey's whole message.
    """
    if (raised := extract_worker_error(str(error))) is not None:
        return str(raised)
    messages = list(dict.fromkeys(map(_strip_error_code, _cause_messages(error))))
    message = ": ".join([messages[0], messages[-1]] if len(messages) > 1 else messages)
    advice = next((text for part, text in _ADVICE.items() if part in message), "")
    return message + advice


def _cause_messages(error: Exception) -> list[str]:
    """Return the messages of an error and of its causes, the outermost first."""
    if not isinstance(error, Py4JJavaError):
        return [str(error)]
    found, cause = [], error.java_exception
    while cause is not None:
        found.append(str(cause.getMessage() or cause.getClass().getSimpleName()))
        cause = cause.getCause()
    return found


def _strip_error_code(message: str) -> str:
    """Return the reason in a message of Spark, which is its first line without the error code.

    If an exception was raised in Python, the reason is the last line.

    >>> _strip_error_code("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03")
    'Path does not exist: file:/x'
    """
    lines = [line.strip() for line in message.strip().splitlines()]
    line = lines[-1] if lines[0].startswith("An exception was thrown from the Python") else lines[0]
    without_code = re.sub(r"^\[[A-Z_0-9.]+\] ", "", line)
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", without_code).rstrip(" .:")
