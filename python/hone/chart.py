"""A line chart as SVG, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 480, 160
LEFT, BOTTOM = 52, 22


def chart(points: Sequence[tuple[float, float]], name: str) -> str:
    """Draws finite values by step; nothing for fewer than two points.

    Args:
        points: steps and values, by rising step.
        name: of the values.
    """
    if len(points) < 2:
        return ""
    steps, values = zip(*points, strict=True)
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    reach = (steps[-1] - steps[0]) or 1.0

    def at(step: float, value: float) -> str:
        x = LEFT + (WIDTH - LEFT) * (step - steps[0]) / reach
        y = (HEIGHT - BOTTOM) * (1 - (value - low) / span)
        return f"{x:.1f},{y + 6:.1f}"

    line = " ".join(at(step, value) for step, value in points)
    words = (
        f'<text x="{LEFT - 6}" y="14" text-anchor="end">{high:.3g}</text>'
        f'<text x="{LEFT - 6}" y="{HEIGHT - BOTTOM + 8}" text-anchor="end">{low:.3g}</text>'
        f'<text x="{LEFT}" y="{HEIGHT}">step {steps[0]:g}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT}" text-anchor="end">step {steps[-1]:g}</text>'
    )
    label = f"{name}: {values[0]:.3g} at step {steps[0]:g}, {values[-1]:.3g} at step {steps[-1]:g}"
    return (
        f'<svg role="img" aria-label="{escape(label)}" width="{WIDTH}" height="{HEIGHT + 6}" '
        f'style="font: 11px sans-serif; fill: currentColor">{words}'
        f'<polyline points="{line}" fill="none" stroke="#2f7ed8" stroke-width="1.5" /></svg>'
    )
