"""How each family of architectures is trained on rows with answers."""
