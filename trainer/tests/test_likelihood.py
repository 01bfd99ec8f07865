"""Likelihoods are those of plain transformers, however few logits are computed at a time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from trainer.data.encode import IGNORED
from trainer.evaluating import likelihood
from trainer.tests import tiny

# The logits of five tokens at a time.
TOKENS = 5


def rows_of(vocabulary: int, writes: bool) -> list[tuple[list[int], list[int]]]:
    """Sequences of different lengths, some of whose tokens are learned; one of none."""
    draw = random.Random(5)
    found = []
    for length in (3, 40, 17, 41, 9):
        ids = [draw.randrange(7, vocabulary) for _ in range(length)]
        labels = ids[: length // 2] if writes else [*[IGNORED] * (length // 3), *ids[length // 3 :]]
        found.append((ids, labels))
    return [*found, (ids, [] if writes else [IGNORED] * len(ids))]


def plainly(model: Any, ids: list[int], labels: list[int], writes: bool) -> float:
    """The negative log-likelihood of all labels, one row alone and with all logits at once."""
    import torch

    row, wanted = torch.tensor([ids]), torch.tensor([labels])
    with torch.no_grad():
        if writes:
            logits = model(input_ids=row, labels=wanted).logits[0]
        else:
            logits, wanted = model(input_ids=row).logits[0, :-1], wanted[:, 1:]
    return float(torch.nn.functional.cross_entropy(logits.float(), wanted[0], reduction="sum"))


def models() -> dict[str, Any]:
    """Models that do different things with their states and logits: nothing, a scale, a softcap, a bias."""
    import torch
    import transformers

    tokenizer = tiny.build_tokenizer()
    shape = tiny.decoder_shape(tokenizer)
    torch.manual_seed(3)
    found = {kind: tiny.build_model(kind, tokenizer) for kind in ("llama", "gpt2", "gemma3", "t5", "bart")}
    found["gemma2"] = transformers.Gemma2ForCausalLM(
        transformers.Gemma2Config(**shape, head_dim=16, final_logit_softcapping=1.5)
    )
    found["cohere"] = transformers.CohereForCausalLM(transformers.CohereConfig(**shape, logit_scale=3.0))
    found["granite"] = transformers.GraniteForCausalLM(
        transformers.GraniteConfig(**shape, logits_scaling=0.25)
    )
    found["bart"].final_logits_bias.normal_()
    return found


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma3", "gemma2", "cohere", "granite", "t5", "bart"])
def test_the_likelihoods_are_those_of_plain_transformers(kind, monkeypatch):
    model = models()[kind].eval()
    writes = kind in ("t5", "bart")
    vocabulary = model.config.vocab_size
    sequences = [row for row in rows_of(vocabulary, writes) if row[1] or not writes]
    monkeypatch.setattr(likelihood, "LOGITS", TOKENS * vocabulary)
    most = []
    head = model.get_output_embeddings()
    hook = head.register_forward_hook(lambda module, given, logits: most.append(logits[..., 0].numel()))
    shares = []
    found = likelihood.likelihoods(model, sequences, writes=writes, pad=0, progress=shares.append)
    hook.remove()
    assert max(most) == TOKENS and sum(most) == sum(one.tokens for one in found)
    assert shares[-1] == 1
    for one, (ids, labels) in zip(found, sequences, strict=True):
        assert one.tokens == sum(label != IGNORED for label in (labels if writes else labels[1:]))
        expected = plainly(model, ids, labels, writes) if one.tokens else 0.0
        assert one.nats == pytest.approx(expected, rel=1e-5)
    # The model is left as it was.
    assert all("forward" not in vars(module) for module in model.modules())


def test_the_rows_of_an_adapter_are_computed_with_it(monkeypatch):
    import torch
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(models()["llama"], LoraConfig(r=4, target_modules="all-linear")).eval()
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    monkeypatch.setattr(likelihood, "LOGITS", TOKENS * model.config.vocab_size)
    (row, *_) = rows_of(model.config.vocab_size, False)[1:]

    def nats() -> float:
        (one,) = likelihood.likelihoods(model, [row], writes=False, pad=0, progress=lambda share: None)
        return one.nats

    tuned = nats()
    assert tuned == pytest.approx(plainly(model, *row, False), rel=1e-5)
    with model.disable_adapter():
        assert abs(nats() - tuned) > 1
