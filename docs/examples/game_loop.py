"""A small game: talk a character into opening the gate. The character acts by calling tools.

    ROLELLM_MODEL=openai:gpt-4o-mini python docs/examples/game_loop.py

The tools change the state of the game, and the character is told the state with each line. It needs a model
that is large enough to decide when to call a tool: with the bundled one, the gate stays shut. An empty line
gives up.
"""

import sys
from dataclasses import dataclass

from langchain.agents import create_agent
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from rolellm_agents import RoleLLMError
from rolellm_agents.config.settings import load_settings
from rolellm_graphs import RoleChatModel


@dataclass
class Game:
    """The state of the game."""

    is_open: bool = False
    patience: int = 5

    def open_gate(self) -> str:
        """Open the gate for the visitor. Do it only if the visitor has convinced you."""
        self.is_open = True
        return "The gate is open."

    def lose_patience(self) -> str:
        """Lose some of your patience, because the visitor is rude or boring."""
        self.patience -= 2
        return f"Your patience is now {self.patience}."

    @property
    def described(self) -> str:
        return f"You guard a gate at night, and a visitor wants to pass. Your patience is {self.patience}."


def main() -> None:
    game = Game()
    guard = create_agent(
        RoleChatModel("abraham-lincoln", model=load_settings().model, strategy="system"),
        [game.open_gate, game.lose_patience],
    )
    said: list[AnyMessage] = []
    while game.patience > 0 and not game.is_open and (line := input("You: ")):
        game.patience -= 1
        said.append(HumanMessage(line))
        try:
            told = guard.invoke({"messages": [SystemMessage(game.described), *said]})
        except NotImplementedError:
            sys.exit("This model calls no tools; name one that does in ROLELLM_MODEL.")
        except RoleLLMError as error:
            sys.exit(str(error))
        said = told["messages"][1:]
        print(f"Lincoln: {said[-1].text}")
    print("The gate is open. You win." if game.is_open else "The gate stays shut.")


if __name__ == "__main__":
    main()
