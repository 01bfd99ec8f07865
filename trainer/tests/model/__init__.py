"""Tests of the base model and its providers."""
