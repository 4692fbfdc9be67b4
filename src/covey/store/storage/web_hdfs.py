"""Storage backend for HDFS over HTTP (WebHDFS), which needs no native library.

A file is written under a temporary name and renamed. HDFS does not rename a file onto an existing
one unless the request allows it, so of two writers of the same name only one succeeds.
"""

from __future__ import annotations

import getpass
import http.client
import io
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

from covey.errors import InvalidArgumentError, StoreError
from covey.store.storage.backend import AlreadyExistsError, FileEntry, Pieces, partial_name

__all__ = ["WEB_HDFS_SCHEMES", "WebHdfsBackend", "open_web_hdfs"]

WEB_HDFS_SCHEMES = {"webhdfs": "http", "swebhdfs": "https"}
"""Protocols of WebHDFS, by the scheme of the URI."""
_TIMEOUT_S = 120.0
_DENIED = ("AccessControlException", "SecurityException")
_TRANSIENT = ("StandbyException", "RetriableException", "SafeModeException")


@dataclass(frozen=True, slots=True)
class WebHdfsBackend:
    """Storage backend below a folder of HDFS; implements `StorageBackend`.

    Args:
        server: address of the name node, such as `http://namenode:9870`.
        folder: absolute path of the folder.
        user: name of the user for the name node.
        location: the URI, for messages.
    """

    server: str
    folder: str
    user: str
    location: str

    @property
    def creates_atomically(self) -> bool:
        return True

    def put(self, files: Mapping[str, Pieces]) -> None:
        for name, pieces in files.items():
            self._write(name, io.BytesIO(b"".join(pieces)), overwrite=True)

    def replace(self, name: str, content: bytes) -> None:
        self._write(name, io.BytesIO(content), overwrite=True)

    def put_if_absent(self, name: str, content: bytes) -> None:
        self._write(name, io.BytesIO(content), overwrite=False)

    def put_local_file(self, path: Path, name: str) -> None:
        with path.open("rb") as file:
            self._write(name, file, overwrite=True)

    def read(self, name: str) -> bytes:
        target = io.BytesIO()
        self.download(name, target)
        return target.getvalue()

    def download(self, name: str, target: BinaryIO) -> None:
        address = self._call("GET", name, "OPEN", noredirect="true")["Location"]
        with _open(Request(address)) as response:
            shutil.copyfileobj(response, target, 1 << 22)

    def list(self, folder: str) -> list[FileEntry]:
        try:
            statuses = self._call("GET", folder, "LISTSTATUS")["FileStatuses"]["FileStatus"]
        except FileNotFoundError:
            return []
        return [
            FileEntry(status["pathSuffix"], status["length"], status["modificationTime"] / 1000)
            for status in statuses
            if status["type"] == "FILE"
        ]

    def delete(self, name: str) -> None:
        self._call("DELETE", name, "DELETE")

    def local_path(self, name: str) -> None:
        return None

    def _write(self, name: str, content: IO[bytes], *, overwrite: bool) -> None:
        """Write a file under a temporary name and rename it; folders are created if missing."""
        temporary = partial_name(name)
        address = self._call("PUT", temporary, "CREATE", overwrite="false", noredirect="true")[
            "Location"
        ]
        headers = {"Content-Type": "application/octet-stream"}
        size = content.seek(0, os.SEEK_END)
        content.seek(0)
        try:
            data = content if size else b""
            request = Request(address, data, {**headers, "Content-Length": str(size)}, method="PUT")
            with _open(request):
                pass
            self._rename(temporary, name, overwrite=overwrite)
        except BaseException:
            with suppress(OSError, StoreError):
                self.delete(temporary)
            raise

    def _rename(self, old: str, new: str, *, overwrite: bool) -> None:
        """Rename a file in one step; raise AlreadyExistsError if `overwrite` does not allow it."""
        option = "OVERWRITE" if overwrite else "NONE"
        try:
            self._call("PUT", old, "RENAME", destination=self._path(new), renameoptions=option)
        except FileExistsError:
            raise AlreadyExistsError(new, self.location) from None

    def _path(self, name: str) -> str:
        """Return the absolute path of a file."""
        return f"{self.folder}/{name}"

    def _call(self, method: str, name: str, operation: str, **options: str) -> Any:
        """Call an operation of the name node on a file, and return its answer."""
        query = urlencode({"op": operation, "user.name": self.user, **options})
        address = f"{self.server}/webhdfs/v1{quote(self._path(name))}?{query}"
        with _open(Request(address, method=method)) as response:
            content = response.read()
        return json.loads(content) if content else {}


def _open(request: Request) -> http.client.HTTPResponse:
    """Send a request and return the response.

    Raises:
        FileNotFoundError: the file does not exist.
        FileExistsError: the target of a rename exists.
        StoreError: access is denied, or HDFS refuses the request.
        OSError: HDFS does not answer; a later attempt may succeed.
    """
    host = urlsplit(request.full_url).netloc
    try:
        response: http.client.HTTPResponse = urlopen(request, timeout=_TIMEOUT_S)
        return response
    except HTTPError as error:
        _raise_refusal(host, error)
    except (URLError, http.client.HTTPException, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        raise OSError(
            f"HDFS at {host} does not answer ({reason}): check the address and that WebHDFS is on"
        ) from None


def _raise_refusal(host: str, error: HTTPError) -> NoReturn:
    """Raise the error that HDFS reports; see `_open`."""
    content = error.read()
    try:
        reported = json.loads(content)["RemoteException"]
        name, message = reported["exception"], str(reported["message"]).partition("\n")[0]
    except (ValueError, KeyError, TypeError):
        name, message = "", f"{error.code} {error.reason}"
    if name == "FileNotFoundException":
        raise FileNotFoundError(message) from None
    if name == "FileAlreadyExistsException":
        raise FileExistsError(message) from None
    if name in _TRANSIENT or (not name and error.code >= 500):
        raise OSError(f"HDFS at {host} cannot answer now: {message}") from None
    if name in _DENIED or error.code == 401:
        raise StoreError(
            f"HDFS at {host} denies access: {message}: check HADOOP_USER_NAME and the permissions "
            "of the folder; Kerberos is not supported"
        ) from None
    raise StoreError(f"HDFS at {host} refuses a request: {message}") from None


def open_web_hdfs(uri: str) -> WebHdfsBackend:
    """Return the storage backend for a URI such as `webhdfs://namenode:9870/alerts`.

    The user is HADOOP_USER_NAME, or else the user of the process. Nothing is read.

    Raises:
        InvalidArgumentError: the URI is not valid.
    """
    parts = urlsplit(uri)
    folder = parts.path.rstrip("/")
    if not parts.netloc or not folder or parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidArgumentError(
            f"the location {uri!r} must have a host, a port and a path, as in "
            "webhdfs://namenode:9870/alerts"
        )
    user = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    server = f"{WEB_HDFS_SCHEMES[parts.scheme]}://{parts.netloc}"
    return WebHdfsBackend(server, folder, user, uri.rstrip("/"))
