"""Tasks: one small file each."""
