"""An agent's output type, as in the library's documentation of outputs."""

import json
import os

from pydantic import BaseModel
from pydantic_ai import Agent


class CityLocation(BaseModel):
    city: str
    country: str


agent = Agent(f"openai:{os.environ['MODEL']}", output_type=CityLocation)
result = agent.run_sync("Where were the olympics held in 2012?")
print(json.dumps({"calls": [result.output.model_dump()], "text": ""}))
