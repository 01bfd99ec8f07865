"""Embeddings and output layers that are trained, as a whole or the rows of new tokens: as PEFT does."""

import json

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from trainer.tests import jobs
from trainer.tests.plain import stock
from trainer.tests.tiny import sentences
from trainer.tests.training.test_run import copy, forget_after

LONG = pytest.mark.long
NEW = ["<team>", "<end of answer>"]
BOTH = ["embed_tokens", "lm_head"]


def rows(count=32):
    """Rows whose answers have the texts of new tokens."""
    return [
        {"input": text * (1 + at % 3), "output": f"<team> {reply.removeprefix('team: ')}<end of answer>"}
        for at, (text, reply) in enumerate(sentences(count))
    ]


def with_new_tokens(base, folder):
    """The model as a script of transformers gives it new tokens."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForCausalLM.from_pretrained(base, dtype="float32")
    pieces = [tokenizer(text, add_special_tokens=False).input_ids for text in NEW]
    assert all(len(each) > 1 for each in pieces)
    tokenizer.add_tokens(NEW)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    ids = tokenizer.convert_tokens_to_ids(NEW)
    with torch.no_grad():
        for layer in (model.get_input_embeddings(), model.get_output_embeddings()):
            for number, of in zip(ids, pieces, strict=True):
                layer.weight[number] = layer.weight[of].mean(0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder, ids


# What a request asks, and the same of PEFT's LoraConfig, where `ids` are the new tokens.
NEW_ROWS = {"new_tokens": NEW}
EQUAL = [
    ("llama", NEW_ROWS, lambda ids: {"trainable_token_indices": {name: ids for name in BOTH}}),
    ("qwen3", NEW_ROWS, lambda ids: {"trainable_token_indices": ids}),
    ("llama", {"modules_to_save": BOTH}, lambda ids: {"modules_to_save": BOTH}),
    (
        "qwen3",
        {"modules_to_save": ["lm_head"]},
        lambda ids: {"modules_to_save": ["embed_tokens"], "ensure_weight_tying": True},
    ),
    (
        "llama",
        {"modules_to_save": ["lm_head"], **NEW_ROWS},
        lambda ids: {"modules_to_save": ["lm_head"], "trainable_token_indices": {"embed_tokens": ids}},
    ),
]
OTHERS = [
    ("gemma3", NEW_ROWS, lambda ids: {"trainable_token_indices": ids}),
    *(
        (
            "qwen3",
            {**NEW_ROWS, "adapter": kind},
            lambda ids, kind=kind: {"trainable_token_indices": ids, f"use_{kind}": True},
        )
        for kind in ("dora", "rslora")
    ),
    (
        "gemma3",
        {"modules_to_save": ["embed_tokens"], **NEW_ROWS},
        lambda ids: {"modules_to_save": ["embed_tokens"], "ensure_weight_tying": True},
    ),
    *((kind, {**NEW_ROWS, "adapter": "full"}, None) for kind in ("llama", "qwen3")),
]


@pytest.mark.parametrize(
    ("kind", "asked", "options"), [*EQUAL, *(pytest.param(*each, marks=LONG) for each in OTHERS)]
)
def test_eight_steps_are_those_of_a_plain_script(models, tmp_path, kind, asked, options):
    base = models(kind)
    theirs, ids = with_new_tokens(base, tmp_path / "base") if "new_tokens" in asked else (base, [])
    same = {"max_steps": 8, "learning_rate": 1e-3, "seed": 11, "per_device_train_batch_size": 4}
    ways = {"lora_r": 16, "lora_alpha": 32, "warmup_ratio": 0, "lr_scheduler_type": "linear"}
    spec = jobs.make(tmp_path / "ours", base, rows(), **asked, **same, **ways)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    folder = tmp_path / "ours" / "artifacts" / "adapter"
    whole = options is None
    targets = None if whole else json.loads((folder / "adapter_config.json").read_text())["target_modules"]
    precision = {"bf16": False, "gradient_checkpointing": False, "use_cpu": True}
    wanted = stock(
        theirs, rows(), tmp_path / "stock", targets, kind=options and options(ids), **same, **precision
    )
    assert [*jobs.losses(spec).values()] == pytest.approx([loss for loss, _ in wanted], rel=1e-4)
    file = "model.safetensors" if whole else "adapter_model.safetensors"
    ours, stored = load_file(folder / file), load_file(tmp_path / "stock" / "adapter" / file)
    assert ours.keys() == stored.keys()
    for name, tensor in stored.items():
        torch.testing.assert_close(ours[name], tensor, rtol=1e-3, atol=1e-4, msg=name)
    # What is compared has been trained.
    before = AutoModelForCausalLM.from_pretrained(theirs, dtype="float32").get_input_embeddings().weight
    trained = next((one for name, one in ours.items() if "token_adapter" in name), None)
    if trained is not None:
        assert (trained - before[ids]).abs().max() > 1e-3
    else:
        name = next(name for name in ours if name.endswith(("embed_tokens.weight", "wte.weight")))
        assert (ours[name] - before).abs().max() > 1e-3


@pytest.mark.parametrize("asked", [NEW_ROWS, {"modules_to_save": ["embed_tokens"]}])
def test_it_resumes_exactly(models, tmp_path, asked):
    settings = {**asked, "max_steps": 6, "save_steps": 3, "lora_dropout": 0.1}
    spec = jobs.make(tmp_path / "whole", models("qwen3"), rows(), **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    again = copy(spec, tmp_path / "again")
    forget_after(again, 3)
    before = len(jobs.journal(again))
    assert jobs.train(again) == 0
    told = [line for line in jobs.journal(again)[before:] if line["type"] == "metric"]
    assert {line["step"]: line["loss"] for line in told} == {
        at: loss for at, loss in jobs.losses(spec).items() if at > 3
    }
    saved = "artifacts/adapter/adapter_model.safetensors"
    whole, resumed = (load_file(path.parent / saved) for path in (spec, again))
    assert whole.keys() == resumed.keys() and all(whole[name].equal(resumed[name]) for name in whole)


@pytest.mark.parametrize(
    ("asked", "says", "advice"),
    [
        ({"new_tokens": ["ab", "a"]}, "'a' is one token of this model already", "Leave it out"),
        ({"modules_to_save": ["wte"]}, "wte is no embedding or output layer", "embed_tokens, lm_head"),
        ({"target_modules": ["embed_tokens"]}, "embed_tokens of this model cannot have LoRA", "q_proj"),
        ({"target_modules": ["lm_head"]}, "lm_head shares its weight", "q_proj"),
    ],
)
def test_what_cannot_be_is_refused_before_the_first_step(models, tmp_path, asked, says, advice):
    spec = jobs.make(tmp_path, models("qwen3"), rows(), max_steps=1, **asked)
    assert jobs.train(spec) == 1
    last = jobs.journal(spec)[-1]
    assert last["code"] == "unsupported" and says in last["message"] and advice in last["advice"], last
    assert not jobs.journal(spec, "metric")
