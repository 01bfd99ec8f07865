"""`python -m trainer document`: prints the text of a document, page by page.

The request, `Request` as JSON, comes from standard input. Standard output has one JSON object a line: `page`
(None where the format has none) and `text` (None for a page that cannot be read), and at the end `end` or
`failed`.

A document may be made to harm its reader, so this process encloses itself once the file is open, where the
kernel can: it has no network, other files or processes, and bounded memory. Everywhere, the service bounds
its time.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

import msgspec

from trainer.documents.faults import DocumentFault
from trainer.documents.tidy import tidy

OPEN_FILES = 64
# The reader of each format: a module of this room, and its function.
READERS = {
    "pdf": ("pdf", "read_pdf"),
    "docx": ("docx", "read_docx"),
    "html": ("html", "read_html"),
    "text": ("plain", "read_plain"),
}
Reader = Callable[[BinaryIO], Iterator[tuple[int | None, str | None]]]


class Request(msgspec.Struct):
    """What to read, and within which bounds."""

    path: str
    format: str
    memory_bytes: int
    # Of all pages.
    characters: int


def main() -> int:
    """Reads one document. @returns the exit status: 0 wherever `end` or `failed` was printed."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    module, function = READERS[request.format]
    read: Reader = getattr(import_module(f"trainer.documents.{module}"), function)
    with open(request.path, "rb") as file:
        _enclose(request.memory_bytes)
        try:
            _print_pages(read(file), request.characters)
        except DocumentFault as fault:
            _print(failed=str(fault))
        except (MemoryError, RecursionError):
            _print(failed="takes too much memory to be read. Split it.")
    return 0


def _print_pages(pages: Iterator[tuple[int | None, str | None]], characters: int) -> None:
    count = unread = total = 0
    for page, raw in pages:
        count += 1
        text = None if raw is None else tidy(raw)
        unread += text is None
        total += len(text or "")
        if total > characters:
            raise DocumentFault(f"has more than {characters:,} characters of text. Split it.")
        _print(page=page, text=text)
    if total == 0:
        raise DocumentFault(_without_text(count, unread))
    _print(end=True)


def _without_text(count: int, unread: int) -> str:
    """Why a document gave nothing."""
    if unread > 0:
        return f"is damaged: {unread} of its {count} pages cannot be read, and the others have no text."
    if count > 1:
        return f"has no text on its {count} pages: they seem to be scanned. Recognize its text (OCR) first."
    return "has no text. If it was scanned, recognize its text (OCR) first."


def _print(**fields: object) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def _enclose(memory_bytes: int) -> None:
    """Encloses this process where the kernel can; it may still read modules of libraries."""
    libraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", f"{sys.base_prefix}/lib"]
    own = Path(__file__).parents[2]
    modules = [path for path in sys.path if os.path.isabs(path) and Path(path) != own]
    try:
        # Some systems lack modules that it needs.
        from trainer.grading.cage.wall import enclose

        enclose([*modules, *libraries], memory_bytes, OPEN_FILES)
    except (ImportError, NotImplementedError):
        return
