"""Completions of lists of prompts with LangChain's defaults, and the same prompts alone."""

import json
import os

from langchain_openai import OpenAI

model = os.environ["MODEL"]
# More than LangChain sends in one request.
prompts = [f"The capital of {country} is" for country in os.environ["COUNTRIES"].split(",")]
texts = OpenAI(model=model).batch(prompts)
result = OpenAI(model=model, n=2, max_tokens=16, seed=1).generate(prompts, stop=["."])
greedy = OpenAI(model=model, temperature=0, max_tokens=16)
print(
    json.dumps(
        {
            "texts": texts,
            "choices": [[one.text for one in choices] for choices in result.generations],
            "ends": sorted({one.generation_info["finish_reason"] for all in result.generations for one in all}),
            "usage": result.llm_output["token_usage"],
            "together": greedy.batch(prompts),
            "alone": [greedy.invoke(prompt) for prompt in prompts],
        }
    )
)
