"""Graders in Python, enclosed by the kernel."""

from trainer.grading.cage.cage import Cage, CageUnavailable, Limits, why_unavailable
from trainer.grading.cage.python_grader import check_source, python

__all__ = ["Cage", "CageUnavailable", "Limits", "check_source", "python", "why_unavailable"]
