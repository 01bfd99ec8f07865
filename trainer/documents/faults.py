"""What is wrong with a document, for its owner."""

from __future__ import annotations


class DocumentFault(Exception):
    """A document that has no text to give. The message continues its name: what is wrong, and what to do."""
