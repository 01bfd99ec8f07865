"""Layers and losses computed otherwise than the libraries do, with the same results up to rounding."""
