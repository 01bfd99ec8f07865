"""Whether the tokens of a tokenizer have rows in the model's embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from trainer.protocol.model_config import ModelConfig
    from trainer.protocol.row import Row


Made = TypeVar("Made")


def embedding_rows(config: ModelConfig) -> int | None:
    """The rows of the embedding that a config.json names, or None."""
    for part in (config, config.get("text_config") or {}):
        if isinstance(part.get("vocab_size"), int):
            return part["vocab_size"]
    return None


def check(tokenizer: PreTrainedTokenizerBase, config: ModelConfig) -> None:
    """Failure `bad_model` when `tokenizer` makes tokens of ordinary text, or of its template, that the
    embedding has no rows for.

    Fewer tokens than rows are normal. So are added tokens beyond the rows that no text of a training has,
    such as Gemma 3's for images; `checked` finds them in rows.
    """
    beyond = _beyond(tokenizer, config)
    added = set(tokenizer.added_tokens_decoder)
    template = str(tokenizer.chat_template or "")
    used = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id}
    for number, token in sorted(beyond.items()):
        if number not in added or number in used or token in template:
            raise Failure(
                "bad_model",
                f"The tokenizer has {max(beyond) + 1:,} tokens and the model's embedding "
                f"{embedding_rows(config):,} rows: none for {token[:80]!r} (token {number:,}).",
                "Take the tokenizer that belongs to these weights. A tokenizer that got more tokens later "
                "belongs to a model whose embedding was resized and trained with them.",
            )


def checked(
    tokenizer: PreTrainedTokenizerBase,
    config: ModelConfig,
    produce: Callable[[list[Row]], list[Made]],
) -> Callable[[list[Row]], list[Made]]:
    """`produce`, which makes records of token ids, with Failure `bad_dataset_row` for a token that the
    embedding has no row for; `produce` itself where there are none."""
    beyond = _beyond(tokenizer, config)
    if not beyond:
        return produce

    def produce_checked(batch: list[Row]) -> list[Made]:
        made = produce(batch)
        for token in filter(None, map(beyond.get, _ids(made))):
            raise Failure(
                "bad_dataset_row",
                f"the text has the special token {token!r}, which this model has no weights for.",
                "Remove it from the text.",
            )
        return made

    return produce_checked


def _beyond(tokenizer: PreTrainedTokenizerBase, config: ModelConfig) -> dict[int, str]:
    """The tokens that the embedding has no rows for, by number."""
    rows = embedding_rows(config)
    if rows is None:
        return {}
    return {number: token for token, number in tokenizer.get_vocab().items() if number >= rows}


def _ids(value: object) -> Iterator[int]:
    """Every number in the lists of records."""
    if isinstance(value, dict):
        value = [item for item in value.values() if isinstance(item, list)]
    for item in value if isinstance(value, list) else ():
        if isinstance(item, int):
            yield item
        else:
            yield from _ids(item)
