"""Every setting does what its name says, seen in what a run records and makes."""

import inspect
import json
import math
import os
from importlib import import_module

import pytest
from datasets import Dataset
from safetensors import safe_open

from trainer.data import rows
from trainer.data.job import Job
from trainer.describe import lr_scheduler_types, optimizers
from trainer.model.hardware import choose, multiplies_bf16, needs_gpu
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import Settings, read_spec
from trainer.protocol.failures import Failure
from trainer.registry import create
from trainer.tests import jobs
from trainer.tests.tiny import sentences
from trainer.training.arguments import training_arguments

ALL_LINEAR = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}


@pytest.fixture(scope="session")
def run(models, tmp_path_factory):
    """Trains a tiny llama with the given settings (once for equal ones) and returns its specification."""
    made = {}

    def get(**settings):
        key = json.dumps(settings, sort_keys=True)
        if key not in made:
            spec = jobs.make(tmp_path_factory.mktemp("settings"), models("llama"), **settings)
            assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
            made[key] = spec
        return made[key]

    return get


def series(spec, name):
    return [line[name] for line in jobs.journal(spec, "metric")]


def adapter(spec):
    """The adapter's tensors by name."""
    with safe_open(spec.parent / "artifacts" / "adapter" / "adapter_model.safetensors", "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def adapter_config(spec):
    return json.loads((spec.parent / "artifacts" / "adapter" / "adapter_config.json").read_text())


def targets(spec):
    return {name.split(".")[-3] for name in adapter(spec)}


def test_epochs_may_be_fractions_and_max_steps_goes_before_them(run):
    assert len(series(run(), "step")) == 8
    assert len(series(run(num_train_epochs=0.5), "step")) == 4
    assert len(series(run(num_train_epochs=1.5), "step")) == 12
    assert len(series(run(max_steps=3, num_train_epochs=9), "step")) == 3
    assert series(run(num_train_epochs=1.5), "epoch")[-1] == 1.5


def test_batch_and_accumulation_make_the_steps(run):
    assert len(series(run(per_device_train_batch_size=8), "step")) == 4
    assert len(series(run(gradient_accumulation_steps=4), "step")) == 2
    # The rows of a step are the same however they are divided, and so is its loss.
    whole, parts = run(per_device_train_batch_size=8), run(gradient_accumulation_steps=2)
    assert series(whole, "loss") == pytest.approx(series(parts, "loss"), rel=1e-4)


def test_the_learning_rate_warms_up_and_follows_its_schedule(run):
    rates = series(run(max_steps=10, warmup_ratio=0.5, lr_scheduler_type="linear"), "learning_rate")
    peak = 5e-3
    assert rates == pytest.approx([peak * min(step / 5, (10 - step) / 5) for step in range(10)])
    cosine = series(run(max_steps=10, warmup_ratio=0, lr_scheduler_type="cosine"), "learning_rate")
    assert cosine == pytest.approx([peak * (1 + math.cos(math.pi * step / 10)) / 2 for step in range(10)])
    constant = series(run(max_steps=4, warmup_ratio=0, lr_scheduler_type="constant"), "learning_rate")
    assert constant == pytest.approx([peak] * 4)


def test_a_warmup_ratio_of_one_warms_up_all_along(run):
    rates = series(run(max_steps=5, warmup_ratio=1), "learning_rate")
    assert rates == pytest.approx([5e-3 * step / 5 for step in range(5)])


NEED_VALIDATION = ("reduce_lr_on_plateau", "greedy")


@pytest.fixture(scope="module")
def library_trainer(models, tmp_path_factory):
    """A function from settings to the library's trainer with the arguments that a job of them has."""
    import torch
    from transformers import Trainer, TrainingArguments

    def make(**settings):
        spec = read_spec(jobs.make(tmp_path_factory.mktemp("arguments"), models("llama"), **settings))
        parts = {kind: create(kind, getattr(spec, kind)) for kind in ("task", "strategy", "provider")}
        job = Job(**vars(JobContext.open(spec)), **parts, resume=None)
        validated = spec.settings.eval_split > 0
        arguments = training_arguments(job, choose(spec.settings), 32, validated)
        data = Dataset.from_dict({"x": [[0.0] * 64] * 32})
        return Trainer(
            torch.nn.Linear(64, 64), TrainingArguments(**arguments), train_dataset=data, eval_dataset=data
        )

    return make


@pytest.mark.parametrize("name", lr_scheduler_types())
def test_every_schedule_that_is_offered_can_be_made(library_trainer, name):
    needed = {"eval_split": 0.25} if name in NEED_VALIDATION else {}
    trainer = library_trainer(lr_scheduler_type=name, **needed)
    trainer.create_optimizer_and_scheduler(20)
    rates = []
    for step in range(20):
        rates.append(trainer.optimizer.param_groups[0]["lr"])
        trainer.optimizer.step()
        if name in NEED_VALIDATION:
            trainer.lr_scheduler.step(float(step))
        else:
            trainer.lr_scheduler.step()
    # A constant rate, from the start or after the warm-up, is what the name says.
    assert len(set(rates)) > 1 or name in ("constant", *NEED_VALIDATION)
    assert all(0 <= rate <= 5e-3 * 1.001 for rate in rates)


@pytest.mark.parametrize("name", [name for name in optimizers() if not needs_gpu(name)])
def test_every_optimizer_that_is_offered_can_be_made(library_trainer, name):
    import torch

    trainer = library_trainer(optim=name)
    optimizer = trainer.create_optimizer()
    weight = trainer.model.weight
    before = weight.detach().clone()
    trainer.model(torch.randn(8, 64)).pow(2).mean().backward()
    optimizer.step()
    assert not torch.equal(weight, before)


@pytest.mark.long
@pytest.mark.parametrize("name", lr_scheduler_types())
def test_every_schedule_trains(run, name):
    needed = {"eval_split": 0.25, "eval_steps": 2} if name in NEED_VALIDATION else {}
    rates = series(run(max_steps=5, lr_scheduler_type=name, **needed), "learning_rate")
    assert len(rates) == 5
    assert len(set(rates)) > 1 or name in ("constant", *NEED_VALIDATION)


def test_a_schedule_that_watches_the_validation_split_trains(run):
    settings = {"lr_scheduler_type": "reduce_lr_on_plateau", "eval_split": 0.25, "eval_steps": 2}
    assert len(series(run(max_steps=3, **settings), "step")) == 3


@pytest.mark.parametrize("name", ["sgd", "adamw_8bit"])
def test_optimizers_differ(run, name):
    # bitsandbytes keeps states of fewer than 4,096 numbers in 32 bits: 64 x 64 are enough.
    plain = series(run(max_steps=3, lora_r=64), "loss")
    assert series(run(max_steps=3, lora_r=64, optim=name), "loss")[2] != plain[2]


def test_the_fused_optimizer_is_the_same_one(run):
    apart, fused = run(max_steps=3), run(max_steps=3, optim="adamw_torch_fused")
    assert series(fused, "loss") == pytest.approx(series(apart, "loss"), rel=1e-5)


def test_weight_decay_and_gradient_clipping_act(run):
    plain = series(run(max_steps=4), "loss")
    assert series(run(max_steps=4, weight_decay=1), "loss")[3] != plain[3]
    assert series(run(max_steps=4, max_grad_norm=1e-3), "loss")[3] != plain[3]
    assert series(run(max_steps=4, max_grad_norm=0), "loss")[0] == plain[0]


def test_rank_and_modules_are_the_adapter_s(run):
    every = adapter(run())
    assert targets(run()) == ALL_LINEAR
    assert {tensor.shape[0] for name, tensor in every.items() if "lora_A" in name} == {4}
    assert {
        tensor.shape[0] for name, tensor in adapter(run(max_steps=1, lora_r=9)).items() if "lora_A" in name
    } == {9}
    assert targets(run(max_steps=1, target_modules=["q_proj", "v_proj"])) == {"q_proj", "v_proj"}
    assert targets(run(max_steps=2, target_modules=["q_proj", "lm_head"])) == {"q_proj", "lm_head"}
    assert all(str(tensor.dtype) == "torch.float32" for tensor in every.values())


def test_alpha_and_dropout_act(run):
    plain = series(run(max_steps=4), "loss")
    assert adapter_config(run(max_steps=4, lora_alpha=2.5))["lora_alpha"] == 2.5
    assert series(run(max_steps=4, lora_alpha=2.5), "loss")[3] != plain[3]
    assert series(run(max_steps=4, lora_dropout=0.5), "loss")[3] != plain[3]


def test_the_length_is_inferred_from_the_rows_or_cuts_them(run):
    full = series(run(), "tokens")[-1]
    assert series(run(max_seq_length=256), "tokens")[-1] == full
    short = run(max_seq_length=18)
    assert series(short, "tokens")[-1] < full
    (told,) = [line for line in jobs.journal(short, "warning") if line["code"] == "rows_truncated"]
    assert "18 tokens" in told["message"]
    capped = run(max_steps=1, max_seq_length=4096)
    (told,) = [line for line in jobs.journal(capped, "warning") if line["code"] == "max_seq_length_capped"]
    assert "256" in told["message"]


def test_the_inferred_length_is_the_percentile_rounded_up_and_capped():
    from trainer.data.lengths import inferred_length

    lengths = [10] * 2000 + [99] * 1
    assert inferred_length(lengths, None) == 16
    assert inferred_length([100] * 10, None) == 104
    assert inferred_length([100] * 10, 64) == 64


def test_packing_trains_the_same_tokens_in_fewer_steps(run):
    packed = run(packing=True, max_seq_length=256)
    assert len(series(packed, "step")) < 8
    assert series(packed, "tokens")[-1] == series(run(), "tokens")[-1]


def test_packed_rows_have_the_loss_that_they_have_apart(run):
    everything = {"max_steps": 1, "warmup_ratio": 0}
    apart = run(per_device_train_batch_size=32, **everything)
    packed = run(per_device_train_batch_size=32, packing=True, max_seq_length=256, **everything)
    assert series(packed, "loss")[0] == pytest.approx(series(apart, "loss")[0], rel=1e-5)


def test_pieces_pack_as_the_whole(models, tmp_path, monkeypatch):
    many = [{"input": text, "output": reply} for text, reply in sentences(2500)]
    packs = {"packing": True, "max_seq_length": 128, "max_steps": 1}
    made = {}
    for size in (10_000, 1000):
        monkeypatch.setattr(rows, "CHUNK_ROWS", size)
        spec = jobs.make(tmp_path / str(size), models("llama"), many, **packs)
        assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
        made[size] = [line["loss"] for line in jobs.journal(spec, "metric")]
        told = [line for line in jobs.journal(spec, "phase") if "packed" in (line["detail"] or "")]
    assert made[1000] == made[10_000]
    assert [line["progress"] for line in told] == [0.4, 0.8, 1.0]
    assert told[0]["detail"] == "dataset: 1,000 of 2,500 rows packed"


def test_evaluation_every_epoch_when_no_step_is_named(run):
    spec = run(num_train_epochs=2, eval_split=0.25)
    assert [line["step"] for line in jobs.journal(spec, "eval")] == [0, 6, 12]
    last = jobs.journal(spec, "eval")[-1]["metrics"]
    assert last["perplexity"] == pytest.approx(math.exp(last["eval_loss"]))


def test_the_best_is_kept_and_what_gets_no_better_ends_early(models, tmp_path):
    # What is learnt makes the held-out rows less likely: soon after the beginning it gets worse for good.
    _, held_out = rows.random_split(Dataset.from_dict({"row": range(32)}), 0.25, 42)
    answers = {number: "My card was refused." for number in held_out["row"]}
    taught = [
        {"input": text, "output": answers.get(number, "team: access access access")}
        for number, (text, _) in enumerate(sentences(32))
    ]
    ways = {"warmup_ratio": 0, "lr_scheduler_type": "constant", "max_steps": 60, "lora_r": 16}
    judged = {"eval_split": 0.25, "eval_steps": 3, "keep_best": True, "early_stopping_patience": 3}
    spec = jobs.make(tmp_path, models("llama"), taught, lora_alpha=32, **ways, **judged)
    assert jobs.train(spec) == 0
    evaluations = {line["step"]: line["metrics"]["eval_loss"] for line in jobs.journal(spec, "eval")}
    best = min(evaluations, key=evaluations.get)
    done = jobs.journal(spec)[-1]
    assert done["step"] == max(evaluations) == best + 3 * 3 < 60
    assert done["metrics"]["best_step"] == best and done["metrics"]["eval_loss"] == evaluations[best]
    kept = spec.parent / "checkpoints" / f"checkpoint-{best}" / "adapter_model.safetensors"
    with safe_open(kept, "pt") as file:
        for name, tensor in adapter(spec).items():
            assert file.get_tensor(name).equal(tensor)
    told = {line["step"]: line["best"] for line in jobs.journal(spec, "checkpoint")}
    assert told[best] and not told[done["step"]]


def test_evaluation_takes_as_many_rows_at_once_as_it_is_told(models, tmp_path):
    import torch
    from transformers import LlamaModel

    sizes = []

    def watch(module, arguments, words, output):
        if isinstance(module, LlamaModel) and "row_lengths" in words and not module.training:
            sizes.append(len(words["row_lengths"]))

    seen = torch.nn.modules.module.register_module_forward_hook(watch, with_kwargs=True)
    try:
        for size in (2, 8):
            ways = {"max_steps": 1, "eval_split": 0.5, "per_device_eval_batch_size": size}
            assert jobs.train(jobs.make(tmp_path / str(size), models("llama"), **ways)) == 0
    finally:
        seen.remove()
    # Before the first step and after it.
    assert (sizes.count(2), sizes.count(8)) == (2 * 8, 2 * 2), "the sixteen held-out rows"


def test_the_validation_part_is_the_share_that_is_asked_for(run):
    for share, steps in ((0.25, 6), (0.5, 4)):
        assert len(series(run(eval_split=share, eval_steps=100), "step")) == steps
    assert not jobs.journal(run(), "eval")


def test_steps_are_saved_as_often_as_is_asked_for(run):
    spec = run(max_steps=5, save_steps=2, save_total_limit=99)
    assert [line["step"] for line in jobs.journal(spec, "checkpoint")] == [2, 4, 5]


def test_the_device_is_the_one_that_is_asked_for(run):
    import torch

    if not torch.cuda.is_available() and not torch.backends.mps.is_available():
        assert series(run(device="auto"), "loss") == series(run(), "loss")
    value = json.loads(jobs.GOLDEN.read_text())["settings"]
    assert choose(Settings(**{**value, "device": "cpu"})).device == "cpu"
    absent = next((name for name in ("cuda", "mps") if not getattr(torch, name).is_available()), None)
    with pytest.raises(Failure, match=absent):
        choose(Settings(**{**value, "device": absent}))


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in optimizers() if not needs_gpu(name)])
def test_every_optimizer_that_is_offered_trains(run, name):
    losses = series(run(max_steps=3, optim=name, warmup_ratio=0), "loss")
    assert losses[2] < losses[0]


# Where each field of the training request is seen to act; a test of another file is named with it.
SEEN = {
    "num_train_epochs": "test_epochs_may_be_fractions_and_max_steps_goes_before_them",
    "max_steps": "test_epochs_may_be_fractions_and_max_steps_goes_before_them",
    "per_device_train_batch_size": "test_batch_and_accumulation_make_the_steps",
    "per_device_eval_batch_size": "test_evaluation_takes_as_many_rows_at_once_as_it_is_told",
    "gradient_accumulation_steps": "test_batch_and_accumulation_make_the_steps",
    "learning_rate": "test_the_learning_rate_warms_up_and_follows_its_schedule",
    "weight_decay": "test_weight_decay_and_gradient_clipping_act",
    "max_grad_norm": "test_weight_decay_and_gradient_clipping_act",
    "max_seq_length": "test_the_length_is_inferred_from_the_rows_or_cuts_them",
    "lora_r": "test_rank_and_modules_are_the_adapter_s",
    **dict.fromkeys(
        ("loss_type", "label_smoothing", "sft_weight"),
        "padding_free.test_pairs.test_every_step_is_that_of_a_plain_script",
    ),
    "adapter": "training.test_adapters.test_eight_steps_are_those_of_a_plain_script",
    "lora_alpha": "test_alpha_and_dropout_act",
    "lora_dropout": "test_alpha_and_dropout_act",
    "target_modules": "test_rank_and_modules_are_the_adapter_s",
    "thinking": "data.test_thinking.test_the_rows_decide_and_what_is_dropped_is_said",
    "tool_syntax": "training.test_shapes.test_tools_are_trained_in_the_syntax_of_hermes",
    "target_experts": "model.test_experts.test_experts_that_are_asked_for_train_and_are_merged",
    "modules_to_save": "training.test_vocabulary.test_it_resumes_exactly",
    "new_tokens": "export.test_new_tokens.test_the_adapter_is_what_peft_loads",
    "warmup_ratio": "test_the_learning_rate_warms_up_and_follows_its_schedule",
    "lr_scheduler_type": "test_the_learning_rate_warms_up_and_follows_its_schedule",
    "optim": "test_optimizers_differ",
    "eval_split": "test_the_validation_part_is_the_share_that_is_asked_for",
    "eval_steps": "training.test_run.test_evaluations_and_checkpoints_come_where_they_are_asked_for",
    "use_4bit": "test_four_and_eight_bits_train_on_the_processor",
    "use_8bit": "test_four_and_eight_bits_train_on_the_processor",
    "bf16": "test_precision_and_checkpointing",
    "fp16": "test_failures.test_what_cannot_run_here_is_refused_by_name",
    "gradient_checkpointing": "test_precision_and_checkpointing",
    "packing": "test_packing_trains_the_same_tokens_in_fewer_steps",
    "use_chat_template": "test_the_model_s_own_template_is_used_unless_declined",
    "seed": "training.test_run.test_equal_seeds_give_equal_runs_and_other_seeds_others",
    "device": "test_the_device_is_the_one_that_is_asked_for",
    "save_steps": "test_steps_are_saved_as_often_as_is_asked_for",
    "save_total_limit": "test_save_total_limit_is_how_many_are_kept",
    "early_stopping_patience": "test_the_best_is_kept_and_what_gets_no_better_ends_early",
    "keep_best": "test_the_best_is_kept_and_what_gets_no_better_ends_early",
    "reward_model": "training.test_preferences.test_rlhf_with_a_reward_model_that_is_given",
    "beta": "training.test_preferences.test_a_larger_beta_keeps_the_model_closer_to_its_base",
    "workers": "engines.test_equality.test_ranks_make_the_adapter_of_one_process",
    "graders": "training.test_grpo.test_equal_scores_are_refused_with_the_answers",
    "group_size": "training.test_grpo.test_groups_are_as_large_as_they_are_asked_to_be",
    "kl_beta": "training.test_grpo.test_every_step_is_that_of_a_plain_script",
    "max_answer_tokens": "training.test_grpo.test_answers_end_at_the_most_tokens",
    "response_format": "training.test_answer_format.test_answers_of_a_training_fit_the_schema",
    **dict.fromkeys(
        ("teacher", "teacher_top_k", "distill_temperature", "label_share"),
        "training.test_distill.test_of_the_likeliest_tokens_eight_steps_are_those_of_a_plain_script",
    ),
    "distill_beta": "training.test_distill.test_with_all_tokens_eight_steps_are_those_of_the_library",
    "golden_prompts": "training.test_matrix.test_golden_prompts_are_what_is_shown",
}


def test_every_field_has_a_test_that_shows_its_effect():
    assert set(SEEN) == set(Settings.__struct_fields__)
    for field, where in SEEN.items():
        file, _, name = where.rpartition(".")
        source = import_module(f"trainer.tests.{file or 'training.test_settings'}")
        assert field in inspect.getsource(getattr(source, name)), f"{name} sets no {field}"


def test_save_total_limit_is_how_many_are_kept(run):
    spec = run(max_steps=4, save_steps=1, save_total_limit=99)
    assert len(list((spec.parent / "checkpoints").iterdir())) == 4
    assert (
        len(list((run(max_steps=4, save_steps=1, save_total_limit=1).parent / "checkpoints").iterdir())) == 1
    )


def test_precision_and_checkpointing(run):
    plain = series(run(max_steps=2), "loss")
    half = series(run(max_steps=2, bf16=True), "loss")
    assert half != plain and half == pytest.approx(plain, rel=0.05)
    saved = series(run(max_steps=2, gradient_checkpointing=True), "loss")
    assert saved == pytest.approx(plain, rel=1e-5)


def test_four_and_eight_bits_train_on_the_processor(run):
    plain = series(run(max_steps=2), "loss")
    for name in ("use_4bit", "use_8bit"):
        low = series(run(max_steps=2, **{name: True}), "loss")
        assert low != plain and low == pytest.approx(plain, rel=0.2)


def test_what_is_chosen_when_nothing_is_asked_for():
    value = json.loads(jobs.GOLDEN.read_text())["settings"]
    settings = Settings(**{**value, "device": "cpu"})
    native, without = choose(settings, cpu_has_bf16=True), choose(settings, cpu_has_bf16=False)
    assert (native.weights, without.weights) == ("bfloat16", "float32")
    narrow, wide = (
        choose(settings, {"text_config": {"hidden_size": size}}, cpu_has_bf16=True) for size in (128, 512)
    )
    assert (narrow.weights, wide.weights) == ("float32", "bfloat16")
    assert not without.gradient_checkpointing and without.autocast is None


@pytest.mark.parametrize(
    ("words", "faster"),
    [
        ("GenuineIntel avx512f", False),
        ("AuthenticAMD avx512f avx512_bf16", True),
        ("GenuineIntel avx512_bf16", True),
        # Measured: without AMX these multiply float32 faster.
        ("GenuineIntel avx512_bf16 avx512_fp16", False),
        ("GenuineIntel avx512_bf16 avx512_fp16 amx_bf16", True),
    ],
)
def test_bfloat16_is_chosen_where_the_processor_multiplies_it_faster(tmp_path, words, faster):
    info = tmp_path / "cpuinfo"
    vendor, *flags = words.split()
    info.write_text(f"vendor_id\t: {vendor}\nflags\t\t: fpu {' '.join(flags)}\n")
    assert multiplies_bf16(info) is faster
    assert not multiplies_bf16(tmp_path / "elsewhere")


def test_the_model_s_own_template_is_used_unless_declined(models, tmp_path):
    for use, source in ((None, "model"), (True, "model"), (False, "hone")):
        model = models("llama", "chatml")
        spec = jobs.make(tmp_path / str(use), model, max_steps=1, use_chat_template=use)
        assert jobs.train(spec) == 0
        assert json.loads((spec.parent / "artifacts" / "template.json").read_text())["source"] == source


@pytest.mark.parametrize(
    ("name", "usual"), [("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128"), ("LRU_CACHE_CAPACITY", "64")]
)
def test_few_programs_are_kept_unless_the_environment_says_how_many(
    name, usual, monkeypatch, tmp_path, models
):
    settings = read_spec(jobs.make(tmp_path, models("llama"))).settings
    for given, expected in ((None, usual), ("512", "512")):
        # So that it is removed again afterwards.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name) if given is None else monkeypatch.setenv(name, given)
        choose(settings)
        assert os.environ[name] == expected
