"""Tests of the dataset."""
