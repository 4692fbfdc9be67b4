"""The command line: `covey match`, `covey preview` and `covey doctor`."""

from covey.cli.app import app

__all__ = ["app"]
