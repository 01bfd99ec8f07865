"""A conversation has the same token ids in training and in the engine, for every architecture."""

import json

import pytest
from transformers import AutoTokenizer

from trainer.data import template
from trainer.data.encode import IGNORED, encode_conversations
from trainer.data.tools import conversation
from trainer.export import node_tools
from trainer.export.gguf import converter_input
from trainer.export.gguf.convert import convert
from trainer.export.merge.adapter import Adapter
from trainer.export.tokenizer.options import choose
from trainer.model.config import complete_config
from trainer.tests import export_fixture, tiny
from trainer.tests.chat import CASES, TOOL_CASES, equip, mask, prompts, questions, render_as_playground
from trainer.tests.chat.models import TEMPLATES, build, write

# A byte-level tokenizer, a template that changes earlier turns, a SentencePiece tokenizer.
QUICK = ("llama", "qwen3", "mistral-sp")


def engine_ids(base, made, texts, expected, folder):
    """What the engine makes of `texts`, with the tokenizer options that an export chooses for `expected`."""
    source = folder / "source"
    source.mkdir()
    converter_input.build(base, source, made, complete_config(base))
    path = folder / "vocabulary.gguf"

    def tokenize(options):
        convert(
            converter_dir=export_fixture.CONVERTER,
            source=source,
            tensors={},
            adapter=Adapter(),
            destination=path,
            quantization="F32",
            name="tiny",
            options=options,
            on_progress=lambda share: None,
        )
        request = {"gguf": str(path), "vocabularyOnly": True, "sequences": [], "texts": texts}
        return node_tools.score(export_fixture.TOOLS["score"], request, lambda: None)["texts"]

    return tokenize(choose(base, expected, tokenize))


def prompts_of(sequences):
    """The tokens before each learned answer."""
    return [
        sequence.input_ids[:at]
        for sequence in sequences
        for at in range(1, len(sequence.labels))
        if sequence.labels[at] != IGNORED and sequence.labels[at - 1] == IGNORED
    ]


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in QUICK else [pytest.mark.long]) for kind in TEMPLATES]
)
def test_the_engine_reads_each_prompt_as_the_tokens_before_its_learned_answer(kind, tmp_path):
    base = build(kind, tmp_path / "base")
    tokenizer = AutoTokenizer.from_pretrained(base)
    made = template.choose(tokenizer, json.loads((base / "config.json").read_text()), None)
    template.save(made, "text-generation", tmp_path / "template.json")
    turns = CASES[TEMPLATES[kind]][1]
    (sequences,) = encode_conversations(tokenizer, made, [turns])
    trained = prompts_of(sequences)
    asked = questions(turns)
    assert len(trained) == len(asked) == 2
    texts = render_as_playground([(tmp_path / "template.json", messages) for messages in asked])
    assert engine_ids(base, made, texts, trained, tmp_path) == trained


@pytest.mark.parametrize("name", TOOL_CASES)
def test_the_engine_reads_tools_calls_and_results_as_the_tokens_of_training(name, tmp_path):
    tokenizer = equip(tiny.build_tokenizer(), name)
    base = write(tokenizer, tiny.build_model("llama", tokenizer), tmp_path / "base")
    tokenizer = AutoTokenizer.from_pretrained(base)
    made = template.choose(tokenizer, json.loads((base / "config.json").read_text()), None)
    row = TOOL_CASES[name][1]
    (sequences,) = encode_conversations(tokenizer, made, [conversation(row, row["messages"])])
    trained = prompts_of(sequences)
    # What the playground renders is the same text, by `test_renderings`.
    texts = prompts(mask(name))
    assert len(trained) == len(texts) == 2
    assert engine_ids(base, made, texts, trained, tmp_path) == trained
