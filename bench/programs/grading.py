"""Scores of answers: `grading.py hone|library ROWS`, which prints the CPU seconds of each grader and the sum of scores."""

import json
import random
import re
import sys
import time
from collections.abc import Callable

from nltk.translate import bleu_score, gleu_score, meteor_score
from rapidfuzz import fuzz

from trainer.grading.grade import grade_all
from trainer.grading.score import Sample
from trainer.grading.texts import NoSynonyms

WORDS = "the parcel has not come yet and we will send another one to your address by friday".split()
SMOOTH = bleu_score.SmoothingFunction().method3


def words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.lower())


# What one would write by hand for each grader.
LIBRARY: dict[str, Callable[[str, str], float]] = {
    "string_check": lambda text, reference: float(text == reference),
    "fuzzy_match": lambda text, reference: fuzz.ratio(text, reference) / 100,
    "bleu": lambda text, reference: bleu_score.sentence_bleu(
        [words(reference)], words(text), smoothing_function=SMOOTH
    ),
    "gleu": lambda text, reference: gleu_score.sentence_gleu(
        [words(reference)], words(text)
    ),
    "meteor": lambda text, reference: meteor_score.single_meteor_score(
        words(reference), words(text), wordnet=NoSynonyms()
    ),
}


def grader(name: str) -> dict:
    """The grader of Hone that gives what LIBRARY does."""
    texts = {"input": "{{sample.output_text}}", "reference": "{{item.reference}}"}
    if name == "string_check":
        return {"type": name, "operation": "eq", **texts}
    return {"type": "text_similarity", "evaluation_metric": name, **texts}


def main(side: str, count: int) -> None:
    draw = random.Random(1)
    rows = [
        (" ".join(draw.choices(WORDS, k=20)), " ".join(draw.choices(WORDS, k=20)))
        for _ in range(count)
    ]
    given = [({"reference": reference}, Sample(text)) for text, reference in rows]
    seconds, total = {}, 0.0
    for name, compute in LIBRARY.items():
        begun = time.process_time()
        if side == "hone":
            total += sum(
                scores["it"].value for scores in grade_all({"it": grader(name)}, given)
            )
        else:
            total += sum(compute(text, reference) for text, reference in rows)
        seconds[name] = time.process_time() - begun
    print(
        json.dumps(
            {
                "seconds": {**seconds, "all": sum(seconds.values())},
                "total": round(total, 6),
            }
        )
    )


main(sys.argv[1], int(sys.argv[2]))
