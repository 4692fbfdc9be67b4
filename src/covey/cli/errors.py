"""What went wrong, on stderr: what, where, and how to go on. Nobody sees a traceback of Spark's.

Exit code 2 is for what the caller can mend; a mistake of covey's own keeps its traceback.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from covey.errors import CoveyError, extract_worker_error

__all__ = ["SPARK_ERRORS", "exit_on_error", "spark_error_message"]

SPARK_ERRORS = (PySparkException, Py4JError)
_EXTRA_BY_MODULE = {
    "confluent_kafka": "stream",
    "highspy": "plan",
    "matplotlib": "report",
    "prometheus_client": "stream",
    "scipy": "plan",
}


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Ends the command with a message and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("covey: stopped", err=True)
        raise typer.Exit(130) from None
    except CoveyError as error:
        typer.echo(f"covey: {error}", err=True)
        raise typer.Exit(2) from None
    except ModuleNotFoundError as missing:
        module = (missing.name or "").partition(".")[0]
        if module not in _EXTRA_BY_MODULE:
            raise
        extra = f"pip install 'covey[{_EXTRA_BY_MODULE[module]}]'"
        typer.echo(f"covey: this needs {module}, which is not installed: {extra}", err=True)
        raise typer.Exit(2) from None
    except OSError as error:
        if error.errno == errno.EPIPE:  # who reads the output has enough, which typer knows
            raise
        place = "" if error.filename is None else f"{error.filename}: "
        typer.echo(f"covey: {place}{error.strerror or error}", err=True)
        raise typer.Exit(2) from None
    except SPARK_ERRORS as error:
        typer.echo(f"covey: Spark failed: {spark_error_message(error)}", err=True)
        raise typer.Exit(2) from None


def spark_error_message(error: Exception) -> str:
    """What an error of Spark's says, in one line: its own message, and that of its first cause.

    An error of covey's that a worker raised is told as covey tells it.
    """
    if (raised := extract_worker_error(str(error))) is not None:
        return str(raised)
    messages = list(dict.fromkeys(map(_strip_error_code, _cause_messages(error))))
    return ": ".join([messages[0], messages[-1]] if len(messages) > 1 else messages)


def _cause_messages(error: Exception) -> list[str]:
    """The messages of an error and its causes, the outermost first."""
    if not isinstance(error, Py4JJavaError):
        return [str(error)]
    found, cause = [], error.java_exception
    while cause is not None:
        found.append(str(cause.getMessage() or cause.getClass().getSimpleName()))
        cause = cause.getCause()
    return found


def _strip_error_code(message: str) -> str:
    """A message without its code and without what comes after its first line.

    >>> _strip_error_code("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03")
    'Path does not exist: file:/x'
    """
    lines = [line.strip() for line in message.strip().splitlines()]
    line = lines[-1] if lines[0].startswith("An exception was thrown from the Python") else lines[0]
    without_code = re.sub(r"^\[[A-Z_0-9.]+\] ", "", line)
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", without_code).rstrip(" .:")
