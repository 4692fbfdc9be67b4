"""Leases: while one lives, the version that it names and all its files are kept.

For those who know a version by its number and will open it later: a running job, a replay. A lease
is an empty file whose name says version and end, so that nothing in it can be damaged.
"""

from __future__ import annotations

import re
import secrets
import time
from types import TracebackType

from covey.errors import StoreError, ValueRefused
from covey.store.directory import Directory
from covey.store.versions import read_version

__all__ = ["FOLDER", "Lease", "listed_leases"]

FOLDER = "leases"

_NAME = re.compile(r"(\d{12})-(\d{15})-[0-9a-f]{16}")


class Lease:
    """A claim on one version until a moment that can be put off; `with` releases it at the end.

    Take it while the version is younger than what `Store.collect` keeps; then there is no moment at
    which the version can go. Clocks of machines that collect and lease must roughly agree.
    """

    def __init__(self, directory: Directory, version: int, seconds: float) -> None:
        self.version = version
        self._directory = directory
        self._name: str | None = None
        self.renew(seconds)
        try:
            read_version(directory, version)
        except StoreError:
            self.release()
            raise

    def renew(self, seconds: float) -> None:
        """The lease ends so many seconds from now."""
        if not seconds > 0:
            raise ValueRefused(f"a lease of {seconds} seconds has no effect")
        before, end_ms = self._name, round((time.time() + seconds) * 1000)
        name = f"{FOLDER}/{self.version:012d}-{end_ms:015d}-{secrets.token_hex(8)}"
        self._directory.publish(name, b"")
        self._name = name
        if before is not None:
            self._directory.delete(before)

    def release(self) -> None:
        """The lease ends now; a second time does nothing."""
        if self._name is not None:
            self._directory.delete(self._name)
            self._name = None

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self.release()


def listed_leases(directory: Directory) -> list[tuple[str, int, float]]:
    """Of every lease its name, its version, and when it ends in seconds since 1970."""
    return [
        (f"{FOLDER}/{file.name}", int(match[1]), int(match[2]) / 1000)
        for file in directory.list(FOLDER)
        if (match := _NAME.fullmatch(file.name))
    ]
