"""The whole way of an export with a cut model, in a process of its own."""

from __future__ import annotations

import json
import math
import re
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trainer import imports
from trainer.data import template as templates
from trainer.dry_run.cut import Cut, cut
from trainer.dry_run.trial import Trial
from trainer.export import full_precision, node_tools
from trainer.export.merge import weights
from trainer.export.new_tokens.grow import grow
from trainer.export.tokenizer import document
from trainer.export.verification.sample_texts import sample_texts
from trainer.model.config import complete_config
from trainer.model.tokenizer import load_tokenizer
from trainer.model.view import make_view
from trainer.protocol.contracts import Spec, read_spec
from trainer.protocol.failures import Failure, explain

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

FOLDER = "dry-run.partial"
# Of the memory and of the disk space that are free.
SHARE_OF_FREE = 0.5
# Where llama.cpp computes differently for some numbers of layers (src/models: command-r, deepseek2, exaone4,
# gemma2, gemma3, gemma3n, llama4), so that a cut that fails says nothing.
BY_LAYERS = re.compile(r"(Cohere|DeepseekV[23]|Exaone4|Gemma[23]|Gemma3n|Llama4)For")

Report = Callable[[float, str], None]


def main(spec_path: str) -> int:
    """Prints lines with `progress` and `detail`, and at last what `walk` returns as `{"learned": …}`, or
    `{"failed": …}` with the fields of the journal's `failed`."""
    spec = read_spec(spec_path)
    # What runs for this process ends with it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    scratch = spec.folder / FOLDER
    shutil.rmtree(scratch, ignore_errors=True)

    def say(**line: object) -> None:
        print(json.dumps(line, ensure_ascii=False), flush=True)

    try:
        scratch.mkdir()
        with document.kept():
            found = walk(spec, scratch, lambda progress, detail: say(progress=progress, detail=detail))
        say(learned=found)
    except Exception as error:
        traceback.print_exc()
        say(failed=explain(error).fields())
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def walk(spec: Spec, scratch: Path, report: Report) -> dict[str, object]:
    """Converts, loads and asks a cut of the base of `spec`, with an adapter that changes next to nothing.

    Returns how many `layers` of all (`of`) there were, and what `Trial.export` found; its `difference` is
    None where memory or disk space do not suffice, or no cut of this model can be compared. `own_config` says
    that the converter must get the model's own configuration as it is.

    Raises Failure when the export cannot be made, or its file would not be the model.
    """
    report(0.0, "vocabulary")
    whole = full_precision.directory(spec, lambda share: report(0.0, f"full precision: {share:.0%}"))
    base = grow(make_view(whole, scratch / "model"), spec)
    own = json.loads((base / "config.json").read_text("utf-8"))
    _spare_imports(spec, own)
    config = complete_config(base)
    tokenizer = load_tokenizer(base)
    settings = spec.settings
    template = templates.choose(tokenizer, own, settings.use_chat_template, tool_syntax=settings.tool_syntax)
    part = cut(own, weights.index_checkpoint(base))
    texts, expected = sample_texts(spec, template, tokenizer)
    trial = Trial(spec, scratch, base, part, template, tokenizer, texts, expected)
    if not _fits(part, scratch):
        return _export(trial, own, config, False, report)
    assert spec.tools is not None
    # It loads llama.cpp meanwhile.
    with node_tools.Scorer(spec.tools.score) as trial.scorer:
        return _export(trial, own, config, True, report)


def _export(
    trial: Trial, own: ModelConfig, config: ModelConfig, compared: bool, report: Report
) -> dict[str, object]:
    """As `walk`. The file of the trial is loaded and asked if it is `compared`; `own` is the model's
    configuration as it is in its folder, `config` the same with its defaults."""
    part = trial.part
    if compared:
        report(0.2, f"{part.layers} of {part.of} layers in transformers")
        try:
            trial.ask_transformers(own)
        except Failure:
            raise
        except Exception:
            # Not every model can be cut in this way, which says nothing of its export.
            traceback.print_exc()
            compared = False
    if compared:
        trial.load_adapter(config)
    sizes = {"layers": part.layers, "of": part.of}
    first: Exception | None = None
    # Some converters take a default, which the model's own file lacks, for a statement.
    for own_config, given in ((False, config), (True, own)):
        try:
            found = trial.export(part.config(given), compared, report)
            return {**sizes, **found, "own_config": own_config}
        except OSError:
            raise
        except Exception as error:
            traceback.print_exc()
            first = first or error
    if part.layers < part.of and BY_LAYERS.match((own.get("architectures") or [""])[0]):
        return {**sizes, **trial.export(part.config(config), False, report), "own_config": False}
    assert first is not None
    raise first


def _spare_imports(spec: Spec, config: ModelConfig) -> None:
    """Keeps a process of its own from importing what a model in float32 on a processor needs not."""
    settings = msgspec.structs.replace(spec.settings, device="cpu", optim="adamw_torch")
    imports.spare(msgspec.structs.replace(spec, settings=settings), config)


def _fits(part: Cut, scratch: Path) -> bool:
    """Whether there is memory and disk space for the cut model in float32."""
    import psutil

    needed = 4 * sum(math.prod(stored.shape) for stored in part.tensors.values())
    free = min(psutil.virtual_memory().available, shutil.disk_usage(scratch).free)
    return needed <= SHARE_OF_FREE * free
