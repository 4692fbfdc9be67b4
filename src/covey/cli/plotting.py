"""matplotlib and PNG code that the plots of all commands share."""

from __future__ import annotations

import importlib.util
import io

from covey.errors import InvalidArgumentError

__all__ = ["compress_png", "require_matplotlib"]

_PALETTE_SIZE = 128


def require_matplotlib() -> None:
    """Raise InvalidArgumentError if matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
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
