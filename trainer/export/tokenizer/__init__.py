"""What llama.cpp has to know about a tokenizer."""
