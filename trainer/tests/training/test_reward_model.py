"""Reward models are trained without padding as the library's trainer trains them."""

import copy

import pytest
import torch

from trainer.kernels.install import install_linear
from trainer.padding_free import padding_free
from trainer.padding_free.answers import laid_out, make_rewards_padding_free, rewards_of
from trainer.padding_free.shared_rows import LEAST_SHARED, grouped
from trainer.tests import jobs, tiny
from trainer.tests.padding_free.test_padding_free import PLAIN, gradients
from trainer.tests.padding_free.test_pairs import some_pairs, told_of, uneven
from trainer.tests.training.test_policy import HALF, judge_of
from trainer.tests.training.test_preferences import pairs as texts


def adapted(model):
    """`model` with LoRA that has an effect, and a trained score."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(4)
    lora = LoraConfig(r=4, target_modules="all-linear", task_type="SEQ_CLS", modules_to_save=["score"])
    model = get_peft_model(model, lora)
    for name, weights in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=0.05)
    return model.eval()


def some_answers():
    """Uneven answers, some of one token; one row ends with the token that fills up rows, one is empty but for
    its prompt."""
    pairs = some_pairs()
    rows = [[*pair["prompt_ids"], *pair[name]] for name in ("chosen_ids", "rejected_ids") for pair in pairs]
    return [*rows, [*rows[0], 0], rows[0][:31]]


def loss_of(rewards):
    chosen, rejected = rewards.float().chunk(2)
    return -torch.nn.functional.logsigmoid(chosen - rejected).mean()


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gpt2"])
@pytest.mark.parametrize("half", [False, True])
def test_answers_have_the_rewards_and_gradients_that_they_have_alone(tmp_path, kind, half):
    model, rows = judge_of(tmp_path, kind), some_answers()
    model.config.pad_token_id = 0
    exact = adapted(copy.deepcopy(model))
    model = adapted(model.to(torch.bfloat16) if half else model)
    install_linear(model, "cpu")
    assert make_rewards_padding_free(model, rows, 0, HALF if half else PLAIN) is None
    expected = torch.cat([exact(input_ids=torch.tensor([row])).logits[:, 0] for row in rows])
    found = rewards_of(model.get_base_model(), laid_out(rows, 0))
    assert expected.std() > 0.1
    assert (found - expected).norm() < (0.05 if half else 1e-4) * expected.norm()
    theirs, ours = gradients(exact, loss_of(expected)), gradients(model, loss_of(found))
    assert set(ours) == set(theirs) and any("score" in name for name in ours) and len(ours) > 8
    for name, gradient in theirs.items():
        if half:
            similar = torch.nn.functional.cosine_similarity(
                ours[name].flatten().float(), gradient.flatten(), dim=0
            )
            assert similar > 0.98, name
        else:
            torch.testing.assert_close(ours[name], gradient, rtol=1e-3, atol=1e-6)


def test_a_pair_is_shared_as_a_whole_where_all_prompts_begin_alike():
    template = list(range(20, 20 + 3 * LEAST_SHARED))
    prompts = [[*template, *[word] * 40] for word in (7, 3, 5)]
    rows = [[*prompt, *answer] for prompt in prompts for answer in ([1, 2], [9, 9, 9])]
    laid, at = grouped(rows)
    # Each prompt once, and all of its tokens: continuing the first prompt would save the template alone.
    assert len(laid.ids) == sum(map(len, prompts)) + 3 * (2 + 3)
    for row, number in zip(rows, at, strict=True):
        assert [laid.ids[laid.position(number, token)] for token in range(len(row))] == row
    # A row that only one other continues begins with the template of another.
    assert len(grouped([*rows[1:3], [*template, 4, 4]])[0].ids) < sum(map(len, rows[1:3])) + 2


def stock(model, rows, folder, half, **settings):
    """The logs of a plain script of the library, whose prompts end and whose weights begin as ours do."""
    from datasets import Dataset
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForSequenceClassification, set_seed
    from trl import RewardConfig, RewardTrainer

    set_seed(settings["seed"])
    dtype = torch.bfloat16 if half else torch.float32
    base = AutoModelForSequenceClassification.from_pretrained(model, num_labels=1, dtype=dtype)
    set_seed(settings["seed"])
    lora = LoraConfig(
        r=16, lora_alpha=32, target_modules="all-linear", task_type="SEQ_CLS", modules_to_save=["score"]
    )
    precision = {"bf16": half, "gradient_checkpointing": half}
    ended = [{**row, "prompt": row["prompt"] + "\n###\n"} for row in rows]
    trainer = RewardTrainer(
        model=get_peft_model(base, lora),
        args=RewardConfig(
            output_dir=str(folder),
            report_to="none",
            logging_steps=1,
            save_strategy="no",
            use_cpu=True,
            max_length=None,
            **precision,
            **settings,
        ),
        train_dataset=Dataset.from_list(ended),
        processing_class=jobs_tokenizer(model),
    )
    trainer.train()
    return [log for log in trainer.state.log_history if "loss" in log]


def jobs_tokenizer(model):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model)


def our_logs(spec, monkeypatch):
    """What the library's trainer of reward models logs while the job `spec` trains."""
    from trl import RewardTrainer

    logs, log = [], RewardTrainer.log

    def kept(self, told, *others):
        log(self, told, *others)
        logs.append(told)

    monkeypatch.setattr(RewardTrainer, "log", kept)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    return logs


@pytest.mark.parametrize(
    ("half", "division", "near"),
    [(False, (8, 1), 1e-4), (False, (3, 2), 1e-4), pytest.param(True, (8, 1), 1e-2, marks=pytest.mark.long)],
)
def test_every_step_is_that_of_a_plain_script(tmp_path, monkeypatch, half, division, near):
    model = tmp_path / "model"
    tiny.build("llama", model)
    rows = uneven(texts(48))
    size, accumulation = division
    same = {"max_steps": 6, "learning_rate": 2e-3, "seed": 11, "per_device_train_batch_size": size}
    same |= {"gradient_accumulation_steps": accumulation}
    ways = {"lora_r": 16, "lora_alpha": 32, "warmup_ratio": 0, "bf16": half, "lr_scheduler_type": "linear"}
    held_out = {"validation": uneven(texts(8))}
    spec = jobs.make(tmp_path / "ours", model, rows, top={"strategy": "rlhf"}, **held_out, **same, **ways)
    ours = [log for log in our_logs(spec, monkeypatch) if "loss" in log]
    assert told_of(spec)[-1] == "rows without padding"
    theirs = stock(model, rows, tmp_path / "stock", half, **same)
    for line, log in zip(ours, theirs, strict=True):
        assert line["num_tokens"] == log["num_tokens"]
        for name in ("loss", "grad_norm", "min_reward", "mean_reward", "max_reward", "margin"):
            # Of a single reward, bfloat16 has three digits.
            least = 0.05 if half and name != "loss" else near
            assert line[name] == pytest.approx(log[name], rel=near, abs=least), (name, log)
        assert line["accuracy"] == pytest.approx(log["accuracy"], abs=0.15 if half else 1e-6)
    assert theirs[-1]["loss"] < 0.99 * theirs[0]["loss"]


NAMES = ("loss", "margin", "accuracy")


def test_padded_rows_train_alike_and_say_why(tmp_path, models, monkeypatch):
    told, ways = [], []
    settings = {"max_steps": 3, "per_device_train_batch_size": 4, "eval_split": 0.25}
    for name in ("without", "with"):
        spec = jobs.make(tmp_path / name, models("gemma3"), texts(24), top={"strategy": "rlhf"}, **settings)
        with pytest.MonkeyPatch.context() as patch:
            told.append(our_logs(spec, patch))
        ways.append(told_of(spec)[0])
        monkeypatch.setattr(padding_free, "KINDS", ("full_attention",))
    assert ways == ["rows without padding", "padded rows: the model has layers of sliding_attention"]
    without, with_padding = told
    assert len(without) == len(with_padding) > 3
    for ours, theirs in zip(without, with_padding, strict=True):
        for name in theirs.keys() & {f"{when}{name}" for when in ("", "eval_") for name in NAMES}:
            assert ours[name] == pytest.approx(theirs[name], rel=1e-4, abs=1e-5)
