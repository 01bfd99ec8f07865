"""The trainer classes, made of the libraries' ones."""
