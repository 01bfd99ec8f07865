"""Compares a GGUF with what the trained model said, token by token and probability by probability."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from .reference import Reference

#: tokens less likely than this (natural logarithm of 1e-3) do not count: quantization moves the far tail
LIKELY = math.log(1e-3)
#: stands for the logarithm of zero and for what is no number
NOTHING = -1e3
#: below this, two models say the same
SAME = 1e-2


@dataclass(frozen=True)
class Limits:
    """The largest difference of a likely token's log-probability, and the largest mean divergence (nats)."""

    max_logprob_difference: float
    mean_kl: float
    agreement: float


#: Measured on models of a few hundred thousand random parameters, which behave worse than real ones: F32
#: 2e-3 (the engine's key-value cache is 16 bit), F16 5e-3, Q8_0 0.1; the limits leave a factor of four. With
#: few bits only the divergence says something: near-equal tokens change places.
EXACT = Limits(0.02, 1e-3, 0.9)
EIGHT_BIT = Limits(0.4, 0.02, 0.8)
FEW_BIT = Limits(math.inf, 0.5, 0.0)
#: a reference computed in 16 bits is itself off by this much
HALF_PRECISION = Limits(0.4, 0.02, 0.8)
#: training saw a 4- or 8-bit base, the GGUF holds the full one: the difference is the base's own
QUANTIZED_BASE = Limits(math.inf, 0.7, 0.0)


@dataclass(frozen=True)
class Figures:
    """What the comparison of one GGUF found. `tokens_equal` is the share of texts with equal token ids."""

    passed: bool
    agreement: float
    max_logprob_difference: float
    mean_kl: float
    difference_from_base: float
    tokens_equal: float
    sequences: int
    texts: int
    reason: str

    def as_dict(self) -> dict:
        """For verification.json."""
        return asdict(self)


def limits_for(quantization: str, reference: Reference) -> Limits:
    """What a GGUF of this type must keep to, given how exact the reference is."""
    if quantization in ("F32", "F16", "BF16"):
        own = EXACT if quantization != "BF16" else EIGHT_BIT
    else:
        own = EIGHT_BIT if quantization == "Q8_0" else FEW_BIT
    others = []
    if reference.precision != "float32":
        others.append(HALF_PRECISION)
    if reference.quantized:
        others.append(QUANTIZED_BASE)
    for other in others:
        own = Limits(
            max(own.max_logprob_difference, other.max_logprob_difference),
            max(own.mean_kl, other.mean_kl),
            min(own.agreement, other.agreement),
        )
    return own


def compare(
    quantization: str, reference: Reference, answer: dict, expected_texts: list[list[int]]
) -> Figures:
    """Judges the scoring program's `answer` for the reference's sequences and the texts' token ids."""
    limits = limits_for(quantization, reference)
    agreeing, divergences, worst, from_base, finite = 0, [], 0.0, 0.0, True
    for ids, tuned, base, scored in zip(
        reference.ids, reference.adapter, reference.base, answer["sequences"], strict=True
    ):
        said = [_number(value) for value in scored["logprobs"]]
        best = max(range(len(ids)), key=tuned.__getitem__)
        # two tokens of nearly equal probability may change places without any meaning
        near = {token for token, value in zip(ids, tuned, strict=True) if tuned[best] - value <= SAME}
        agreeing += scored["top"] in near
        seen: dict[int, tuple[float, float, float]] = {}
        for token, a, b, g in zip(ids, tuned, base, said, strict=True):
            seen[token] = (a, b, g)
        divergence, mass_tuned, mass_said = 0.0, 0.0, 0.0
        for a, b, g in seen.values():
            divergence += math.exp(a) * (a - g)
            mass_tuned += math.exp(a)
            mass_said += math.exp(g)
            if a >= LIKELY:
                worst = max(worst, abs(a - g))
                finite = finite and g > NOTHING
            if max(a, b, g) >= LIKELY:
                from_base = max(from_base, abs(g - b))
        # what lies outside the kept tokens counts as one further token
        rest_tuned, rest_said = max(0.0, 1 - mass_tuned), max(1e-9, 1 - mass_said)
        if rest_tuned > 1e-6:
            divergence += rest_tuned * math.log(rest_tuned / rest_said)
        divergences.append(max(0.0, divergence))
    count = len(reference.sequences)
    agreement = agreeing / count if count else 1.0
    mean_kl = sum(divergences) / count if count else 0.0
    equal = sum(got == wanted for got, wanted in zip(answer["texts"], expected_texts, strict=True))
    tokens_equal = equal / len(expected_texts) if expected_texts else 1.0
    problems = []
    if not finite:
        problems.append("it answers with numbers that are not finite")
    if worst > limits.max_logprob_difference:
        problems.append(
            f"a likely token's log-probability is off by {worst:.3g}"
            f" (at most {limits.max_logprob_difference:g} is normal for {quantization})"
        )
    if mean_kl > limits.mean_kl:
        problems.append(f"the mean divergence is {mean_kl:.3g} nats (at most {limits.mean_kl:g})")
    if agreement < limits.agreement:
        problems.append(f"the likeliest token agrees in {agreeing} of {count} cases")
    if tokens_equal < 0.9:
        problems.append(f"only {equal} of {len(expected_texts)} texts become the same tokens")
    return Figures(
        passed=not problems,
        agreement=agreement,
        max_logprob_difference=worst,
        mean_kl=mean_kl,
        difference_from_base=from_base,
        tokens_equal=tokens_equal,
        sequences=count,
        texts=len(expected_texts),
        reason="; ".join(problems),
    )


def _number(value: float | None) -> float:
    """A log-probability as it came over JSON, which has neither NaN nor infinity."""
    return value if value is not None and math.isfinite(value) else NOTHING
