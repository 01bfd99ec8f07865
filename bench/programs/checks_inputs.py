"""Makes the inputs of the bench of checks: `python checks_inputs.py DIR SIZE`.

Writes to DIR two models with random weights, a byte-level BPE tokenizer and ChatML's template: `tried/`, of the shape of
Qwen3-0.6B, whose export is tried, and `trained/`, of the shape of SmolLM2-135M, or fewer of its layers. `rows.jsonl` are rows of
made-up words, which the tokenizers are trained on, with short answers.
"""

import json
import random
import sys
from pathlib import Path

import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from trainer.export.tokenizer.pretokenizer import QWEN2
from trainer.tests.tiny import CHATML

# Hidden size, inner size, layers, heads, heads of keys and values, vocabulary. Of `tried` only the first layer is computed with,
# as all are of one kind: there are fewer at the quick size.
SHAPES = {
    "full": {
        "tried": (1024, 3072, 28, 16, 8, 151_936),
        "trained": (576, 1536, 30, 9, 3, 49_152),
    },
    "quick": {
        "tried": (1024, 3072, 2, 16, 8, 151_936),
        "trained": (576, 1536, 6, 9, 3, 49_152),
    },
    "test": {
        "tried": (64, 128, 2, 4, 2, 1_000),
        "trained": (64, 128, 2, 4, 2, 600),
    },
}
ROWS = {"full": 800, "quick": 800, "test": 100}
# Words that a tokenizer is trained on: those of 151,643 tokens are few of them.
WORDS = {"full": 150_000, "quick": 150_000, "test": 1_000}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# Tokens that a model has room for beyond those of its tokenizer.
SPARE = 290


def made_up_words(count: int) -> list[str]:
    """Words of two to five syllables."""
    draw = random.Random(1)
    syllables = [
        consonant + vowel for consonant in "bcdfgklmnprstvz" for vowel in "aeiou"
    ]
    return [
        "".join(draw.choices(syllables, k=draw.randint(2, 5))) for _ in range(count)
    ]


def write_rows(path: Path, words: list[str], count: int) -> None:
    """Rows of 40 to 90 words, and answers of two or three."""
    draw = random.Random(2)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(count):
            asked = draw.choices(words[:6000], k=draw.randint(40, 90))
            answer = draw.choices(words[:6000], k=draw.randint(2, 3))
            file.write(
                json.dumps({"input": " ".join(asked), "output": " ".join(answer)})
                + "\n"
            )


def train_core(words: list[str], size: int) -> dict:
    """The tokenizer.json of a tokenizer with up to `size` tokens that splits texts as Qwen's does."""
    core = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(QWEN2), behavior="isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator((f" {word}" for word in words), trainer)
    return json.loads(core.to_str())


def tokenizer_of(content: dict, size: int) -> transformers.PreTrainedTokenizerFast:
    """One of the first `size` tokens of a tokenizer.json, and SPECIAL."""
    model = content["model"]
    vocabulary = {
        token: number for token, number in model["vocab"].items() if number < size
    }
    merges = [pair for pair in model["merges"] if "".join(pair) in vocabulary]
    first = {**content, "model": {**model, "vocab": vocabulary, "merges": merges}}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(first)),
        eos_token=SPECIAL[2],
        pad_token=SPECIAL[0],
        additional_special_tokens=SPECIAL[1:2],
        model_max_length=2048,
    )
    tokenizer.chat_template = CHATML
    return tokenizer


def write_model(
    folder: Path, shape: tuple[int, ...], content: dict, is_qwen: bool
) -> None:
    """Writes a model of this shape with random weights in bfloat16."""
    hidden, inner, layers, heads, shared, vocabulary = shape
    tokenizer = tokenizer_of(content, vocabulary - SPARE)
    settings = {
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": shared,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "dtype": "bfloat16",
    }
    torch.manual_seed(0)
    if is_qwen:
        # Qwen3-0.6B's heads are wider than its hidden size divided by their number.
        config = transformers.Qwen3Config(**settings, head_dim=2 * hidden // heads)
        model = transformers.Qwen3ForCausalLM(config)
    else:
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**settings))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main(folder: Path, size: str) -> None:
    """Writes models and rows."""
    torch.set_default_dtype(torch.bfloat16)
    words = made_up_words(WORDS[size])
    write_rows(folder / "rows.jsonl", words, ROWS[size])
    largest = max(shape[-1] for shape in SHAPES[size].values())
    content = train_core(words, largest - SPARE)
    for name, shape in SHAPES[size].items():
        write_model(folder / name, shape, content, is_qwen=name == "tried")


main(Path(sys.argv[1]), sys.argv[2])
