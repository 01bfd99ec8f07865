"""The base model: checks, download, configuration, device and precision, target modules."""
