"""New tokens of a training (`new_tokens`): the base model with them, as all of its files are read."""
