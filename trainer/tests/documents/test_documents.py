"""Reading documents, in the process that the service starts."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from docx import Document
from pypdf import PdfReader, PdfWriter

from trainer.grading.cage import why_unavailable
from trainer.tests.documents.small_pdf import small_pdf


def read(
    folder: Path, content: bytes, kind: str, characters: int = 100_000, memory_bytes: int = 1 << 30
) -> list[dict[str, Any]]:
    """What the process prints of a document."""
    path = folder / "document"
    path.write_bytes(content)
    request = {
        "path": str(path),
        "format": kind,
        "memory_bytes": memory_bytes,
        "characters": characters,
    }
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "document"],
        input=json.dumps(request).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()]


def failure(folder: Path, content: bytes, kind: str, **bounds: int) -> str:
    """Why a document cannot be read."""
    last: str = read(folder, content, kind, **bounds)[-1]["failed"]
    return last


def word_file(*paragraphs: str) -> bytes:
    document = Document()
    for text in paragraphs:
        document.add_paragraph(text)
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Fee", "12 EUR"
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def test_pages_of_a_pdf_have_their_numbers(tmp_path: Path) -> None:
    content = small_pdf([["The fee is  twelve euros.", "It is due in May."], [], ["Zürich is far."]])
    assert read(tmp_path, content, "pdf") == [
        {"page": 1, "text": "The fee is twelve euros.\nIt is due in May."},
        {"page": 2, "text": ""},
        {"page": 3, "text": "Zürich is far."},
        {"end": True},
    ]


def test_a_scanned_pdf_has_no_text(tmp_path: Path) -> None:
    assert "no text on its 2 pages: they seem to be scanned" in failure(tmp_path, small_pdf([[], []]), "pdf")


@pytest.mark.parametrize("algorithm", ["RC4-128"])
def test_an_encrypted_pdf_says_so(tmp_path: Path, algorithm: str) -> None:
    def encrypted(password: str) -> bytes:
        writer = PdfWriter(PdfReader(io.BytesIO(small_pdf([["The fee is twelve euros."]]))))
        writer.encrypt(password, "owner", algorithm=algorithm)
        file = io.BytesIO()
        writer.write(file)
        return file.getvalue()

    assert failure(tmp_path, encrypted("secret"), "pdf").startswith("is encrypted.")
    # What anybody may open is read.
    assert read(tmp_path, encrypted(""), "pdf")[0]["text"] == "The fee is twelve euros."


def test_a_damaged_pdf_says_so(tmp_path: Path) -> None:
    content = small_pdf([["The fee is twelve euros."]])
    for damaged in (
        b"",
        b"hello",
        content[:60],
        content[: len(content) // 3],
        b"%PDF-1.4\n" + b"\0" * 10_000,
    ):
        assert failure(tmp_path, damaged, "pdf").startswith("is damaged")


def test_a_word_file_has_its_paragraphs_and_tables(tmp_path: Path) -> None:
    assert read(tmp_path, word_file("Fees", "They are due in May."), "docx") == [
        {"page": None, "text": "Fees\n\nThey are due in May.\n\nFee | 12 EUR"},
        {"end": True},
    ]


def test_a_word_file_that_is_none_says_so(tmp_path: Path) -> None:
    assert "damaged" in failure(tmp_path, b"hello", "docx")
    assert "encrypted" in failure(tmp_path, bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 512, "docx")
    empty = io.BytesIO()
    with ZipFile(empty, "w") as parts:
        parts.writestr("hello.txt", "hello")
    assert "no .docx file" in failure(tmp_path, empty.getvalue(), "docx")


def with_part(content: bytes, name: str, data: bytes) -> bytes:
    """A Word file with another part in place of one."""
    file = io.BytesIO()
    with ZipFile(io.BytesIO(content)) as before, ZipFile(file, "w", ZIP_DEFLATED) as after:
        for part in before.namelist():
            after.writestr(part, data if part == name else before.read(part))
    return file.getvalue()


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = with_part(word_file("Fees"), "word/document.xml", b" " * (300 << 20))
    assert len(bomb) < 1 << 20
    assert "unpacks to 300 MiB" in failure(tmp_path, bomb, "docx")


def test_entities_do_not_expand(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    xml = f'<!DOCTYPE d [<!ENTITY a0 "ha">{levels}]><d>&a9;</d>'.encode()
    assert "damaged" in failure(tmp_path, with_part(word_file("Fees"), "word/document.xml", xml), "docx")


def test_html_is_its_text_alone(tmp_path: Path) -> None:
    page = """<!doctype html><html><head><title>T</title><style>p {color: red}</style></head><body>
      <script>alert('x')</script><!-- a comment --><h1>Fees</h1><p>They are <b>due</b>
      in&nbsp;May.<br>Not &lt;June&gt;.</p><noscript>no</noscript><ul><li>One</li><li>Two</li></ul>
      <table><tr><td>Fee</td><td>12 €</td></tr></table></body></html>"""
    assert read(tmp_path, page.encode(), "html")[0]["text"] == (
        "Fees\n\nThey are due in May.\nNot <June>.\n\nOne\nTwo\n\nFee 12 €"
    )
    declared = '<html><head><meta charset="iso-8859-1"></head><body>Zürich</body></html>'.encode("latin-1")
    assert read(tmp_path, declared, "html")[0]["text"] == "Zürich"
    xhtml = '<?xml version="1.0" encoding="UTF-8"?><html><body>Zürich</body></html>'
    assert read(tmp_path, xhtml.encode(), "html")[0]["text"] == "Zürich"


def test_deep_html_is_read_or_refused(tmp_path: Path) -> None:
    last = read(tmp_path, b"<div>" * 200_000 + b"deep" + b"</div>" * 200_000, "html")[-1]
    assert last == {"end": True} or "failed" in last


def test_text_is_kept_as_it_is(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff# Fees\r\n\r\n\r\n\r\n* due in May\x07\r\n".encode(), "text")[0] == {
        "page": None,
        "text": "# Fees\n\n* due in May",
    }
    assert read(tmp_path, "Zürich".encode("utf-16"), "text")[0]["text"] == "Zürich"
    assert "UTF-8" in failure(tmp_path, "Zürich".encode("latin-1"), "text")
    assert "zero bytes" in failure(tmp_path, b"a\0b", "text")
    assert "no text" in failure(tmp_path, b"  \n", "text")


def test_more_text_than_asked_for_is_refused(tmp_path: Path) -> None:
    assert "more than 10 characters" in failure(tmp_path, b"a long text of many words", "text", characters=10)


@pytest.mark.skipif(sys.platform != "linux", reason="Memory is bounded by Linux alone")
def test_memory_is_bounded(tmp_path: Path) -> None:
    last = failure(tmp_path, b"a" * (300 << 20), "text", memory_bytes=512 << 20)
    assert "too much memory" in last


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone encloses processes")
@pytest.mark.parametrize(
    "attempt",
    [
        f"open({str(Path(__file__))!r})",
        "__import__('socket').socket()",
        "__import__('os').fork()",
        "open('/tmp/hone-escaped', 'w')",
    ],
)
def test_a_reader_is_enclosed(attempt: str) -> None:
    code = f"import socket; from trainer.documents.main import _enclose; _enclose(1 << 30); {attempt}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    # Where the kernel cannot, graders in Python are refused, too.
    if why_unavailable() is None:
        assert b"PermissionError" in done.stderr
