"""Files that travel between machines in pieces, and the folder of a rank on its node."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# Half the least memory that Ray shares objects in on small nodes is several of these.
PIECE_BYTES = 16 << 20

# The ends of a file that are part of its fingerprint.
END_BYTES = 1 << 20

# What no run has used for this long is deleted.
KEEP_SECONDS = 7 * 86_400


def pieces(path: Path) -> Iterator[tuple[bytes, bool, bool]]:
    """The content of a file in pieces, each with whether it is the first and the last; an empty file is one
    empty piece."""
    with open(path, "rb") as file:
        piece, first = file.read(PIECE_BYTES), True
        while True:
            following = file.read(PIECE_BYTES)
            yield piece, first, not following
            if not following:
                return
            piece, first = following, False


def fingerprint(path: Path) -> str:
    """A name for the content of the file at `path`: of its size, time, and both ends."""
    status = path.stat()
    digest = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns}".encode())
    with open(path, "rb") as file:
        digest.update(file.read(END_BYTES))
        file.seek(max(0, status.st_size - END_BYTES))
        digest.update(file.read())
    return digest.hexdigest()


class Store:
    """The files that a node has received, by fingerprint, and the folders of its ranks."""

    def __init__(self) -> None:
        given = os.environ.get("HONE_NODE_FOLDER")
        self.root = Path(given or Path(tempfile.gettempdir()) / f"hone-node-{os.getuid()}")
        self.files = self.root / "files"
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.files.mkdir(exist_ok=True, mode=0o700)

    def lacks(self, prints: list[str]) -> list[str]:
        """Those that are not here; the others are kept for longer."""
        missing = []
        for name in prints:
            try:
                os.utime(self.files / name)
            except OSError:
                missing.append(name)
        return missing

    def add(self, name: str, piece: bytes, first: bool, last: bool) -> None:
        """Adds a piece of a file, which is there after its last."""
        aside = self.files / f"{name}.{os.getpid()}"
        with open(aside, "wb" if first else "ab") as file:
            file.write(piece)
        if last:
            os.replace(aside, self.files / name)

    def lay_out(self, folder: Path, prints: dict[str, str]) -> None:
        """Makes files in `folder`, by relative path and fingerprint."""
        for relative, name in prints.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(self.files / name, path)

    def rank_folder(self) -> Path:
        """A new folder for a rank, and none of ranks that are gone; held until this process ends."""
        self.sweep()
        made = Path(tempfile.mkdtemp(prefix="new-", dir=self.root))
        hold(made)
        # Not before it is held: other processes sweep, too.
        return made.rename(self.root / made.name.replace("new-", "rank-", 1))

    def sweep(self) -> None:
        """Deletes what killed ranks left, folders and incomplete files, and files that were not used for
        KEEP_SECONDS."""
        import psutil

        for folder in self.root.glob("rank-*"):
            if not is_held(folder):
                shutil.rmtree(folder, ignore_errors=True)
        for file in self.files.iterdir():
            writer = file.suffix.removeprefix(".")
            with suppress(FileNotFoundError):
                is_left = writer != "" and not psutil.pid_exists(int(writer))
                if is_left or time.time() - file.stat().st_mtime > KEEP_SECONDS:
                    file.unlink()


# Open for as long as this process lives.
_held: list[int] = []


def hold(folder: Path) -> None:
    """Marks `folder` as used until this process ends, however it ends."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    _held.append(descriptor)


def is_held(folder: Path) -> bool:
    """Whether a process that lives holds `folder`."""
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)
