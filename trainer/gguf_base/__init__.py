"""Makes a model folder, as training reads it, of a GGUF file."""
