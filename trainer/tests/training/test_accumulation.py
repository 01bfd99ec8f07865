"""The rows of an optimizer step, however they are divided into micro-batches: same losses, same weights."""

import json
import shutil

import pytest
from safetensors.torch import load_file

from trainer.tests import jobs
from trainer.tests.tiny import sentences
from trainer.tests.training.test_matrix import TASKS

QUESTIONS = "extractive-question-answering"
# Kind, task and strategy; what else is set.
FAMILIES = {
    "t5": ("t5", "summarization", "sft", {}),
    "bart": ("bart", "text-generation", "sft", {}),
    "bert": ("bert", QUESTIONS, "sft", {}),
    "llama": ("llama", "text-generation", "sft", {}),
    "llama packed": ("llama", "text-generation", "sft", {"packing": True, "max_seq_length": 96}),
    # Positions that are learned make rows of a padded batch, where the others train flat.
    "gpt2": ("gpt2", "text-generation", "sft", {}),
    "llama dpo": ("llama", "text-generation", "dpo", {}),
    "llama rlhf": ("llama", "text-generation", "rlhf", {}),
}


def model_without_dropout(source, folder):
    """A copy of the model that drops nothing out: what is dropped differs between divisions of a step."""
    shutil.copytree(source, folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    nothing = {name: 0.0 for name in config if "dropout" in name or name.endswith("pdrop")}
    path.write_text(json.dumps({**config, **nothing}))
    return folder


def rows_of(task, strategy, count):
    """Rows of very different lengths, so that a mean of means is another than the mean."""
    if strategy in ("dpo", "rlhf"):
        return [
            {"prompt": text, "chosen": f"{reply} {'yes ' * (at % 5)}", "rejected": "no"}
            for at, (text, reply) in enumerate(sentences(count))
        ]
    rows = [TASKS[task](*pair) for pair in sentences(count)]
    if task != QUESTIONS:
        for at, row in enumerate(rows):
            row["output"] += " and so on" * (3 * (at % 4))
    return rows


# The other families count what a micro-batch weighs in the same ways.
QUICK = ("t5", "bert", "llama", "llama dpo")


def families():
    for name in FAMILIES:
        yield pytest.param(name, marks=[] if name in QUICK else [pytest.mark.long])


@pytest.mark.parametrize("name", list(families()))
def test_a_step_is_the_same_however_it_is_divided(models, tmp_path, name):
    kind, task, strategy, more = FAMILIES[name]
    model = model_without_dropout(models(kind), tmp_path / "model")
    # Steps of eight rows, the last of five: micro-batches of two, two and one. The reward model of rlhf keeps
    # two of its pairs for a test, and its last step has six.
    count = 24 if strategy == "rlhf" else 21
    found = {}
    for batch, accumulation in ((8, 1), (2, 4)):
        spec = jobs.make(
            tmp_path / f"{batch}x{accumulation}",
            model,
            rows_of(task, strategy, count),
            top={"task": task, "strategy": strategy},
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=accumulation,
            num_train_epochs=2,
            learning_rate=1e-3,
            **more,
        )
        assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
        folder = spec.parent / "artifacts" / "adapter"
        found[batch] = jobs.losses(spec), load_file(folder / "adapter_model.safetensors")
    losses, weights = found.pop(8)
    assert len(losses) > 2
    for batch, (others, adapted) in found.items():
        assert others == pytest.approx(losses, rel=1e-4, abs=1e-5), batch
        assert adapted.keys() == weights.keys()
        for tensor, value in weights.items():
            # Moves every place of a row alike, which no loss sees: what it learns is rounding alone.
            if tensor.endswith("qa_outputs.bias"):
                continue
            assert (adapted[tensor] - value).abs().max() < 1e-5, (batch, tensor)
