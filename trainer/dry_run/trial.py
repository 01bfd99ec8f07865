"""A cut model's answers in transformers, and its export."""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.data.template import Template
from trainer.dry_run.cut import Cut
from trainer.export import learned, node_tools
from trainer.export.gguf import converter_input
from trainer.export.gguf.convert import convert, write_file
from trainer.export.make import choose_options
from trainer.export.merge import adapter as adapters
from trainer.export.merge import whole_model
from trainer.export.shared_base import end_of_turn
from trainer.model import text_part, whole
from trainer.model.tokenizer import adds_bos
from trainer.protocol.contracts import Spec
from trainer.protocol.failures import Failure
from trainer.registry import create

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from trainer.protocol.model_config import ModelConfig
    from trainer.protocol.settings import Settings

# Tokens of the sequences whose next tokens are compared: a wrong rotation shows with distance.
LENGTHS = (24, 80, 140, 200)
# The likeliest next tokens, whose log-probabilities are compared.
COMPARED = 64
# The largest difference, in standard deviations of all log-probabilities. llama.cpp keeps keys and values in
# 16 bits: 1e-6 to 0.011 in toys of eighty architectures; a wrong scale, rotation or norm: 0.023 to 5.
SAME = 0.02
# The share of texts that must become the same tokens.
SAME_TOKENS = 0.9
# How much the adapter's second factors differ from zero, so that a merge in a wrong place shows.
NOISE = 0.02
WITHOUT = "Set export to none to train the model without a GGUF."


@dataclass(frozen=True)
class _Adapted:
    settings: Settings
    config: ModelConfig
    model_dir: Path
    tokenizer: PreTrainedTokenizerBase


@dataclass
class Trial:
    """The `part` of the model whose view is `base`, with the job's template and tokenizer; training makes the
    token ids `expected` of `texts`. Everything is written into `scratch`."""

    spec: Spec
    scratch: Path
    base: Path
    part: Cut
    template: Template
    tokenizer: PreTrainedTokenizerBase
    texts: list[str]
    expected: list[list[int]]
    adapter: adapters.Adapter = field(default_factory=adapters.Adapter)
    sequences: list[list[int]] = field(default_factory=list)
    # Of each sequence: the likeliest next tokens (`ids`) with their log-probabilities (`scores`), and the
    # standard `deviation` of those of all tokens.
    reference: list[dict[str, Any]] = field(default_factory=list)
    # Started before there is a file; it answers once.
    scorer: node_tools.Scorer | None = None

    def ask_transformers(self, config: ModelConfig) -> None:
        """Computes `reference` in float32, with an adapter as the job's, or all weights changed, as they are
        written beside it. `config` is that of the whole model. Raises what transformers and PEFT do."""
        import torch
        from transformers.utils import logging

        logging.set_verbosity_error()
        self.sequences = _sequences(self.expected, self.template.context_length)
        load = text_part.loader(config, "AutoModelForCausalLM")
        folder = self._cut_model(self.part.config(config))
        base = load(folder, dtype=torch.float32, use_safetensors=True, local_files_only=True)
        model = self._changed(base, _Adapted(self.spec.settings, config, folder, self.tokenizer))
        model.eval()
        # Of all positions, the logits of a large vocabulary would take most of the time.
        last = {"logits_to_keep": 1} if "logits_to_keep" in signature(base.forward).parameters else {}
        with torch.inference_mode():
            for tokens in self.sequences:
                logits = model(input_ids=torch.tensor([tokens]), use_cache=False, **last).logits[0, -1]
                scores = torch.log_softmax(logits.to(torch.float64), -1)
                best = scores.topk(min(COMPARED, scores.numel()))
                likeliest = {"ids": best.indices.tolist(), "scores": best.values.tolist()}
                self.reference.append({**likeliest, "deviation": scores.std().item()})

    def _changed(self, base: PreTrainedModel, job: _Adapted) -> PreTrainedModel:
        """The model `base`, changed as by a training, and written."""
        import peft
        import torch

        folder = self.scratch / "adapter"
        with torch.no_grad():
            if job.settings.adapter == "full":
                for parameter in base.parameters():
                    parameter.mul_(1 + NOISE * torch.randn_like(parameter))
                whole.save(base, job.config, folder)
                return base
            model = peft.get_peft_model(base, create("provider", "standard").lora(job, base, "CAUSAL_LM"))
            for name, parameter in model.named_parameters():
                if ".lora_B." in name:
                    parameter.normal_(std=NOISE)
                elif ".modules_to_save." in name or ".trainable_tokens_delta." in name:
                    parameter.mul_(1 + NOISE * torch.randn_like(parameter))
        model.save_pretrained(folder, save_embedding_layers=False)
        return model

    def load_adapter(self, config: ModelConfig) -> None:
        """Makes what `ask_transformers` wrote part of the export; Failure as `adapter.load`."""
        tensors = self.part.tensors
        shared = adapters.shares_embedding(config, tensors)
        if whole.is_whole(self.scratch / "adapter"):
            changed = whole_model.tensors_of(self.scratch / "adapter", tensors, shared)
            self.part = replace(self.part, tensors=changed)
            return
        self.adapter = adapters.load(self.scratch / "adapter", tensors, shared)

    def export(
        self, config: ModelConfig, compared: bool, report: Callable[[float, str], None]
    ) -> dict[str, object]:
        """Converts the part with the configuration `config`, and unless it is not `compared` loads the file
        and compares its tokens and answers.

        Returns `options` of the tokenizer, the digest of the `tokens` that they were chosen with, and the
        `difference` from transformers in standard deviations. Raises Failure.
        """
        spec = self.spec
        assert spec.tools is not None
        report(0.5, "converting")
        with _told("llama.cpp's converter cannot convert this model"):
            path, found = self._convert(config, compared, report)
        if not compared:
            return found
        report(0.75, "loading")
        asked = [
            {"tokens": tokens, "positions": [len(tokens) - 1], "ids": [scores["ids"]]}
            for tokens, scores in zip(self.sequences, self.reference, strict=True)
        ]
        request = {
            "gguf": str(path),
            "sequences": asked,
            "texts": self.texts,
            "continuations": [{"tokens": self.sequences[0], "maxTokens": 1}],
        }
        with (
            _told("llama.cpp cannot run this model"),
            self.scorer or node_tools.Scorer(spec.tools.score) as scorer,
        ):
            self.scorer = None
            answer = scorer.answer(request, lambda: None)
        self._compare_tokens(answer["texts"])
        return {**found, "difference": _difference(self.reference, answer["sequences"])}

    def _convert(
        self, config: ModelConfig, compared: bool, report: Callable[[float, str], None]
    ) -> tuple[Path, dict[str, object]]:
        """The file, planned only unless it is `compared`, and what was found out for it."""
        spec = self.spec
        assert spec.tools is not None
        source = self.scratch / "converter-input"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        converter_input.build(self.base, source, self.template, config)
        convert_model = partial(
            convert,
            converter_dir=Path(spec.tools.converter),
            source=source,
            name=spec.model.name.rsplit("/", 1)[-1],
            end_of_turn=end_of_turn(self.template, self.tokenizer),
            adds_bos=adds_bos(self.tokenizer),
            # Loading a large one takes two seconds.
            tokenizer=self.tokenizer if (self.base / "tokenizer.json").is_file() else None,
        )
        options = choose_options(
            spec.tools.score,
            self.base,
            self.texts,
            self.expected,
            convert_model,
            self.scratch,
            lambda: None,
        )
        path = self.scratch / "cut.gguf"
        convert_model(
            tensors=self.part.tensors,
            adapter=self.adapter,
            destination=path,
            quantization="F32",
            options=options,
            on_progress=lambda share: report(0.5 + 0.25 * share, "converting"),
            plan_only=not compared,
            # It is read once, from memory.
            write=partial(write_file, synced=False),
        )
        found: dict[str, object] = {
            "options": asdict(options),
            "tokens": learned.digest(self.expected),
            "difference": None,
        }
        return path, found

    def _cut_model(self, config: ModelConfig) -> Path:
        """A model folder with this configuration and the base's weights."""
        folder = self.scratch / "cut"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
        for path in self.base.iterdir():
            if path.name.endswith((".safetensors", ".safetensors.index.json")):
                os.symlink(path.resolve(), folder / path.name)
        return folder

    def _compare_tokens(self, found: list[list[int]]) -> None:
        """Failure `bad_tokenizer` when llama.cpp splits many texts into other tokens."""
        pairs = zip(self.expected, found, strict=True)
        differing = [index for index, (wanted, got) in enumerate(pairs) if wanted != got]
        if len(differing) <= (1 - SAME_TOKENS) * len(found):
            return
        text = json.dumps(min((self.texts[index] for index in differing), key=len)[:60], ensure_ascii=False)
        raise Failure(
            "bad_tokenizer",
            f"llama.cpp splits {len(differing)} of {len(found)} texts into other tokens than this model's "
            f"tokenizer, for example {text}, so a GGUF file would not answer like the model.",
            WITHOUT,
        )


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Makes an error of a library the Failure `unsupported` that `what` and its own words say."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        known = isinstance(error, Failure) and error.code != "internal"
        if known or (isinstance(error, OSError) and not isinstance(error, FileNotFoundError)):
            raise
        reason = error.message if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
        evidence = error.evidence if isinstance(error, Failure) else reason
        raise Failure("unsupported", f"{what}: {reason.rstrip('.')}.", WITHOUT, evidence) from error


def _sequences(texts: list[list[int]], context: int | None) -> list[list[int]]:
    """Sequences of LENGTHS tokens, of the texts' tokens one after another."""
    tokens = [token for text in texts for token in text] or [0]
    while len(tokens) < max(LENGTHS):
        tokens += tokens
    longest = max(2, (context or max(LENGTHS)) - 2)
    return [tokens[: min(length, longest)] for length in LENGTHS]


def _difference(reference: list[dict[str, Any]], answers: list[dict[str, Any]]) -> float:
    """The difference of log-probabilities in standard deviations; Failure `unsupported` when it is too large.

    It is the median of the sequences: a router may choose another expert where two are nearly equal, but a
    wrong tensor or number changes all of them.
    """
    differences = []
    for wanted, answer in zip(reference, answers, strict=True):
        scores = [-math.inf if score is None else score for score in answer["logprobs"][0]]
        worst = max(abs(a - b) for a, b in zip(wanted["scores"], scores, strict=True))
        differences.append(worst / max(wanted["deviation"], 1e-6))
    difference = statistics.median(differences)
    if not difference <= SAME:
        raise Failure(
            "unsupported",
            f"llama.cpp computes other answers than transformers with this model: their probabilities differ "
            f"by {difference:.3g} standard deviations, where rounding explains {SAME:g}.",
            WITHOUT,
            f"standard deviations after {', '.join(map(str, LENGTHS))} tokens: {differences}",
        )
    return difference
