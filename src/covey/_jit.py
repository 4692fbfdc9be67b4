"""Kernels: functions compiled by numba, with a cache of their machine code on disk.

The cache is in the first of these folders that this process can write to:

1. `NUMBA_CACHE_DIR`, if it is set;
2. `__pycache__` beside the source;
3. the user's cache, `$XDG_CACHE_HOME/covey/kernels` or `~/.cache/covey/kernels`;
4. a folder in the system's temporary directory. It is used only if no other user can write to it,
   because its content will be executed.

If this process can write to none of these folders, it compiles its kernels and does not save them.

The key of an entry consists of the sources of the kernel's folder, the types of the arguments, the
processor, numba's options, and the versions of numba, LLVM and Python. So an upgrade never runs
machine code of an earlier version. The path of the installation is not part of the key, so all
checkouts of one commit share the entries of one `NUMBA_CACHE_DIR`. Each entry is a file with a
checksum, which is written under a temporary name and then renamed: processes that compile at the
same time do not disturb each other, and a damaged entry is compiled again. No entry is saved for a
kernel whose sources were edited after this process read them. Old entries may be deleted at any
time.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import stat
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba import config, njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps

__all__ = ["kernel"]


def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function with `njit(nogil=True)` and cache its machine code on disk.

    A kernel may call only kernels of its own folder, because the key of a cache entry contains the
    sources of that folder and no others.

    Args:
        function: the function to compile; if it is left out, a decorator is returned.
        options: further options of `numba.njit`.

    Cost: a millisecond at import. The first call with new argument types loads cached machine
    code or, if there is none, compiles for seconds.

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
        with suppress(OSError):
            dispatcher._cache = _KernelCache(function)
    return dispatcher


@dataclass(frozen=True, slots=True)
class _Sources:
    """Source files of a kernel folder, as this process first read them."""

    folder: Path
    file_stamps: tuple[tuple[str, int, int], ...]
    hash: str

    @staticmethod
    @cache
    def read(folder: Path) -> _Sources:
        """Read the sources of a folder, once per process."""
        stamps = _stat_sources(folder)
        parts = [repr(_COMPILER_OPTIONS).encode(), Path(__file__).read_bytes()]
        parts += [(folder / name).read_bytes() for name, _, _ in stamps]
        return _Sources(folder, stamps, _hash_content(b"\0".join(parts)))

    @property
    def is_current(self) -> bool:
        """Whether the source files are the same as when this process read them."""
        try:
            return _stat_sources(self.folder) == self.file_stamps
        except OSError:
            return False


_COMPILER_OPTIONS = (
    numba.__version__, llvmlite.__version__, config.OPT, config.BOUNDSCHECK,
    config.DEBUGINFO_DEFAULT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE,
)  # fmt: skip
"""Versions and options that determine the machine code, in addition to types and processor."""


def _stat_sources(folder: Path) -> tuple[tuple[str, int, int], ...]:
    files = sorted(p for p in folder.glob("*.py") if not p.name.startswith("."))
    stats = ((path.name, path.stat()) for path in files)
    return tuple((name, status.st_mtime_ns, status.st_size) for name, status in stats)


class _KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    """numba's serialization of compiled functions, without numba's choice of a location."""

    def __init__(self, function: Any, file: str) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _NoLocator(file)


class _NoLocator:
    """Locator with only the two members that numba uses.

    They are the source file, which numba names in warnings, and a method that creates the folder.
    """

    def __init__(self, file: str) -> None:
        self._py_file = file

    def ensure_cache_path(self) -> None:
        """Do nothing: `_EntryFiles.save` creates the folder."""


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """numba's cache for one function, with a file for each entry instead of an index file.

    numba's own cache numbers the entries of a function in an index file. Two processes that
    compile for different types at the same time may take the same number, and one of them then
    runs the machine code of the other.

    Raises:
        OSError: the sources cannot be read, or no cache folder can be written to.
    """

    def __init__(self, function: Any) -> None:
        file = inspect.getfile(function)
        sources = _Sources.read(Path(file).parent.resolve(strict=True))
        if not Path(file).is_file():
            raise FileNotFoundError(f"{function.__qualname__} has no source file")
        code = function.__code__
        name = f"{Path(file).stem}.{code.co_name.strip('<>')}-{code.co_firstlineno}"
        self._name, self._py_func = repr(function), function
        self._impl = _KernelCacheImpl(function, file)
        self._cache_path = os.path.join(_writable_root(str(sources.folder)), sources.hash)
        self._cache_file = _EntryFiles(Path(self._cache_path), name, sources)
        self.enable()


class _EntryFiles:
    """Cache entries of one function, as files in a folder; numba calls `load` and `save`."""

    def __init__(self, folder: Path, name: str, sources: _Sources) -> None:
        python = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        self._folder, self._name, self._sources = folder, f"{name}.{python}", sources

    def load(self, key: Any) -> Any:
        """Return the data saved under a key, or None if the entry cannot be read or is damaged.

        None is also returned if the sources have changed since this process read them.
        """
        try:
            entry = self._entry_path(key).read_bytes()
        except OSError:
            return None
        digest, content = entry[:32], entry[32:]
        if hashlib.sha256(content).digest() != digest or not self._sources.is_current:
            return None
        saved_key, data = pickle.loads(content)
        return data if saved_key == key else None

    def save(self, key: Any, data: Any) -> None:
        """Save data under a key; errors of the file system are ignored.

        Nothing is saved if the sources have changed since this process read them.
        """
        content = dumps((key, data))
        if not self._sources.is_current:
            return
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, partial_path = tempfile.mkstemp(dir=self._folder, prefix=".partial-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(content).digest() + content)
                os.replace(partial_path, self._entry_path(key))
            except OSError:
                os.unlink(partial_path)

    def flush(self) -> None:
        """Delete every entry of the function."""
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            path.unlink(missing_ok=True)

    def _entry_path(self, key: Any) -> Path:
        return self._folder / f"{self._name}.{_hash_content(repr(key).encode())}.nbc"


@cache
def _writable_root(sources: str) -> str:
    """Return the first folder of the module's list that can be used for a cache.

    Args:
        sources: path of the folder with the kernels' sources.

    Raises:
        OSError: this process can use none of the folders.
    """
    users = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folders: list[str] = [config.CACHE_DIR, os.path.join(sources, "__pycache__")]
    # Without a home directory the path stays relative, and must not be used.
    folders += [os.path.join(users, "covey", "kernels")] if os.path.isabs(users) else []
    for folder in folders:
        if folder and _can_write(folder):
            return folder
    return _make_private_folder()


def _can_write(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _make_private_folder() -> str:
    """Return a folder in the temporary directory to which no other user can write.

    Raises:
        OSError: the folder cannot be created, belongs to another user, or is writable for others.
    """
    folder = Path(tempfile.gettempdir(), f"covey-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not is_ours or status.st_mode & 0o022:
        raise PermissionError(
            f"{folder} is not a folder of this user, or other users can write to it"
        )
    return str(folder)


def _hash_content(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
