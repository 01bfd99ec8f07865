"""How much of the base model a training keeps."""
