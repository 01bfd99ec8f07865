"""The one rule by which messages become text: for training, for the playground, inside the GGUF.

A tokenizer's own chat template is used; a base model without one gets Hone's. What is used is stored as
`artifacts/template.json`, so that the playground renders the very text that the model was trained on.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from trainer.failures import Failure

# Short, because every token counts in a small model's context: the user's text, a line that no prose
# contains, the answer, the end token.
HONE_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}{{ message['content'] + eos_token }}"
    "{% elif message['role'] == 'system' %}{{ message['content'] + '\\n\\n' }}"
    "{% else %}{{ message['content'] + '\\n###\\n' }}{% endif %}"
    "{% endfor %}"
)

# A tokenizer without a limit of its own says a number like 1e30.
LARGEST_CONTEXT = 1 << 24


@dataclass(frozen=True)
class Template:
    """A Jinja chat template with what it needs to render and what ends a turn."""

    chat_template: str
    bos_token: str | None
    eos_token: str | None
    stop: list[str]
    source: str
    context_length: int | None


# Models that read one text and write another, or point into it, take the text as it is.
PLAIN_TEMPLATE = "{{ messages[0]['content'] }}"


def plain(tokenizer: Any, config: dict[str, Any]) -> Template:
    """The template of a model that is no chat model: the user's text alone."""
    return Template(
        chat_template=PLAIN_TEMPLATE,
        bos_token=tokenizer.bos_token,
        eos_token=tokenizer.eos_token,
        stop=[tokenizer.eos_token] if tokenizer.eos_token else [],
        source="plain",
        context_length=context_length(tokenizer, config),
    )


def choose(tokenizer: Any, config: dict[str, Any], use_chat_template: bool | None) -> Template:
    """The template for `tokenizer`, which is installed on it so that saving keeps it.

    `use_chat_template` None takes the model's own where there is one. Failure `bad_tokenizer` when one is
    demanded and absent, or when the tokenizer has no token that could end an answer.
    """
    own = _own_template(tokenizer)
    if use_chat_template and own is None:
        raise Failure(
            "bad_tokenizer",
            "The model's tokenizer has no chat template, and use_chat_template is true.",
            "Leave use_chat_template out, or choose an instruction-tuned model.",
        )
    if tokenizer.eos_token is None:
        if tokenizer.pad_token is None:
            raise Failure(
                "bad_tokenizer",
                "The tokenizer has neither an end-of-text nor a padding token, so no answer could end.",
                "Choose a model whose tokenizer_config.json names an eos_token.",
            )
        tokenizer.eos_token = tokenizer.pad_token
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    use_own = own is not None and use_chat_template is not False
    text = _freeze(own) if use_own else HONE_TEMPLATE
    if not use_own and _adds_bos(tokenizer):
        text = "{{ bos_token }}" + text
    tokenizer.chat_template = text
    template = Template(
        chat_template=text,
        bos_token=tokenizer.bos_token,
        eos_token=tokenizer.eos_token,
        stop=[],
        source="model" if use_own else "hone",
        context_length=context_length(tokenizer, config),
    )
    return dataclasses.replace(template, stop=_stop_strings(tokenizer, template))


def render(template: Template, messages: list[dict[str, str]], add_generation_prompt: bool) -> str:
    """`messages` (role, content) as text; with `add_generation_prompt` up to where the answer begins.

    Failure `bad_tokenizer` when the template refuses the messages or is broken.
    """
    import jinja2

    try:
        return _compile(template.chat_template).render(
            messages=messages,
            add_generation_prompt=add_generation_prompt,
            bos_token=template.bos_token or "",
            eos_token=template.eos_token or "",
        )
    except (jinja2.TemplateError, TypeError, ValueError) as error:
        raise Failure(
            "bad_tokenizer",
            f"The model's chat template cannot render this conversation: {error}",
            "Set use_chat_template to false to train with Hone's own minimal template.",
            f"{type(error).__name__}: {error}",
        ) from error


def split(template: Template, messages: list[dict[str, str]]) -> tuple[str, str]:
    """The prompt text and the completion text of `messages`, whose last is the assistant's.

    The prompt is exactly what the playground sends; the completion ends with the token that ends a turn.
    Failure `bad_tokenizer` when the whole does not begin with the prompt.
    """
    prompt = render(template, messages[:-1], True)
    whole = render(template, messages, False)
    if not whole.startswith(prompt):
        at = next(
            (i for i, pair in enumerate(zip(prompt, whole, strict=False)) if pair[0] != pair[1]), len(whole)
        )
        raise Failure(
            "bad_tokenizer",
            "The model's chat template renders a prompt differently once it is answered, so what is trained "
            "would not be what is asked.",
            "Set use_chat_template to false to train with Hone's own minimal template.",
            f"The prompt goes on {prompt[at : at + 60]!r}, the answered one {whole[at : at + 60]!r}.",
        )
    completion = whole[len(prompt) :]
    ends = [stop for stop in template.stop if stop in completion]
    if ends:
        # Text behind the end of the turn (a newline mostly) is never generated: the playground stops there.
        last = max(completion.rindex(stop) + len(stop) for stop in ends)
        if not completion[last:].strip():
            return prompt, completion[:last]
    return prompt, completion + (template.eos_token or "")


def save(template: Template, task: str, path: Path) -> None:
    """Writes `template.json`, atomically."""
    value = {"version": 1, "task": task, **dataclasses.asdict(template)}
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    os.replace(aside, path)


def context_length(tokenizer: Any, config: dict[str, Any]) -> int | None:
    """How many tokens the model can see: the smallest limit that its files name, or None."""
    text_config = config.get("text_config") or config
    limits = [
        text_config.get(name)
        for name in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
    ]
    limits.append(tokenizer.model_max_length)
    known = [
        int(limit) for limit in limits if isinstance(limit, (int, float)) and 0 < limit < LARGEST_CONTEXT
    ]
    return min(known) if known else None


def _own_template(tokenizer: Any) -> str | None:
    """The tokenizer's chat template; of several named ones the default."""
    own = tokenizer.chat_template
    if isinstance(own, dict):
        return own.get("default") or next(iter(own.values()), None)
    return own or None


def _freeze(text: str) -> str:
    """`text` with what would change between training and asking set for good.

    Thinking is switched off (rows hold answers, not thoughts) and the date stands still. It is part of the
    template's own text, so that every runtime that reads the GGUF does the same.
    """
    head = ""
    if "enable_thinking" in text:
        head += "{%- set enable_thinking = false -%}"
    if "strftime_now" in text:
        head += "{%- macro strftime_now(format) -%}01 Jan 2025{%- endmacro -%}"
    return text if text.startswith(head) else head + text


def _adds_bos(tokenizer: Any) -> bool:
    """Whether the tokenizer itself puts its beginning-of-text token before a text."""
    if tokenizer.bos_token_id is None:
        return False
    ids = tokenizer("a").input_ids
    return bool(ids) and ids[0] == tokenizer.bos_token_id


def _stop_strings(tokenizer: Any, template: Template) -> list[str]:
    """The special tokens that the template puts behind an answer, and the end-of-text token."""
    answer = "answer"
    messages = [{"role": "user", "content": "question"}, {"role": "assistant", "content": answer}]
    whole = render(template, messages, False)
    tail = whole[whole.rindex(answer) + len(answer) :] if answer in whole else ""
    special = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    found = sorted((token for token in special if token in tail), key=tail.index)
    stops = found[:1]
    if template.eos_token and template.eos_token not in stops:
        stops.append(template.eos_token)
    return stops


@lru_cache(maxsize=8)
def _compile(text: str) -> Any:
    """`text` compiled as Hugging Face's tools do it: sandboxed, blocks trimmed."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(
        value, ensure_ascii=False, indent=indent
    )
    environment.globals["raise_exception"] = refuse
    return environment.from_string(text)
