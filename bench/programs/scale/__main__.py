"""Measures what several ranks cost, piece by piece, and calculates with it how far the design goes.

    trainer/.venv/bin/python bench/programs/scale [--size full|quick|test] [--doc]

Prints what was measured as JSON. `--doc` writes the tables of docs/scale.md, at the full size. Needs Linux and
Ray.
"""

import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import figures  # noqa: E402
import ranks  # noqa: E402
import reports  # noqa: E402
import steps  # noqa: E402

SIZES = {
    "full": {"ranks": [2, 4, 8, 16, 32], "rounds": 100, "worlds": [8, 64, 512], "lines": 2000, "idle": 3},
    "quick": {"ranks": [2, 4, 8], "rounds": 30, "worlds": [8, 64], "lines": 500, "idle": 1},
    "test": {"ranks": [2, 4], "rounds": 5, "worlds": [8], "lines": 20, "idle": 0.2},
}
# The adapter of the checkpoints that are sent, bytes: small, so that its files do not hide those of the ranks.
ADAPTER = 1 << 20
ALL_REDUCED = 16 << 20
BEGIN, END = "<!-- tables: written by bench/programs/scale --doc -->", "<!-- end of tables -->"


def main() -> None:
    """Measures and tells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=list(SIZES), default="full")
    parser.add_argument("--doc", action="store_true")
    asked = parser.parse_args()
    size = SIZES[asked.size]
    # First, while this process has no threads and can be forked.
    measured = {"ranks": [ranks.measure(world, size["rounds"], [ALL_REDUCED]) for world in size["ranks"]]}
    if asked.size != "test":
        measured["steps"] = steps.measure(ROOT)
    states = {"adapter": ADAPTER, "random_state": ranks.random_state_bytes()}
    chosen = {name: size[name] for name in ("lines", "idle")}
    measured["reports"] = reports.measure(size["worlds"], {**states, **chosen}, ROOT)
    if asked.doc and asked.size == "full":
        path = ROOT / "docs" / "scale.md"
        before, rest = path.read_text(encoding="utf-8").split(BEGIN)
        cores = len(os.sched_getaffinity(0))
        text = f"{before}{BEGIN}\n{figures.tables(measured, cores)}\n{END}{rest.split(END)[1]}"
        path.write_text(text, encoding="utf-8")
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
