"""Turns conversations and texts into token ids and labels, for training and for previews.

Every answer is learned after the token ids that the playground gives its prompt: it renders the conversation
up to there and tokenizes that text as a whole. One sequence holds all answers of a conversation whose earlier
turns keep their ids when it goes on. Otherwise, because the template changes them (those that drop earlier
thinking), or because the tokenizer joins the end of a prompt with the beginning of its answer, an answer gets
a sequence of its own. An answer has the ids that it has behind its prompt in one text, unless the tokenizer
joins the two.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.data.conversations import Turn, turns
from trainer.data.template import Template

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from trainer.protocol.row import Message

# The label without a loss, the default of torch's cross entropy.
IGNORED = -100


@dataclass(frozen=True)
class Encoded:
    """One sequence: `input_ids` and `labels` of equal length; what is not learned has the label IGNORED."""

    input_ids: list[int]
    labels: list[int]

    @property
    def prompt_tokens(self) -> int:
        """The tokens before the first that is learned."""
        return next((at for at, label in enumerate(self.labels) if label != IGNORED), len(self.labels))

    def learned_tokens(self, length: int) -> int:
        """How many of the first `length` tokens are learned."""
        return sum(label != IGNORED for label in self.labels[:length])


def encode_conversations(
    tokenizer: PreTrainedTokenizerBase, template: Template, conversations: list[list[Message]]
) -> list[list[Encoded]]:
    """The sequences of each conversation, mostly one, in the order of their answers.

    Failure `bad_tokenizer` when the template does not accept a conversation.
    """
    left = [(index, turns(template, messages)) for index, messages in enumerate(conversations)]
    found: list[list[Encoded]] = [[] for _ in conversations]
    while left:
        found_now, left = _last_answers(tokenizer, left)
        for index, sequence in found_now:
            found[index].insert(0, sequence)
    return found


def encode_texts(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[Encoded]:
    """Each text as the model reads it, with the end-of-text token, all of it learned."""
    rows = _ids(tokenizer, texts)
    first = text_start(tokenizer)
    return [whole_text([*first, *ids, tokenizer.eos_token_id] if ids else []) for ids in rows]


def text_start(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The beginning-of-text token where the tokenizer adds it by itself; the playground puts it before raw
    text, too."""
    begins = tokenizer("a").input_ids[:1] == [tokenizer.bos_token_id]
    return [tokenizer.bos_token_id] if begins else []


def whole_text(ids: list[int]) -> Encoded:
    """A sequence of which everything is learned."""
    return _sequence(ids, [(0, len(ids))])


def _last_answers(
    tokenizer: PreTrainedTokenizerBase, conversations: list[tuple[int, list[Turn]]], apart: bool = False
) -> tuple[list[tuple[int, Encoded]], list[tuple[int, list[Turn]]]]:
    """A sequence for the last of each conversation's turns and those before it that fit into it, and the
    conversations with the turns that are left.

    The last answer is tokenized `apart` from its prompt where the tokenizer would join the two.
    """
    last = [every[-1] for _, every in conversations]
    inner = [
        [turn for turn in every[:-1] if every[-1].prompt.startswith(turn.whole)] for _, every in conversations
    ]
    apart = apart or not marks_beginnings(tokenizer)
    whole = [turn.prompt if apart else turn.whole for turn in last]
    texts = _Beginnings(tokenizer, whole, with_bounds=not apart or any(inner))
    for number, (turn, fitting) in enumerate(zip(last, inner, strict=True)):
        if not apart:
            texts.ask(number, len(turn.prompt))
        for earlier in fitting:
            texts.ask(number, len(earlier.prompt))
            texts.ask(number, len(earlier.whole))
    bounds = iter(texts.answer())
    answers = _ids(tokenizer, [turn.completion for turn in last]) if apart else []
    made, left, joined = [], [], []
    for number, (index, every) in enumerate(conversations):
        ids, rest = texts.ids[number], []
        start = len(ids) if apart else next(bounds)
        spans = []
        for turn in every[:-1]:
            begin, end = (next(bounds), next(bounds)) if turn in inner[number] else (None, None)
            if begin is None or end is None:
                rest.append(turn)
            else:
                spans.append((begin, end))
        if start is None:
            joined.append((index, every))
            continue
        if apart:
            ids = [*ids, *answers[number]]
        made.append((index, _sequence(ids, [*spans, (start, len(ids))])))
        if rest:
            left.append((index, rest))
    if joined:
        more_made, more_left = _last_answers(tokenizer, joined, apart=True)
        made, left = made + more_made, left + more_left
    return made, left


def marks_beginnings(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the tokenizer writes the beginning of a text differently from the same text further on, as
    those of SentencePiece that put a space before it."""
    alone, behind = _ids(tokenizer, ["a", "\na"])
    return behind[-len(alone) :] != alone


def _ids(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[list[int]]:
    return tokenizer(texts, add_special_tokens=False).input_ids


class _Beginnings:
    """Texts as token ids (`ids`), and how many of them the beginnings of a text have."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, texts: list[str], with_bounds: bool) -> None:
        self._tokenizer = tokenizer
        self._texts = texts
        offsets = with_bounds and tokenizer.is_fast
        encoded = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=offsets)
        self.ids: list[list[int]] = encoded.input_ids
        self._starts = [[start for start, _ in row] for row in encoded.offset_mapping] if offsets else None
        # Text on both sides of such a token is tokenized independently.
        self._dividing = {
            number
            for number, token in (tokenizer.added_tokens_decoder if offsets else {}).items()
            if not token.single_word
        }
        # For each beginning: its text after the last dividing token, and the token ids before, or after.
        self._asked: list[tuple[str, list[int], int]] = []

    def ask(self, number: int, length: int) -> None:
        """Asks for the first `length` characters of text `number`."""
        text, ids = self._texts[number], self.ids[number]
        if self._starts is None:
            self._asked.append((text[:length], ids, 0))
            return
        starts = self._starts[number]
        count = bisect_left(starts, length)
        divider = count - 1
        while divider >= 0 and ids[divider] not in self._dividing:
            divider -= 1
        first = max(0, divider)
        begin = starts[divider] if divider >= 0 else 0
        self._asked.append((text[begin:length], ids[first:count], first))

    def answer(self) -> list[int | None]:
        """The number of tokens of each beginning, or None where it has other ids by itself."""
        if not self._asked:
            return []
        again = _ids(self._tokenizer, [text for text, *_ in self._asked])
        exact = self._starts is not None
        return [
            first + len(ids) if ids == (expected if exact else expected[: len(ids)]) else None
            for ids, (_, expected, first) in zip(again, self._asked, strict=True)
        ]


def _sequence(ids: list[int], spans: list[tuple[int, int]]) -> Encoded:
    """`ids` with the labels of `spans` (start, end). The first token follows none, so it is never learned."""
    labels = [IGNORED] * len(ids)
    for start, end in spans:
        labels[max(1, start) : end] = ids[max(1, start) : end]
    return Encoded(ids, labels)
