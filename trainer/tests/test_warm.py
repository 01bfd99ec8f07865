"""A fork of the warm trainer begins only while the service that ordered it lives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.warm import _started

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Warm trainers exist on Linux only.")

# The server without the imports of `load`, which change nothing here.
SERVE = "import sys; from trainer.warm import serve; sys.exit(serve())"


def _order(folder: Path, service: dict[str, object]) -> list[dict[str, object]]:
    """The lines that answer one order to train what cannot be trained."""
    (folder / "spec.json").write_text("{}")
    order = {
        "run": str(folder / "spec.json"),
        "cwd": str(folder),
        "log": str(folder / "log.txt"),
        "env": dict(os.environ),
        "service": service,
    }
    child = subprocess.Popen(
        [sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None and child.stdout is not None
    assert json.loads(child.stdout.readline()) == {"ready": True}
    child.stdin.write(json.dumps(order) + "\n")
    child.stdin.flush()
    lines = [json.loads(child.stdout.readline()) for _ in range(2)]
    child.stdin.close()
    assert child.wait() == 0
    return lines


def test_a_fork_of_a_living_service_begins(tmp_path: Path) -> None:
    started, ended = _order(tmp_path, {"pid": os.getpid(), "started": _started(os.getpid())})
    assert started["started"] == str(tmp_path / "spec.json")
    assert json.loads((tmp_path / "process.json").read_text())["pid"] == started["pid"] == ended["ended"]
    # It began, and found nothing to train in the specification.
    assert ended["code"] == 1
    assert "Not started" not in (tmp_path / "log.txt").read_text()


@pytest.mark.parametrize("service", [{"pid": 2**30, "started": "1"}, {"pid": os.getpid(), "started": "1"}])
def test_a_fork_whose_service_has_ended_does_not_begin(tmp_path: Path, service: dict[str, object]) -> None:
    refused, ended = _order(tmp_path, service)
    assert refused["refused"] == str(tmp_path / "spec.json")
    assert ended["code"] == 1
    assert "Not started" in (tmp_path / "log.txt").read_text()
