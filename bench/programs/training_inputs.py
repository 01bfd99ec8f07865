"""Makes the inputs that both sides of the training benches share: `python training_inputs.py DIR SIZE SHAPE`.

Writes to DIR: `model/`, a Llama with random weights and a trained tokenizer, and `rows.jsonl`. The rows consist of
made-up words; their lengths vary like those of chats: log-normal with a sigma of 0.8 around 70 words. With the shape
`preference` or `judged` a row has a prompt and two answers, the rejected one of half to one and a half times as many words; with
`policy` there is `judge/`, too, a reward model of the same size with random weights. With `group` the answers are as with
`preference`, and with `group-64` they all have 64 words. With
`summary` the model is a T5 without dropout, which would differ with the shape of a batch. With `question` it is a BERT, also
without, and a row is a question of a few words, a context and the part of it that answers; together they fit into 384 tokens. With `messages` a row is a conversation of a system message and one to four turns, and the tokenizer is of Llama 3's kind,
with its chat template as TRL trains with it.
"""

import importlib.util
import json
import math
import random
import sys
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

ROWS = {"gpu": 800, "full": 400, "quick": 400, "test": 64}
MEDIAN_WORDS = {"gpu": 200, "full": 70, "quick": 70, "test": 12}
# Hidden size, inner size, layers, heads: 1036, 23, 4 and 0.1 million parameters in the layers.
SHAPES = {
    "gpu": (2048, 5632, 22, 32),
    "full": (512, 1408, 8, 8),
    "quick": (256, 704, 5, 4),
    "test": (64, 128, 2, 4),
}
VOCABULARY = {"gpu": 16000, "full": 16000, "quick": 8000, "test": 600}
# Words of a context that fit into 384 tokens with its question.
LONGEST_CONTEXT = 130
# How Llama 3 splits text before merging bytes.
LLAMA_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
LLAMA_TOKENS = [
    "<|begin_of_text|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
]


def made_up_rows(size: str, shape: str) -> list[dict]:
    """Rows of `input` and `output`, of `messages`, or of preferences; words are drawn by Zipf's law."""
    draw = random.Random(1)
    syllables = [
        consonant + vowel for consonant in "bcdfgklmnprstvz" for vowel in "aeiou"
    ]
    words = [
        "".join(draw.choice(syllables) for _ in range(draw.randint(1, 4)))
        for _ in range(6000)
    ]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    rows = []
    for _ in range(ROWS[size]):
        count = min(
            400, max(10, int(math.exp(draw.gauss(math.log(MEDIAN_WORDS[size]), 0.8))))
        )
        asked = max(5, int(count * draw.uniform(0.3, 0.8)))
        texts = [
            draw.choices(words, weights, k=number)
            for number in (asked, max(3, count - asked))
        ]
        if shape == "question":
            rows.append(question(draw, words, weights, count))
        elif shape == "messages":
            rows.append({"messages": conversation(*texts, draw.randint(1, 4))})
        elif shape in ("preference", "judged", "policy", "group", "group-64"):
            number = max(3, int(len(texts[1]) * draw.uniform(0.5, 1.5)))
            texts.append(draw.choices(words, weights, k=number))
            if shape == "group-64":
                texts[1:] = (draw.choices(words, weights, k=64) for _ in range(2))
            rows.append(
                dict(
                    zip(
                        ("prompt", "chosen", "rejected"),
                        map(" ".join, texts),
                        strict=True,
                    )
                )
            )
        else:
            rows.append(
                dict(zip(("input", "output"), map(" ".join, texts), strict=True))
            )
    return rows


def conversation(
    asked: list[str], answered: list[str], turns: int
) -> list[dict[str, str]]:
    """A conversation that divides what is asked and answered over at most `turns` turns."""
    turns = min(turns, len(asked) - 1, len(answered))
    messages = [{"role": "system", "content": asked.pop()}]
    for turn in range(turns):
        for role, words in (("user", asked), ("assistant", answered)):
            part = words[turn * len(words) // turns : (turn + 1) * len(words) // turns]
            messages.append({"role": role, "content": " ".join(part)})
    return messages


def question(
    draw: random.Random, words: list[str], weights: list[float], count: int
) -> dict[str, str]:
    """A question about a context of at most `count` words, and the one to five words of it that answer."""
    context = draw.choices(words, weights, k=min(count, LONGEST_CONTEXT))
    start = draw.randrange(len(context))
    answer = context[start : start + draw.randint(1, 5)]
    asked = draw.choices(words, weights, k=draw.randint(4, 12))
    return dict(
        zip(
            ("context", "question", "answer"),
            map(" ".join, (context, asked, answer)),
            strict=True,
        )
    )


def text_of(row: dict) -> str:
    """All text of a row, for the tokenizer's training."""
    if "messages" in row:
        return "\n".join(message["content"] for message in row["messages"])
    return "\n###\n".join(row.values())


def main(folder: Path, size: str, shape: str) -> None:
    """Writes model and rows."""
    import torch
    import transformers
    from tokenizers import processors

    rows = made_up_rows(size, shape)
    chats = shape == "messages"
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if chats:
        split = pre_tokenizers.Split(Regex(LLAMA_SPLIT), behavior="isolated")
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        core.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY[size],
        special_tokens=["<pad>", *(LLAMA_TOKENS if chats else ["<s>", "</s>"])],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(map(text_of, rows), trainer)
    if shape in ("summary", "question"):
        core.post_processor = processors.TemplateProcessing(
            single="$A </s>",
            pair="$A </s> $B </s>",
            special_tokens=[("</s>", core.token_to_id("</s>"))],
        )
    first, end = LLAMA_TOKENS[:2] if chats else ("<s>", "</s>")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=first,
        eos_token=end,
        pad_token="<pad>",
        model_max_length=1024,
    )
    if chats:
        templates = (
            Path(importlib.util.find_spec("trl").origin).parent / "chat_templates"
        )
        tokenizer.chat_template = (templates / "llama3_training.jinja").read_text(
            encoding="utf-8"
        )
    torch.manual_seed(0)
    make = {"summary": t5, "question": bert}.get(shape, llama)
    model = make(*SHAPES[size], vocab_size=VOCABULARY[size])
    if size == "gpu":
        model = model.to(torch.bfloat16)
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    if shape == "policy":
        config = transformers.AutoConfig.from_pretrained(
            folder / "model", num_labels=1, pad_token_id=0
        )
        transformers.LlamaForSequenceClassification(config).save_pretrained(
            folder / "judge"
        )
        tokenizer.save_pretrained(folder / "judge")


def llama(hidden: int, inner: int, layers: int, heads: int, vocab_size: int) -> Any:
    """A Llama with random weights."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 2,
        max_position_embeddings=1024,
        initializer_range=0.04,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    return transformers.LlamaForCausalLM(config)


def t5(hidden: int, inner: int, layers: int, heads: int, vocab_size: int) -> Any:
    """A T5 with random weights, half of the layers in its encoder."""
    import transformers

    config = transformers.T5Config(
        vocab_size=vocab_size,
        d_model=hidden,
        d_kv=hidden // heads,
        d_ff=inner,
        num_layers=layers // 2,
        num_decoder_layers=layers // 2,
        num_heads=heads,
        dropout_rate=0.0,
        decoder_start_token_id=0,
        eos_token_id=2,
        pad_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config)


def bert(hidden: int, inner: int, layers: int, heads: int, vocab_size: int) -> Any:
    """A BERT with a question answering head and random weights."""
    import transformers

    config = transformers.BertConfig(
        vocab_size=vocab_size,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=0,
    )
    return transformers.BertForQuestionAnswering(config)


main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
