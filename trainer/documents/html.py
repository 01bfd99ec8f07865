"""Text of HTML pages, with lxml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from lxml import etree, html

from trainer.documents.faults import DocumentFault
from trainer.documents.plain import decoded

# What a reader of the page does not see.
# fmt: off
LEFT_OUT = (
    "head", "script", "style", "noscript", "template", "iframe", "object", "svg", "select", "textarea",
)
# What continues a line.
INLINE = frozenset((
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img", "ins",
    "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var",
    "wbr",
))
# fmt: on
# What begins with less than an empty line.
STARTED_BY = {"br": "\n", "li": "\n", "tr": "\n", "dt": "\n", "dd": "\n", "td": " ", "th": " "}
SPACE = re.compile(r"\s+")


def read_html(file: BinaryIO) -> Iterator[tuple[int | None, str | None]]:
    """The text of the page without scripts, styles and markup.

    Raises:
        DocumentFault: it is no HTML.
    """
    data = file.read()
    # What declares no encoding is UTF-8, as in the standard of HTML.
    is_declared = re.search(rb"(charset|encoding)\s*=", data[:1024], re.IGNORECASE) is not None
    source = data if is_declared else decoded(data).encode()
    try:
        root = html.document_fromstring(source, html.HTMLParser(encoding=None if is_declared else "utf-8"))
    except (etree.LxmlError, ValueError) as error:
        raise DocumentFault(f"is no HTML ({str(error)[:200] or type(error).__name__}).") from None
    etree.strip_elements(root, *LEFT_OUT, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    yield None, "".join(_parts(root))


def _parts(root: etree._Element) -> Iterator[str]:
    """The texts with what divides them."""
    for event, element in etree.iterwalk(root, events=("start", "end")):
        name = element.tag
        if name in STARTED_BY:
            divider = STARTED_BY[name] if event == "start" else ""
        else:
            divider = "" if name in INLINE else "\n\n"
        text = element.text if event == "start" else element.tail
        shown = SPACE.sub(" ", text or "")
        yield divider + shown
