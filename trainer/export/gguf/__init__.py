"""Writes GGUF files with llama.cpp's converter."""
