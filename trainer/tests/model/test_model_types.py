"""Each kind of model that the check lets through trains for every task that it lets it through for."""

import json

import pytest

from trainer.model import check
from trainer.protocol.failures import Failure
from trainer.registry import create
from trainer.tests import jobs, tiny
from trainer.tests.training.test_matrix import TASKS, rows_of

# Sizes by all the names that configurations have for them; a configuration takes those that it knows.
SMALL = {
    **dict.fromkeys(("hidden_size", "d_model", "dim", "embedding_size"), 32),
    **dict.fromkeys(("intermediate_size", "d_ff", "hidden_dim", "encoder_ffn_dim", "decoder_ffn_dim"), 64),
    **dict.fromkeys(("num_attention_heads", "num_heads", "n_heads"), 2),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2),
    **dict.fromkeys(("num_hidden_layers", "n_layers", "num_layers", "encoder_layers", "decoder_layers"), 1),
    "d_kv": 16,
    # RoBERTa and its kin count positions from the padding token's number on.
    "max_position_embeddings": 260,
}


def build(model_type, folder):
    """A tiny model of `model_type` with random weights, as its pre-training would leave it."""
    import transformers

    pairs = model_type in check.ENCODER_DECODERS
    tokenizer = tiny.build_tokenizer(sequence_ends=pairs)
    tokenizer.model_max_length = 256
    known = transformers.AutoConfig.for_model(model_type).to_dict()
    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2}
    starts = {"decoder_start_token_id": 0} if pairs else {}
    sizes = {name: value for name, value in SMALL.items() if name in known}
    config = transformers.AutoConfig.for_model(
        model_type, vocab_size=len(tokenizer), **sizes, **ends, **starts
    )
    kind = transformers.AutoModelForSeq2SeqLM if pairs else transformers.AutoModelForMaskedLM
    kind.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


# One of each family that the matrix does not train; `-m long` trains the others.
QUICK = ("pegasus", "modernbert")


def model_types():
    for name in (*check.ENCODER_DECODERS, *check.ENCODERS):
        yield pytest.param(name, marks=[] if name in QUICK else [pytest.mark.long])


@pytest.mark.parametrize("model_type", list(model_types()))
def test_what_the_check_lets_through_trains(tmp_path, model_type):
    model = build(model_type, tmp_path / "model")
    config = json.loads((model / "config.json").read_text())
    trained = []
    for task in TASKS:
        top = {"task": task}
        spec = jobs.make(
            tmp_path / task, model, rows_of(task, 12), top=top, max_steps=1, eval_split=0.25, eval_steps=1
        )
        code, last = jobs.train(spec), jobs.journal(spec)[-1]
        try:
            check.family(config, create("task", task), create("strategy", "sft"))
        except Failure as refusal:
            assert code == 1 and last["message"] == refusal.message
            continue
        assert code == 0, last
        assert jobs.journal(spec, "eval")
        trained.append(task)
    assert trained
