"""Tests of GGUF files as base models."""
