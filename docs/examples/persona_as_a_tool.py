"""Characters as tools of a LangChain agent, which asks them and reports what they say.

The agent's model must decide when to call a tool, for which the bundled one is too small. A model that
`rolellm models pull qwen3-4b` downloads can do it offline:

    ROLELLM_MODEL=qwen3-4b python docs/examples/persona_as_a_tool.py "Who was at my window?"
"""

import argparse
import sys

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from rolellm_agents import get_model
from rolellm_agents.config.settings import load_settings
from rolellm_graphs import persona_tool

DUTY = "You answer questions by asking the people you have tools for. Report what each of them said."


def main() -> None:
    parser = argparse.ArgumentParser(description="Have an agent ask characters.")
    parser.add_argument("question")
    question = parser.parse_args().question
    model = get_model(load_settings().model)
    tools = [persona_tool(one, model=model) for one in ("sherlock-holmes", "jack-sparrow")]
    agent = create_agent(model, tools, system_prompt=DUTY)
    try:
        messages = agent.invoke({"messages": [HumanMessage(question)]})["messages"]
    except NotImplementedError:
        sys.exit("This model calls no tools; name one that does in ROLELLM_MODEL.")
    for message in messages:
        message.pretty_print()


if __name__ == "__main__":
    main()
