"""Kernels: functions compiled by numba, whose machine code is kept from one process to the next.

Machine code is kept in the first of these folders that this process may write to:

1. `NUMBA_CACHE_DIR`, where it is set;
2. `__pycache__` beside the source;
3. the user's cache, `$XDG_CACHE_HOME/covey/kernels` or `~/.cache/covey/kernels`;
4. a folder of the system's temporary directory that only this user may write to, since what is in
   it will be executed.

Without any of them every process compiles its kernels again.

An entry is found by content: the sources of the kernel's folder, the types of its arguments, the
processor, and the versions of numba and Python. The path of the installation is no part of it, so
two checkouts of one commit share their entries, and an upgrade never runs machine code of the
version before. Entries are files of their own, written aside and renamed into place, with a
checksum: processes that compile at the same time do not disturb each other, and a damaged entry
is compiled again. Old entries may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import tempfile
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba import config, njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps

__all__ = ["kernel"]


def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function with `njit(nogil=True)`, and keep its machine code between processes.

    A kernel may call kernels of its own folder only: those are the sources that an entry of the
    cache depends on.

    Args:
        function: the function; without one, return a decorator.
        options: further options of `numba.njit`.

    Cost: a millisecond at import. The first call with new types of arguments loads machine code
    or, where there is none yet, compiles for seconds.

    >>> @kernel(error_model="numpy")
    ... def inverse(number):
    ...     return 1 / number
    >>> inverse(0.0)
    inf
    """
    if function is None:
        return partial(kernel, **options)
    dispatcher = njit(nogil=True, **options)(function)
    if not config.DISABLE_JIT:
        # No locator: the function was typed in, or nothing can be written.
        with suppress(RuntimeError):
            dispatcher._cache = _KernelCache(function)
    return dispatcher


class _ContentLocator:
    """Tells numba where to keep a function's machine code: a folder named by the sources' hash."""

    def __init__(self, function: Any, file: str, folder: str) -> None:
        self._py_file = file
        self._line = function.__code__.co_firstlineno
        self._folder = folder

    @classmethod
    def from_function(cls, function: Any, file: str) -> _ContentLocator | None:
        """Return a locator, or None if nothing can be kept for this function."""
        sources = os.path.dirname(file)
        root = _writable_root(sources) if os.path.exists(file) else None
        if root is None:
            return None
        return cls(function, file, os.path.join(root, _hash_sources(sources)))

    def ensure_cache_path(self) -> None:
        os.makedirs(self._folder, exist_ok=True)

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return os.path.basename(self._folder)

    def get_disambiguator(self) -> str:
        return str(self._line)


class _KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_ContentLocator,)


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function, with a file for each entry instead of an index file.

    numba numbers the entries of a function in an index file. Of two processes that compile for
    different types at once, both may take the same number, and one then runs the machine code of
    the other.
    """

    _impl_class = _KernelCacheImpl

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = _EntryFiles(Path(self.cache_path), self._impl.filename_base)


class _EntryFiles:
    """The entries of one function in a folder, by key: `load` and `save` are called by numba."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name

    def load(self, key: Any) -> Any:
        """Return what was saved under a key, or None if it is missing or damaged."""
        try:
            kept = self._path(key).read_bytes()
        except OSError:
            return None
        digest, content = kept[:32], kept[32:]
        if hashlib.sha256(content).digest() != digest:
            return None
        kept_key, data = pickle.loads(content)
        return data if kept_key == key else None

    def save(self, key: Any, data: Any) -> None:
        """Keep data under a key; a write that fails is left out."""
        content = dumps((key, data))
        with suppress(OSError):
            handle, partial_path = tempfile.mkstemp(dir=self._folder, prefix=".partial-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(content).digest() + content)
                os.replace(partial_path, self._path(key))
            except OSError:
                os.unlink(partial_path)

    def flush(self) -> None:
        """Forget every entry of the function."""
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        return self._folder / f"{self._name}.{_short_hash(repr(key).encode())}.nbc"


@cache
def _writable_root(sources: str) -> str | None:
    """Return the folder in which machine code of kernels in `sources` is kept, if there is any."""
    if config.CACHE_DIR:
        return config.CACHE_DIR if _can_write(config.CACHE_DIR) else None
    beside = os.path.join(sources, "__pycache__")
    users = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for folder in (beside, os.path.join(users, "covey", "kernels")):
        if _can_write(folder):
            return folder
    return _private_folder()


def _can_write(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _private_folder() -> str | None:
    """Return a folder of the temporary directory that nobody else may write to, if possible."""
    try:
        folder = Path(tempfile.gettempdir(), f"covey-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return str(folder) if is_ours and not found.st_mode & 0o022 else None


@cache
def _hash_sources(folder: str) -> str:
    """Return a hash of the sources in a folder, of this file and of numba's version."""
    sources = [Path(__file__), *sorted(Path(folder).glob("*.py"))]
    content = b"\0".join([numba.__version__.encode(), *(path.read_bytes() for path in sources)])
    return _short_hash(content)


def _short_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
