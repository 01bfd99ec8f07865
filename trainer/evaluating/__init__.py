"""Scores a dataset with a base model, or with one and an adapter."""
