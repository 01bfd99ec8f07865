"""The first rows as training sees them: tokens, which of them have labels, and what is truncated."""

from __future__ import annotations

import json
import os
import sys
from itertools import islice
from typing import Any

from trainer.data import preferences, rows, template
from trainer.data.encode import IGNORED, encode
from trainer.data.lengths import choose_length
from trainer.model import check, download
from trainer.model.view import make_view
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import read_spec
from trainer.protocol.failures import explain
from trainer.registry import create
from trainer.training.job import Job

# Rows that an inferred max_seq_length (-1) is based on; training uses all rows.
SAMPLED_ROWS = 1_000
# A row of 16 MB would have millions of tokens; more than these are not shown.
SHOWN_TOKENS = 4_096


def preview(spec_path: str, count: int, downloaded: bool = False) -> int:
    """Prints the first `count` rows of a specification's dataset as JSON. On failure it prints
    `{"failed": …}` with the fields of the journal's `failed`, and returns exit status 1."""
    try:
        print(json.dumps(_preview(spec_path, count, downloaded), ensure_ascii=False, allow_nan=False))
        return 0
    except Exception as error:
        print(json.dumps({"failed": explain(error).fields()}, ensure_ascii=False))
        return 1
    finally:
        sys.stdout.flush()


def _preview(spec_path: str, count: int, downloaded: bool) -> dict[str, Any]:
    spec = read_spec(spec_path)
    job = Job(
        **vars(JobContext.open(spec)),
        task=create("task", spec.task),
        strategy=create("strategy", spec.strategy),
        provider=create("provider", spec.provider),
        resume=None,
    )
    directory = download.find_small_files(job, downloaded)
    job.config = check.read_config(directory, spec.model.name)
    job.family = check.family(job.config, job.task, job.strategy)
    if download.forget_secrets() and download.from_hub(job) and os.name != "nt":
        download.replace_process("preview", spec_path, "--rows", str(count), "--downloaded")
    job.model_dir = make_view(directory, job.folder / "model")
    job.tokenizer = job.provider.tokenizer(job)
    if job.family == "causal":
        job.template = template.choose(job.tokenizer, job.config, job.settings.use_chat_template)
    else:
        job.template = template.plain(job.tokenizer, job.config)
    messages = preferences.messages if "chosen" in job.fields else job.task.messages
    sampled = [row for _, row in islice(rows.read_rows(spec.dataset.path, job.fields), SAMPLED_ROWS)]
    encoded = encode(job.tokenizer, job.template, [messages(row) for row in sampled], None)
    length = choose_length(job, [row.total_tokens for row in encoded])
    return {
        "max_seq_length": length,
        "template_source": job.template.source,
        "rows": [
            {
                "tokens": [
                    {
                        "id": token,
                        "text": job.tokenizer.decode([token]),
                        "labelled": label != IGNORED,
                        "truncated": place >= length,
                    }
                    for place, (token, label) in islice(
                        enumerate(zip(row.input_ids, row.labels, strict=True)), SHOWN_TOKENS
                    )
                ],
                "total_tokens": row.total_tokens,
                "labelled_tokens": max(0, min(row.total_tokens, length) - row.prompt_tokens),
            }
            for row in encoded[:count]
        ],
    }
