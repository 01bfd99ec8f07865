"""Text as passages and quotations have it."""

from __future__ import annotations

import re
import unicodedata

BLANK = re.compile(r"[^\S\n]+")
EMPTY_LINES = re.compile(r"\n{3,}")


def tidy(text: str) -> str:
    """A text in the composed form (NFC), without control characters, soft hyphens, and white space that tells
    nothing: one space between words, at most one empty line between paragraphs."""
    whole = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(
        one for one in whole if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cf", "Co", "Cn")
    )
    lines = (BLANK.sub(" ", line).strip() for line in unicodedata.normalize("NFC", kept).split("\n"))
    return EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()
