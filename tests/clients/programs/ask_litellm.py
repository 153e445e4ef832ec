"""litellm against the server: prints what it got as JSON."""

import json
import sys

import litellm

url, model = sys.argv[1:]
common = {"model": f"openai/{model}", "api_base": url, "api_key": "none"}
line = [{"role": "user", "content": "Who are you?"}]
tool = {
    "type": "function",
    "function": {"name": "lookup", "parameters": {"type": "object", "properties": {}}},
}
schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
form = {"type": "json_schema", "json_schema": {"name": "Who", "strict": True, "schema": schema}}

answer = litellm.completion(messages=line, **common)
chunks = list(litellm.completion(messages=line, stream=True, **common))
called = litellm.completion(messages=line, tools=[tool], tool_choice="required", max_tokens=60, **common)
formed = litellm.completion(messages=line, response_format=form, max_tokens=60, **common)
vectors = litellm.embedding(model="openai/lexical", input=["fog", "mud"], api_base=url, api_key="none")
print(
    json.dumps(
        {
            "answer": answer.choices[0].message.content,
            "streamed": [chunk.choices[0].delta.content or "" for chunk in chunks],
            "called": called.choices[0].message.tool_calls[0].function.name,
            "formed": list(json.loads(formed.choices[0].message.content)),
            "vectors": len(vectors.data),
        }
    )
)
