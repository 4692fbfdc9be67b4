"""matplotlib and PNG code that the plots of all commands share."""

from __future__ import annotations

import io
from importlib.util import find_spec

from covey.errors import InvalidArgumentError

__all__ = ["compress_png", "has_matplotlib", "require_matplotlib"]

_PALETTE_SIZE = 128


def has_matplotlib() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def require_matplotlib() -> None:
    """Raise InvalidArgumentError if matplotlib is not installed."""
    if not has_matplotlib():
        raise InvalidArgumentError(
            "the picture needs matplotlib: pip install 'covey[report]', or leave the picture out "
            "with --no-picture"
        )


def compress_png(png: io.BytesIO) -> bytes:
    """Return a smaller PNG of the same picture, with a palette of 128 colours."""
    from PIL import Image

    content = io.BytesIO()
    Image.open(png).convert("RGB").quantize(_PALETTE_SIZE).save(content, "png", optimize=True)
    return content.getvalue()
