"""The Modelfile, and the chat template in Ollama's language."""
