"""Makes a model folder, as training reads it, of an adapter and its base model."""
