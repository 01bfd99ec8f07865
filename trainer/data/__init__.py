"""Rows, from the file to tokens and labels."""
