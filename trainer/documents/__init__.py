"""The text of documents, page by page. `main.py` is the face of this room."""
