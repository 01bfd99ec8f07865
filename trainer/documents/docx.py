"""Text of Word files, with python-docx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile

from docx import Document
from docx.table import Table

from trainer.documents.faults import DocumentFault

# What all parts of a file may take once they are unpacked.
UNPACKED_BYTES = 256 << 20
# The container of older Word files, and of encrypted ones.
OLE = bytes.fromhex("d0cf11e0a1b11ae1")


def read_docx(file: BinaryIO) -> Iterator[tuple[int | None, str | None]]:
    """The whole text; such a file says nothing of pages.

    Raises:
        DocumentFault: it is encrypted, damaged, no such file, or unpacks to more than `UNPACKED_BYTES`.
    """
    if file.read(len(OLE)) == OLE:
        raise DocumentFault("is encrypted, or an old Word file. Save it as .docx without a password.")
    file.seek(0)
    try:
        # No more is unpacked of a part than it is said to have here.
        with ZipFile(file) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
    except BadZipFile:
        raise DocumentFault("is damaged, or no .docx file.") from None
    if unpacked > UNPACKED_BYTES:
        raise DocumentFault(
            f"unpacks to {unpacked >> 20} MiB; at most {UNPACKED_BYTES >> 20} MiB are read. Split it."
        )
    file.seek(0)
    try:
        blocks = [
            "\n".join(" | ".join(cell.text for cell in row.cells) for row in block.rows)
            if isinstance(block, Table)
            else block.text
            for block in Document(file).iter_inner_content()
        ]
    except MemoryError:
        raise
    except Exception as error:  # A damaged file raises anything.
        raise DocumentFault(f"is damaged, or no .docx file ({type(error).__name__}).") from None
    yield None, "\n\n".join(blocks)
