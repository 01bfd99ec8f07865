"""Toys of every architecture that both transformers and llama.cpp's converter know."""
