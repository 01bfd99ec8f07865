"""Published chat templates with their tokens, for tests.

The templates are those that come with TRL, and for other manners those in `templates/`. `masks/NAME.txt` has
the sequences that the conversation of a case becomes under a template, with `----` between them; what is
learned stands between ⟦ and ⟧, marked by hand.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PUBLISHED = Path(importlib.util.find_spec("trl").origin).parent / "chat_templates"

SYSTEM = {"role": "system", "content": "You sort messages."}
# The second answer is wrong and must not be learned.
TURNS = [
    {"role": "user", "content": "My parcel has not come."},
    {"role": "assistant", "content": "team: shipping"},
    {"role": "user", "content": "And I was charged twice."},
    {"role": "assistant", "content": "team: access", "weight": 0},
    {"role": "user", "content": "No, it is about money."},
    {"role": "assistant", "content": "team: billing", "weight": 1},
]
THOUGHTS = ["It is about a parcel.", "It is about a login.", "It is about money."]


def _thinking() -> Iterator[dict[str, Any]]:
    """The turns, with reasoning before each answer."""
    thoughts = iter(THOUGHTS)
    for turn in TURNS:
        if turn["role"] == "assistant":
            turn = {**turn, "content": f"<think>\n{next(thoughts)}\n</think>\n\n{turn['content']}"}
        yield turn


CHATML = {"eos_token": "<|im_end|>", "added": ["<|im_start|>"]}
LLAMA = {
    "bos_token": "<|begin_of_text|>",
    "eos_token": "<|eot_id|>",
    "added": ["<|start_header_id|>", "<|end_header_id|>"],
}
GEMMA = {"bos_token": "<bos>", "eos_token": "<eos>", "added": ["<start_of_turn>", "<end_of_turn>"]}
PHI = {"eos_token": "<|endoftext|>", "added": ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]}
MISTRAL = {"added": ["[INST]", "[/INST]"]}
DEEPSEEK = {
    "bos_token": "<｜begin▁of▁sentence｜>",
    "eos_token": "<｜end▁of▁sentence｜>",
    "added": ["<｜User｜>", "<｜Assistant｜>"],
}
# By the name of the template, with a suffix where it has several cases: its tokens, and a conversation that
# it accepts.
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "hone": ({}, [SYSTEM, *TURNS]),
    "qwen2_5": (CHATML, [SYSTEM, *TURNS]),
    "qwen3": (CHATML, [SYSTEM, *TURNS]),
    "llama3": (LLAMA, [SYSTEM, *TURNS]),
    "llama3_2": (LLAMA, [SYSTEM, *TURNS]),
    "gemma": (GEMMA, TURNS),
    "gemma3": (GEMMA, [SYSTEM, *TURNS]),
    "phi3": (PHI, [SYSTEM, *TURNS]),
    "mistral": (MISTRAL, TURNS),
    "mistral+system": (MISTRAL, [SYSTEM, *TURNS]),
    "zephyr": ({}, [SYSTEM, *TURNS]),
    "deepseek_r1": (DEEPSEEK, [SYSTEM, *_thinking()]),
}

# Conversations with tools, which not every template has.
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def _call(number: int, city: str) -> dict[str, Any]:
    arguments = json.dumps({"city": city}, ensure_ascii=False)
    return {
        "id": f"call0000{number}",
        "type": "function",
        "function": {"name": "weather", "arguments": arguments},
    }


ONE_CALL = [
    {"role": "user", "content": "Is it raining in Zürich?"},
    {"role": "assistant", "content": None, "tool_calls": [_call(1, "Zürich")]},
    {"role": "tool", "tool_call_id": "call00001", "content": "rain, 9 °C"},
    {"role": "assistant", "content": "Yes, at 9 °C."},
]
PARALLEL_CALLS = [
    {"role": "user", "content": "Bern or Chur?"},
    {"role": "assistant", "content": "", "tool_calls": [_call(1, "Bern"), _call(2, "Chur")]},
    {"role": "tool", "tool_call_id": "call00001", "content": "rain"},
    {"role": "tool", "tool_call_id": "call00002", "content": "sun"},
    {"role": "assistant", "content": "Chur.", "weight": 0},
    {"role": "user", "content": "And Basel?"},
    {"role": "assistant", "content": "", "tool_calls": [_call(3, "Basel")]},
]
DEEPSEEK_TOOLS = {**DEEPSEEK, "added": [*DEEPSEEK["added"], "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"]}
# As CASES, but rows with tools.
TOOL_CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "qwen2_5+tools": (CHATML, {"messages": [SYSTEM, *PARALLEL_CALLS], "tools": [WEATHER]}),
    "qwen3+tools": (CHATML, {"messages": PARALLEL_CALLS, "tools": [WEATHER]}),
    "llama3_1+tools": (LLAMA, {"messages": [SYSTEM, *ONE_CALL], "tools": [WEATHER]}),
    "mistral_tools": (
        {"added": [*MISTRAL["added"], "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]"]},
        {"messages": [SYSTEM, *PARALLEL_CALLS], "tools": [WEATHER]},
    ),
    # Its template lists no tools, and takes arguments as text.
    "deepseekv3+tools": (DEEPSEEK_TOOLS, {"messages": ONE_CALL}),
}


def equip(tokenizer: Any, name: str) -> Any:
    """`tokenizer` with the tokens and the chat template of the case `name`; without a template for `hone`."""
    from tokenizers import AddedToken

    tokens = dict((CASES.get(name) or TOOL_CASES[name])[0])
    tokenizer.add_tokens([AddedToken(token, special=True) for token in tokens.pop("added", ())])
    tokenizer.add_special_tokens(tokens)
    if name != "hone":
        file = f"{name.split('+')[0]}.jinja"
        own = HERE / "templates" / file
        path = own if own.exists() else PUBLISHED / file
        tokenizer.chat_template = path.read_text(encoding="utf-8")
    return tokenizer


def mask(name: str) -> list[str]:
    """The sequences of a case with their marks."""
    text = (HERE / "masks" / f"{name}.txt").read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n----\n")


def prompts(marked: list[str]) -> list[str]:
    """The texts before each answer that is learned."""
    return [
        "".join(sequence.split("⟦")[: at + 1]).replace("⟧", "")
        for sequence in marked
        for at in range(sequence.count("⟦"))
    ]


def questions(conversation: list[dict[str, Any]]) -> list[list[dict[str, str]]]:
    """The messages before each answer that is learned, as they are sent to the playground."""
    plain = [{"role": turn["role"], "content": turn["content"]} for turn in conversation]
    learned = [turn["role"] == "assistant" and turn.get("weight") != 0 for turn in conversation]
    return [plain[:at] for at, wanted in enumerate(learned) if wanted]


def render_as_playground(asked: list[tuple[Path, list[dict[str, str]]]]) -> list[str]:
    """The prompts that the playground sends for messages, by the file of a stored template."""
    request = [{"template": str(path), "messages": messages} for path, messages in asked]
    program = ["node", "--import", "tsx", "test/inference/render-stored.ts"]
    done = subprocess.run(
        program, cwd=ROOT, input=json.dumps(request), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)
