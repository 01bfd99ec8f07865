"""How much each input of a model's matrices matters for its own rows, for llama.cpp's small types."""
