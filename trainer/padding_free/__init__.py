"""Rows that are laid out and computed without padding, with the results of padded rows."""
