"""A folder of records, one file for each record, bounded in size."""

from __future__ import annotations

import json
import os
import re
import time
from collections import deque
from pathlib import Path
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["RecordFolder"]

_OWN_NAME = re.compile(r"\d{8}T\d{6}-\d{6}-[\w-]{0,64}\.json", re.ASCII)


class RecordFolder:
    """Writes records that only their owner may read, and removes the oldest ones beyond a limit.

    Other files in the folder are kept. Not thread-safe.

    Args:
        path: The folder; created if it does not exist.
        most_bytes: Maximum size of all records together, 1 MB or more.

    Raises:
        ArgumentError: The limit is too low, or no file can be created in the folder.
    """

    def __init__(self, path: str | os.PathLike[str], most_bytes: int) -> None:
        if most_bytes < 1_000_000:
            raise ArgumentError(f"records may have {most_bytes} bytes together; allow 1 MB or more")
        self._path, self._most_bytes = Path(path).expanduser(), most_bytes
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            records = sorted(file for file in self._path.iterdir() if _OWN_NAME.fullmatch(file.name))
            self._files = deque((file, file.stat().st_size) for file in records)
        except OSError as error:
            raise ArgumentError(f"cannot record in '{path}': {error.strerror}; name another folder") from None
        if not os.access(self._path, os.W_OK | os.X_OK):
            raise ArgumentError(f"cannot record in '{path}': it is not writable; name another folder")
        self._bytes = sum(size for _, size in self._files)

    def write(self, id: str, record: dict[str, Any]) -> Path:
        """Write a record and return its path.

        Args:
            id: The request's id; characters that are unsafe in a file name are left out.

        Raises:
            OSError: The disk is full, or the record is larger than the folder's limit.
        """
        data = json.dumps(record, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")
        if len(data) > self._most_bytes:
            raise OSError(f"a record of {len(data)} bytes is larger than all records may be")
        while self._files and self._bytes + len(data) > self._most_bytes:
            file, size = self._files.popleft()
            file.unlink(missing_ok=True)
            self._bytes -= size
        now = time.time()
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now)) + f"-{int(now % 1 * 1e6):06d}"
        path = self._path / f"{stamp}-{re.sub(r'[^A-Za-z0-9_-]', '', id)[:64]}.json"
        part = path.with_suffix(".part")  # renamed when it is written, so that a record is always whole
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        self._files.append((path, len(data)))
        self._bytes += len(data)
        return path
