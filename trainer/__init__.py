"""Hone's trainer: one process per job, which reads a specification file and writes a journal."""
