"""The example with a function of the library's documentation."""

import json
import os

from agents import Agent, Runner, function_tool

calls = []


@function_tool
def get_weather(city: str) -> str:
    """Returns weather info for the specified city."""
    calls.append({"city": city})
    return f"The weather in {city} is sunny."


agent = Agent(
    name="Hello world",
    instructions="You are a helpful agent.",
    tools=[get_weather],
    model=os.environ["MODEL"],
)
result = Runner.run_sync(agent, input="What's the weather in Tokyo?")
print(json.dumps({"calls": calls, "text": result.final_output}))
