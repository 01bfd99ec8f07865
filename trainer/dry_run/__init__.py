"""Tries the export of a base model before it is trained."""
