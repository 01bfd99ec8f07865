"""Turns a base model and a trained adapter into one verified GGUF file."""
