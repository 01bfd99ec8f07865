"""What the trainer says of itself, without importing what is heavy."""

import json
import subprocess
import sys

from trainer.describe import describe
from trainer.engines.cluster import address
from trainer.protocol.contracts import ROW_SHAPES
from trainer.tests.jobs import ROOT

CONVERTER = ROOT / "build" / "llama.cpp"

PROBE = """
import json, sys
from trainer.__main__ import main
main(["describe", "--converter", sys.argv[1]])
heavy = {"torch", "transformers", "trl", "peft", "numpy", "datasets"}
print(json.dumps(sorted(heavy & set(sys.modules))))
"""


def test_describe_imports_nothing_heavy_and_is_json():
    out = subprocess.check_output([sys.executable, "-c", PROBE, str(CONVERTER)], cwd=ROOT, text=True)
    told, heavy = out.splitlines()
    assert json.loads(heavy) == []
    assert set(json.loads(told)) == {
        "tasks",
        "strategies",
        "providers",
        "engines",
        "combinations",
        "export_architectures",
        "causal_classes",
        "quantizations",
        "text_parts",
        "lr_scheduler_types",
        "optimizers",
        "optimizer_state_bytes",
        "bfloat16_from_width",
        "versions",
    }


def test_the_names_are_those_of_the_specification():
    told = describe(None)
    assert [task["name"] for task in told["tasks"]] == [
        "text-generation",
        "summarization",
        "extractive-question-answering",
    ]
    assert [provider["name"] for provider in told["providers"]] == ["standard", "accelerated"]
    standard = told["providers"][0]
    assert (standard["name"], standard["available"], standard["reason"]) == ("standard", True, None)
    for kind in ("tasks", "strategies", "providers"):
        assert all(entry["label"] and entry["description"].endswith(".") for entry in told[kind])
    shapes = [None, None, "preference", "preference", "prompt", "unpaired-preference", None]
    assert [entry["row_shape"] for entry in told["strategies"]] == shapes
    assert {shape for entry in told["tasks"] for shape in entry["row_shapes"]} <= set(ROW_SHAPES)
    assert all(entry["row_shape"] == entry["row_shapes"][0] for entry in told["tasks"])
    for provider in told["providers"]:
        assert provider["available"] == (provider["reason"] is None)
    found = {(entry["task"], entry["strategy"], entry["provider"]): entry for entry in told["combinations"]}
    assert {"t5", "bart", "pegasus"} <= set(found["summarization", "sft", "standard"]["model_types"])


def test_it_tells_which_models_beside_those_that_continue_a_text_are_trained():
    told = {
        (entry["task"], entry["strategy"]): set(entry["model_types"])
        for entry in describe(None)["combinations"]
    }
    questions = told["extractive-question-answering", "sft"]
    assert {"bert", "modernbert", "t5", "bart"} <= questions and not {"pegasus", "longt5"} & questions
    assert "bert" not in told["text-generation", "sft"] and "longt5" in told["text-generation", "sft"]
    assert told["text-generation", "dpo"] == told["text-generation", "qlora"] == set()


def test_the_names_of_schedules_and_optimizers_are_the_library_s_own():
    from transformers.trainer_utils import SchedulerType
    from transformers.training_args import OptimizerNames

    told = describe(None)
    assert told["lr_scheduler_types"] == [entry.value for entry in SchedulerType]
    assert set(told["optimizers"]) <= {entry.value for entry in OptimizerNames}
    assert {"adamw_torch", "adamw_torch_fused", "sgd", "adafactor", "adamw_8bit"} <= set(told["optimizers"])
    assert not {"galore_adamw", "adamw_torch_xla"} & set(told["optimizers"])
    assert set(told["optimizer_state_bytes"]) == set(told["optimizers"])
    assert [told["optimizer_state_bytes"][name] for name in ("adamw_torch", "adamw_8bit", "sgd")] == [8, 2, 0]


def test_without_a_converter_no_architecture_can_be_exported():
    assert describe(None)["export_architectures"] == []
    assert describe(str(ROOT / "nowhere"))["export_architectures"] == []


def test_engines_say_why_they_cannot_be_used(monkeypatch):
    monkeypatch.delenv(address.ADDRESS, raising=False)
    found = {entry["name"]: entry for entry in describe(None)["engines"]}
    assert list(found) == ["single", "local", "cluster"]
    assert found["single"]["available"] and not found["cluster"]["available"]
    assert found["cluster"]["reason"] in ("Hone was started without --cluster.", address.NO_RAY)
    monkeypatch.setenv(address.ADDRESS, "head:6379")
    reason = describe(None)["engines"][-1]["reason"]
    assert reason is None or reason == address.NO_RAY
