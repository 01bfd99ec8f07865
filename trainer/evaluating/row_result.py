"""The result of a row of an evaluation (`rows.json`, which `src/trainer/evaluate.ts` reads)."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class RowResult:
    """What came of a row; `answer` is the model's, `rejected` that of a preference. `notes` are what graders
    say of their scores."""

    line: int
    prompt: str
    reference: str | None
    rejected: str | None = None
    answer: str | None = None
    figures: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
