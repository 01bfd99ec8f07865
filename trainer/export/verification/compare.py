"""Compares what the engine makes of a GGUF with the record of the trained model: what is wrong, and what the
file's type costs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from trainer.export.verification.reference import Reference

# Tokens less likely than this (natural logarithm) do not count: quantization changes the tail.
LIKELY = math.log(1e-3)
# Stands for the logarithm of zero and for NaN.
NOTHING = -1e3
# Largest difference of log-probabilities that counts as equal.
SAME = 1e-2
# Tokens of an example.
SHOWN_TOKENS = 64
# Characters of its text.
SHOWN_CHARACTERS = 300


@dataclass(frozen=True)
class Difference:
    """A text that llama.cpp tokenizes differently from training: at most SHOWN_TOKENS of its ids in `trained`
    and in `gguf`, from token number `from_token` on."""

    text: str
    from_token: int
    trained: list[int]
    gguf: list[int]


@dataclass(frozen=True)
class Figures:
    """What is known of one GGUF: `passed` when nothing is wrong, else `reason` says what is.

    `exact` is whether every tensor and all metadata were found right, and not left unchecked; `dead` whether
    the answers have nothing to do with the trained model's. What the type costs against the trained model in
    float32: `mean_kl` (nats), `agreement` of the likeliest token, `max_logprob_difference` of a likely one,
    and the `loss` of the file on held-out rows beside the trained model's `reference_loss`; `loss_increase`
    is their relative difference. None without a record. `tokens_equal` is the share of texts with equal token
    ids, `tokens_differ` an example of the others.
    """

    passed: bool
    exact: bool
    dead: bool
    agreement: float | None
    max_logprob_difference: float | None
    mean_kl: float | None
    loss: float | None
    reference_loss: float | None
    loss_increase: float | None
    difference_from_base: float | None
    tokens_equal: float
    sequences: int
    texts: int
    tokens_differ: Difference | None
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """For verification.json."""
        return asdict(self)


@dataclass
class _Sums:
    """Sums over the positions of a record."""

    count: int = 0
    agreeing: int = 0
    divergence: float = 0.0
    worst: float = 0.0
    from_base: float = 0.0
    loss: float = 0.0
    reference_loss: float = 0.0
    finite: bool = True

    def add(
        self, ids: list[int], tuned: list[float], base: list[float], found: list[float | None], top: int
    ) -> None:
        """One position: the log-probabilities of `ids` in the trained model, its base and the file, whose
        likeliest token is `top`."""
        self.count += 1
        gguf = [_number(value) for value in found]
        best = max(tuned)
        # Two tokens of nearly equal probability may swap places.
        self.agreeing += any(
            token == top and best - value <= SAME for token, value in zip(ids, tuned, strict=True)
        )
        self.loss -= gguf[-1]
        self.reference_loss -= tuned[-1]
        divergence, mass_tuned, mass_gguf = 0.0, 0.0, 0.0
        for a, b, g in {token: row for token, *row in zip(ids, tuned, base, gguf, strict=True)}.values():
            divergence += math.exp(a) * (a - g)
            mass_tuned += math.exp(a)
            mass_gguf += math.exp(g)
            if a >= LIKELY:
                self.worst = max(self.worst, abs(a - g))
                self.finite = self.finite and g > NOTHING
            if max(a, b, g) >= LIKELY:
                self.from_base = max(self.from_base, abs(g - b))
        # The tokens that are not recorded count as one token.
        rest_tuned, rest_gguf = max(0.0, 1 - mass_tuned), max(1e-9, 1 - mass_gguf)
        if rest_tuned > 1e-6:
            divergence += rest_tuned * math.log(rest_tuned / rest_gguf)
        self.divergence += max(0.0, divergence)


def compare(
    reference: Reference,
    answer: dict[str, Any],
    texts: list[str],
    expected_texts: list[list[int]],
    limit: float,
    unknown: str | None = None,
) -> Figures:
    """Judges the scoring program's `answer` for the reference's sequences and for `texts`, whose token ids in
    training are `expected_texts`. `limit` is the mean divergence (nats) from which on a file has nothing to
    do with the trained model, `unknown` why its tensors could not be checked, if so.
    """
    sums = _Sums()
    for ids, tuned, base, scored in zip(
        reference.ids, reference.adapter, reference.base, answer["sequences"], strict=True
    ):
        for row in zip(ids, tuned, base, scored["logprobs"], scored["tops"], strict=True):
            sums.add(*row)
    count = sums.count
    mean_kl = sums.divergence / count if count else None
    equal = sum(got == wanted for got, wanted in zip(answer["texts"], expected_texts, strict=True))
    problems = []
    if not sums.finite:
        problems.append("Its probabilities are not finite.")
    elif mean_kl is not None and mean_kl > limit:
        problems.append(
            "Its answers have nothing to do with the trained model's: the mean divergence is "
            f"{mean_kl:.3g} nats, of which its type explains {limit:g} at most."
        )
    dead = bool(problems)
    if unknown is not None:
        problems.append(unknown)
    if equal < len(expected_texts):
        differing = f"{len(expected_texts) - equal} of {len(expected_texts)} texts"
        problems.append(f"{differing} become other tokens than in training.")
    labelled = count > 0 and reference.labelled
    loss = sums.loss / count if labelled else None
    reference_loss = sums.reference_loss / count if labelled else None
    return Figures(
        passed=not problems,
        exact=unknown is None,
        dead=dead,
        agreement=sums.agreeing / count if count else None,
        max_logprob_difference=sums.worst if count else None,
        mean_kl=mean_kl,
        loss=loss,
        reference_loss=reference_loss,
        loss_increase=loss / reference_loss - 1 if loss is not None and reference_loss else None,
        difference_from_base=sums.from_base if count else None,
        tokens_equal=equal / len(expected_texts) if expected_texts else 1.0,
        sequences=len(reference.sequences),
        texts=len(expected_texts),
        tokens_differ=_example(texts, expected_texts, answer["texts"]),
        reason=" ".join(problems),
    )


def _example(texts: list[str], trained: list[list[int]], gguf: list[list[int]]) -> Difference | None:
    """The shortest of the texts whose tokens differ, or None."""
    differing = [entry for entry in zip(texts, trained, gguf, strict=True) if entry[1] != entry[2]]
    if not differing:
        return None
    text, ours, theirs = min(differing, key=lambda entry: len(entry[0]))
    same = 0
    while same < min(len(ours), len(theirs)) and ours[same] == theirs[same]:
        same += 1
    begin = max(0, same - 8) if max(len(ours), len(theirs)) > SHOWN_TOKENS else 0
    end = begin + SHOWN_TOKENS
    shown = text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
    return Difference(shown, begin, ours[begin:end], theirs[begin:end])


def _number(value: float | None) -> float:
    """A log-probability from JSON, which has neither NaN nor infinity."""
    return value if value is not None and math.isfinite(value) else NOTHING
