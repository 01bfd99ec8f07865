"""A student trains as TRL's DistillationTrainer and a plain script train one, and nears its teacher."""

import json
import os
import shutil
import signal
import weakref
from functools import partial

import pytest
import torch
from safetensors.torch import load_file

from trainer import run, work
from trainer.gguf_base import make
from trainer.kernels.allowed import PLAIN
from trainer.providers.standard import Standard
from trainer.tests import jobs, tiny
from trainer.tests.architectures import toys
from trainer.tests.export_fixture import TOOLS
from trainer.tests.gguf_base.toy_gguf import write_gguf
from trainer.tests.training.test_run import copy
from trainer.training.teaching import ask
from trainer.training.teaching.kept import FOLDER, Kept

SAME = {"max_steps": 8, "learning_rate": 5e-3, "seed": 11}


@pytest.fixture(scope="session")
def teachers(models, tmp_path_factory):
    """A function from a kind to the directory of a model with the tokens of `models` and other weights."""
    made = {}

    def get(kind):
        if kind not in made:
            folder = tmp_path_factory.mktemp(f"teacher-{kind}")
            made[kind] = tiny.build(kind, folder)
            model = tiny.build_model(kind, tiny.build_tokenizer(), seed=23)
            model.save_pretrained(folder)
        return made[kind]

    return get


def taught(folder, student, teacher, rows=None, adapter=None, kind="lora", **settings):
    """The specification of a student of `teacher`, a directory, with the folder of its `adapter`; `kind` is
    that of the student's own."""
    top = {
        "strategy": "distill",
        "teacher": {"name": "tests/teacher", "path": str(teacher), "adapter": adapter and str(adapter)},
    }
    return jobs.make(
        folder, student, rows, top=top, **{"teacher": "tests/teacher", "adapter": kind, **settings}
    )


def library(model, teacher, rows, folder, targets, **settings):
    """What a plain script of TRL's DistillationTrainer computes, of the answers in `rows` in place of the
    student's own; its adapter is saved in `folder/adapter`."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
    from trl import DistillationConfig, DistillationTrainer

    tokenizer = AutoTokenizer.from_pretrained(model)
    answers = {
        tuple(tokenizer(f"{row['input']}\n###\n").input_ids): [
            *tokenizer(row["output"]).input_ids,
            tokenizer.eos_token_id,
        ]
        for row in rows
    }

    class OfRows(DistillationTrainer):
        def _generate_single_turn(self, prompt_ids, *others, **kwargs):
            return [answers[tuple(ids)] for ids in prompt_ids]

    set_seed(settings["seed"])
    trainer = OfRows(
        model=str(model),
        teacher_model=AutoModelForCausalLM.from_pretrained(teacher, dtype="float32"),
        args=DistillationConfig(
            output_dir=str(folder),
            report_to="none",
            logging_steps=1,
            save_strategy="no",
            bf16=False,
            gradient_checkpointing=False,
            use_cpu=True,
            max_completion_length=64,
            **settings,
        ),
        train_dataset=Dataset.from_list([{"prompt": f"{row['input']}\n###\n"} for row in rows]),
        processing_class=tokenizer,
        peft_config=LoraConfig(r=8, lora_alpha=16, target_modules=targets, task_type="CAUSAL_LM"),
    )
    trainer.train()
    trainer.model.save_pretrained(folder / "adapter")
    return [log["loss"] for log in trainer.state.log_history if "loss" in log]


def compare(spec, expected, theirs):
    """Asserts that the losses of a run are `theirs`, and its adapter that in the folder `expected`."""
    ours = jobs.losses(spec)
    assert [*ours.values()] == pytest.approx(theirs, abs=1e-4) and len(theirs) == 8
    [file] = [path.name for path in expected.glob("*.safetensors")]
    found = load_file(spec.parent / "artifacts" / "adapter" / file)
    wanted = load_file(expected / file)
    assert found.keys() == wanted.keys()
    for name, weight in found.items():
        torch.testing.assert_close(weight, wanted[name], atol=1e-3, rtol=1e-2)
    trained = [weight for name, weight in found.items() if "lora_B" in name or "lora" not in name]
    assert any(weight.abs().max() > 1e-2 for weight in trained)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(
    ("kind", "beta", "temperature"),
    [
        ("llama", 0.0, 1.0),
        ("llama", 1.0, 1.0),
        ("llama", 0.5, 2.0),
        ("qwen3", 1.0, 1.0),
        ("gemma3", 0.0, 2.0),
        ("mistral", 0.0, 1.0),
    ],
)
def test_with_all_tokens_eight_steps_are_those_of_the_library(
    models, teachers, tmp_path, monkeypatch, kind, beta, temperature, padded
):
    if padded:
        monkeypatch.setenv(PLAIN, "1")
    student, teacher = models(kind), teachers(kind)
    # All rows in each step: the orders of both libraries differ.
    rows = [{"input": text, "output": reply} for text, reply in tiny.sentences(16)]
    spec = taught(
        tmp_path / "ours",
        student,
        teacher,
        rows,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=4,
        teacher_top_k=1_000_000,
        distill_beta=beta,
        distill_temperature=temperature,
        lora_r=8,
        lora_alpha=16,
        warmup_ratio=0,
        lr_scheduler_type="linear",
        **SAME,
    )
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    folder = spec.parent / "artifacts" / "adapter"
    targets = json.loads((folder / "adapter_config.json").read_text())["target_modules"]
    theirs = library(
        student,
        teacher,
        rows,
        tmp_path / "theirs",
        targets,
        per_device_train_batch_size=16,
        beta=beta,
        temperature=temperature,
        **SAME,
    )
    compare(spec, tmp_path / "theirs" / "adapter", theirs)


def script(model, teacher, rows, folder, targets, top, temperature, share):
    """What a plain script of transformers and PEFT computes of the `top` likeliest tokens and all others as
    one, by the forward KL divergence mixed with the labels."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

    tokenizer = AutoTokenizer.from_pretrained(model)
    load = partial(AutoModelForCausalLM.from_pretrained, dtype="float32")
    set_seed(SAME["seed"])
    lora = LoraConfig(r=8, lora_alpha=16, target_modules=targets, task_type="CAUSAL_LM")
    student, other = load(model), load(teacher).eval()
    if targets is not None:
        student = get_peft_model(student, lora)
    optimizer = torch.optim.AdamW(
        [weight for weight in student.parameters() if weight.requires_grad],
        lr=SAME["learning_rate"],
        weight_decay=0,
    )
    losses = []
    for _ in range(SAME["max_steps"]):
        loss, count = 0.0, 0
        for row in rows:
            prompt = tokenizer(f"{row['input']}\n###\n").input_ids
            ids = torch.tensor([[*prompt, *tokenizer(row["output"]).input_ids, tokenizer.eos_token_id]])
            begin = len(prompt) - 1
            logits = student(input_ids=ids).logits[0, begin:-1]
            with torch.no_grad():
                wanted = (other(input_ids=ids).logits[0, begin:-1] / temperature).softmax(-1)
            ours = (logits / temperature).softmax(-1)
            for mine, its, raw, label in zip(ours, wanted, logits, ids[0, begin + 1 :], strict=True):
                chosen = its.topk(top).indices
                q, p = (torch.cat([each[chosen], 1 - each[chosen].sum()[None]]) for each in (mine, its))
                apart = (p * (p.log() - q.log())).sum()
                loss = loss + (1 - share) * apart - share * raw.log_softmax(-1)[label]
                count += 1
        loss = loss / count
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    student.save_pretrained(folder)
    return losses


@pytest.mark.parametrize(("adapter", "padded"), [("lora", False), ("lora", True), ("full", False)])
def test_of_the_likeliest_tokens_eight_steps_are_those_of_a_plain_script(
    models, teachers, tmp_path, monkeypatch, adapter, padded
):
    if padded:
        monkeypatch.setenv(PLAIN, "1")
    rows = [{"input": text, "output": reply} for text, reply in tiny.sentences(8)]
    mix = {"top": 20, "temperature": 2.0, "share": 0.3}
    spec = taught(
        tmp_path / "ours",
        models("llama"),
        teachers("llama"),
        rows,
        per_device_train_batch_size=8,
        teacher_top_k=mix["top"],
        distill_temperature=mix["temperature"],
        label_share=mix["share"],
        kind=adapter,
        lora_r=8,
        lora_alpha=16,
        warmup_ratio=0,
        lr_scheduler_type="constant",
        **SAME,
    )
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    folder, targets = tmp_path / "theirs", None
    if adapter == "lora":
        config = (spec.parent / "artifacts" / "adapter" / "adapter_config.json").read_text()
        targets = json.loads(config)["target_modules"]
    theirs = script(models("llama"), teachers("llama"), rows, folder, targets, **mix)
    compare(spec, folder, theirs)
    for line in jobs.journal(spec, "metric"):
        parts = line["extra"]
        mixed = 0.7 * parts["divergence"] + 0.3 * parts["label_loss"]
        assert line["loss"] == pytest.approx(mixed, abs=1e-5)


@pytest.fixture(scope="session")
def tuned(models, tmp_path_factory):
    """The folder of an adapter that was trained to answer the rows."""
    spec = jobs.make(tmp_path_factory.mktemp("tuned"), models("llama"), max_steps=60, lora_r=8)
    assert jobs.train(spec) == 0
    return spec.parent / "artifacts" / "adapter"


@pytest.fixture(scope="session")
def student(models, tuned, tmp_path_factory):
    """A run whose teacher is the base with an adapter; it was killed after its last step."""
    spec = taught(
        tmp_path_factory.mktemp("student"),
        models("llama"),
        models("llama"),
        adapter=tuned,
        max_steps=60,
        eval_steps=30,
        save_steps=30,
        eval_split=0.25,
        teacher_top_k=16,
    )

    def dies(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    def train(path):
        run.save_artifacts = dies
        return jobs.train(path)

    assert jobs.forked(spec, train) == -signal.SIGKILL, jobs.journal(spec)[-1]
    return spec


def test_a_student_comes_nearer_to_its_teacher_on_held_out_rows(student):
    told = {line["step"]: line["metrics"] for line in jobs.journal(student, "eval")}
    assert told[60]["divergence"] < told[30]["divergence"] < told[0]["divergence"]
    assert told[60]["divergence"] < 0.2 * told[0]["divergence"]
    # Its teacher knows the answers.
    assert told[60]["label_loss"] < told[0]["label_loss"] and told[60]["perplexity"] < told[0]["perplexity"]
    assert told[60]["eval_loss"] == pytest.approx(told[60]["divergence"], rel=0.2)
    # Of 16 tokens, 16 numbers, their log-probabilities and that of all others.
    sizes = {path.name: path.stat().st_size for path in (student.parent / FOLDER).iterdir()}
    assert sizes["tokens.i32"] / 16 == sizes["log_probabilities.f32"] / 17


def test_it_resumes_to_the_same_losses_without_asking_again(student, tmp_path, monkeypatch):
    spec = copy(student, tmp_path)
    shutil.rmtree(tmp_path / "checkpoints" / "checkpoint-60")
    before = len(jobs.journal(spec))
    monkeypatch.setattr(ask, "_loaded", None)
    assert jobs.train(spec) == 0
    again = {line["step"]: line["loss"] for line in jobs.journal(spec)[before:] if line["type"] == "metric"}
    assert again == {step: loss for step, loss in jobs.losses(student).items() if step > 30}
    # Nobody needs it after the training.
    assert not (tmp_path / FOLDER).exists() and (tmp_path / "trained.json").exists()


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_teacher_is_asked_nothing_twice(models, teachers, tmp_path, monkeypatch, how):
    monkeypatch.setattr(ask, "BATCH_TOKENS", 1)
    # So that it can be looked at.
    monkeypatch.setattr(work, "forget", lambda folder: None)
    settings = {"max_steps": 2, "teacher_top_k": 8}
    spec = taught(tmp_path / "killed", models("llama"), teachers("llama"), **settings)
    add = Kept.add

    def dies(self, rows, *values):
        add(self, rows, *values)
        if self.rows == 10 and how == "stop":
            (tmp_path / "killed" / "stop").touch()
        elif self.rows == 10:
            # As a kill in the middle of the next row leaves it.
            with open(self.folder / "log_probabilities.f32", "ab") as file:
                file.write(b"half a row")
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(Kept, "add", dies)
    assert jobs.forked(spec) == (-signal.SIGKILL if how == "kill" else 0)
    if how == "stop":
        assert jobs.journal(spec)[-1]["outcome"] == "stopped"
        (tmp_path / "killed" / "stop").unlink()
    asked = []

    def counts(self, rows, *values):
        asked.append(rows)
        add(self, rows, *values)

    monkeypatch.setattr(Kept, "add", counts)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    told = [line["detail"] for line in jobs.journal(spec, "phase") if "teacher" in (line["detail"] or "")]
    total = int(told[-1].split()[-2])
    assert sum(asked) == total - 10 and f"teacher: 10 of {total} rows" in told
    whole = taught(tmp_path / "whole", models("llama"), teachers("llama"), **settings)
    assert jobs.train(whole) == 0
    for name in ("log_probabilities.f32", "tokens.i32"):
        one, other = ((each.parent / FOLDER / name).read_bytes() for each in (spec, whole))
        assert one == other
    assert jobs.losses(spec) == jobs.losses(whole)


def test_a_teacher_whose_tokens_differ_by_one_is_refused_by_name(models, teachers, tmp_path):
    from transformers import AutoTokenizer

    other = tiny.build("llama", tmp_path / "other")
    file = other / "tokenizer.json"
    content = json.loads(file.read_text())
    [(last, number)] = [pair for pair in content["model"]["vocab"].items() if pair[1] == 400]
    content["model"]["vocab"]["odd"] = content["model"]["vocab"].pop(last)
    kept = content["model"]["vocab"]
    content["model"]["merges"] = [
        merge
        for merge in content["model"]["merges"]
        if all(part in kept for part in (*merge, "".join(merge)))
    ]
    file.write_text(json.dumps(content))
    assert AutoTokenizer.from_pretrained(other).convert_ids_to_tokens(number) == "odd"
    spec = taught(tmp_path / "job", models("llama"), other, max_steps=1)
    assert jobs.train(spec) == 1
    failed = jobs.journal(spec)[-1]
    assert failed["code"] == "unsupported"
    assert "token 400 is 'odd' in the teacher" in failed["message"] and repr(last) in failed["message"]
    assert "answer your prompts" in failed["advice"]
    assert not jobs.journal(spec, "metric") and not (spec.parent / FOLDER).exists()


def test_a_teacher_s_answers_that_do_not_fit_on_the_disk_are_refused_before(models, teachers, tmp_path):
    spec = taught(tmp_path, models("llama"), teachers("llama"), max_steps=1, teacher_top_k=8)
    value = json.loads(spec.read_text())
    value["disk"]["spare_bytes"] = 1e15
    spec.write_text(json.dumps(value))
    assert jobs.train(spec) == 1
    failed = jobs.journal(spec)[-1]
    assert failed["code"] == "disk_full" and "the teacher's answers" in failed["message"]
    assert "teacher_top_k (8 now)" in failed["advice"] and not (tmp_path / FOLDER).exists()


def test_packed_rows_are_told_apart(models, teachers, tmp_path):
    losses = []
    for packing in (False, True):
        spec = taught(
            tmp_path / str(packing),
            models("llama"),
            teachers("llama"),
            packing=packing,
            max_seq_length=256,
            per_device_train_batch_size=32,
            max_steps=1,
            teacher_top_k=8,
        )
        assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
        losses += jobs.losses(spec).values()
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)


def test_a_gguf_file_teaches_as_the_model_that_it_was_made_of(tmp_path):
    base = toys.build("qwen3", tmp_path / "base")
    gguf = write_gguf(base, tmp_path / "toy.gguf")
    rows = [{"input": text, "output": reply} for text, reply in tiny.sentences(8)]
    found = []
    for name, teacher in {
        "of-gguf": {"path": str(tmp_path / "cache" / make.key_of(gguf)), "gguf": str(gguf)},
        "of-folder": {"path": str(base)},
    }.items():
        top = {"strategy": "distill", "tools": TOOLS, "teacher": {"name": name, **teacher}}
        settings = {"max_steps": 2, "label_share": 0.5, "teacher_top_k": 16}
        spec = jobs.make(tmp_path / name, base, rows, top, teacher=name, **settings)
        # The process is replaced by one with fresh memory.
        assert jobs.forked(spec) == 0, jobs.journal(spec)[-1]
        found.append([*jobs.losses(spec).values()])
    assert (tmp_path / "cache").exists()
    # It has its weights in 16 bits.
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_a_teacher_is_gone_when_its_student_is_loaded(models, teachers, tmp_path, monkeypatch):
    load, base, asked, gone = ask._loaded, Standard.base, [], []

    def loaded(*given):
        model = load(*given)
        asked.append(weakref.ref(model))
        return model

    def told(self, job, *given, **options):
        if job.model_dir.name == "model":
            gone.append(asked[0]() is None)
        return base(self, job, *given, **options)

    monkeypatch.setattr(ask, "_loaded", loaded)
    monkeypatch.setattr(Standard, "base", told)
    spec = taught(tmp_path, models("llama"), teachers("llama"), max_steps=1)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert gone[:1] == [True]
