"""Rebuilds the `tokenizer.model` of a SentencePiece tokenizer from its tokenizer.json.

transformers 5 saves only tokenizer.json, and the converter needs SentencePiece's file for Gemma, Mistral and
Phi-3. A piece's score is the negated rank of the first merge that makes it, which gives the original order of
merges.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from trainer.export.tokenizer.document import read


def is_sentencepiece(document: dict[str, Any]) -> bool:
    """Whether a tokenizer.json describes a SentencePiece BPE model, which merges pieces and not bytes."""
    model = document.get("model", {})
    if model.get("type") != "BPE":
        return False
    text = json.dumps([document.get("pre_tokenizer"), document.get("normalizer")])
    return "ByteLevel" not in text and ("▁" in text or "\\u2581" in text or "Metaspace" in text)


def rebuild(tokenizer_json: Path, destination: Path) -> bool:
    """Writes `destination` from `tokenizer_json`; returns False, without a file, for other tokenizers."""
    document = read(tokenizer_json)
    if not is_sentencepiece(document):
        return False
    from sentencepiece import sentencepiece_model_pb2 as messages

    model = document["model"]
    ranks: dict[str, int] = {}
    for rank, merge in enumerate(model["merges"]):
        left, right = merge.split(" ", 1) if isinstance(merge, str) else merge
        ranks.setdefault(left + right, rank)
    added = {token["content"]: token for token in document.get("added_tokens", [])}
    by_id = {index: piece for piece, index in model["vocab"].items()}
    by_id.update({token["id"]: token["content"] for token in added.values()})
    kinds, proto = messages.ModelProto.SentencePiece, messages.ModelProto()
    for index in range(max(by_id) + 1):
        piece = by_id.get(index, f"[PAD{index}]")
        entry = proto.pieces.add()
        entry.piece = piece
        entry.score = -float(ranks.get(piece, len(ranks)))
        if piece == model.get("unk_token"):
            entry.type = kinds.UNKNOWN
        elif index not in by_id:
            entry.type = kinds.UNUSED
        elif piece in added:
            entry.type = kinds.CONTROL if added[piece].get("special") else kinds.USER_DEFINED
        elif model.get("byte_fallback") and re.fullmatch(r"<0x[0-9A-F]{2}>", piece):
            entry.type = kinds.BYTE
        else:
            entry.type = kinds.NORMAL
    proto.trainer_spec.model_type = messages.TrainerSpec.BPE
    proto.trainer_spec.vocab_size = len(proto.pieces)
    proto.trainer_spec.byte_fallback = bool(model.get("byte_fallback"))
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.add_dummy_prefix = True
    destination.write_bytes(proto.SerializeToString())
    return True
