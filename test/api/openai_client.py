"""Asks a service with the stock Python client of OpenAI and prints what it got, as one JSON object.

python openai_client.py BASE_URL MODEL
"""

import json
import math
import sys

import openai

base_url, model = sys.argv[1:]
client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
question = [{"role": "user", "content": "My parcel has not come."}]
options = {"model": model, "messages": question, "temperature": 0, "max_tokens": 12}

whole = client.chat.completions.create(**options)
chunks = list(client.chat.completions.create(**options, stream=True, stream_options={"include_usage": True}))
deltas = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]

text = client.completions.create(model=model, prompt="Hello", temperature=0, max_tokens=8)
pieces = client.completions.create(model=model, prompt="Hello", temperature=0, max_tokens=8, stream=True)

schema = {"type": "object", "properties": {"urgent": {"type": "boolean"}}, "required": ["urgent"]}
form = {"type": "json_schema", "json_schema": {"name": "ticket", "strict": True, "schema": schema}}
ticket = client.chat.completions.create(
    **{**options, "max_tokens": 200}, response_format=form
)
rated = client.chat.completions.create(**options, logprobs=True, top_logprobs=2).choices[0].logprobs.content
both = client.chat.completions.create(**{**options, "temperature": 1}, n=2)
vectors = [entry.embedding for entry in client.embeddings.create(model=model, input=["a", "b"]).data]


def refusal(call):
    """The class, status and parameter of the error that `call` ends in."""
    try:
        call()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code, error.param]
    return None


json.dump(
    {
        "models": [entry.id for entry in client.models.list()],
        "model": client.models.retrieve(model).id,
        "whole": whole.choices[0].message.content,
        "finish": whole.choices[0].finish_reason,
        "usage": whole.usage.model_dump(exclude_none=True),
        "streamed": "".join(deltas),
        "streamed_usage": chunks[-1].usage.model_dump(exclude_none=True),
        "text": text.choices[0].text,
        "text_streamed": "".join(choice.text for piece in pieces for choice in piece.choices),
        "ticket": json.loads(ticket.choices[0].message.content),
        "logprobs": {
            "tokens": [entry.token for entry in rated],
            "top": len(rated[0].top_logprobs),
        },
        "choices": [choice.index for choice in both.choices],
        "vectors": {
            "lengths": [round(math.hypot(*vector), 4) for vector in vectors],
            "size": len(vectors[0]),
        },
        "tools": refusal(
            lambda: client.chat.completions.create(
                **options, tools=[{"type": "function", "function": {"name": "find"}}]
            )
        ),
        "missing": refusal(
            lambda: client.chat.completions.create(model="no-such", messages=question)
        ),
        "invalid": refusal(lambda: client.chat.completions.create(model=model, messages=[])),
    },
    sys.stdout,
)
