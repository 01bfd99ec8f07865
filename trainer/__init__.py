"""Hone's trainer: one process per job, told what to do by a specification file, heard through a journal."""
