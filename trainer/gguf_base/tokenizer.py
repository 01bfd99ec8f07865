"""Tokenizer files made from a GGUF's metadata.

transformers' own reader makes other tokenizers: it adds byte fallback to byte-level vocabularies, and splits
the words of SentencePiece vocabularies into letters. What is made here is compared with llama.cpp's tokens
(`trainer.gguf_base.tokens`).
"""

from __future__ import annotations

from pathlib import Path

from trainer.export.gguf.header import Header
from trainer.export.tokenizer import pretokenizer
from trainer.protocol.durable import write_json
from trainer.protocol.failures import Failure

# Types of tokens (llama.h, `llama_token_type`).
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
# Special tokens by their names in tokenizer_config.json: the field of the GGUF, and llama.cpp's default for
# SentencePiece vocabularies.
SPECIAL = {
    "bos_token": ("bos_token_id", 1),
    "eos_token": ("eos_token_id", 2),
    "unk_token": ("unknown_token_id", 0),
    "pad_token": ("padding_token_id", None),
}
# Pre-tokenizers with which llama.cpp adds the beginning-of-text token unless the file says otherwise.
WITH_BOS = (
    "llama-bpe",
    "llama3",
    "llama-v3",
    "falcon3",
    "falcon-h1",
    "pixtral",
    "midm-2.0",
    "lfm2",
    "tekken",
)
# How pieces become text.
PIECES: list[dict[str, object]] = [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
]


def write_tokenizer(header: Header, folder: Path) -> None:
    """Writes tokenizer.json, tokenizer_config.json and, for a SentencePiece vocabulary, tokenizer.model into
    `folder`. Failure `bad_tokenizer` for other kinds of vocabularies."""
    tokens, kind = header.tokenizer("tokens"), header.tokenizer("model")
    if not isinstance(tokens, list) or not tokens:
        raise _refusal("it has no vocabulary")
    types = header.tokenizer("token_type") or [NORMAL] * len(tokens)
    if len(types) != len(tokens):
        raise _refusal(f"it has {len(tokens)} tokens and {len(types)} types")
    if len(set(tokens)) != len(tokens):
        raise _refusal("some of its tokens have the same text")
    makers = {"gpt2": _byte_level, "llama": _sentencepiece, "gemma4": _gemma4}
    if kind not in makers:
        raise _refusal(f"its kind of vocabulary, {kind}, is none of {', '.join(makers)}")
    document = makers[kind](header, tokens, types)
    names = special_tokens(header)
    adds = adds_tokens(header)
    document |= {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(tokens, types, names),
        "post_processor": _post_processor(document["post_processor"], tokens, names, adds),
    }
    write_json(folder / "tokenizer.json", document)
    if kind == "llama":
        (folder / "tokenizer.model").write_bytes(_model_proto(header, tokens, types))
    template = header.metadata.get("tokenizer.chat_template")
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": False,
            "model_max_length": header.parameter("context_length"),
            **names,
            **adds,
            **({"chat_template": template} if template else {}),
        },
    )


def special_tokens(header: Header) -> dict[str, str]:
    """The texts of the special tokens, by their names in tokenizer_config.json."""
    tokens, found = header.tokenizer("tokens"), {}
    for name, (field, default) in SPECIAL.items():
        index = header.tokenizer(field, default if header.tokenizer("model") == "llama" else None)
        if isinstance(index, int) and 0 <= index < len(tokens):
            found[name] = tokens[index]
    return found


def adds_tokens(header: Header) -> dict[str, bool]:
    """Whether the beginning-of-text and end-of-text tokens are added to every text."""
    bos = header.tokenizer("model") == "llama" or header.tokenizer("pre") in WITH_BOS
    # llama.cpp adds it with Gemma 4's vocabulary whatever the file says.
    always = header.tokenizer("model") == "gemma4"
    return {
        "add_bos_token": always or bool(header.tokenizer("add_bos_token", bos)),
        "add_eos_token": bool(header.tokenizer("add_eos_token", False)),
    }


def _refusal(reason: str) -> Failure:
    return Failure(
        "bad_tokenizer",
        f"Hone cannot read the tokenizer of this GGUF: {reason}.",
        "Train the model from its safetensors files, or choose another model.",
    )


def _byte_level(header: Header, tokens: list[str], types: list[int]) -> dict[str, object]:
    name = header.tokenizer("pre", "default")
    found = pretokenizer.pre_tokenizer(name)
    if found is None:
        raise _refusal(f"its pre-tokenizer, {name}, is not known here")
    node, ignore_merges = found
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    return {
        "normalizer": None,
        "pre_tokenizer": node,
        "post_processor": {**byte_level, "add_prefix_space": False},
        "decoder": byte_level,
        "model": {
            **_bpe(tokens),
            "merges": [_pair(merge) for merge in header.tokenizer("merges") or []],
            "ignore_merges": ignore_merges,
        },
    }


def _gemma4(header: Header, tokens: list[str], types: list[int]) -> dict[str, object]:
    """A vocabulary in the manner of SentencePiece with its merges; llama.cpp splits texts at line breaks."""
    unknown = header.tokenizer("unknown_token_id")
    return {
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": "\n+"},
            "behavior": "Isolated",
            "invert": False,
        },
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": PIECES},
        "model": {
            **_bpe(tokens),
            "unk_token": tokens[unknown] if isinstance(unknown, int) else None,
            "byte_fallback": True,
            "merges": [_pair(merge) for merge in header.tokenizer("merges") or []],
        },
    }


def _pair(merge: str) -> list[str]:
    # A token may begin with a space, so llama.cpp looks for it behind the first character.
    at = merge.find(" ", 1)
    return [merge[:at], merge[at + 1 :]]


def _sentencepiece(header: Header, tokens: list[str], types: list[int]) -> dict[str, object]:
    prefix = bool(header.tokenizer("add_space_prefix", True))
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    normalizers = [{"type": "Prepend", "prepend": "▁"}] if prefix else []
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    unknown = header.tokenizer("unknown_token_id", 0)
    return {
        "normalizer": {"type": "Sequence", "normalizers": [*normalizers, space]},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [*PIECES, *strip]},
        "model": {
            **_bpe(tokens),
            "unk_token": tokens[unknown],
            "fuse_unk": True,
            "byte_fallback": BYTE in types,
            "merges": _merges(tokens, types, _scores(header, tokens)),
        },
    }


def _scores(header: Header, tokens: list[str]) -> list[float]:
    scores = header.tokenizer("scores")
    if not isinstance(scores, list) or len(scores) != len(tokens):
        raise _refusal("its tokens have no scores")
    return scores


def _bpe(tokens: list[str]) -> dict[str, object]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {token: index for index, token in enumerate(tokens)},
    }


def _merges(tokens: list[str], types: list[int], scores: list[float]) -> list[list[str]]:
    """Every way to make a piece of two others, the best piece first, as SentencePiece merges by score."""
    index = {token: number for number, token in enumerate(tokens) if types[number] in (NORMAL, USER_DEFINED)}
    found = []
    for token, number in index.items():
        if types[number] != NORMAL or len(token) < 2:
            continue
        for cut in range(1, len(token)):
            left, right = index.get(token[:cut]), index.get(token[cut:])
            if left is not None and right is not None:
                found.append((-scores[number], number, left, right))
    found.sort()
    return [[tokens[left], tokens[right]] for _, _, left, right in found]


def _added_tokens(tokens: list[str], types: list[int], names: dict[str, str]) -> list[dict[str, object]]:
    """Tokens that are found in a text before it is split: control tokens, the unknown token, and those that
    the model's authors defined."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    special = set(names.values())
    return [
        {"id": index, "content": token, **flags, "special": types[index] != USER_DEFINED or token in special}
        for index, token in enumerate(tokens)
        if token and (types[index] in (CONTROL, USER_DEFINED, UNKNOWN) or token in special)
    ]


def _post_processor(node: object, tokens: list[str], names: dict[str, str], adds: dict[str, bool]) -> object:
    """`node` and, where they are added, the tokens at the beginning and the end."""
    pairs = (("bos_token", adds["add_bos_token"]), ("eos_token", adds["add_eos_token"]))
    bos, eos = ([names[name]] if added and name in names else [] for name, added in pairs)
    if not bos and not eos:
        return node
    ids = {token: index for index, token in enumerate(tokens)}

    def around(text: str, kind: int) -> list[dict[str, object]]:
        special: list[list[dict[str, object]]] = [
            [{"SpecialToken": {"id": token, "type_id": kind}} for token in part] for part in (bos, eos)
        ]
        return [*special[0], {"Sequence": {"id": text, "type_id": kind}}, *special[1]]

    template: dict[str, object] = {
        "type": "TemplateProcessing",
        "single": around("A", 0),
        "pair": [*around("A", 0), *around("B", 1)],
        "special_tokens": {
            token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in {*bos, *eos}
        },
    }
    return template if node is None else {"type": "Sequence", "processors": [node, template]}


def _model_proto(header: Header, tokens: list[str], types: list[int]) -> bytes:
    """SentencePiece's own file, which the converter reads: its pieces and scores are those of the GGUF."""
    from sentencepiece import sentencepiece_model_pb2 as messages

    proto = messages.ModelProto()
    for token, kind, score in zip(tokens, types, _scores(header, tokens), strict=True):
        # The converter writes the spaces of defined tokens as spaces.
        piece = token.replace(" ", "▁") if kind == USER_DEFINED else token
        proto.pieces.add(piece=piece, score=score, type=kind)
    trainer = proto.trainer_spec
    trainer.model_type = messages.TrainerSpec.BPE
    trainer.vocab_size = len(tokens)
    trainer.byte_fallback = BYTE in types
    for name, (field, default) in SPECIAL.items():
        index = header.tokenizer(field, default)
        setattr(trainer, f"{name[:3]}_id", index if isinstance(index, int) else -1)
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.add_dummy_prefix = bool(header.tokenizer("add_space_prefix", True))
    proto.normalizer_spec.remove_extra_whitespaces = False
    return proto.SerializeToString()
