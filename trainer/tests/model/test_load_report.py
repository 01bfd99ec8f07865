"""Weights that do not fit their configuration are refused before the first step, with the tensors' names."""

import json
import shutil

import pytest
from safetensors.torch import load_file, save_file

from trainer.model import load_report
from trainer.protocol.failures import Failure
from trainer.tests import jobs, tiny


def changed(models, folder, change, kind="llama", config=None):
    """A copy of a tiny model whose tensors `change` has changed, and whose config.json has the fields of
    `config`."""
    shutil.copytree(models(kind), folder)
    tensors = load_file(folder / "model.safetensors")
    save_file(change(tensors), folder / "model.safetensors", metadata={"format": "pt"})
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, **(config or {})}))
    return folder


def without(*names):
    return lambda tensors: {name: value for name, value in tensors.items() if name not in names}


def refusal(tmp_path, model):
    spec = jobs.make(tmp_path / "job", model, max_steps=1)
    assert jobs.train(spec) == 1
    assert not jobs.journal(spec, "metric"), "trained"
    last = jobs.journal(spec)[-1]
    assert last["code"] == "bad_model", last
    return last["message"]


@pytest.mark.parametrize(
    "name", ["lm_head.weight", "model.norm.weight", "model.layers.1.mlp.down_proj.weight"]
)
def test_a_missing_tensor_is_named(models, tmp_path, name):
    message = refusal(tmp_path, changed(models, tmp_path / "model", without(name)))
    assert message.endswith(f"not fit LlamaForCausalLM: 1 tensor is missing from the files ({name}).")


def test_a_tied_output_layer_is_not_missing(models, tmp_path):
    model = changed(models, tmp_path / "model", dict, kind="qwen3")
    assert "lm_head.weight" not in load_file(model / "model.safetensors")
    assert jobs.train(jobs.make(tmp_path / "job", model, max_steps=1)) == 0


def test_a_layer_too_many_is_named(models, tmp_path):
    message = refusal(tmp_path, changed(models, tmp_path / "model", dict, config={"num_hidden_layers": 1}))
    place = "9 tensors are in the files without a place in the model (model.layers.1.input_layernorm.weight, "
    assert place in message and message.endswith(", …).")


def test_layers_for_further_tokens_are_no_surplus(models, tmp_path):
    config = {"num_hidden_layers": 1, "num_nextn_predict_layers": 1}
    model = changed(models, tmp_path / "model", dict, config=config)
    assert jobs.train(jobs.make(tmp_path / "job", model, max_steps=1)) == 0


def test_a_foreign_prefix_is_named(models, tmp_path):
    def prefixed(tensors):
        return {f"student.{name}": value for name, value in tensors.items()}

    message = refusal(tmp_path, changed(models, tmp_path / "model", prefixed))
    assert "21 tensors are missing from the files (lm_head.weight, " in message
    assert "21 tensors are in the files without a place in the model (student.lm_head.weight, " in message


def test_another_shape_is_named(models, tmp_path):
    message = refusal(tmp_path, changed(models, tmp_path / "model", dict, config={"intermediate_size": 96}))
    assert "6 tensors are of another shape (model.layers.0.mlp.down_proj.weight has (64, 128)" in message
    assert message.endswith("config.json asks for (64, 96)).")


def test_a_shard_that_lacks_a_tensor_of_the_index_is_refused(models, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(models("llama"), model)
    tensors = load_file(model / "model.safetensors")
    index = {"metadata": {}, "weight_map": dict.fromkeys(tensors, "model-00001-of-00001.safetensors")}
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    (model / "model.safetensors").unlink()
    del tensors["model.layers.0.mlp.up_proj.weight"]
    save_file(tensors, model / "model-00001-of-00001.safetensors", metadata={"format": "pt"})
    assert "1 tensor is missing from the files (model.layers.0.mlp.up_proj" in refusal(tmp_path, model)


def test_an_encoder_gets_a_new_head_and_may_leave_its_old_one(tmp_path):
    import transformers

    tokenizer = tiny.build_tokenizer()
    tokenizer.model_max_length = 256
    config = tiny.build_model("bert", tokenizer).config
    # As bert-base-uncased is stored: with a pooler and a second head, by a class that has neither.
    transformers.BertForPreTraining(config).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    written = json.loads((tmp_path / "model" / "config.json").read_text())
    written["architectures"] = ["BertForMaskedLM"]
    (tmp_path / "model" / "config.json").write_text(json.dumps(written))
    rows = [
        {"context": f"Parcel {n} is in the red box.", "question": "Where is it?", "answer": "the red box"}
        for n in range(12)
    ]
    task = "extractive-question-answering"
    assert jobs.train(jobs.make(tmp_path / "job", tmp_path / "model", rows, {"task": task}, max_steps=1)) == 0


def test_a_reward_model_without_its_head_is_refused(models):
    import transformers

    folder = models("llama")
    model, report = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=1, output_loading_info=True
    )
    config = json.loads((folder / "config.json").read_text())
    load_report.check(model, report, config)
    with pytest.raises(Failure, match=r"missing from the files \(score.weight\)"):
        load_report.check(model, report, config, new_head=False)
