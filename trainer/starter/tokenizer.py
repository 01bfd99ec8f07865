"""The starter model's tokenizer: byte-level BPE, trained on the recipe's text.

It uses GPT-2's pre-tokenization, which llama.cpp supports, and adds no beginning-of-text token, so that
a text has the same tokens here and in llama.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

BEGIN = "<|begin|>"
END = "<|end|>"
PAD = "<|pad|>"


def make_tokenizer(texts: Iterable[str], vocab_size: int, max_tokens: int) -> PreTrainedTokenizerFast:
    """Trains a tokenizer of `vocab_size` tokens; the first three are begin, end and padding."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[BEGIN, END, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=PAD,
        add_bos_token=False,
        model_max_length=max_tokens,
        clean_up_tokenization_spaces=False,
    )
