"""The texts of tokens, of which several may hold one character together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# What a tokenizer decodes a part of a character to.
REPLACED = "\ufffd"
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class TokenText(NamedTuple):
    """A token as it stands in its row.

    `text` is that of all tokens that share a character with it, if it is the first of them; the others have
    none and are `joined` to it. `held` is the bytes of a token that holds a part of a character.
    """

    text: str
    joined: bool
    held: bytes | None


def token_texts(tokenizer: Any, ids: Sequence[int]) -> list[TokenText]:
    """The texts of `ids`, which together are the text that these are decoded to."""
    texts: list[TokenText] = []
    before: list[int] = []
    box: list[int] = []
    held: list[bytes | None] = []
    for index, token in enumerate(ids):
        box.append(token)
        held.append(_part(tokenizer, token))
        if index + 1 < len(ids) and _is_open(held):
            continue
        text = _text_behind(tokenizer, before, box)
        texts += [TokenText("" if place else text, place > 0, part) for place, part in enumerate(held)]
        before, box, held = box, [], []
    return texts


def _is_open(held: list[bytes | None]) -> bool:
    """Whether the last of these tokens ends with the first bytes of a character."""
    if held[-1] is None:
        return False
    try:
        b"".join(part or b"" for part in held).decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False


def _text_behind(tokenizer: Any, before: list[int], box: list[int]) -> str:
    """What `box` adds behind the tokens `before` it: alone, some tokenizers leave out the space of a word."""
    start = tokenizer.decode(before, clean_up_tokenization_spaces=False)
    both = tokenizer.decode(before + box, clean_up_tokenization_spaces=False)
    return str(both[len(start) :] if both.startswith(start) else tokenizer.decode(box))


def _part(tokenizer: Any, token: int) -> bytes | None:
    """The bytes of a token that is no text by itself; `None` if it is, or if they are not known."""
    if REPLACED not in tokenizer.decode([token]):
        return None
    piece = tokenizer.convert_ids_to_tokens(token)
    if fallback := BYTE.fullmatch(piece):
        return bytes.fromhex(fallback[1])
    return bytes(BYTES[char] for char in piece) if all(char in BYTES for char in piece) else None


def _byte_characters() -> dict[str, int]:
    """The byte of each character of byte-level vocabularies: of Latin-1 if printable, else from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    shown = {chr(byte): byte for byte in printable}
    return shown | {chr(0x100 + place): byte for place, byte in enumerate(others)}


BYTES = _byte_characters()
