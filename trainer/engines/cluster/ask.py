"""Asks the keeper of this node for a fork that becomes a rank."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

# Where ranks ask for a fork, in the node's folder.
SOCKET = "warm"

# The folder that contains the package.
PACKAGE = str(Path(__file__).parents[3])


def ask(root: Path, *arguments: object) -> Connection | None:
    """A connection to a fork that becomes the rank with `arguments`, or None where none is to be had."""
    asking = socket.socket(socket.AF_UNIX)
    try:
        with short_path(root) as path:
            asking.connect(path)
        sys.stdout.flush()
        sys.stderr.flush()
        socket.send_fds(asking, [b"1"], [1, 2])
    except OSError:
        asking.close()
        return None
    connection = Connection(asking.detach())
    try:
        connection.send((PACKAGE, dict(os.environ), arguments))
        connection.recv()
    except (EOFError, OSError):
        return None
    return connection


@contextmanager
def short_path(root: Path) -> Iterator[str]:
    """A path of the socket in `root` that is short enough for one (107 bytes)."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)
