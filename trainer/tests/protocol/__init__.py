"""Tests of the interface to the service."""
