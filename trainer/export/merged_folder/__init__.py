"""The merged model as a folder that transformers, vLLM and MLX load."""
