"""Answers of trained models that llama.cpp cannot run, in a process that holds one model."""
