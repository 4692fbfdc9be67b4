"""The command line: `covey match`, `covey preview` and `covey doctor`."""

try:
    from covey.cli.app import app
except ModuleNotFoundError as missing:
    if missing.name not in ("typer", "rich"):
        raise
    raise SystemExit("the command line needs typer and rich: pip install 'covey[cli]'") from None

__all__ = ["app"]
