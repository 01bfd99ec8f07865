"""Tests of trainer/answering."""
