"""The chat template, the same for training, for the playground and in the GGUF.

It is the tokenizer's own, or Hone's for a base model without one. It is stored as `artifacts/template.json`,
so that the playground renders the text that the model was trained on.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.data import normalizer, tools
from trainer.data import thinking as reasoning
from trainer.data.beginnings.content_parts import reading_texts
from trainer.data.beginnings.hermes import with_hermes
from trainer.data.beginnings.tool_use import with_tool_use
from trainer.data.tools import Given
from trainer.model.tokenizer import adds_bos
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    import jinja2
    from jinja2.nodes import Node
    from jinja2.parser import Parser
    from transformers import PreTrainedTokenizerBase

    from trainer.protocol.model_config import ModelConfig

# Short, because a small model's context is: the user's text, a line that prose does not contain, the answer,
# the end token.
HONE_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}{{ message['content'] + eos_token }}"
    "{% elif message['role'] == 'system' %}{{ message['content'] + '\\n\\n' }}"
    "{% else %}{{ message['content'] + '\\n###\\n' }}{% endif %}"
    "{% endfor %}"
)

WITHOUT = "Set use_chat_template to false to train with Hone's minimal template."

# A tokenizer without a limit names a number like 1e30.
LARGEST_CONTEXT = 1 << 24


@dataclass(frozen=True)
class Template:
    """A Jinja chat template with its special tokens and the strings that end a turn."""

    chat_template: str
    bos_token: str | None
    eos_token: str | None
    stop: list[str]
    source: str
    context_length: int | None
    # As `describe` of `normalizer`, `thinking` and `tools` gives them; None in templates of earlier
    # versions.
    normalizer: Mapping[str, object] | None = None
    thinking: reasoning.Thinking | None = None
    tools: tools.Tools | None = None


# Encoder-decoders and encoders get the text without a template.
PLAIN_TEMPLATE = "{{ messages[0]['content'] }}"


def plain(tokenizer: PreTrainedTokenizerBase, config: ModelConfig) -> Template:
    """The template of encoder-decoders and encoders: only the user's text."""
    return Template(
        chat_template=PLAIN_TEMPLATE,
        bos_token=tokenizer.bos_token,
        eos_token=tokenizer.eos_token,
        stop=[tokenizer.eos_token] if tokenizer.eos_token else [],
        source="plain",
        context_length=context_length(tokenizer, config),
    )


def choose(
    tokenizer: PreTrainedTokenizerBase,
    config: ModelConfig,
    use_chat_template: bool | None,
    thinking: str = "keep",
    tool_syntax: str = "template",
) -> Template:
    """The template for `tokenizer`; it is also set on the tokenizer, so that saving includes it. `thinking`
    is one of keep, off and learn, `tool_syntax` one of template and hermes.

    With `use_chat_template` None it is the model's own if there is one. Failure `bad_tokenizer` when
    `use_chat_template` is true and there is none, or when the tokenizer has no token to end an answer with.
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
                "The tokenizer has neither an end-of-text nor a padding token, so no answer would end.",
                "Choose a model whose tokenizer_config.json names an eos_token.",
            )
        tokenizer.eos_token = tokenizer.pad_token
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    use_own = own is not None and use_chat_template is not False
    text = _freeze(own) if own is not None and use_own else HONE_TEMPLATE
    if not use_own and adds_bos(tokenizer):
        text = "{{ bos_token }}" + text

    def with_text(text: str) -> reasoning.Render:
        made = Template(text, tokenizer.bos_token, tokenizer.eos_token, [], "", None)
        return lambda messages, generation, variables=None: render(made, messages, generation, variables)

    text = reading_texts(text, lambda text, messages: with_text(text)(messages, False))
    if tool_syntax == "hermes":
        text = with_hermes(text, with_text(text))
    text = reasoning.prepare(text, thinking, with_text)
    tokenizer.chat_template = text
    template = Template(
        chat_template=text,
        bos_token=tokenizer.bos_token,
        eos_token=tokenizer.eos_token,
        stop=[],
        source="model" if use_own else "hone",
        context_length=context_length(tokenizer, config),
        normalizer=normalizer.describe(tokenizer),
        thinking=reasoning.describe(text, thinking, with_text(text)),
    )
    described = tools.describe(
        lambda form, messages, generation: render(
            dataclasses.replace(template, tools=form), messages, generation
        )
    )
    template = dataclasses.replace(template, tools=described)
    return dataclasses.replace(template, stop=_stop_strings(tokenizer, template))


def render(
    template: Template,
    messages: list[Given],
    add_generation_prompt: bool,
    variables: Mapping[str, object] | None = None,
) -> str:
    """`messages` (role, content, the reasoning_content of answers, and what `tools.fields_of` gives) as text;
    with `add_generation_prompt` up to the start of the answer. `variables` are further ones of the template,
    such as its switches.

    Failure `bad_tokenizer` when the template raises or is invalid, or would leave out tools.
    """
    import jinja2

    given, offered = tools.in_template(template.tools, messages)
    try:
        return _compile(template.chat_template).render(
            messages=given,
            # Templates ask whether there are any.
            **({"tools": offered} if offered else {}),
            add_generation_prompt=add_generation_prompt,
            bos_token=template.bos_token or "",
            eos_token=template.eos_token or "",
            **(variables or {}),
        )
    except (jinja2.TemplateError, TypeError, ValueError) as error:
        raise Failure(
            "bad_tokenizer",
            f"The model's chat template cannot render this conversation: {error}",
            tools.ADVICE if tools.has_tools(messages) else WITHOUT,
            f"{type(error).__name__}: {error}",
        ) from error


def split(template: Template, messages: list[Given]) -> tuple[str, str]:
    """The prompt and the completion of `messages`, which end with the assistant's.

    The prompt is the text that the playground sends. The completion ends with the end-of-turn token. Failure
    `bad_tokenizer` when the template puts an answer behind other text than a prompt ends with.
    """
    prompt = render(template, messages[:-1], True)
    whole = render(template, messages, False)
    answer = _reasoned_answer(template, messages[-1], prompt, whole)
    if answer is not None:
        return prompt, _to_end(template, answer)
    start = len(prompt) if whole.startswith(prompt) else _answer_start(template, messages, prompt, whole)
    if start is None:
        at = common_length(prompt, whole)
        raise Failure(
            "bad_tokenizer",
            "The model's chat template renders a prompt differently when it has an answer, so the playground "
            "would send another text than the model was trained on.",
            tools.ADVICE if tools.has_tools(messages) else WITHOUT,
            f"The prompt continues with {prompt[at : at + 60]!r}, with an answer {whole[at : at + 60]!r}.",
        )
    return prompt, _to_end(template, whole[start:])


def _to_end(template: Template, completion: str) -> str:
    """A completion up to its end-of-turn token."""
    # Text after the end of the turn, mostly a newline, is never generated: generation stops before it.
    kept, end = completion.rstrip(), None
    while stop := next((stop for stop in template.stop if kept.endswith(stop)), None):
        end = len(kept)
        kept = kept.removesuffix(stop).rstrip()
    return completion[:end] if end is not None else completion + (template.eos_token or "")


def _reasoned_answer(template: Template, message: Given, prompt: str, whole: str) -> str | None:
    """The last answer where the template writes its reasoning otherwise after an answer than before one.

    Some templates end a prompt with the tag that begins reasoning, or with empty reasoning, and leave both
    out of a conversation, or leave out an answer's reasoning. The model writes what is missing. None
    where the template writes all of it by itself.
    """
    thinking = template.thinking
    if thinking is None:
        return None
    opening, closing = thinking["open"], thinking["close"]
    begun = re.search(rf"{re.escape(opening)}(\s*)({re.escape(closing)}\s*)?$", prompt)
    thought = message.get("reasoning_content", "")
    if whole.startswith(prompt):
        rest, is_open = whole[len(prompt) :], begun is not None and begun[2] is None
        if not thought or thought in rest:
            return None
    elif begun is not None and whole.startswith(prompt[: begun.start()]):
        rest, is_open = whole[begun.start() :], begun[2] is None
        # GLM 4.7 itself ends reasoning that an answer does not have.
        if begun[2] is not None or (not thought and rest.startswith(closing)):
            return rest
    else:
        return None
    head = ("" if begun and begun[1] else "\n") if is_open else f"{opening}\n"
    return f"{head}{thought}\n{closing}\n\n{rest.lstrip()}"


def _answer_start(template: Template, messages: list[Given], prompt: str, whole: str) -> int | None:
    """Where the last answer begins in `whole`, a conversation whose earlier text differs from its `prompt`
    (Mistral's templates move the system message), with the white space before it that is no part of the
    prompt. None unless the text from the user's last message to the answer is as in the prompt."""
    if len(messages) < 2:
        return None
    *earlier, question, answer = messages
    # Calls of tools may stand where a text would.
    plain = {name: value for name, value in answer.items() if name != "tool_calls"}
    answered = [render(template, [*earlier, question, {**plain, "content": text}], False) for text in "01"]
    before = whole[: min(common_length(*answered), common_length(whole, answered[0]))]
    asked = [render(template, [*earlier, {**question, "content": text}], True)[::-1] for text in "01"]
    tail = prompt[-common_length(*asked) - len(question["content"].strip()) :]
    if not answered[0].startswith(before):
        return None
    while not before.endswith(tail):
        if not before[-1:].isspace():
            return None
        before = before[:-1]
    return len(before)


def common_length(one: str, other: str) -> int:
    """The length of the beginning that two texts have in common."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def save(template: Template, task: str, path: Path) -> None:
    """Writes `template.json` atomically."""
    value = {"version": 1, "task": task, **dataclasses.asdict(template)}
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    os.replace(aside, path)


def load(path: Path) -> Template:
    """The template that `save` wrote."""
    value = json.loads(path.read_text(encoding="utf-8"))
    names = (field.name for field in dataclasses.fields(Template))
    return Template(**{name: value[name] for name in names if name in value})


def context_length(tokenizer: PreTrainedTokenizerBase, config: ModelConfig) -> int | None:
    """The model's context length: the smallest limit in its files, or None."""
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


def _own_template(tokenizer: PreTrainedTokenizerBase) -> str | None:
    """The tokenizer's chat template; of several the default one, and for tools that for them."""
    own = tokenizer.chat_template
    if not isinstance(own, dict):
        return own or None
    text = own.get("default") or next(iter(own.values()), None)
    return with_tool_use(text, own["tool_use"]) if text and "tool_use" in own else text


def _freeze(text: str) -> str:
    """`text` with a fixed date. It is part of the template, so that every runtime of the GGUF does the
    same."""
    head = ""
    if "strftime_now" in text:
        head = "{%- macro strftime_now(format) -%}01 Jan 2025{%- endmacro -%}"
    return text if text.startswith(head) else head + text


def _stop_strings(tokenizer: PreTrainedTokenizerBase, template: Template) -> list[str]:
    """The token that the template puts after an answer, and the end-of-text token.

    All added tokens are considered: some tokenizers do not mark those of a conversation as special.
    """
    answer = "answer"
    messages = [{"role": "user", "content": "question"}, {"role": "assistant", "content": answer}]
    tail = _behind(answer, render(template, messages, False))
    added = {token.content for token in tokenizer.added_tokens_decoder.values() if token.content.strip()}
    found = sorted(
        (token for token in added if token in tail), key=lambda token: (tail.index(token), -len(token))
    )
    stops = found[:1]
    if found and template.tools is not None and template.tools["tools"] and template.tools["calls"]:
        # A turn that ends with calls may end otherwise.
        end = _behind(tools.VALUE, render(template, tools.CALLED, False)).rstrip()
        ends = [token for token in added if end.endswith(token)]
        if ends and (longest := max(ends, key=len)) not in stops:
            stops.append(longest)
    if template.eos_token and template.eos_token not in stops:
        stops.append(template.eos_token)
    return stops


def _behind(text: str, whole: str) -> str:
    """What follows the last `text` in `whole`, if it has one."""
    return whole[whole.rindex(text) + len(text) :] if text in whole else ""


# Texts, which stay as they are, and small numbers in JSON.
_EXPONENTS = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d(?:\.\d+)?e-\d+')


def _small_number(found: re.Match[str]) -> str:
    """A small number as JavaScript writes it: 0.00001 and 1e-7, where Python has 1e-05 and 1e-07."""
    text = found[0]
    if text.startswith('"'):
        return text
    return format(Decimal(text), "f") if abs(float(text)) >= 1e-6 else text.replace("e-0", "e-")


@lru_cache(maxsize=8)
def _compile(text: str) -> jinja2.Template:
    """`text` compiled as transformers does it: sandboxed, with trimmed blocks."""
    import jinja2
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """Reads `{% generation %}`, which marks answers for other trainers and changes no text."""

        tags = {"generation"}  # noqa: RUF012, as its base declares it

        def parse(self, parser: Parser) -> Node | list[Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    def to_json(
        value: object,
        ensure_ascii: bool = False,
        indent: int | str | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        # jinja2's own escapes HTML.
        text = json.dumps(
            value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )
        return _EXPONENTS.sub(_small_number, text)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", Generation]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = refuse
    return environment.from_string(text)
