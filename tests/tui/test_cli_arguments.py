"""A command's arguments for another process of it."""

from typing import Annotated, Any

import typer
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from rolellm_tui.cli.chat.arguments import repeated_arguments

app = typer.Typer()


@app.command()
def command(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument()] = None,
    text: Annotated[str | None, typer.Option("--text", "-t")] = None,
    number: Annotated[float | None, typer.Option("--number")] = None,
    count: Annotated[int, typer.Option("--count")] = 3,
    several: Annotated[list[str] | None, typer.Option("--several")] = None,
    flag: Annotated[bool, typer.Option("--flag")] = False,
    either: Annotated[bool | None, typer.Option("--either/--or")] = None,
    left_out: Annotated[str, typer.Option("--left-out")] = "none",
) -> None:
    """Everything that a command of ours has."""


def understood(arguments: list[str]) -> Any:
    """What Typer makes of arguments: the context."""
    return get_command(app).make_context("command", arguments)


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(
    st.lists(
        st.one_of(
            WORDS.map(lambda word: [f"--text={word}"]),
            st.floats(allow_nan=False).map(lambda number: [f"--number={number}"]),
            st.integers().map(lambda number: [f"--count={number}"]),
            WORDS.map(lambda word: [f"--several={word}"]),
            st.sampled_from([["--flag"], ["--either"], ["--or"], ["-t", "short"], ["--left-out", "this"]]),
        ),
        max_size=6,
    ),
    st.one_of(st.just([]), WORDS.map(lambda word: ["--", word])),
)
@examples(1.5)
def test_what_is_given_again_is_understood_alike(options: list[list[str]], name: list[str]) -> None:
    first = understood([*(word for option in options for word in option), *name])

    again = understood(repeated_arguments(first, but=["left_out"]))

    assert again.params == {**first.params, "left_out": "none"}
    assert again.args == first.args == []


def test_what_was_not_given_is_left_to_the_defaults() -> None:
    assert repeated_arguments(understood([]), but=()) == ["--"]
    assert repeated_arguments(understood(["--flag", "-t", "x y", "--", "-me"]), but=()) == [
        *("--text=x y", "--flag", "--", "-me")
    ]
