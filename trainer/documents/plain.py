"""Plain text and Markdown, as they are."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from trainer.documents.faults import DocumentFault

WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_plain(file: BinaryIO) -> Iterator[tuple[int | None, str | None]]:
    """The whole text.

    Raises:
        DocumentFault: it is no text in UTF-8 or, with a byte order mark, UTF-16.
    """
    yield None, decoded(file.read())


def decoded(data: bytes) -> str:
    """The text of bytes.

    Raises:
        DocumentFault: as `read_plain`.
    """
    try:
        text = data.decode("utf-16" if data.startswith(WIDE) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentFault(f"is no text in UTF-8 (byte {error.start}). Save it as UTF-8.") from None
    if "\0" in text:
        raise DocumentFault("is no text: it has zero bytes.")
    return text
