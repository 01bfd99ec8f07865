"""Verifies a finished GGUF against the record of the trained model."""

from __future__ import annotations

import json
from pathlib import Path

from trainer.export import node_tools
from trainer.export.kept import REFERENCE
from trainer.export.verification import reference
from trainer.export.verification.compare import SAME, Figures, compare
from trainer.export.verification.golden import Golden
from trainer.protocol.context import JobContext
from trainer.protocol.failures import Failure


def load_reference(job: JobContext) -> reference.Reference:
    """The record that training left; empty, with a warning, where there is none."""
    # An earlier release left it in the job folder.
    for folder in (job.artifacts, job.folder):
        if (folder / REFERENCE).is_file():
            return reference.read(folder / REFERENCE)
    job.warn(
        "no_reference", "There is no record of the trained model's answers; only the tokens are compared."
    )
    return reference.Reference([], [], [], [], "float32", False)


def verify(
    job: JobContext,
    gguf: Path,
    quantization: str,
    known: reference.Reference,
    texts: list[str],
    expected: list[list[int]],
    golden: Golden | None = None,
) -> Figures:
    """Scores `gguf`, which also answers the prompts of `golden`; Failure `verification_failed` when its
    weights are not the trained ones.

    A file that only tokenizes texts differently is kept, and `warn_of_token_differences` reports it.
    """
    job.phase("verify", 0.0, quantization)
    request = {
        "gguf": str(gguf),
        "sequences": [
            {"tokens": tokens, "ids": ids} for tokens, ids in zip(known.sequences, known.ids, strict=True)
        ],
        "texts": texts,
        "continuations": golden.continuations() if golden else [],
    }
    answer = node_tools.score(job.spec.tools.score, request, job.beat_or_stop)
    figures = compare(quantization, known, answer, texts, expected)
    if not figures.weights_agree:
        raise Failure(
            "verification_failed",
            f"The {quantization} GGUF does not answer like the trained model: {figures.reason}.",
            "The adapter is kept. Export with F16, or report this with the job's log.",
            json.dumps(figures.as_dict()),
        )
    if figures.difference_from_base < SAME and figures.sequences:
        job.warn(
            "no_difference_from_base",
            "The tuned model answers like its base: training changed almost nothing. Train longer, or raise "
            "learning_rate.",
        )
    if golden:
        golden.show(job, quantization, answer["continuations"])
    job.phase("verify", 1.0, quantization)
    return figures


def warn_of_token_differences(job: JobContext, figures: Figures) -> None:
    """Warns, with an example, that llama.cpp tokenizes texts differently from training. Said once for all
    files, which share their vocabulary."""
    example = figures.tokens_differ
    differing = round((1 - figures.tokens_equal) * figures.texts)
    start = f" (from token {example.from_token} on)" if example.from_token else ""
    job.warn(
        "tokens_differ",
        f"{differing} of {figures.texts} texts become other tokens in llama.cpp than in training. The GGUF "
        "has the trained weights, but may answer worse than the trained model. For example, "
        f"{json.dumps(example.text, ensure_ascii=False)} is {example.trained} in training and {example.gguf} "
        f"in llama.cpp{start}.",
    )
