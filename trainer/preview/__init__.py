"""What a training would do with its rows: their tokens and lengths."""
