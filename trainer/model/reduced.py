"""A model's configuration files, reduced to what may not name a file.

Several tokenizers of transformers open whatever their configuration names: with
`"vocab": "/proc/self/environ"` a tokenizer is made of the environment, and saved with the adapter.
"""

from __future__ import annotations

import re

# What the tokenizers of transformers take besides their tokens and files (the parameters of their __init__).
TOKENIZER_SETTINGS = frozenset(
    (
        *("add_bos_token", "add_dummy_prefix_space", "add_eos_token", "add_prefix_space", "add_sep_token"),
        *("backend", "clean_text", "clean_up_tokenization_spaces", "do_basic_tokenize", "do_lower"),
        *("do_lower_case", "do_split_on_punc", "errors", "extra_ids", "fix_mistral_regex", "keep_accents"),
        *("legacy", "legacy_behaviour", "lstrip", "max_input_chars_per_word", "max_length"),
        *("model_max_length", "num_madeup_words", "offset", "only_label_first_subword"),
        *("pad_to_multiple_of", "pad_token_label", "pad_token_type_id", "padding", "padding_side"),
        *("remove_space", "return_token_type_ids", "rstrip", "spaces_between_special_tokens"),
        *("split_by_punct", "split_special_tokens", "src_lang", "stride", "strip_accents", "target_lang"),
        *("tgt_lang", "tokenize_chinese_chars", "trim_offsets", "trim_whitespace", "truncation"),
        *("truncation_side", "truncation_strategy", "unk_id", "use_default_system_prompt", "use_fast"),
        *("vocab_type", "wordpieces_prefix"),
    )
)
TOKEN_LISTS = ("additional_special_tokens", "extra_special_tokens")
TOKEN_FLAGS = ("lstrip", "normalized", "rstrip", "single_word", "special")

# Fields of config.json that choose code or files by name.
UNWANTED_SETTINGS = frozenset(
    (
        *("_attn_implementation", "_experts_implementation", "_name_or_path", "attn_implementation"),
        *("auto_map", "custom_generate", "custom_pipelines", "experts_implementation", "name_or_path"),
        *("transformers_weights", "use_kernels"),
    )
)
# Names of the classes of a dataset, such as N/A.
LABELS = ("id2label", "label2id")


def tokenizer_config(value: object) -> dict[str, object]:
    """`tokenizer_config.json` or `special_tokens_map.json` without anything but tokens, known scalar settings
    and chat templates."""
    reduced: dict[str, object] = {}
    for name, field in (value if isinstance(value, dict) else {}).items():
        found: object
        if name.endswith("_token"):
            # `add_bos_token` is a switch, `bos_token` a token.
            found = field if field is None or isinstance(field, bool) else _token(field)
        elif name in TOKEN_LISTS:
            found = _tokens(field)
        elif name == "added_tokens_decoder":
            found = _added_tokens(field)
        elif name == "chat_template":
            found = templates(field)
        elif name == "tokenizer_class":
            # Any other class of transformers would be made, too.
            known = isinstance(field, str) and re.fullmatch(
                r"[A-Z]\w*(Tokenizer|TokenizerFast|Backend)", field
            )
            found = field if known else None
        elif name == "model_input_names":
            found = [item for item in field if _is_word(item)] if isinstance(field, list) else None
        elif name in TOKENIZER_SETTINGS:
            found = field if _is_scalar(field) else None
        else:
            continue
        if found is not None or field is None:
            reduced[name] = found
    return reduced


def model_config(value: object) -> object:
    """`config.json` or `generation_config.json` without fields that name code or files: those known to, and
    every string that could be a path."""
    if isinstance(value, list):
        return [model_config(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: field if name in LABELS else model_config(field)
        for name, field in value.items()
        if name not in UNWANTED_SETTINGS and not (isinstance(field, str) and re.search(r"[/\\]", field))
    }


def _is_word(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[\w+-]{1,100}", value) is not None


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float)) or _is_word(value)


def _token(value: object) -> str | dict[str, object] | None:
    """A token as text, or as an object with its flags; None for anything else."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("content"), str):
        return None
    kept = {name: value[name] for name in TOKEN_FLAGS if isinstance(value.get(name), bool)}
    kind = {"__type": "AddedToken"} if value.get("__type") == "AddedToken" else {}
    return {**kind, "content": value["content"], **kept}


def _tokens(value: object) -> list[object] | dict[str, object] | None:
    if isinstance(value, dict):
        found = {name: _token(item) for name, item in value.items() if _is_word(name)}
        return {name: item for name, item in found.items() if item is not None}
    if not isinstance(value, list):
        return None
    return [item for item in map(_token, value) if item is not None]


def _added_tokens(value: object) -> dict[str, object] | None:
    if not isinstance(value, dict):
        return None
    found = {index: _token(item) for index, item in value.items() if index.isdecimal()}
    return {index: item for index, item in found.items() if isinstance(item, dict)}


def templates(value: object) -> str | list[dict[str, str]] | None:
    """One chat template, or several with their names."""
    if isinstance(value, str):
        return value
    items = value if isinstance(value, list) else []
    return [
        {"name": item["name"], "template": item["template"]}
        for item in items
        if isinstance(item, dict) and all(isinstance(item.get(key), str) for key in ("name", "template"))
    ] or None
