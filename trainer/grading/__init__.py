"""Graders: what an answer is worth. `grade.py` is the face of this room."""
