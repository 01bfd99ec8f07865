"""What llama.cpp must be told about a tokenizer."""
