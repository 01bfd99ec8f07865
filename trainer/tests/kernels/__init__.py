"""Tests of what computes layers and losses."""
