"""Reads datasets of other formats and containers, and prints their rows as JSONL. Imports no torch."""
