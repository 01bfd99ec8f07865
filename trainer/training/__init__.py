"""One training: arguments, trainer class, reports, checkpoints, memory probe, generations."""
