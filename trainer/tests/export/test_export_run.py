"""The whole export of a job folder: artifacts, verification, stopping, full disks, wrong adapters."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import trainer.run
from trainer.export import kept
from trainer.export.run import run_export
from trainer.export.verification import reference
from trainer.model.config import complete_config
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import read_spec
from trainer.protocol.failures import explain
from trainer.tests import export_fixture, jobs
from trainer.tests.export.test_export import field

ROOT = export_fixture.ROOT


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny llama with a chat template."""
    return export_fixture.make_base("llama", tmp_path_factory.mktemp("base"), "chatml")


def make_job(
    folder: Path, base: Path, quantizations: list[str], use_chat_template: bool | None = None, **adapter: Any
) -> Path:
    """A job folder as it is when training is over; returns the path of its specification."""
    from transformers import AutoTokenizer

    from trainer.data import template

    spec = jobs.make(
        folder, base, top={"export": {"quantizations": quantizations}, "tools": export_fixture.TOOLS}
    )
    artifacts = folder / "artifacts"
    tuned = export_fixture.make_adapter(base, artifacts / "adapter", **adapter)
    tokenizer = AutoTokenizer.from_pretrained(base)
    chosen = template.choose(tokenizer, json.loads((base / "config.json").read_text()), use_chat_template)
    tokenizer.save_pretrained(artifacts / "adapter")
    template.save(chosen, "text-generation", artifacts / "template.json")
    prompts = [template.render(chosen, talk, True) for talk in export_fixture.CONVERSATIONS]
    sequences = tokenizer(prompts, add_special_tokens=False).input_ids
    golden = [
        {"prompt": "Where?", "reference": "Here.", "tokens": ids, "max_tokens": 12} for ids in sequences[:1]
    ]
    kept.gather(read_spec(spec), complete_config(base), golden, chosen, tokenizer).write(artifacts)
    rows = [(tokens, None) for tokens in sequences]
    reference.record(tuned, rows, artifacts / kept.REFERENCE, lambda done, total: None)
    trained = {"version": 1, "step": 8, "metrics": {"final_loss": 1.5}}
    (folder / "trained.json").write_text(json.dumps(trained))
    return spec


def export(spec: Path) -> dict[str, Any]:
    """Exports, and returns the last `done`."""
    run_export(JobContext.open(read_spec(spec)))
    return jobs.journal(spec, "done")[-1]


def made(spec: Path) -> list[str]:
    """The names below `artifacts/` that an export makes, and whatever else it left in the job folder."""
    before = {"adapter", "template.json", kept.FILE, kept.REFERENCE}
    return sorted(
        [path.name for path in (spec.parent / "artifacts").iterdir() if path.name not in before]
        + [path.name for path in spec.parent.iterdir() if "partial" in path.name]
    )


def test_makes_every_type_verifies_it_and_tells_of_it(tmp_path: Path, base: Path) -> None:
    spec = make_job(tmp_path / "job", base, ["Q8_0", "F16", "q4_k_m"])
    export(spec)
    assert made(spec) == [
        "Modelfile",
        "adapter.gguf",
        "base.json",
        "model-F16.gguf",
        "model-Q4_K_M.gguf",
        "model-Q8_0.gguf",
        "verification.json",
    ]
    done = jobs.journal(spec, "done")[0]
    assert (done["outcome"], done["step"], done["metrics"]) == ("completed", 8, {"final_loss": 1.5})
    told = done["verification"]
    assert told["passed"] and told["exact"] and told["agreement"] > 0.9 and told["tokens_equal"] == 1
    assert told["max_logprob_difference"] < 0.1 and told["difference_from_base"] > 0.1
    files = json.loads((spec.parent / "artifacts" / "verification.json").read_text())["files"]
    assert files["F16"]["max_logprob_difference"] < 5e-3
    assert files["F16"]["max_logprob_difference"] < files["Q8_0"]["max_logprob_difference"]
    assert files["Q8_0"]["mean_kl"] < files["Q4_K_M"]["mean_kl"] < 0.5
    artifacts = {(line["kind"], line["quantization"]): line for line in jobs.journal(spec, "artifact")}
    assert set(artifacts) == {
        ("gguf", "Q8_0"),
        ("gguf", "F16"),
        ("gguf", "Q4_K_M"),
        ("adapter_gguf", None),
        ("modelfile", None),
        ("verification", None),
    }
    for line in artifacts.values():
        assert (spec.parent / line["path"]).stat().st_size == line["bytes"]
    (answer,) = jobs.journal(spec, "sample")
    assert [answer[name] for name in ("step", "prompt", "reference", "file")] == [
        8,
        "Where?",
        "Here.",
        "Q8_0",
    ]
    assert answer["text"], "the file that the playground uses answers"
    phases = [line["phase"] for line in jobs.journal(spec, "phase")]
    assert {"merge", "convert", "quantize", "verify"} == set(phases)
    # The tokenizer's settings do not say it, so the converter leaves it to the engines.
    for name in ("F16", "Q4_K_M"):
        gguf = spec.parent / "artifacts" / f"model-{name}.gguf"
        assert field(gguf, "tokenizer.ggml.add_bos_token") is False
    text = (spec.parent / "artifacts" / "Modelfile").read_text()
    assert text.startswith("FROM ./model-") and 'PARAMETER stop "<|im_end|>"' in text
    assert '{{ if eq $m.Role "user" }}<|im_start|>user\n{{ $m.Content }}<|im_end|>\n' in text
    assert text.count("<|im_start|>assistant\n") == 2


def test_a_stop_leaves_nothing_and_running_again_exports(tmp_path: Path, base: Path) -> None:
    spec = make_job(tmp_path / "job", base, ["F16"])
    (spec.parent / "stop").touch()
    export(spec)
    assert jobs.journal(spec, "done")[0]["outcome"] == "stopped"
    assert made(spec) == []
    (spec.parent / "stop").unlink()
    export(spec)
    assert jobs.journal(spec, "done")[1]["outcome"] == "completed"


def test_a_stop_between_two_tensors(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make_job(tmp_path / "job", base, ["F16"])
    job = JobContext.open(read_spec(spec))
    write = job.journal.write

    def watch(kind: str, **fields: Any) -> None:
        write(kind, **fields)
        if fields.get("phase") == "convert":
            (spec.parent / "stop").touch()

    monkeypatch.setattr(job.journal, "write", watch)
    run_export(job)
    assert jobs.journal(spec, "done")[0]["outcome"] == "stopped"
    assert made(spec) == []


def test_a_file_without_finite_answers_is_not_published(tmp_path: Path, base: Path) -> None:
    spec = make_job(tmp_path / "job", base, ["F16"])
    export_fixture.make_adapter(base, spec.parent / "artifacts" / "adapter", lora_alpha=1 << 16)
    done = export(spec)
    assert "probabilities are not finite" in done["export"]["reason"]
    assert (done["outcome"], done["verification"]) == ("completed", None)
    assert (done["export"]["state"], done["export"]["code"]) == ("failed", "verification_failed")
    assert done["export"]["files"][0]["state"] == "failed"
    assert made(spec) == ["adapter.gguf", "base.json"]


def test_a_type_that_fails_takes_no_other_with_it(tmp_path: Path, base: Path) -> None:
    spec = make_job(tmp_path / "job", base, ["F16", "Q4_K_M", "Q6_K"])
    value = json.loads(spec.read_text())
    value["tools"]["quantize"] = [sys.executable, "-c", "raise SystemExit(3)"]
    spec.write_text(json.dumps(value))
    done = export(spec)
    assert done["outcome"] == "completed" and done["verification"]["passed"]
    told = done["export"]
    assert (told["state"], told["code"]) == ("failed", "internal")
    assert told["reason"].startswith("Q4_K_M: ") and "exit status 3" in told["reason"]
    assert [(file["quantization"], file["state"]) for file in told["files"]] == [
        ("F16", "done"),
        ("Q4_K_M", "failed"),
        ("Q6_K", "failed"),
    ]
    assert [line["quantization"] for line in jobs.journal(spec, "artifact") if line["kind"] == "gguf"] == [
        "F16"
    ]
    assert "model-F16.gguf" in made(spec) and "Modelfile" in made(spec)


@pytest.mark.parametrize(
    "error", [AssertionError("shape"), MemoryError(), RuntimeError("bad"), KeyError("x")]
)
def test_whatever_fails_in_the_converter_the_training_is_completed(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    spec = make_job(tmp_path / "job", base, ["F16", "Q8_0"])
    monkeypatch.setattr("trainer.export.gguf.converter_input.build", fail)
    assert trainer.run.export(str(spec)) == 0
    done = jobs.journal(spec, "done")[0]
    assert (done["outcome"], done["step"], done["metrics"]) == ("completed", 8, {"final_loss": 1.5})
    told = done["export"]
    assert told["state"] == "failed" and told["reason"] and told["advice"]
    assert told["code"] == ("out_of_memory_host" if isinstance(error, MemoryError) else "internal")
    assert [file["state"] for file in told["files"]] == ["failed", "failed"]
    assert jobs.journal(spec, "failed") == []


def test_training_that_changed_nothing_is_said(tmp_path: Path, base: Path) -> None:
    from safetensors.torch import load_file, save_file

    spec = make_job(tmp_path / "job", base, ["F16"])
    path = spec.parent / "artifacts" / "adapter" / "adapter_model.safetensors"
    save_file({name: tensor * 0 for name, tensor in load_file(path).items()}, path)
    record = spec.parent / "artifacts" / kept.REFERENCE
    known = load_file(record)
    known["adapter"] = known["base"].clone()
    save_file(known, record, {"precision": "float32", "quantized": "0", "labelled": "0"})
    export(spec)
    assert "no_difference_from_base" in [line["code"] for line in jobs.journal(spec, "warning")]


def test_saved_modules_are_merged_and_only_the_base_answer_is_lost(tmp_path: Path, base: Path) -> None:
    spec = make_job(
        tmp_path / "job", base, ["F32"], target_modules=["q_proj", "v_proj"], modules_to_save=["lm_head"]
    )
    export(spec)
    assert "adapter.gguf" not in made(spec)
    assert [line["code"] for line in jobs.journal(spec, "warning")] == ["no_adapter_gguf"]
    assert jobs.journal(spec, "done")[0]["verification"]["max_logprob_difference"] < 5e-3


@pytest.mark.parametrize(
    "options",
    [
        {"use_dora": True},
        pytest.param({"use_rslora": True}, marks=pytest.mark.long),
        {"alpha_pattern": {"q_proj": 2}, "rank_pattern": {"v_proj": 2}},
    ],
)
def test_scales_are_those_of_training(tmp_path: Path, base: Path, options: dict[str, Any]) -> None:
    spec = make_job(tmp_path / "job", base, ["F32"], **options)
    export(spec)
    assert jobs.journal(spec, "done")[0]["verification"]["max_logprob_difference"] < 5e-3


def test_a_full_disk_is_a_failure_and_leaves_nothing(tmp_path: Path, base: Path) -> None:
    spec = make_job(tmp_path / "job", base, ["F16"])

    def export_small_files(path: Path) -> int:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        return trainer.run.export(str(path))

    assert jobs.forked(spec, export_small_files) == 0
    told = jobs.journal(spec, "done")[0]
    assert told["outcome"] == "completed"
    assert (told["export"]["state"], told["export"]["code"]) == ("failed", "disk_full")
    assert "resume" not in told["export"]["advice"]
    assert "model-F16.gguf" not in made(spec)


def test_a_missing_program_and_a_crashed_one_are_told_apart(tmp_path: Path, base: Path) -> None:
    spec = make_job(tmp_path / "job", base, ["F16"])
    value = json.loads(spec.read_text())
    for argv, code, said in (
        (["/no/such/program"], "dependency_missing", "cannot be started"),
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "internal", "signal 9"),
    ):
        value["tools"]["score"] = argv
        spec.write_text(json.dumps(value))
        told = export(spec)["export"]
        assert (told["state"], told["code"]) == ("failed", code) and said in told["reason"]
        assert "model-F16.gguf" not in made(spec)


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base of 340 MB in shards of at most 170 MB: one embedding of 160 MB, and layers."""
    import torch
    import transformers

    from trainer.tests import tiny

    folder = tmp_path_factory.mktemp("sharded")
    torch.manual_seed(3)
    tokenizer = tiny.build_tokenizer()
    shape = tiny.decoder_shape(
        tokenizer,
        context=512,
        vocab_size=80_000,
        hidden_size=1024,
        intermediate_size=4096,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=8,
        initializer_range=0.02,
        tie_word_embeddings=True,
    )
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape)).to(torch.bfloat16)
    model.save_pretrained(folder, max_shard_size="170MB")
    tokenizer.save_pretrained(folder)
    assert len(list(folder.glob("*.safetensors"))) >= 2
    return folder


MEASURE = """
import sys
from pathlib import Path
from trainer.run import export
code = export(sys.argv[1])
status = Path("/proc/self/status")
if status.exists():
    peak = 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
else:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak)
sys.exit(code)
"""


def peak_of_export(spec: Path) -> int:
    """The largest resident memory of a whole export in a process of its own, in bytes."""
    told = subprocess.run(
        [sys.executable, "-c", MEASURE, str(spec)], cwd=ROOT, capture_output=True, text=True
    )
    assert told.returncode == 0, told.stdout + told.stderr[-2000:]
    return int(told.stdout.split()[-1])


@pytest.mark.long
def test_peak_memory_is_about_one_shard(tmp_path: Path, sharded: Path, base: Path) -> None:
    """A large model takes at most 1.2 times its largest shard more than one of a few kilobytes.

    Not measured from zero: the libraries hold 500 to 600 MiB, as the system maps their files in smaller
    or larger pieces.
    """
    quantized = ["Q8_0"]
    small = peak_of_export(make_job(tmp_path / "small", base, quantized))
    peak = peak_of_export(make_job(tmp_path / "large", sharded, quantized, r=4, target_modules="all-linear"))
    shards = [path.stat().st_size for path in sharded.glob("*.safetensors")]
    print(f"peak {peak >> 20} MiB, {small >> 20} of a tiny model, shards {[n >> 20 for n in shards]} MiB")
    assert peak - small <= 1.2 * max(shards)


def test_what_is_said_of_a_full_disk_is_understood() -> None:
    assert explain(OSError(28, "No space left on device")).code == "disk_full"
