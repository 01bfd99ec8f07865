"""Compares the scores of a GGUF with the record of the trained model."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from trainer.export.verification.reference import Reference

# Tokens less likely than this (natural logarithm) do not count: quantization changes the tail.
LIKELY = math.log(1e-3)
# Stands for the logarithm of zero and for NaN.
NOTHING = -1e3
# Largest difference of log-probabilities that counts as equal.
SAME = 1e-2


@dataclass(frozen=True)
class Limits:
    """The limits for a likely token's log-probability, the mean divergence (nats) and the top-1 agreement."""

    max_logprob_difference: float
    mean_kl: float
    agreement: float


# Measured on models with a few hundred thousand random weights, which are worse than real ones: F32 2e-3 (the
# engine's KV cache is 16-bit), F16 5e-3, Q8_0 0.1. The limits are four times that. With few bits only the
# divergence is meaningful, because tokens of similar probability swap places.
EXACT = Limits(0.02, 1e-3, 0.9)
EIGHT_BIT = Limits(0.4, 0.02, 0.8)
FEW_BIT = Limits(math.inf, 0.5, 0.0)
# The error of a reference computed in 16 bits.
HALF_PRECISION = Limits(0.4, 0.02, 0.8)
# Training used a 4-bit or 8-bit base, and the GGUF has the full one.
QUANTIZED_BASE = Limits(math.inf, 0.7, 0.0)


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
    """The comparison of one GGUF. It has `passed` when its weights agree (`weights_agree`) and its tokens do;
    `reason` says what does not. `tokens_equal` is the share of texts with equal token ids, `tokens_differ` an
    example of the others."""

    passed: bool
    weights_agree: bool
    agreement: float
    max_logprob_difference: float
    mean_kl: float
    difference_from_base: float
    tokens_equal: float
    sequences: int
    texts: int
    tokens_differ: Difference | None
    reason: str

    def as_dict(self) -> dict:
        """For verification.json."""
        return asdict(self)


def limits_for(quantization: str, reference: Reference) -> Limits:
    """The limits for a GGUF of this type, given the accuracy of the reference."""
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
    quantization: str,
    reference: Reference,
    answer: dict,
    texts: list[str],
    expected_texts: list[list[int]],
) -> Figures:
    """Judges the scoring program's `answer` for the reference's sequences and for `texts`, whose token ids in
    training are `expected_texts`."""
    limits = limits_for(quantization, reference)
    agreeing, divergences, worst, from_base, finite = 0, [], 0.0, 0.0, True
    for ids, tuned, base, scored in zip(
        reference.ids, reference.adapter, reference.base, answer["sequences"], strict=True
    ):
        gguf_logprobs = [_number(value) for value in scored["logprobs"]]
        best = max(range(len(ids)), key=tuned.__getitem__)
        # Two tokens of nearly equal probability may swap places.
        near = {token for token, value in zip(ids, tuned, strict=True) if tuned[best] - value <= SAME}
        agreeing += scored["top"] in near
        seen: dict[int, tuple[float, float, float]] = {}
        for token, a, b, g in zip(ids, tuned, base, gguf_logprobs, strict=True):
            seen[token] = (a, b, g)
        divergence, mass_tuned, mass_gguf = 0.0, 0.0, 0.0
        for a, b, g in seen.values():
            divergence += math.exp(a) * (a - g)
            mass_tuned += math.exp(a)
            mass_gguf += math.exp(g)
            if a >= LIKELY:
                worst = max(worst, abs(a - g))
                finite = finite and g > NOTHING
            if max(a, b, g) >= LIKELY:
                from_base = max(from_base, abs(g - b))
        # The tokens that are not recorded count as one token.
        rest_tuned, rest_gguf = max(0.0, 1 - mass_tuned), max(1e-9, 1 - mass_gguf)
        if rest_tuned > 1e-6:
            divergence += rest_tuned * math.log(rest_tuned / rest_gguf)
        divergences.append(max(0.0, divergence))
    count = len(reference.sequences)
    agreement = agreeing / count if count else 1.0
    mean_kl = sum(divergences) / count if count else 0.0
    equal = sum(got == wanted for got, wanted in zip(answer["texts"], expected_texts, strict=True))
    tokens_equal = equal / len(expected_texts) if expected_texts else 1.0
    problems = []
    if not finite:
        problems.append("its probabilities are not finite")
    if worst > limits.max_logprob_difference:
        problems.append(
            f"a likely token's log-probability is off by {worst:.3g}"
            f" (at most {limits.max_logprob_difference:g} is normal for {quantization})"
        )
    if mean_kl > limits.mean_kl:
        problems.append(f"the mean divergence is {mean_kl:.3g} nats (at most {limits.mean_kl:g})")
    if agreement < limits.agreement:
        problems.append(f"the most likely token agrees in {agreeing} of {count} cases")
    weights_agree = not problems
    if tokens_equal < 0.9:
        problems.append(f"only {equal} of {len(expected_texts)} texts become the same tokens")
    return Figures(
        passed=not problems,
        weights_agree=weights_agree,
        agreement=agreement,
        max_logprob_difference=worst,
        mean_kl=mean_kl,
        difference_from_base=from_base,
        tokens_equal=tokens_equal,
        sequences=count,
        texts=len(expected_texts),
        tokens_differ=_example(texts, expected_texts, answer["texts"]),
        reason="; ".join(problems),
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
