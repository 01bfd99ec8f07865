"""Compares models on a validation file in OpenAI's format: how many of their last answers are those of the file.

    python examples/evaluate.py validation.jsonl MODEL [MODEL …]

OPENAI_BASE_URL and OPENAI_API_KEY say whom to ask, as everywhere in OpenAI's library (`pip install openai`).
"""

import json
import sys
from difflib import SequenceMatcher

from openai import OpenAI

path, *models = sys.argv[1:]
client = OpenAI()
conversations = []
with open(path, encoding="utf-8") as rows:
    for row in rows:
        messages = json.loads(row)["messages"] if row.strip() else []
        if messages and messages[-1]["role"] == "assistant":
            conversations.append((messages[:-1], messages[-1]["content"].strip()))

print(f"{'exact':>7}  {'similar':>7}  model ({len(conversations)} answers)")
for model in models:
    exact, similar = 0, 0.0
    for messages, wanted in conversations:
        answer = client.chat.completions.create(
            model=model, messages=messages, temperature=0, max_tokens=1024
        )
        given = (answer.choices[0].message.content or "").strip()
        exact += given == wanted
        similar += SequenceMatcher(None, given, wanted).ratio()
    count = max(len(conversations), 1)
    print(f"{exact / count:7.1%}  {similar / count:7.1%}  {model}")
