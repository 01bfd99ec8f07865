"""`python -m trainer starter --out DIR`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from trainer.starter.recipe import Recipe


def main(argv: Sequence[str] | None = None) -> int:
    """Makes the starter model, or prints its digest with `--digest`, without importing torch."""
    parser = argparse.ArgumentParser(prog="python -m trainer starter", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="the folder to make; kept when it is up to date")
    what.add_argument("--digest", action="store_true", help="print the recipe's digest and stop")
    args = parser.parse_args(argv)
    if args.digest:
        print(Recipe().digest())
        return 0

    from trainer.starter.build import build_starter

    build_starter(args.out.resolve(), lambda line: print(line, flush=True))
    return 0
