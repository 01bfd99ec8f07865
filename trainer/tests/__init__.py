"""Tests of the trainer; `tiny` makes the models that they train."""
