"""Supervised training of each family of architectures: decoder, encoder-decoder, encoder."""
