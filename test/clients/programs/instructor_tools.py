"""The first example of instructor's documentation, in its mode TOOLS."""

import json
import os

import instructor
from openai import OpenAI
from pydantic import BaseModel


class UserInfo(BaseModel):
    name: str
    age: int


client = instructor.from_openai(OpenAI(), mode=instructor.Mode.TOOLS)
user_info = client.chat.completions.create(
    model=os.environ["MODEL"],
    response_model=UserInfo,
    messages=[{"role": "user", "content": "John Doe is 30 years old."}],
)
print(json.dumps({"calls": [user_info.model_dump()], "text": ""}))
