"""Providers: one file each."""
