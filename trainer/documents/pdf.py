"""Pages of PDF files, with pypdf."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import BinaryIO

from pypdf import PasswordType, PdfReader
from pypdf.errors import DependencyError, PyPdfError

from trainer.documents.faults import DocumentFault

ENCRYPTED = "is encrypted. Save it without a password, and add it again."


def read_pdf(file: BinaryIO) -> Iterator[tuple[int | None, str | None]]:
    """The pages with their numbers from 1; None for one that cannot be read.

    Raises:
        DocumentFault: it is encrypted, damaged or no PDF.
    """
    # It tells on the standard error what it mends.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(file)
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise DocumentFault(ENCRYPTED)
        count = len(reader.pages)
    except DependencyError:
        # Some ciphers take a library of their own.
        raise DocumentFault(ENCRYPTED) from None
    except (MemoryError, DocumentFault):
        raise
    except Exception as error:  # A damaged file raises anything.
        raise DocumentFault(f"is damaged, or no PDF ({_told(error)}).") from None
    for number in range(count):
        try:
            text: str | None = reader.pages[number].extract_text()
        except MemoryError:
            raise
        except Exception:
            text = None
        yield number + 1, text


def _told(error: Exception) -> str:
    text = str(error) if isinstance(error, PyPdfError) and str(error) else type(error).__name__
    return text.rstrip(".")[:200]
