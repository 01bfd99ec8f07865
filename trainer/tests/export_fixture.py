"""Makes a tiny model, an adapter with random weights, their GGUFs and what transformers says of them.

    python -m trainer.tests.export_fixture KIND OUTDIR [--type F32] [--template none|chatml]

KIND is one of `trainer.tests.tiny`, or `gemma2`, `phi3`, `mistral-sp` with a SentencePiece tokenizer, or
`phi3-chat`, whose tokens of a conversation are added and not special. OUTDIR gets `base/`, `adapter/`,
`template.json`, `model.gguf`, `adapter.gguf` and `expected.json`: conversations with the ids of their
prompts, the last hidden state behind them with the adapter, and the greedy continuations with and without it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from trainer.tests import tiny

ROOT = Path(__file__).parents[2]
CONVERTER = ROOT / "build" / "llama.cpp"
# The built programs, as the service uses them: compiling their sources takes longer than a call.
TOOLS = {
    "quantize": ["node", str(ROOT / "dist" / "quantize.js")],
    "score": ["node", str(ROOT / "dist" / "score.js")],
    "converter": str(CONVERTER),
}
SENTENCEPIECE_KINDS = ("gemma2", "phi3", "mistral-sp")
PHI3_TOKENS = ("<|endoftext|>", "<|assistant|>", "<|end|>", "<|user|>")
PHI3_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] + '<|end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)
#: text, a token, text: the tokenizer of `phi3-chat` puts a space before the first text alone, llama.cpp
#: before both or none
MIXED_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)
CONVERSATIONS = [
    [{"role": "user", "content": "My parcel has not come."}],
    [{"role": "user", "content": "Good morning. I was charged twice: 123 times!\n\n  Where's my order 482?"}],
    [{"role": "user", "content": "Ünïcödé 🚀 漢字, I can't log in   now"}],
    [
        {"role": "user", "content": "The card was refused."},
        {"role": "assistant", "content": "team: billing"},
        {"role": "user", "content": "And the box arrived broken."},
    ],
]
NEW_TOKENS = 24
#: in logits; llama.cpp keeps keys and values in 16 bits
CLEAR_LEAD = 0.01


def sentencepiece_tokenizer(directory: Path, kind: str) -> Any:
    """A SentencePiece BPE tokenizer as transformers 5 holds it; `directory` gets its tokenizer.model."""
    import sentencepiece
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    directory.mkdir(parents=True, exist_ok=True)
    specials = PHI3_TOKENS if kind.startswith("phi3") else ("<|im_start|>", "<|im_end|>")
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(scratch) / "corpus.txt"
        corpus.write_text("\n".join(f"{text} {reply}" for text, reply in tiny.sentences(500)), "utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus),
            model_prefix=str(Path(scratch) / "tokenizer"),
            model_type="bpe",
            vocab_size=480,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=kind != "gemma2",
            allow_whitespace_only_pieces=True,
            pad_id=3,
            minloglevel=2,
        )
        (directory / "tokenizer.model").write_bytes((Path(scratch) / "tokenizer.model").read_bytes())
    processor = sentencepiece.SentencePieceProcessor(str(directory / "tokenizer.model"))
    vocabulary = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    merges = []
    for piece, index in vocabulary.items():
        if processor.is_control(index) or processor.is_unknown(index) or processor.is_byte(index):
            continue
        for at in range(1, len(piece)):
            left, right = piece[:at], piece[at:]
            if left in vocabulary and right in vocabulary:
                merges.append((processor.get_score(index), left, right))
    merges.sort(key=lambda merge: -merge[0])
    pairs = [(left, right) for _, left, right in merges]
    if kind == "phi3-chat":
        return _phi3_chat_tokenizer(vocabulary, pairs)
    core = Tokenizer(
        models.BPE(
            vocab=vocabulary,
            merges=pairs,
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    spaces = [normalizers.Replace(" ", "▁")]
    if kind == "gemma2":
        core.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        core.normalizer = spaces[0]
    else:
        core.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), *spaces])
    core.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    core.add_special_tokens(["<unk>", "<s>", "</s>", "<pad>"])
    core.add_special_tokens(
        [AddedToken(token, rstrip=kind == "phi3", normalized=False) for token in specials]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        clean_up_tokenization_spaces=False,
    )


def _phi3_chat_tokenizer(vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> Any:
    """A tokenizer of Phi-3's layout, as transformers 5 makes and writes it: a space before the very first
    piece alone, and added tokens that are not special but take the space behind them."""
    from tokenizers import AddedToken
    from transformers import LlamaTokenizer

    made = LlamaTokenizer(vocab=vocabulary, merges=merges, add_bos_token=False, pad_token="<pad>")
    made.add_tokens(
        [AddedToken(token, special=False, normalized=False, rstrip=True) for token in PHI3_TOKENS]
    )
    made.chat_template = PHI3_TEMPLATE
    return made


def build_sentencepiece_model(kind: str, tokenizer: Any, seed: int = 7) -> Any:
    """A model of one of SENTENCEPIECE_KINDS with random weights."""
    import torch
    import transformers

    torch.manual_seed(seed)
    shape = tiny.decoder_shape(tokenizer)
    if kind == "gemma2":
        config = transformers.Gemma2Config(**shape, head_dim=16, query_pre_attn_scalar=16, sliding_window=64)
        return transformers.Gemma2ForCausalLM(config)
    if kind.startswith("phi3"):
        config = transformers.Phi3Config(**shape, original_max_position_embeddings=256)
        return transformers.Phi3ForCausalLM(config)
    return transformers.MistralForCausalLM(transformers.MistralConfig(**shape, sliding_window=None))


def make_base(
    kind: str, directory: Path, template: str | None = None, keep_sentencepiece: bool = True
) -> Path:
    """Writes the base; without `keep_sentencepiece` as transformers 5 saves it, tokenizer.json alone."""
    if kind not in (*SENTENCEPIECE_KINDS, "phi3-chat"):
        return tiny.build(kind, directory, template)
    tokenizer = sentencepiece_tokenizer(directory, kind)
    tokenizer.model_max_length = 256
    if template is not None:
        tokenizer.chat_template = {"chatml": tiny.CHATML, "mixed": MIXED_TEMPLATE}[template]
    build_sentencepiece_model(kind, tokenizer).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    if not keep_sentencepiece:
        (directory / "tokenizer.model").unlink()
    return directory


def make_adapter(base: Path, directory: Path, **options: Any) -> Any:
    """A LoRA adapter whose B is random, not zero, and whose magnitudes, if it has any, are not the norms that
    they began as; returns the PEFT model, in evaluation mode."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    settings = {"r": 4, "lora_alpha": 8, "target_modules": "all-linear", "task_type": "CAUSAL_LM", **options}
    torch.manual_seed(11)
    tuned = get_peft_model(model, LoraConfig(**settings))
    with torch.no_grad():
        for name, parameter in tuned.named_parameters():
            if "lora_B" in name or "modules_to_save" in name:
                parameter.add_(torch.randn_like(parameter) * 0.05)
            if "lora_magnitude_vector" in name:
                parameter.mul_(1 + torch.randn_like(parameter) * 0.1)
    tuned.save_pretrained(directory)
    return tuned.eval()


def greedy(model: Any, ids: list[int], count: int, ends: set[int]) -> dict[str, Any]:
    """The likeliest continuation up to one of `ends`.

    `clear` is how many of its tokens come before the first choice that led by less than CLEAR_LEAD over the
    next best, which another engine may rightly make otherwise; `logprobs` are those behind `ids`.
    """
    import torch

    out: list[int] = []
    clear: int | None = None
    first: list[float] = []
    with torch.inference_mode():
        for _ in range(count):
            logits = model(input_ids=torch.tensor([[*ids, *out]]), use_cache=False).logits[0, -1].double()
            if not first:
                first = torch.log_softmax(logits, -1).tolist()
            best = logits.topk(2)
            if clear is None and float(best.values[0] - best.values[1]) < CLEAR_LEAD:
                clear = len(out)
            token = int(best.indices[0])
            if token in ends:
                break
            out.append(token)
    ended = len(out) < count
    return {"ids": out, "clear": len(out) if clear is None else clear, "ended": ended, "logprobs": first}


def hidden_state(model: Any, ids: list[int]) -> list[float]:
    """The last layer's state at the last token, after the final norm."""
    import torch

    with torch.inference_mode():
        said = model(input_ids=torch.tensor([ids]), use_cache=False, output_hidden_states=True)
    return said.hidden_states[-1][0, -1].tolist()


def convert_to(
    base: Path,
    adapter_dir: Path,
    template: Any,
    out: Path,
    quantization: str,
    name: str = "tiny",
    with_base: bool = False,
) -> None:
    """Writes `model.gguf` and `adapter.gguf` into `out`, as an export would, and on request `base.gguf`."""
    from trainer.export.gguf import converter_input
    from trainer.export.gguf.adapter_gguf import write_adapter
    from trainer.export.gguf.convert import convert
    from trainer.export.merge import adapter as adapters
    from trainer.export.merge import weights
    from trainer.export.tokenizer import options
    from trainer.model.config import complete_config
    from trainer.model.tokenizer import adds_bos, load_tokenizer

    tensors = weights.index_checkpoint(base)
    config = json.loads((base / "config.json").read_text())
    adapter = adapters.load(adapter_dir, tensors, bool(config.get("tie_word_embeddings")))
    with tempfile.TemporaryDirectory() as scratch:
        folder = converter_input.build(base, Path(scratch), template, complete_config(base))
        for file, change in {
            "model.gguf": adapter,
            **({"base.gguf": adapters.Adapter()} if with_base else {}),
        }.items():
            convert(
                converter_dir=CONVERTER,
                source=folder,
                tensors=tensors,
                adapter=change,
                destination=out / file,
                quantization=quantization,
                name=name,
                options=options.candidates(base)[0],
                adds_bos=adds_bos(load_tokenizer(base)),
                on_progress=lambda share: None,
            )
        obstacle = write_adapter(
            converter_dir=CONVERTER,
            source=folder,
            tensors=tensors,
            adapter=adapter,
            destination=out / "adapter.gguf",
        )
        assert adapter.replaces_tensors == (obstacle is not None), obstacle


def build(
    kind: str,
    out: Path,
    quantization: str = "F32",
    template: str | None = None,
    with_base: bool = False,
) -> Path:
    """Everything of the module's docstring; returns `out`."""
    from transformers import AutoTokenizer

    from trainer.data import template as templates

    base = make_base(kind, out / "base", template)
    tuned = make_adapter(base, out / "adapter")
    tokenizer = AutoTokenizer.from_pretrained(base)
    config = json.loads((base / "config.json").read_text())
    chosen = templates.choose(tokenizer, config, None)
    templates.save(chosen, "text-generation", out / "template.json")
    convert_to(base, out / "adapter", chosen, out, quantization, with_base=with_base)
    ends = {tokenizer.eos_token_id, *(tokenizer.convert_tokens_to_ids(stop) for stop in chosen.stop)}
    # llama.cpp ends an answer at these whatever the configuration says
    known = tokenizer.get_vocab()
    ends |= {known[token] for token in ("<|im_end|>", "<|end|>", "<|endoftext|>") if token in known}
    expected = []
    for messages in CONVERSATIONS:
        text = templates.render(chosen, messages, True)
        ids = tokenizer(text, add_special_tokens=False).input_ids
        hidden = hidden_state(tuned, ids)
        answers = {"tuned": greedy(tuned, ids, NEW_TOKENS, ends)}
        with tuned.disable_adapter():
            answers["base"] = greedy(tuned, ids, NEW_TOKENS, ends)
        for answer in answers.values():
            answer["text"] = _continuation(tokenizer, ids, answer["ids"])
        expected.append({"messages": messages, "prompt": text, "ids": ids, "hidden": hidden, **answers})
    (out / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1), "utf-8")
    return out


def _continuation(tokenizer: Any, ids: list[int], new: list[int]) -> str:
    """The text that `new` adds to `ids`, without special tokens."""
    before = tokenizer.decode(ids, skip_special_tokens=True)
    return tokenizer.decode([*ids, *new], skip_special_tokens=True)[len(before) :]


def main(argv: list[str] | None = None) -> int:
    """Command line of the module docstring."""
    parser = argparse.ArgumentParser(prog="python -m trainer.tests.export_fixture")
    parser.add_argument("kind", choices=[*tiny.KINDS, *SENTENCEPIECE_KINDS, "phi3-chat"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--type", default="F32")
    parser.add_argument("--template", choices=["none", "chatml"], default="none")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    build(args.kind, args.out, args.type, None if args.template == "none" else args.template)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
