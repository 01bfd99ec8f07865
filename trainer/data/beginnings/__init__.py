"""What a chat template gets in front of it, so that it takes what rows have."""
