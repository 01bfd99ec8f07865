"""KTO trains as the library's trainer does, and on held-out rows the margin rises."""

import json

import pytest
import torch
from safetensors.torch import load_file

from trainer.data.preferences import with_other_answers
from trainer.kernels.allowed import PLAIN
from trainer.tests import jobs
from trainer.tests.training.test_preferences import SETTINGS, pairs
from trainer.tests.training.test_run import copy, forget_after


def rated(count=48, every=2):
    """Right answers, and of every so many a wrong one."""
    made = []
    for at, row in enumerate(pairs(count)):
        answer = row["chosen"] if at % every else row["rejected"]
        made.append({"prompt": row["prompt"], "completion": answer, "label": at % every > 0})
    return made


def library(model, rows, folder, targets, held_out=None, **settings):
    """What a plain script of TRL's KTOTrainer computes; its adapter is saved in `folder/adapter`."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoTokenizer, set_seed
    from trl import KTOConfig, KTOTrainer

    set_seed(settings["seed"])
    tokenizer = AutoTokenizer.from_pretrained(model)

    # As Hone renders them: this model has no template.
    data = [{**row, "prompt": f"{row['prompt']}\n###\n"} for row in rows]
    trainer = KTOTrainer(
        model=str(model),
        args=KTOConfig(
            output_dir=str(folder),
            report_to="none",
            logging_steps=1,
            save_strategy="no",
            router_aux_loss_coef=None,
            bf16=False,
            gradient_checkpointing=False,
            use_cpu=True,
            max_length=None,
            **settings,
        ),
        # In an order of Hone's own.
        train_dataset=Dataset.from_list(data).shuffle(seed=settings["seed"]),
        processing_class=tokenizer,
        peft_config=LoraConfig(r=8, lora_alpha=16, target_modules=targets, task_type="CAUSAL_LM"),
    )
    trainer.train()
    trainer.model.save_pretrained(folder / "adapter")
    return [log for log in trainer.state.log_history if "loss" in log]


SHOWN = ("kl", "rewards/chosen", "rewards/rejected", "rewards/margins", "logps/chosen", "logps/rejected")


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("size", [8, 2])
def test_eight_steps_are_those_of_the_library(models, tmp_path, monkeypatch, padded, size):
    if padded:
        monkeypatch.setenv(PLAIN, "1")
    base, rows = models("llama"), rated(every=3)
    same = {"max_steps": 8, "learning_rate": 5e-3, "seed": 11, "beta": 0.2}
    spec = jobs.make(
        tmp_path / "ours",
        base,
        rows,
        top={"strategy": "kto"},
        per_device_train_batch_size=size,
        gradient_accumulation_steps=8 // size,
        lora_r=8,
        lora_alpha=16,
        warmup_ratio=0,
        lr_scheduler_type="linear",
        **same,
    )
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    folder = tmp_path / "ours" / "artifacts" / "adapter"
    targets = json.loads((folder / "adapter_config.json").read_text())["target_modules"]
    theirs = library(
        base,
        rows,
        tmp_path / "theirs",
        targets,
        per_device_train_batch_size=8,
        undesirable_weight=2.0,
        **same,
    )
    ours = jobs.journal(spec, "metric")
    assert len(ours) == len(theirs) == 8
    for step, plain in zip(ours, theirs, strict=True):
        assert step["loss"] == pytest.approx(plain["loss"], abs=1e-4)
        assert step["tokens"] == plain["num_tokens"]
        for name in [*SHOWN, *(() if padded else ("entropy", "logits/chosen", "logits/rejected"))]:
            assert step["extra"][name] == pytest.approx(plain[name], abs=1e-3), name
    assert any(step["extra"]["kl"] > 0.1 for step in ours)
    expected = load_file(tmp_path / "theirs" / "adapter" / "adapter_model.safetensors")
    for name, weight in load_file(folder / "adapter_model.safetensors").items():
        torch.testing.assert_close(weight, expected[name], atol=1e-3 if size == 8 else 2e-3, rtol=1e-2)
    [warning] = jobs.journal(spec, "warning")
    assert warning["code"] == "labels_weighted" and "false counts 2 times" in warning["message"]


@pytest.fixture(scope="session")
def kto(models, tmp_path_factory):
    # Sorted by label. Wrong answers differ in manner: a tiny model learns that of few rows, too.
    rows = sorted(rated(96), key=lambda row: row["label"])
    rows = [row if row["label"] else {**row, "completion": "no idea"} for row in rows]
    spec = jobs.make(
        tmp_path_factory.mktemp("kto"),
        models("llama"),
        rows,
        top={"strategy": "kto"},
        max_steps=24,
        eval_steps=12,
        save_steps=12,
        **SETTINGS,
    )
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    return spec


def test_the_margin_of_held_out_rows_rises(kto):
    told = {line["step"]: line["metrics"] for line in jobs.journal(kto, "eval")}
    assert told[24]["rewards/margins"] > told[12]["rewards/margins"] > told[0]["rewards/margins"] == 0
    assert told[24]["eval_loss"] < told[0]["eval_loss"] == pytest.approx(0.5) and told[24]["kl"] >= 0
    # Of wrong answers there is no reference.
    samples = jobs.journal(kto, "sample")
    assert len(samples) == 9 and {line["reference"] is None for line in samples} <= {True, False}


def test_it_resumes_to_the_same_losses(kto, tmp_path):
    spec = copy(kto, tmp_path)
    forget_after(spec, 12)
    before = len(jobs.journal(spec))
    assert jobs.train(spec) == 0
    again = {line["step"]: line["loss"] for line in jobs.journal(spec)[before:] if line["type"] == "metric"}
    assert again == {step: loss for step, loss in jobs.losses(kto).items() if step > 12}


def test_an_evaluation_is_the_same_for_every_batch_size(models, tmp_path):
    found = []
    for size in (1, 5, 64):
        spec = jobs.make(
            tmp_path / str(size),
            models("llama"),
            rated(40),
            top={"strategy": "kto"},
            max_steps=4,
            **{**SETTINGS, "per_device_eval_batch_size": size},
        )
        assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
        found.append(jobs.journal(spec)[-1]["metrics"])
    for other in found[1:]:
        for name in ("eval_loss", "kl", "rewards/margins"):
            assert other[name] == pytest.approx(found[0][name], abs=1e-5), name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": "true"}, "Line 5 of the dataset: the field label must be true or false"),
        ({"completion": None}, "Line 5 of the dataset: the field completion must be a string or a list"),
    ],
)
def test_a_wrong_row_is_named(models, tmp_path, change, said):
    rows = rated(12)
    rows[4] = {**rows[4], **change}
    spec = jobs.make(tmp_path, models("llama"), rows, top={"strategy": "kto"}, **SETTINGS)
    assert jobs.train(spec) == 1
    assert said in jobs.journal(spec)[-1]["message"]


def test_labels_that_are_all_the_same_are_refused(models, tmp_path):
    rows = [{**row, "label": True} for row in rated(12)]
    spec = jobs.make(tmp_path, models("llama"), rows, top={"strategy": "kto"}, **SETTINGS)
    assert jobs.train(spec) == 1
    line = jobs.journal(spec)[-1]
    assert line["code"] == "bad_dataset_row" and "have the label true" in line["message"]
    assert "sft" in line["advice"]


def test_each_row_of_a_step_has_the_answer_of_another():
    from datasets import Dataset

    data = Dataset.from_dict({"completion_ids": [[number] for number in range(9)]})
    others = [row for [row] in with_other_answers(data, 4)["KL_completion_ids"]]
    # The last step has one row alone.
    assert others == [3, 0, 1, 2, 7, 4, 5, 6, 7]
