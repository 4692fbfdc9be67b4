"""The command line: `covey --help`."""

try:
    from covey.cli.app import app
except ModuleNotFoundError as missing:
    module = (missing.name or "").partition(".")[0]
    if module not in ("typer", "rich", "pyspark", "py4j"):
        raise
    raise SystemExit(
        f"the command line needs {module}, which is not installed: pip install 'covey[cli,spark]'"
    ) from None

__all__ = ["app"]
