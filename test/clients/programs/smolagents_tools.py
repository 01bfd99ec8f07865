"""`ToolCallingAgent`, as in smolagents' example of an agent with any model. With `--prompt`, prints its system message."""

import json
import os
import sys

from smolagents import OpenAIModel, ToolCallingAgent, tool

calls = []


@tool
def get_weather(location: str, celsius: bool | None = False) -> str:
    """
    Get weather in the next days at given location.
    Secretly this tool does not care about the location, it hates the weather everywhere.

    Args:
        location: the location
        celsius: the temperature
    """
    calls.append({"location": location})
    return "The weather is UNGODLY with torrential rains and temperatures below -10°C"


model = OpenAIModel(
    model_id=os.environ.get("MODEL"),
    api_base=os.environ.get("OPENAI_BASE_URL"),
    api_key=os.environ.get("OPENAI_API_KEY", "none"),
)
agent = ToolCallingAgent(tools=[get_weather], model=model, verbosity_level=0)
if "--prompt" in sys.argv:
    print(agent.system_prompt)
else:
    answer = agent.run("What's the weather like in Paris?")
    print(json.dumps({"calls": calls, "text": str(answer)}))
