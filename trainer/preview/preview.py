"""The first rows as training sees them: tokens, which of them have labels, and what is truncated."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING

from trainer.adapter_base import make as adapter_base
from trainer.data import rows, template
from trainer.data.conversations import learned_turns
from trainer.data.encode import IGNORED, Encoded
from trainer.data.job import Job
from trainer.data.lengths import choose_length
from trainer.data.renderings import compare_renderings
from trainer.data.sequences import sequences_of, split_warning
from trainer.data.thinking import plain
from trainer.export.new_tokens.grow import grow, grown
from trainer.gguf_base import make as gguf_base
from trainer.model import check, download
from trainer.model.view import make_view
from trainer.preview.token_texts import token_texts
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import read_spec
from trainer.protocol.print_result import print_result
from trainer.registry import create
from trainer.training.job_template import choose_template

if TYPE_CHECKING:
    from trainer.protocol.row import Row

# Rows that an inferred max_seq_length (-1) is based on; training uses all rows.
SAMPLED_ROWS = 1_000
# A row of 16 MB would have millions of tokens; more than these are not shown.
SHOWN_TOKENS = 4_096
# Of a conversation: its first messages, characters of each, and the sequences that it becomes.
SHOWN_MESSAGES = 100
SHOWN_CHARACTERS = 4_000
SHOWN_SEQUENCES = 20


def preview(spec_path: str, count: int, downloaded: bool = False) -> int:
    """Prints the first `count` rows of a specification's dataset as `print_result`; returns the status."""
    return print_result(lambda: _preview(spec_path, count, downloaded))


def open_job(spec_path: str, arguments: list[str], downloaded: bool) -> Job:
    """A job as far as it is known before training: its model's configuration, tokenizer and template.

    A process that has downloaded the model is replaced by `python -m trainer` with `arguments`.
    """
    spec = read_spec(spec_path)
    job = Job(
        **vars(JobContext.open(spec)),
        task=create("task", spec.task),
        strategy=create("strategy", spec.strategy),
        provider=create("provider", spec.provider),
        resume=None,
    )
    directory = (
        gguf_base.small_files(spec.model, job.folder / "gguf")
        if spec.model.gguf is not None
        else download.find_small_files(job, downloaded)
    )
    if adapter_base.missing(spec.model):
        directory = adapter_base.small_files(spec.model, directory, job.folder / "merged-base")
    job.config = check.read_config(directory, spec.model.name)
    job.family = check.family(job.config, job.task, job.strategy)
    check.refuse_shape(job.config, job.family, job.shape)
    if download.forget_secrets() and download.from_hub(job) and os.name != "nt":
        download.replace_process(*arguments, "--downloaded")
    job.model_dir = grow(make_view(directory, job.folder / "model"), spec, with_weights=False)
    job.config = grown(job.config, job.model_dir)
    job.tokenizer = job.provider.tokenizer(job)
    choose_template(job)
    return job


def _preview(spec_path: str, count: int, downloaded: bool) -> dict[str, object]:
    job = open_job(spec_path, ["preview", spec_path, "--rows", str(count)], downloaded)
    sampled = list(islice(rows.read_rows(job.spec.dataset.path, job.fields), SAMPLED_ROWS))
    stored = job.folder / "template.json"
    template.save(job.template, job.spec.task, stored)
    compare_renderings(job, sampled, stored)
    encoded = rows.in_rows(sampled, lambda batch: sequences_of(job, batch))
    everything = [sequence for sequences in encoded for sequence in sequences]
    length = choose_length(job, [len(sequence.input_ids) for sequence in everything])
    is_split = job.shape != "text" and len(everything) > len(sampled)
    return {
        "max_seq_length": length,
        "template_source": job.template.source,
        "thinking": None if job.template.thinking is None else job.template.thinking.get("mode"),
        "warning": split_warning(len(sampled), len(everything)) if is_split else None,
        "rows": [
            _shown(job, number, row, sequence, length)
            for (number, row), sequences in zip(sampled[:count], encoded[:count], strict=True)
            for sequence in sequences[:SHOWN_SEQUENCES]
        ],
    }


def _shown(job: Job, number: int, row: Row, sequence: Encoded, length: int) -> dict[str, object]:
    """A sequence of the row in line `number`. Of a text, tokens beyond `length` are in further sequences."""
    cut = job.shape != "text"
    ids = sequence.input_ids[:SHOWN_TOKENS]
    messages = None
    if job.shape == "messages" or isinstance(row.get("prompt"), list):
        conversation = job.conversation(row)[: -1 if job.shape == "prompt" else None]
        learned = learned_turns(conversation)
        messages = [
            {
                "role": message["role"],
                "content": given["content"][:SHOWN_CHARACTERS],
                "reasoning": given.get("reasoning_content", "")[:SHOWN_CHARACTERS] or None,
                "tool_calls": [
                    {"name": called["name"], "arguments": called["arguments"][:SHOWN_CHARACTERS]}
                    for call in given.get("tool_calls", ())
                    for called in [call["function"]]
                ],
                "learned": index in learned,
            }
            for index, message in enumerate(conversation[:SHOWN_MESSAGES])
            for given in [plain(job.template.thinking, message)]
        ]
    return {
        "line": number,
        "messages": messages,
        "tokens": [
            {
                "id": token,
                "text": text,
                "joined": joined,
                "bytes": None if held is None else held.hex(),
                "labelled": label != IGNORED,
                "truncated": cut and index >= length,
            }
            for index, (token, (text, joined, held), label) in enumerate(
                zip(ids, token_texts(job.tokenizer, ids), sequence.labels, strict=False)
            )
        ],
        "total_tokens": len(sequence.input_ids),
        "labelled_tokens": sequence.learned_tokens(length if cut else len(sequence.input_ids)),
    }
