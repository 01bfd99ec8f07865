"""`python -S -m trainer.tracking TRACKER FOLDER JOB_DIR` follows the journal in JOB_DIR until the run ends.

A line on the standard input tells how; when the input closes without one, the service is gone, and a later
process continues. Lines on the standard output: `{"where", "url"}` once, and `{"failed"}` at last if it could
not go on. What has been passed on is in `tracker-<TRACKER>.json` in JOB_DIR."""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from trainer.tracking.figures import Reader, settings_of
from trainer.tracking.trackers import TRACKERS, Run, Tracker

POLL_SECONDS = 0.5
#: How much of a journal is read at once.
PART_BYTES = 2**20


class Ending:
    """How the run ended, from the standard input."""

    def __init__(self) -> None:
        #: Empty if the service is gone.
        self.state = ""
        self.known = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        self.state = sys.stdin.readline().strip()
        self.known.set()


class Progress:
    """What has been passed on, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        self.id: str = known.get("id") or uuid.uuid4().hex[:8]
        self.offset: int = known.get("offset", 0)

    def save(self, over: bool) -> None:
        """Replaces the file. `over`: nothing more will be passed on, unless the run is resumed."""
        whole = self._path.with_suffix(".new")
        whole.write_text(json.dumps({"id": self.id, "offset": self.offset, "over": over}))
        whole.replace(self._path)


def _parts(journal: IO[bytes], ending: Ending) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """The complete lines of a journal as they come, each time with the offset after them, until the run has
    ended and all were read."""
    offset, rest = journal.tell(), b""
    while True:
        ended = ending.known.is_set()
        text = journal.read(PART_BYTES)
        *whole, rest = (rest + text).split(b"\n")
        if whole:
            offset = journal.tell() - len(rest)
            yield [json.loads(line) for line in whole if line], offset
        elif not text:
            if ended:
                return
            ending.known.wait(POLL_SECONDS)


def follow(name: str, folder: Path, job_dir: Path, out: IO[str]) -> None:
    """Passes the figures of a run to a tracker."""
    log = (job_dir / f"tracker-{name}.log").open("a")
    _lock(log)
    spec = json.loads((job_dir / "spec.json").read_text())
    identity = json.loads((job_dir / "identity.json").read_text())
    ending, progress, reader = Ending(), Progress(job_dir / f"tracker-{name}.json"), Reader()
    try:
        progress.save(False)
        settings = settings_of(spec)
        run = Run(progress.id, identity["display_name"], spec["tracking"]["project"], folder, settings)
        tracker: Tracker = TRACKERS[name](run)
        _tell(out, where=tracker.where, url=tracker.url)
        with (job_dir / "journal.jsonl").open("rb") as journal:
            journal.seek(0 if tracker.begins_anew else progress.offset)
            for lines, progress.offset in _parts(journal, ending):
                tracker.log([figures for line in lines if (figures := reader.read(line)) is not None])
                progress.save(False)
        tracker.finish(ending.state)
        progress.save(ending.state != "")
    except BaseException as error:
        _tell(out, failed=f"{type(error).__name__}: {error}")
        traceback.print_exc()
        with suppress(OSError):
            progress.save(True)
        # Without what the library would do at the end, which may wait for its server.
        os._exit(1)


def _lock(file: IO[str]) -> None:
    """Waits until no other process follows the run: one of a service that was killed may still be ending."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def _tell(out: IO[str], **fields: str | None) -> None:
    print(json.dumps(fields), file=out, flush=True)


def main() -> None:
    """Follows what the arguments name."""
    name, folder, job_dir = sys.argv[1:]
    # What libraries print goes to the log.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    follow(name, Path(folder), Path(job_dir), out)


if __name__ == "__main__":
    main()
