"""Verifies finished GGUF files: exactly (`exact.py`), and in the engine against the record of the trained
model, which also tells what a type costs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.export import node_tools
from trainer.export.kept import REFERENCE
from trainer.export.verification import reference
from trainer.export.verification.compare import SAME, Figures, compare
from trainer.export.verification.golden import Golden
from trainer.protocol.context import JobContext
from trainer.protocol.failures import Failure

# The mean divergence (nats) from which on a file has nothing to do with the trained model, by the bits of a
# weight. See docs/decisions/0009 for how it was measured.
DEAD = {16: 0.5, 8: 0.5, 6: 0.5, 5: 1.0, 4: 2.0, 3: 4.0, 2: 8.0}
# Of a record that is not that of the exported weights: of an earlier release, in 16 bits, or of a base in
# 4 or 8 bits, where the file has the full one.
DEAD_INEXACT = 2.0


@dataclass(frozen=True)
class Exact:
    """The result of `check_files` for one file: `wrong` is what is wrong with it, `unknown` why that could
    not be found out."""

    wrong: str | None = None
    unknown: str | None = None


def load_reference(job: JobContext) -> reference.Reference:
    """The record that training left; empty, with a warning, where there is none."""
    # An earlier release left it in the job folder.
    for folder in (job.artifacts, job.folder):
        if (folder / REFERENCE).is_file():
            return reference.read(folder / REFERENCE)
    job.warn(
        "no_reference",
        "There is no record of the trained model's answers: tensors and tokens are checked, but not what the "
        "type of a file costs.",
    )
    return reference.EMPTY


def verify(
    job: JobContext,
    gguf: Path,
    quantization: str,
    known: reference.Reference,
    texts: list[str],
    expected: list[list[int]],
    exact: Exact,
    golden: Golden | None = None,
) -> Figures:
    """Runs `gguf` in the engine, where it also answers the prompts of `golden`; Failure `verification_failed`
    when a tensor or a metadata value is wrong, or its answers have nothing to do with the trained model's.

    A file that only tokenizes texts differently is kept, and `warn_of_token_differences` reports it.
    """
    if exact.wrong is not None:
        raise _failure(quantization, exact.wrong)
    request: dict[str, Any] = {
        "gguf": str(gguf),
        "sequences": [
            {"tokens": tokens, "positions": positions, "ids": ids}
            for tokens, positions, ids in zip(known.sequences, known.positions, known.ids, strict=True)
        ],
        "texts": texts,
        "continuations": golden.continuations() if golden else [],
        "goesOn": golden.goes_on() if golden else [],
        "tells": True,
    }
    assert job.spec.tools is not None
    total = len(known.sequences) + len(request["continuations"])
    done = job.count("verify", f"{quantization} in llama.cpp, prompt", total)
    answer = node_tools.score(job.spec.tools.score, request, job.beat_or_stop, done)
    figures = compare(known, answer, texts, expected, dead_from(quantization, known), exact.unknown)
    if figures.dead:
        raise _failure(quantization, figures.reason, json.dumps(figures.as_dict()))
    if figures.difference_from_base is not None and figures.difference_from_base < SAME:
        job.warn(
            "no_difference_from_base",
            "The tuned model answers like its base: training changed almost nothing. Train longer, or raise "
            "learning_rate.",
        )
    if golden:
        golden.show(job, quantization, answer["continuations"])
    job.phase("verify", 1.0, quantization)
    return figures


def dead_from(quantization: str, known: reference.Reference) -> float:
    """The mean divergence (nats) from which on a file of this type has nothing to do with the trained
    model."""
    digits = "".join(letter for letter in quantization.split("_")[0] if letter.isdigit())
    own = DEAD[min(16, int(digits))]
    return own if known.exact else max(own, DEAD_INEXACT)


def _failure(quantization: str, reason: str, evidence: str = "") -> Failure:
    return Failure(
        "verification_failed",
        f"The {quantization} file is wrong. {reason}",
        evidence=evidence,
    )


def warn_of_token_differences(job: JobContext, figures: Figures) -> None:
    """Warns, with an example, that llama.cpp tokenizes texts differently from training. Said once for all
    files, which share their vocabulary."""
    example = figures.tokens_differ
    assert example is not None
    differing = round((1 - figures.tokens_equal) * figures.texts)
    start = f" (from token {example.from_token} on)" if example.from_token else ""
    job.warn(
        "tokens_differ",
        f"{differing} of {figures.texts} texts become other tokens in llama.cpp than in training. The GGUF "
        "has the trained weights, but may answer worse than the trained model. For example, "
        f"{json.dumps(example.text, ensure_ascii=False)} is {example.trained} in training and {example.gguf} "
        f"in llama.cpp{start}.",
    )
