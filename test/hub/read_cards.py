"""Reads model cards, a JSON list of texts on stdin, as the hub's client and a Markdown reader do. One JSON line:
of each its metadata, the types of its blocks and inlines, and its texts."""

import json
import sys

from huggingface_hub import ModelCard
from markdown_it import MarkdownIt


def read(text):
    card = ModelCard(text, ignore_metadata_errors=False)
    tokens = MarkdownIt("commonmark").enable("table").parse(card.text)
    inline = [child for token in tokens for child in (token.children or [])]
    return {
        "metadata": card.data.to_dict(),
        "types": [token.type for token in tokens],
        "inline": [token.type for token in inline],
        "texts": [token.content for token in [*tokens, *inline]],
    }


print(json.dumps([read(text) for text in json.load(sys.stdin)]))
