"""Compiled loops, kept from one start to the next wherever the package is installed.

numba keeps machine code beside the source, in a folder of the user's or in `NUMBA_CACHE_DIR`, and
raises while a module is imported if it may write in none of them: a read-only installation and no
home. Then it is kept in the system's temporary directory, in a folder that is this user's and that
nobody else may write in, since what is in it will be executed. Where there is no such folder
either, every start compiles.

numba also looks at nothing but a kernel's own file to see whether what it kept is still right,
while kernels call those of other files. So each state of the sources has a folder of its own: an
upgrade never runs machine code of the version before. What older ones leave may be deleted.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import threading
from functools import cache, partial
from pathlib import Path
from typing import Any

from numba import config, njit

__all__ = ["kernel"]

_lock = threading.Lock()


def kernel(function: Any = None, /, **options: Any) -> Any:
    """`njit(cache=True, nogil=True)`, with more of numba's options if any are given.

    A kernel calls kernels of its own folder only: those are the sources that are looked at.

    Cost: a millisecond at import; the first call compiles unless that was kept.

    >>> @kernel(error_model="numpy")
    ... def inverse(number):
    ...     return 1 / number
    >>> inverse(0.0)
    inf
    """
    if function is None:
        return partial(kernel, **options)
    folder = None if config.DISABLE_JIT else _folder(function)
    if folder is None:
        return njit(nogil=True, **options)(function)
    with _lock:
        given, config.CACHE_DIR = config.CACHE_DIR, folder
        try:
            return njit(cache=True, nogil=True, **options)(function)
        finally:
            config.CACHE_DIR = given


def _folder(function: Any) -> str | None:
    """Where to keep what is compiled of a function: below the folder of numba's choice, or ours."""
    file = function.__code__.co_filename
    if not os.path.exists(file):  # typed in, or in an archive
        return None
    try:
        chosen = njit(cache=True)(function).stats.cache_path
    except RuntimeError:  # "cannot cache function …: no locator available"
        chosen = _private_folder()
    return chosen and os.path.join(chosen, _stamp(os.path.dirname(file)))


def _private_folder() -> str | None:
    """A folder of the temporary directory that nobody else may write in, if it can be had."""
    try:
        folder = Path(tempfile.gettempdir(), f"covey-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return str(folder) if is_ours and not found.st_mode & 0o022 else None


@cache
def _stamp(folder: str) -> str:
    """A name for the state of the sources in a folder, and of this file."""
    sources = [Path(__file__), *sorted(Path(folder).glob("*.py"))]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
