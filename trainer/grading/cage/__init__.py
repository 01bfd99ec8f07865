"""Graders in Python, enclosed by the kernel."""

from trainer.grading.cage.cage import Cage, CageUnavailable, Limits, why_unavailable

__all__ = ["Cage", "CageUnavailable", "Limits", "why_unavailable"]
