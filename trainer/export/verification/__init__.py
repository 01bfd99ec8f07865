"""Compares a GGUF, as llama.cpp runs it, with the trained model."""
