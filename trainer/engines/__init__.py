"""How the ranks of a training run: one file per engine, and what a rank needs of the others."""
