"""Weights that are stored quantized."""
