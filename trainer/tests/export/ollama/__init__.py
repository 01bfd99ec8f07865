"""The Modelfile of an export."""
