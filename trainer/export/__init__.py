"""Turns a base model and a trained adapter into verified GGUF files."""
