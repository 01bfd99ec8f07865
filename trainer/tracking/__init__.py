"""Follows the journal of a run and passes its figures to a tracker. Runs in a process of its own, with the
tracker's packages in place of the trainer's, so it imports nothing else of the trainer."""
