"""Weights of the base model with what the adapter adds to them."""
