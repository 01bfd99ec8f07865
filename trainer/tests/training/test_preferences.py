"""DPO and RLHF: on held-out prompts the margin, or the mean reward, rises."""

import json
import random

import pytest

from trainer.tests import jobs
from trainer.tests.tiny import sentences


def pairs(count=64):
    """Prompts with a right and a wrong team."""
    draw = random.Random(5)
    made = []
    for text, reply in sentences(count):
        wrong = draw.choice([team for team in ("billing", "shipping", "access") if team not in reply])
        made.append({"prompt": text, "chosen": reply, "rejected": f"team: {wrong}"})
    return made


def cases():
    """64 pairs, 16 of them twice. Equal pairs are held out together, and few steps teach nothing about other
    texts: so each has a number, and those that are held out are much like the others."""
    made = [{**row, "prompt": f"{row['prompt']} Case {at}."} for at, row in enumerate(pairs(48))]
    return made + made[:16]


def talks(count=64):
    """The pairs with conversations as prompts, and answers as messages; every third pair has texts."""
    made = pairs(count)
    for at, row in enumerate(made):
        if at % 3:
            asked, _ = sentences(count)[at - 1]
            row["prompt"] = [
                {"role": "system", "content": "You sort messages."},
                {"role": "user", "content": asked},
                {"role": "assistant", "content": "team: shipping"},
                {"role": "user", "content": row["prompt"]},
            ]
            for answer in ("chosen", "rejected"):
                row[answer] = [{"role": "assistant", "content": row[answer]}]
    return made


def manners(count=160):
    """Pairs that differ in manner: a team is named, or a shrug. Even a tiny reward model learns to tell."""
    return [{"prompt": text, "chosen": reply, "rejected": "no idea"} for text, reply in sentences(count)]


SETTINGS = {
    "per_device_train_batch_size": 8,
    "per_device_eval_batch_size": 8,
    "eval_split": 0.25,
    "learning_rate": 5e-3,
    "lora_r": 8,
    "lora_alpha": 16,
}


@pytest.fixture(scope="session")
def dpo(models, tmp_path_factory):
    spec = jobs.make(
        tmp_path_factory.mktemp("dpo"),
        models("llama"),
        cases(),
        top={"strategy": "dpo"},
        max_steps=20,
        eval_steps=10,
        save_steps=10,
        **SETTINGS,
    )
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    return spec


def test_dpo_widens_the_margin_on_held_out_pairs(dpo):
    margins = {line["step"]: line["metrics"]["rewards/margins"] for line in jobs.journal(dpo, "eval")}
    assert margins[20] > margins[10] > margins[0] == 0
    assert jobs.journal(dpo, "metric")[0]["loss"] == pytest.approx(0.6931, abs=1e-3)
    assert "rewards/margins" in jobs.journal(dpo, "metric")[-1]["extra"]
    assert len(jobs.journal(dpo, "sample")) == 9


def test_lists_of_one_message_train_as_their_texts_and_conversations_train(models, tmp_path):
    texts, settings = pairs(24), {**SETTINGS, "eval_split": 0, "max_steps": 2}
    lists = [
        {
            "prompt": [{"role": "user", "content": row["prompt"]}],
            **{name: [{"role": "assistant", "content": row[name]}] for name in ("chosen", "rejected")},
        }
        for row in texts
    ]
    specs = [
        jobs.make(tmp_path / name, models("llama"), rows, top={"strategy": "dpo"}, **settings)
        for name, rows in (("texts", texts), ("lists", lists), ("talks", talks(24)))
    ]
    assert [jobs.train(spec) for spec in specs] == [0, 0, 0]
    assert jobs.losses(specs[0]) == jobs.losses(specs[1])
    of_texts, of_talks = (jobs.journal(spec, "metric")[-1]["tokens"] for spec in specs[1:])
    assert of_talks > of_texts * 1.5


def test_a_larger_beta_keeps_the_model_closer_to_its_base(models, tmp_path):
    settings = {**SETTINGS, "eval_split": 0, "max_steps": 4}
    losses = []
    for beta in (0.1, 1.0):
        spec = jobs.make(
            tmp_path / str(beta), models("llama"), pairs(24), top={"strategy": "dpo"}, beta=beta, **settings
        )
        assert jobs.train(spec) == 0
        losses.append(jobs.losses(spec))
    # The margin is multiplied by beta; before the first update it is zero.
    assert losses[0][1] == pytest.approx(losses[1][1], abs=1e-3)
    assert losses[0][4] != pytest.approx(losses[1][4], abs=1e-3)


def test_dpo_resumes_to_the_same_losses(dpo, tmp_path):
    from trainer.tests.training.test_run import copy, forget_after

    spec = copy(dpo, tmp_path)
    forget_after(spec, 10)
    before = len(jobs.journal(spec))
    assert jobs.train(spec) == 0
    again = {line["step"]: line["loss"] for line in jobs.journal(spec)[before:] if line["type"] == "metric"}
    assert again == {step: loss for step, loss in jobs.losses(dpo).items() if step > 10}


def test_a_resumed_dpo_takes_its_references_from_the_checkpoint(dpo, tmp_path):
    from safetensors.torch import load_file, save_file

    from trainer.tests.training.test_run import copy, forget_after

    spec = copy(dpo, tmp_path)
    forget_after(spec, 10)
    path = spec.parent / "checkpoints/checkpoint-10/references.safetensors"
    kept = load_file(path)
    # Of both the pairs that are trained on and those that are held out, the same ones once.
    assert kept["pairs"].shape == (len({json.dumps(row) for row in cases()}), 2)
    # The rejected answers become less likely than they are.
    save_file({**kept, "pairs": kept["pairs"] - kept["pairs"].new_tensor([0.0, 50.0])}, path)
    assert jobs.train(spec) == 0
    assert jobs.losses(spec)[11] > jobs.losses(dpo)[11] + 1


@pytest.fixture(scope="session")
def fluent(models, tmp_path_factory):
    """A base that names a team or shrugs, by chance: what a policy starts from."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path_factory.mktemp("fluent")
    tokenizer = AutoTokenizer.from_pretrained(models("llama"))
    model = AutoModelForCausalLM.from_pretrained(models("llama"))
    answers = [(text, reply if at % 2 else "no idea") for at, (text, reply) in enumerate(sentences(480))]
    texts = [f"{text}\n###\n{reply}</s>" for text, reply in answers]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(120):
        batch = tokenizer(
            texts[step % 15 * 32 :][:32], return_tensors="pt", padding=True, add_special_tokens=False
        )
        labels = batch.input_ids.masked_fill(batch.attention_mask == 0, -100)
        model(**batch, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def rlhf(fluent, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rlhf")
    top = {"strategy": "rlhf"}
    settings = {**SETTINGS, "per_device_train_batch_size": 16, "learning_rate": 2e-3}
    spec = jobs.make(folder, fluent, manners(), top=top, max_steps=30, eval_steps=15, **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    return spec


@pytest.mark.long
def test_rlhf_trains_a_reward_model_and_tells_how_often_it_is_right(rlhf):
    told = jobs.journal(rlhf, "eval")[0]
    assert told["step"] == 0 and 0.9 < told["metrics"]["reward_model_accuracy"] <= 1
    assert (
        jobs.journal(rlhf)[-1]["metrics"]["reward_model_accuracy"] == told["metrics"]["reward_model_accuracy"]
    )
    assert any("reward model" in (line["detail"] or "") for line in jobs.journal(rlhf, "phase"))


@pytest.mark.long
def test_rlhf_raises_the_mean_reward_of_held_out_prompts(rlhf):
    _, begun, _, last = jobs.journal(rlhf, "eval")
    assert begun["step"] == 0 and last["metrics"]["reward"] > begun["metrics"]["reward"] + 1
    assert all("team:" in line["text"] for line in jobs.journal(rlhf, "sample")[-3:])
    extra = [line["extra"] for line in jobs.journal(rlhf, "metric")]
    assert all("reward" in step and "kl" in step for step in extra)
    assert [line["step"] for line in jobs.journal(rlhf, "metric")] == list(range(1, 31))


def test_rlhf_with_a_reward_model_that_is_given(models, tmp_path):
    import transformers

    base = models("llama")
    config = transformers.AutoConfig.from_pretrained(base, num_labels=1)
    transformers.LlamaForSequenceClassification(config).save_pretrained(tmp_path / "judge")
    transformers.AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "judge")
    settings = {**SETTINGS, "eval_split": 0, "reward_model": str(tmp_path / "judge")}
    spec = jobs.make(tmp_path / "job", base, talks(16), top={"strategy": "rlhf"}, max_steps=2, **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert "reward_model_accuracy" not in jobs.journal(spec)[-1]["metrics"]


@pytest.mark.parametrize("strategy", ["dpo", "rlhf"])
def test_a_pair_without_its_field_is_named(models, tmp_path, strategy):
    rows = pairs(12)
    del rows[4]["rejected"]
    spec = jobs.make(tmp_path, models("llama"), rows, top={"strategy": strategy}, **SETTINGS)
    assert jobs.train(spec) == 1
    line = jobs.journal(spec)[-1]
    assert line["code"] == "bad_dataset_row" and "Line 5" in line["message"] and "rejected" in line["message"]


def test_rlhf_needs_more_than_one_answer_a_step(models, tmp_path):
    settings = {**SETTINGS, "per_device_train_batch_size": 1}
    spec = jobs.make(tmp_path, models("llama"), pairs(12), top={"strategy": "rlhf"}, **settings)
    assert jobs.train(spec) == 1
    assert jobs.journal(spec)[-1]["code"] == "unsupported"


@pytest.mark.parametrize("strategy", ["dpo", "rlhf"])
def test_preferences_are_for_text_generation(models, tmp_path, strategy):
    top = {"strategy": strategy, "task": "summarization"}
    spec = jobs.make(tmp_path, models("llama"), pairs(12), top=top)
    assert jobs.train(spec) == 1
    assert json.dumps(jobs.journal(spec)[-1]).count("summarization")
