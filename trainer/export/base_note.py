"""What earlier versions did not write down of a completed job: its base model."""

from __future__ import annotations

import tempfile
from pathlib import Path

from trainer.protocol.contracts import read_spec
from trainer.protocol.failures import Failure
from trainer.protocol.print_result import print_result


def describe(spec_path: str, template: str, trained: float) -> int:
    """Prints what the job's `base.json` holds (`shared_base.note`), if the base model is still what it was
    when its training ended, in seconds since 1970; a failure as `print_result`. Returns the exit status."""
    return print_result(lambda: _described(spec_path, template, trained))


def _described(spec_path: str, template: str, trained: float) -> dict[str, str]:
    spec = read_spec(spec_path)
    from trainer.data import template as templates
    from trainer.export.shared_base import base_directory, note
    from trainer.model.tokenizer import load_tokenizer
    from trainer.model.view import make_view

    directory = base_directory(spec)
    if _changed(directory) > trained:
        changed = "The base model's files have changed since the training."
        raise Failure("bad_model", changed, "Train it again.")
    with tempfile.TemporaryDirectory() as scratch:
        tokenizer = load_tokenizer(make_view(directory, Path(scratch) / "model"))
        return note(spec, templates.load(Path(template)), tokenizer)


def _changed(directory: Path) -> float:
    """When the latest of the model's files was written, in seconds since 1970."""
    from trainer.export.shared_base import ENDINGS

    files = [path for path in directory.iterdir() if path.name.endswith(ENDINGS) and path.is_file()]
    return max((path.stat().st_mtime for path in files), default=float("inf"))
