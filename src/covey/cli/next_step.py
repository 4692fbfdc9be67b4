"""The last line of a command, which says on stderr what to do next, unless `--quiet` is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Any

import typer

__all__ = ["add_quiet_option", "print_next_step"]

_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)

QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Do not print the line that names the next step.")
]


def print_next_step(text: str) -> None:
    """Print a text that says what to do next, unless `--quiet` is given.

    It goes to stderr, so that it is never part of the output of the command.
    """
    if not _is_quiet.get():
        typer.echo(f"next: {text}", err=True)


def add_quiet_option(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with an option `--quiet`, with which `print_next_step` prints nothing."""
    signature = inspect.signature(command, eval_str=True)
    quiet = inspect.Parameter(
        "quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=QuietOption
    )

    @wraps(command)
    def run(*arguments: Any, quiet: bool = False, **values: Any) -> None:
        token = _is_quiet.set(quiet)
        try:
            command(*arguments, **values)
        finally:
            _is_quiet.reset(token)

    parameters = [*signature.parameters.values(), quiet]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    del run.__wrapped__  # typer would read the parameters of the wrapped function
    return run
