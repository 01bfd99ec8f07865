"""Calls of a grader in Python: `cage.py cage|function CALLS`, which prints milliseconds and the sum of scores."""

import json
import sys
import time

from trainer.grading.cage import Cage

SOURCE = """
import difflib
def grade(sample, item):
    return difflib.SequenceMatcher(None, sample["output_text"], item["reference"]).ratio()
"""
ITEM = {
    "reference": "fuzzy wuzzy was a bear, fuzzy wuzzy had no hair",
    "question": "Who was a bear? " * 20,
}


def main(side: str, calls: int) -> None:
    begun = time.perf_counter()
    if side == "cage":
        grade = Cage(SOURCE).grade
    else:
        namespace: dict = {}
        exec(SOURCE, namespace)
        grade = namespace["grade"]
    samples = [
        {"output_text": f"fuzzy was {number % 100} bears with hair"}
        for number in range(calls)
    ]
    total = grade(samples[0], ITEM)
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    for sample in samples:
        total += grade(sample, ITEM)
    each = (time.perf_counter() - begun) / calls
    print(json.dumps({"first": first * 1e3, "call": each * 1e3, "total": total}))


main(sys.argv[1], int(sys.argv[2]))
