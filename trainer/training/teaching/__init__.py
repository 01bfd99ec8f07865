"""What a teacher says of the rows, and how a student is trained on it."""
