"""`bind_tools` with two calls and their results, as in LangChain's documentation of tool calling."""

import json
import os

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def add(a: int, b: int) -> int:
    """Adds a and b."""
    return a + b


@tool
def multiply(a: int, b: int) -> int:
    """Multiplies a and b."""
    return a * b


llm_with_tools = ChatOpenAI(model=os.environ["MODEL"]).bind_tools([add, multiply])
messages = [HumanMessage("What is 3 * 12? Also, what is 11 + 49?")]
ai_msg = llm_with_tools.invoke(messages)
messages.append(ai_msg)
for tool_call in ai_msg.tool_calls:
    selected_tool = {"add": add, "multiply": multiply}[tool_call["name"].lower()]
    messages.append(selected_tool.invoke(tool_call))
answer = llm_with_tools.invoke(messages)
print(json.dumps({"calls": [call["args"] for call in ai_msg.tool_calls], "text": answer.content}))
