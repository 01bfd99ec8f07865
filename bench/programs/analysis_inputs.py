"""Writes rows.jsonl with some near duplicates, and a tiny model: `analysis_inputs.py DIR ROWS`."""

import json
import random
import sys
from pathlib import Path

from trainer.tests import tiny

WORDS = "the parcel has not come yet and I would like to know where it is now please thank you".split()

folder, count = Path(sys.argv[1]), int(sys.argv[2])
draw = random.Random(7)
parts = [" ".join(draw.choices(WORDS, k=12)) for _ in range(20_000)]
with open(folder / "rows.jsonl", "w", encoding="utf-8") as file:
    for row in range(count):
        # Every tenth question repeats the one before it, with another number.
        if row % 10 != 1:
            first, second, third, *answer = draw.choices(parts, k=5)
        file.write(
            json.dumps(
                {"input": f"{first} {second} {third} {row}", "output": " ".join(answer)}
            )
            + "\n"
        )
tiny.build("llama", folder / "model", "chatml")
