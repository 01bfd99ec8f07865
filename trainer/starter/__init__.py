"""A small language model made here from nothing: the base model of the demo and of the tests."""
