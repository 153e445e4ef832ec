"""Chat with a character in ten lines: a persona as a chat model, streamed.

    python docs/examples/chat_in_ten_lines.py

An empty line ends it. `ROLELLM_MODEL` selects another model.
"""

from rolellm_agents.config.settings import load_settings
from rolellm_graphs import RoleChatModel

holmes = RoleChatModel("sherlock-holmes", model=load_settings().model)
said: list[tuple[str, str]] = []
while line := input("\nYou: "):
    answer = ""
    for chunk in holmes.stream([*said, ("human", line)]):
        print(chunk.text, end="", flush=True)
        answer += chunk.text
    said += [("human", line), ("ai", answer)]
