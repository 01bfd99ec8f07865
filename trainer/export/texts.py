"""Texts of the job with the token ids that training gave them, for checking the GGUF's tokenizer."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

from trainer import template as templates
from trainer.contracts import Spec
from trainer.failures import Failure
from trainer.registry import create
from trainer.rows import read_rows

#: rows whose texts are compared
ROWS = 64
#: characters of a text at most; a longer one is compared by its beginning
LONGEST = 20_000


def load_template(path: Path) -> templates.Template:
    """The template that `template.save` wrote."""
    value = json.loads(path.read_text("utf-8"))
    return templates.Template(**{name: value[name] for name in templates.Template.__dataclass_fields__})


def _messages(spec: Spec, row: dict[str, Any]) -> list[dict[str, str]]:
    if "prompt" in row and "chosen" in row:
        return [
            {"role": "user", "content": row["prompt"]},
            {"role": "assistant", "content": row["chosen"]},
        ]
    return create("task", spec.task).messages(row)


def collect(spec: Spec, template: templates.Template, tokenizer: Any) -> tuple[list[str], list[list[int]]]:
    """Prompts and answers of the first rows, as text and as training's token ids; both without repeats."""
    texts: dict[str, None] = {}
    for _, row in islice(read_rows(spec.dataset.path, ()), ROWS):
        try:
            prompt, completion = templates.split(template, _messages(spec, row))
        except (Failure, KeyError, TypeError):
            continue
        texts[prompt[:LONGEST]] = None
        texts[completion[:LONGEST]] = None
    wanted = [text for text in texts if text]
    return wanted, [
        list(ids) for ids in tokenizer(wanted, add_special_tokens=False).input_ids
    ] if wanted else []
