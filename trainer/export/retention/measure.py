"""How much of the base model is left after a training.

Measured on the same small texts in every run (`general_text`): the mean loss of a token of the passages, by
the base model and by the trained one, which is how PEFT's comparison of methods measures forgetting, too; and
the Kullback-Leibler divergence of the trained model's predictions from the base model's in answers to general
questions. Both are in nats a token. Where much is lost, the losses at parts of the adapter's strength tell
which of them keeps more, without another training, and so do those of the kept checkpoints.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trainer.data.encode import IGNORED, encode_conversations, text_start, whole_text
from trainer.export.retention.general_text import CONVERSATIONS, PASSAGES
from trainer.export.verification.float32 import in_float32
from trainer.export.verification.reference import choose, following, in_groups, predictions
from trainer.model import whole
from trainer.protocol import checkpoints
from trainer.protocol.failures import explain

if TYPE_CHECKING:
    from pathlib import Path

    from peft import PeftModel
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase

    from trainer.data.job import Job, Trained
    from trainer.data.template import Template
    from trainer.protocol.checkpoints import Checkpoint
    from trainer.protocol.row import Message

    # Token ids and labels; None where an answer is not given (`Trained.references`).
    Rows = Sequence[tuple[list[int], list[int] | None]]

# Much is lost where the loss rose by so much (nats a token).
MUCH = 0.2
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Most checkpoints that are measured.
CHECKPOINTS = 5
# Most tokens of a passage or a conversation: eight of them are read whole (`reference.POSITIONS`).
LONGEST = 64
# What is computed at a time: 16 MiB in double precision, so that it takes less memory than a step did.
LOGITS = 1 << 21


def retention(job: Job, result: Trained) -> dict[str, float]:
    """`measure` for a Job whose training ended with `result`. What fails here costs these figures, not the
    training: it is a warning."""
    report = job.reports("train")

    def beat() -> None:
        job.heartbeat.beat()
        report(1.0, "measuring how much of the base model is left")

    try:
        kept = checkpoints.kept(job.folder / "checkpoints")
        own = result["metrics"].get("best_step", result["step"])
        return measure(result["model"], job.tokenizer, job.template, result["references"], beat, kept, own)
    except Exception as error:
        traceback.print_exc()
        job.warn(
            "no_retention", f"How much of the base model is left was not measured: {explain(error).message}"
        )
        return {}


def measure(
    model: PeftModel,
    tokenizer: PreTrainedTokenizerBase,
    template: Template,
    rows: Rows,
    beat: Callable[[], None],
    kept: Sequence[Checkpoint] = (),
    own: float | None = None,
) -> dict[str, float]:
    """`general/base_loss`, `general/loss` and `general/kl`. Where much is lost also, for each strength S of
    STRENGTHS, `strength_S/general_loss`, and `strength_S/loss` of the labels in `rows` if they have any; and
    the same of `kept` checkpoints, by their steps: `checkpoint_40/general_loss`. That of the step `own` is
    the model.

    `beat` is called before each part of the work.
    """
    import torch

    longest = min(LONGEST, template.context_length or LONGEST)
    passages, answers = _passages(tokenizer, longest), _answers(tokenizer, template, longest)
    labelled = [(tokens, labels) for tokens, labels in rows if labels is not None]
    texts = {"general_loss": passages, "loss": labelled} if labelled else {"general_loss": passages}
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), in_float32(model):
            before = _loss(model, passages, 0.0, beat)
            after = _loss(model, passages, 1.0, beat)
            found = {"general/base_loss": before, "general/loss": after}
            if answers:
                found["general/kl"] = _divergence(model, answers, beat)
            if after - before > MUCH:
                known = {0.0: before, 1.0: after}
                for strength in STRENGTHS if _has_strengths(model) else known:
                    general = known.get(strength) or _loss(model, passages, strength, beat)
                    found[f"strength_{strength:g}/general_loss"] = general
                    if labelled:
                        found[f"strength_{strength:g}/loss"] = _loss(model, labelled, strength, beat)
                for each in chosen(kept):
                    losses = {name: found[f"strength_1/{name}"] for name in texts}
                    if each.step != own:
                        with _weights_of(model, each.path):
                            losses = {name: _loss(model, of, 1.0, beat) for name, of in texts.items()}
                    found |= {f"checkpoint_{each.step}/{name}": value for name, value in losses.items()}
    finally:
        model.train(training)
    return found


def chosen(kept: Sequence[Checkpoint]) -> list[Checkpoint]:
    """The checkpoints that are measured, by step: all up to CHECKPOINTS of them; of more, that with the least
    loss on held-out rows, the first, the last, and others evenly between these."""
    if len(kept) <= CHECKPOINTS:
        return list(kept)
    best = min(kept, key=lambda each: each.facts.get("metrics", {}).get("eval_loss", math.inf))
    apart = (len(kept) - 1) / (CHECKPOINTS - 2)
    found = {each.step: each for each in (best, *(kept[round(at * apart)] for at in range(CHECKPOINTS - 1)))}
    return [found[step] for step in sorted(found)]


def _has_strengths(model: PeftModel) -> bool:
    """Whether the export has other strengths of what was trained: not of a DoRA, nor of a whole model."""
    config = getattr(model, "peft_config", {}).get("default")
    return config is not None and not config.use_dora


@contextmanager
def _weights_of(model: PeftModel, checkpoint: Path) -> Iterator[None]:
    """The adapter, or the whole model, as it is in the folder `checkpoint`."""
    from peft import get_peft_model_state_dict, set_peft_model_state_dict
    from safetensors.torch import load_file

    if whole.is_whole(checkpoint):
        trained = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        try:
            model.load_state_dict(load_file(checkpoint / whole.WEIGHTS), strict=False)
            yield
        finally:
            model.load_state_dict(trained)
        return
    stored = get_peft_model_state_dict(model, save_embedding_layers=False)
    before = {name: tensor.clone() for name, tensor in stored.items()}
    try:
        set_peft_model_state_dict(model, load_file(checkpoint / "adapter_model.safetensors"))
        yield
    finally:
        set_peft_model_state_dict(model, before)


def _passages(tokenizer: PreTrainedTokenizerBase, longest: int) -> Rows:
    start = text_start(tokenizer)
    ids = tokenizer(list(PASSAGES), add_special_tokens=False).input_ids
    found = [whole_text([*start, *each][:longest]) for each in ids]
    return [(each.input_ids, each.labels) for each in found]


def _answers(tokenizer: PreTrainedTokenizerBase, template: Template, longest: int) -> Rows:
    """The conversations in the model's own format, as far as it has room for them."""
    turns: list[list[Message]] = [
        [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        for question, answer in CONVERSATIONS
    ]
    encoded = encode_conversations(tokenizer, template, turns)
    found = [(each.input_ids[:longest], each.labels[:longest]) for row in encoded for each in row]
    return [(ids, labels) for ids, labels in found if any(label != IGNORED for label in labels)]


def _groups(model: PeftModel, rows: Rows) -> Iterator[list[tuple[list[int], list[int]]]]:
    return in_groups(choose(rows), model.get_output_embeddings().weight.shape[0], LOGITS)


def _at(model: PeftModel, strength: float, group: list[tuple[list[int], list[int]]]) -> list[Tensor]:
    """The predictions with the adapter at this strength."""
    from peft.helpers import rescale_adapter_scale

    if strength == 0:
        with model.disable_adapter():
            return predictions(model, group)
    if strength == 1:
        return predictions(model, group)
    with rescale_adapter_scale(model, strength):
        return predictions(model, group)


def _loss(model: PeftModel, rows: Rows, strength: float, beat: Callable[[], None]) -> float:
    """The mean negative log-likelihood of the labels."""
    nats, tokens = 0.0, 0
    for group in _groups(model, rows):
        beat()
        for predicted, wanted in zip(_at(model, strength, group), following(group), strict=True):
            nats -= float(predicted.gather(-1, wanted[:, None]).sum())
            tokens += len(wanted)
    return nats / tokens


def _divergence(model: PeftModel, rows: Rows, beat: Callable[[], None]) -> float:
    """The mean divergence of the trained model's predictions from the base model's, at the labels."""
    from torch.nn.functional import kl_div

    nats, tokens = 0.0, 0
    for group in _groups(model, rows):
        beat()
        pairs = zip(_at(model, 1.0, group), _at(model, 0.0, group), strict=True)
        for tuned, base in pairs:
            nats += float(kl_div(tuned, base, reduction="sum", log_target=True))
            tokens += len(tuned)
    return nats / tokens
