"""Tests of rows without padding."""
