"""pydantic-ai against the server: prints what it got as JSON."""

import json
import sys

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider


class Who(BaseModel):
    """Who somebody is."""

    name: str


url, model = sys.argv[1:]
provider = OpenAIProvider(base_url=url, api_key="none")
chat = OpenAIChatModel(model, provider=provider)
question = "Who are you?"
limit = {"max_tokens": 60}


async def streamed() -> list[str]:
    async with Agent(chat).run_stream(question) as run:
        return [text async for text in run.stream_text(delta=True)]


if __name__ == "__main__":
    import asyncio

    print(
        json.dumps(
            {
                "answer": Agent(chat).run_sync(question).output,
                "responses": Agent(OpenAIResponsesModel(model, provider=provider))
                .run_sync(question)
                .output,
                "streamed": asyncio.run(streamed()),
                "by tool": Agent(chat, output_type=Who)
                .run_sync(question, model_settings=limit)
                .output.name,
                "by schema": Agent(chat, output_type=NativeOutput(Who))
                .run_sync(question, model_settings=limit)
                .output.name,
            }
        )
    )
