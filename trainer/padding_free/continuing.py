"""Continues prompts token by token: each prompt is computed once, without padding, and an ended row leaves.

Imports torch and transformers; import it inside functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import torch

from trainer.kernels.few_rows import few_rows
from trainer.kernels.logits import body_of
from trainer.kernels.loss import all_logits
from trainer.libraries.peft import without_adapter
from trainer.model.hardware import Hardware
from trainer.padding_free.kept_rows import KeptRows
from trainer.padding_free.padding_free import row_states, why_padded
from trainer.padding_free.shared_rows import SharedRows

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel

# Most tokens of prompts in a pass; on a CPU, more take more memory and no less time.
PASS_TOKENS = {"cpu": 256, "gpu": 4096}

# The trial: prompts, the most tokens of each, and the tokens that they are continued with.
TRIED_PROMPTS = 4
TRIED_TOKENS = 32
TRIED_STEPS = 4

# Settings of generation that change the probabilities of tokens, and the values that do not.
CHANGES = {
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "min_length": 0,
    "min_new_tokens": 0,
    "bad_words_ids": None,
    "sequence_bias": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "forced_bos_token_id": None,
    "forced_eos_token_id": None,
    "exponential_decay_length_penalty": None,
    "guidance_scale": 1.0,
    "watermarking_config": None,
}

# Rows of which the answers are written together, and most bytes of their keys and values.
MOST_ROWS = 64
KEPT_BYTES = 512 << 20

# Chooses a token for each of some rows, from their logits (rows, vocabulary), float32, and their numbers.
Sampler = Callable[[torch.Tensor, list[int]], torch.Tensor]


def greedy(logits: Tensor, rows: list[int]) -> Tensor:
    """The most likely token of each row."""
    return logits.argmax(-1)


class RandomSampler:
    """Samples the tokens of `count` rows by their probabilities.

    Every row has its own random number in every step, so that nothing depends on when others end.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, logits: Tensor, rows: list[int]) -> Tensor:
        """A token for each of `rows`."""
        numbers = torch.rand(self.count, dtype=torch.float64)[rows, None].to(logits.device)
        return sampled(logits.softmax(-1), numbers)


def sampled(probabilities: Tensor, numbers: Tensor) -> Tensor:
    """The token of each row of `probabilities` (rows, vocabulary) at which their sum reaches `numbers`
    (rows, 1), which are at least 0 and less than 1."""
    sums = probabilities.double().cumsum(-1)
    return torch.searchsorted(sums, numbers * sums[:, -1:], right=True)[:, 0].clamp_(
        max=probabilities.shape[1] - 1
    )


def continue_prompts(
    model: PreTrainedModel,
    prompts: list[list[int]],
    *,
    copies: list[int] | None = None,
    most: list[int],
    ends: list[int],
    sampler: Sampler,
    step: Callable[[float], None] = lambda done: None,
) -> list[list[int]]:
    """The tokens with which `model` continues each of `prompts`, as often as `copies` says, in their order.

    An answer ends with one of `ends`, which it has, or with as many tokens as `most` has for its prompt.
    `model` must have been switched by `why_not_continued`. `step` is called before every token
    with how many answers are done, parts of them included.
    """
    inner = without_adapter(model)
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), few_rows(model):
            return _continue(inner, prompts, copies or [1] * len(prompts), most, ends, sampler, step)
    finally:
        model.train(training)


def _continue(
    inner: PreTrainedModel,
    prompts: list[list[int]],
    copies: list[int],
    most: list[int],
    ends: list[int],
    sampler: Sampler,
    step: Callable[[float], None],
) -> list[list[int]]:
    owners = [at for at, number in enumerate(copies) for _ in range(number)]
    answers: list[list[int]] = [[] for _ in owners]
    # The row at each index of a batch.
    rows = sorted(range(len(answers)), key=lambda row: len(prompts[owners[row]]))
    sources = [owners[row] for row in rows]
    kept = KeptRows([len(prompt) for prompt in prompts], sources, inner.device.type)
    states = _begin(inner, prompts, kept, step)[sources]
    _kept_of_token[inner] = sum(kept.sizes.values())
    stops = set(ends)
    while True:
        tokens = sampler(all_logits(inner, states), rows).tolist()
        ended = set()
        for index, (row, token) in enumerate(zip(rows, tokens, strict=True)):
            answers[row].append(token)
            if token in stops or len(answers[row]) >= most[owners[row]]:
                ended.add(index)
        if ended:
            left = kept.leave(ended)
            rows, tokens = [rows[index] for index in left], [tokens[index] for index in left]
        if not rows:
            return answers
        unended = sum(1 - len(answers[row]) / most[owners[row]] for row in rows)
        step(len(answers) - unended)
        kept.write()
        device = states.device
        positions = [len(prompts[owners[row]]) + len(answers[row]) - 1 for row in rows]
        states = body_of(inner)(
            input_ids=torch.tensor(tokens, device=device)[:, None],
            position_ids=torch.tensor(positions, device=device)[:, None],
            # With four dimensions transformers makes no mask of its own.
            attention_mask=torch.ones((1, 1, 1, 1), dtype=torch.bool, device=device),
            past_key_values=kept,
            use_cache=True,
            kept=kept,
        ).last_hidden_state[:, -1]


def _begin(
    inner: PreTrainedModel, prompts: list[list[int]], kept: KeptRows, step: Callable[[float], None]
) -> Tensor:
    """Computes the prompts for `kept`; the last state of each (prompts, size)."""
    found = []
    start = 0
    tokens = PASS_TOKENS["cpu" if inner.device.type == "cpu" else "gpu"]
    while start < len(prompts):
        end, count = start, 0
        while end < len(prompts) and (end == start or count + len(prompts[end]) <= tokens):
            count += len(prompts[end])
            end += 1
        laid = SharedRows()
        for prompt in prompts[start:end]:
            laid.add(prompt, 0)
        step(0)
        kept.take(range(start, end))
        states = row_states(
            inner, laid.tensors(inner.device), past_key_values=kept, row_lengths=laid.row_lengths
        )
        found.append(
            states[[laid.position(row, len(prompts[start + row]) - 1) for row in range(end - start)]]
        )
        start = end
    return torch.cat(found)


# How many keys and values each model that was continued keeps of a token.
_kept_of_token: WeakKeyDictionary[Module, int] = WeakKeyDictionary()

# Why each model is not continued in this way, or None where it is.
_tried: WeakKeyDictionary[Module, str | None] = WeakKeyDictionary()


def why_not_continued(
    model: PreTrainedModel, prompts: list[list[int]], weights: str, overridden: tuple[str, ...] = ()
) -> str | None:
    """Switches `model` to attention without padding if it continues the first of `prompts` as the library
    does; returns why it did not, or None. Tries a model once, and then prints why.

    `weights` is its type. Of the settings of generation that change probabilities, the caller sets those that
    are `overridden`.
    """
    inner = without_adapter(model)
    changed = _why_changed(inner, overridden)
    if changed is not None or inner in _tried:
        return changed or _tried[inner]
    # Different lengths reveal a row that sees another.
    taken = [prompt[-max(2, TRIED_TOKENS - 7 * at) :] for at, prompt in enumerate(prompts[:TRIED_PROMPTS])]
    why = why_padded(
        model,
        Hardware(inner.device.type, weights, None, False),
        lambda: _in_batch(inner, taken),
        lambda: _continued(model, taken),
    )
    _tried[inner] = why
    if why is not None:
        print(f"Answers are written with padding: {why}.", flush=True)
    return why


def _why_changed(inner: PreTrainedModel, overridden: tuple[str, ...]) -> str | None:
    """A setting of the model's own generation that changes the probabilities of its tokens."""
    config = inner.generation_config
    for name, nothing in CHANGES.items():
        value = getattr(config, name, None)
        if value is not None and value != nothing and name not in overridden:
            return f"the model's generation has {name}"
    return None


def rows_at_once(model: PreTrainedModel, tokens: int) -> int:
    """How many rows of so many `tokens` are continued together: MOST_ROWS, or as many as have keys and values
    of KEPT_BYTES, but at least one. The trial of `why_not_continued` has shown how many each token has."""
    return max(1, min(MOST_ROWS, KEPT_BYTES // (4 * tokens * _kept_of_token[without_adapter(model)])))


def _forced(prompts: list[list[int]]) -> list[list[int]]:
    """What the trial continues each of `prompts` with: its own first tokens, in turn."""
    return [[prompt[at % len(prompt)] for at in range(TRIED_STEPS)] for prompt in prompts]


def _continued(model: PreTrainedModel, prompts: list[list[int]]) -> Tensor:
    """The log-probabilities of what each of `prompts` is continued with, computed here."""
    forced = _forced(prompts)
    # Rows leave one after the other.
    most = [TRIED_STEPS - at % 2 for at in range(len(prompts))]
    forced_values: list[list[Tensor]] = [[] for _ in prompts]

    def sampler(logits: Tensor, rows: list[int]) -> Tensor:
        tokens = [forced[row][len(forced_values[row])] for row in rows]
        every = logits.log_softmax(-1)
        for index, (row, token) in enumerate(zip(rows, tokens, strict=True)):
            forced_values[row].append(every[index, token])
        return torch.tensor(tokens)

    continue_prompts(model, prompts, most=most, ends=[], sampler=sampler)
    return torch.cat([torch.stack(each) for each in forced_values])


def _in_batch(inner: PreTrainedModel, prompts: list[list[int]]) -> Tensor:
    """The same, computed with padding as the library does."""
    answers = [row[: TRIED_STEPS - at % 2] for at, row in enumerate(_forced(prompts))]
    rows = [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
    width = max(map(len, rows))
    ids = torch.tensor([row + [row[-1]] * (width - len(row)) for row in rows], device=inner.device)
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=inner.device)
    every = inner(input_ids=ids, attention_mask=mask, use_cache=False).logits.float().log_softmax(-1)
    found = []
    for at, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        positions = range(len(prompt) - 1, len(prompt) + len(answer) - 1)
        found.append(every[at, list(positions), answer])
    return torch.cat(found)
