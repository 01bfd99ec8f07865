"""Texts with columns in them: `{{Team}}: {{Answer}}`. As in Handlebars, `\\{{` is `{{` itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trainer.importing.faults import BadRow
from trainer.importing.values import text_of, value_at

# src/domain/datasets/imports/check-mapping.ts refuses what is none.
PLACE = re.compile(r"\\\{\{|\{\{(.*?)\}\}", re.DOTALL)
BLANK_LINES = re.compile(r"(\n[ \t\r]*\n\s*)")


class Template:
    """A text that every row fills in.

    Where all columns of a paragraph are empty in a row, it is left out, as Alpaca's input is.
    """

    def __init__(self, text: str):
        # Paragraphs and what stands between them, by turns.
        self.parts = BLANK_LINES.split(text)
        self.columns = _names(text)

    def of(self, row: Mapping[str, Any]) -> str:
        """The text for a row. @raises BadRow for a missing value; where all are missing, for the first."""
        text, between = "", ""
        for paragraph, following in zip(self.parts[::2], [*self.parts[1::2], ""], strict=True):
            names = _names(paragraph)
            if not names or any(_has(row, name) for name in names):
                filled = PLACE.sub(
                    lambda place: "{{" if place.group(1) is None else text_of(row, place.group(1).strip()),
                    paragraph,
                )
                text += (between if text else "") + filled
            between = following
        if self.columns and not any(_has(row, name) for name in self.columns):
            raise BadRow(f'column "{self.columns[0]}" has no value', self.columns[0])
        return text


def _names(text: str) -> list[str]:
    return [place.group(1).strip() for place in PLACE.finditer(text) if place.group(1) is not None]


def _has(row: Mapping[str, Any], column: str) -> bool:
    value = value_at(row, column)
    return value is not None and not (isinstance(value, str) and not value.strip())
