"""Makes tiny models with a trained byte-level BPE tokenizer, for tests in both languages.

    python -m trainer.tests.tiny KIND OUTDIR [--template none|chatml|channels] [--seed N] [--vocab N]
        [--context N]

KIND is one of llama, qwen3, gemma3, gpt2, mistral, t5, bart, bert. OUTDIR becomes a model directory as
a hub would give it: config.json, model.safetensors, tokenizer.json, tokenizer_config.json. Nothing is
downloaded; equal arguments give equal bytes. `--template chatml` gives the tokenizer a chat template with
`<|im_start|>` and `<|im_end|>`; the default is a base model without one. Weights are random.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

# In the manner of gpt-oss: answers in channels, reasoning in a field of its own that only a last answer
# keeps.
CHANNELS = (
    "<|start|>system<|message|>Valid channels: analysis, final.<|end|>"
    "{% for message in messages %}{% if message.role == 'assistant' %}"
    "{% if loop.last and not add_generation_prompt %}"
    "{% if message.thinking %}<|start|>assistant<|channel|>analysis<|message|>{{ message.thinking }}<|end|>"
    "{% endif %}<|start|>assistant<|channel|>final<|message|>{{ message.content }}<|return|>"
    "{% else %}<|start|>assistant<|channel|>final<|message|>{{ message.content }}<|end|>{% endif %}"
    "{% else %}<|start|>{{ message.role }}<|message|>{{ message.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
CHANNEL_TOKENS = ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>", "<|call|>")
# The templates of tokenizers, each with the token that ends its answers.
TEMPLATES = {"chatml": (CHATML, "<|im_end|>"), "channels": (CHANNELS, "<|return|>")}

TEAMS = {
    "shipping": ["My parcel has not come.", "The box arrived broken.", "Where is my order {n}?"],
    "billing": ["I was charged twice.", "My invoice {n} is wrong.", "The card was refused."],
    "access": ["I cannot log in.", "The password link is dead.", "My account {n} is locked."],
}


def sentences(count: int, seed: int = 7) -> list[tuple[str, str]]:
    """`count` pairs of a customer's message and the reply that names its team, drawn with `seed`."""
    draw = random.Random(seed)
    names = ["Ada", "Ben", "Cleo", "Dan", "Eve"]
    pairs = []
    for _ in range(count):
        team = draw.choice(sorted(TEAMS))
        text = draw.choice(TEAMS[team]).format(n=draw.randrange(100, 1000))
        greeting = draw.choice(["Hello,", "Hi there.", "Good morning.", f"{draw.choice(names)} here."])
        pairs.append((f"{greeting} {text}", f"team: {team}"))
    return pairs


def build_tokenizer(
    vocabulary: int = 500, template: str | None = None, seed: int = 7, sequence_ends: bool = False
):
    """A byte-level BPE tokenizer of about `vocabulary` tokens, trained on the made-up sentences.

    `sequence_ends` makes it put `</s>` behind every sequence, as encoder-decoder models expect.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    specials = ["<pad>", "<s>", "</s>", "<unk>", "<mask>", "<|im_start|>", "<|im_end|>"]
    if template == "channels":
        specials += CHANNEL_TOKENS
    text, end = TEMPLATES.get(template, (None, "</s>"))
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator((f"{text}\n{reply}" for text, reply in sentences(2000, seed)), trainer)
    if sequence_ends:
        core.post_processor = processors.TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", core.token_to_id("</s>"))]
        )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        eos_token=end,
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        clean_up_tokenization_spaces=False,
    )
    if text is not None:
        tokenizer.chat_template = text
    return tokenizer


def decoder_shape(tokenizer, context: int = 256, **changes) -> dict:
    """The configuration of a decoder: hidden size 64 and 2 layers. `changes` replaces fields."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": context,
        "initializer_range": 0.05,
        **token_ids(tokenizer),
        **changes,
    }


def token_ids(tokenizer) -> dict:
    """The ids of the first, last and padding token, as configurations name them."""
    return {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def build_model(kind: str, tokenizer, context: int = 256, seed: int = 7):
    """A model of architecture `kind` with random weights drawn with `seed` (hidden 64, 2 layers, float32)."""
    import torch
    import transformers

    size = len(tokenizer)
    tokens = token_ids(tokenizer)
    rotary = decoder_shape(tokenizer, context, tie_word_embeddings=kind in ("gemma3", "qwen3"))
    torch.manual_seed(seed)
    if kind == "llama":
        return transformers.LlamaForCausalLM(transformers.LlamaConfig(**rotary))
    if kind == "mistral":
        return transformers.MistralForCausalLM(transformers.MistralConfig(**rotary, sliding_window=None))
    if kind == "qwen3":
        return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**rotary, head_dim=16))
    if kind == "gemma3":
        config = transformers.Gemma3TextConfig(
            **rotary, head_dim=16, sliding_window=64, query_pre_attn_scalar=16
        )
        return transformers.Gemma3ForCausalLM(config)
    if kind == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=size,
            n_positions=context,
            n_embd=64,
            n_layer=2,
            n_head=4,
            initializer_range=0.05,
            **tokens,
        )
        return transformers.GPT2LMHeadModel(config)
    if kind == "t5":
        config = transformers.T5Config(
            vocab_size=size,
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_heads=4,
            decoder_start_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        return transformers.T5ForConditionalGeneration(config)
    if kind == "bart":
        config = transformers.BartConfig(
            vocab_size=size,
            d_model=64,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=128,
            decoder_ffn_dim=128,
            max_position_embeddings=context,
            decoder_start_token_id=tokenizer.eos_token_id,
            forced_eos_token_id=tokenizer.eos_token_id,
            **tokens,
        )
        return transformers.BartForConditionalGeneration(config)
    if kind == "bert":
        config = transformers.BertConfig(
            vocab_size=size,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=context,
            pad_token_id=tokenizer.pad_token_id,
        )
        return transformers.BertForQuestionAnswering(config)
    raise ValueError(f"Unknown kind {kind!r}; known are {', '.join(KINDS)}.")


KINDS = ("llama", "qwen3", "gemma3", "gpt2", "mistral", "t5", "bart", "bert")


def build(
    kind: str,
    directory: Path,
    template: str | None = None,
    seed: int = 7,
    vocabulary: int = 500,
    context: int = 256,
) -> Path:
    """Writes a tiny model of `kind` with its tokenizer into `directory` and returns it."""
    tokenizer = build_tokenizer(vocabulary, template, seed, sequence_ends=kind in ("t5", "bart"))
    tokenizer.model_max_length = context
    model = build_model(kind, tokenizer, context, seed)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return Path(directory)


def main(argv: list[str] | None = None) -> int:
    """Command line of the module docstring."""
    parser = argparse.ArgumentParser(prog="python -m trainer.tests.tiny")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--template", choices=["none", *TEMPLATES], default="none")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--vocab", type=int, default=500)
    parser.add_argument("--context", type=int, default=256)
    args = parser.parse_args(argv)
    template = None if args.template == "none" else args.template
    build(args.kind, args.directory, template, args.seed, args.vocab, args.context)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
