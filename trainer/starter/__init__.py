"""Trains the starter model: a small language model from scratch, the base model of the demo and the tests."""
