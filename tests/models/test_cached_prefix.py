"""What a model in this process writes to disk of its prompts: what it was allowed to, and nothing else."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.broken_servers import Answer, serving, stream_of
from helpers.broken_servers import finished as end_of_stream
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.graph import MessagesState

from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.llamacpp.loaded import cacheable_tokens
from rolellm_agents.models.llamacpp.template import Turn, fold
from rolellm_agents.models.local import cacheable, cached_prefix
from rolellm_agents.persona import Persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs import RoleChatModel, Session, role_graph
from rolellm_graphs.role.context import RoleContext

PERSONA = "You are Ada, who keeps the lighthouse and counts everything that she sees. " * 4
LINE = HumanMessage("How many stairs?")


@pytest.fixture
def model() -> ChatLlamaCpp:
    """The embedded model with the cache folder of this test's own home."""
    return ChatLlamaCpp(
        model_path=embedded_gguf(), n_ctx=1024, sequences=2, temperature=0, max_tokens=2, weights="original"
    )


def files(model: ChatLlamaCpp, home: Path) -> list[str]:
    """The states on disk, when what was to be written is written."""
    kept = model.load().engine._prompt_cache
    assert kept is not None
    kept.wait()
    return sorted(file.name for file in (home / "cache" / "warm").glob("*"))


# Which tokens say a text


def asked(instruction: str, line: str = "?") -> list[Turn]:
    return [{"role": "system", "content": instruction}, {"role": "user", "content": line}]


def letters(turns: Sequence[Turn]) -> list[int]:
    """A template and a tokenizer as simple as can be."""
    return [ord(letter) for turn in turns for letter in f"<{turn['role']}>{turn['content']}</>"]


def greedy_pairs(turns: Sequence[Turn]) -> list[int]:
    """A tokenizer that joins every two characters, and so the end of a text with what follows it."""
    text = "".join(map(chr, letters(turns)))
    return [hash(text[place : place + 2]) for place in range(0, len(text), 2)]


def test_what_says_the_text_is_counted_and_nothing_behind_it() -> None:
    for content in ("Ada.\nIt rains.", "Ada."):
        assert cacheable_tokens(letters(asked(content)), "Ada.", letters) == len("<system>Ada.")


@pytest.mark.parametrize("length", [4, 5])
def test_a_token_that_holds_what_follows_is_not_counted(length: int) -> None:
    prefix = "Ada.."[:length]
    said = asked(prefix + "\nIt rains.")
    assert cacheable_tokens(greedy_pairs(said), prefix, greedy_pairs) == (len("<system>") + length) // 2


def test_a_prompt_that_does_not_begin_with_the_text_has_no_fixed_part() -> None:
    assert cacheable_tokens(letters(asked("It rains.\nAda.")), "Ada.", letters) == 0
    assert cacheable_tokens(letters([{"role": "system", "content": "Ad"}]), "Ada.", letters) == 0


def test_a_template_that_puts_the_instruction_at_the_end_keeps_nothing_of_the_conversation() -> None:
    def instruction_last(turns: Sequence[Turn]) -> list[int]:
        instruction, *rest, last = turns
        together = instruction["content"] + last["content"]
        return letters([*rest, {"role": "user", "content": together}])

    said: list[Turn] = [
        {"role": "system", "content": "Ada."},
        {"role": "user", "content": "My secret."},
        {"role": "assistant", "content": "Oh!"},
        {"role": "user", "content": "?"},
    ]
    assert cacheable_tokens(instruction_last(said), "Ada.", instruction_last) == 0


WORDS = st.text(st.sampled_from("ab .\n\n🐝灯'<|>[]/_AINST0"), max_size=12)


@given(prefix=WORDS.filter(bool), first=WORDS, second=WORDS, line=WORDS, folded=st.booleans())
def test_the_tokens_that_are_kept_do_not_depend_on_what_follows(
    small_model: ChatLlamaCpp, prefix: str, first: str, second: str, line: str, folded: bool
) -> None:
    loaded = small_model.load()

    def tokens_of(turns: Sequence[Turn]) -> list[int]:
        return loaded.prompt(fold(turns) if folded else turns)

    kept = set()
    for rest in (first, second):
        tokens = tokens_of(asked(prefix + rest, line))
        kept.add(tuple(tokens[: cacheable_tokens(tokens, prefix, tokens_of)]))
    assert len(kept - {()}) <= 1


# Which text may be kept


def test_only_a_first_message_of_the_system_that_is_marked_may_be_kept() -> None:
    marked = cacheable(SystemMessage(PERSONA))
    assert cached_prefix([marked, LINE]) == PERSONA
    assert cached_prefix([LINE, marked]) is None
    assert cached_prefix([cacheable(HumanMessage(PERSONA))]) is None
    assert cached_prefix([SystemMessage(PERSONA), LINE]) is None
    assert cached_prefix([]) is None


def forget(model: ChatLlamaCpp) -> None:
    """Empty the KV cache, so that what is on disk is read."""
    engine = model.load().engine
    while engine._worker is not None:
        time.sleep(0.001)
    if engine._prompt_cache:
        engine._prompt_cache.wait()
    engine._cache.clear()


def test_a_system_message_of_anybodys_is_not_written(model: ChatLlamaCpp, home: Path) -> None:
    model.invoke([SystemMessage(PERSONA), LINE])
    model.prefetch([SystemMessage(f"{PERSONA} It rains."), LINE])
    model.invoke([LINE])
    assert files(model, home) == []


@pytest.mark.core
def test_what_may_be_kept_is_written_once_whatever_stands_behind_it(
    model: ChatLlamaCpp, home: Path
) -> None:
    mark = cacheable(SystemMessage(PERSONA))
    for behind in ("", "\nIt rains.", "\n\n\nThe bees sleep."):
        instruction = mark.model_copy(update={"content": PERSONA + behind})
        model.invoke([instruction, LINE])
        model.invoke([instruction, LINE, AIMessage("Seventeen."), HumanMessage("Sure?")])
        forget(model)
    assert len(files(model, home)) == 1
    assert model.load().engine.counters.loaded == 2


def test_nothing_is_written_of_what_stands_before_it(model: ChatLlamaCpp, home: Path) -> None:
    mark = cacheable(SystemMessage(PERSONA))
    model.invoke([mark.model_copy(update={"content": f"It rains.\n{PERSONA}"}), LINE])
    assert files(model, home) == []


# What a persona's prompt may leave behind


async def test_everybody_who_plays_a_persona_keeps_the_same_file(
    model: ChatLlamaCpp, home: Path, holmes: Persona
) -> None:
    graph = role_graph(holmes, model=model, strategy="system")
    said = MessagesState(messages=[LINE])
    graph.invoke(said)
    (first,) = files(model, home)
    for scene in ("It rains.", "Lestrade waits outside."):
        forget(model)
        graph.invoke(said, context=RoleContext(scene=scene, note="Be brief."))
        forget(model)
        RoleChatModel(holmes, model=model, strategy="system").invoke([SystemMessage(scene), LINE])
    forget(model)
    with Transcript() as transcript:
        session = Session(holmes, transcript, model=model, strategy="system", about_user="A doctor.")
        await session.read_ahead()
        await session.read_ahead("How many")
        async for _ in session.send("How many stairs are there?"):
            pass
        async for _ in session.suggest_line():
            pass
    assert files(model, home) == [first]
    assert model.load().engine.counters.loaded >= 5


_CHAT = """
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_graphs import role_graph

model = ChatLlamaCpp(
    model_path=embedded_gguf(), n_ctx=1024, sequences=2, temperature=0, max_tokens=2, weights="original"
)
graph = role_graph("sherlock-holmes", model=model, strategy="system")
answer = graph.invoke({"messages": [("user", "Who are you?")]})["messages"][-1]
print(model.load().engine.counters.loaded, answer.usage_metadata["input_token_details"]["cache_read"])
"""


def test_another_process_does_not_read_the_persona_anew(
    model: ChatLlamaCpp, home: Path, holmes: Persona
) -> None:
    role_graph(holmes, model=model, strategy="system").invoke({"messages": [LINE]})
    (kept,) = files(model, home)
    told = subprocess.run(
        [sys.executable, "-c", _CHAT], check=True, capture_output=True, text=True, timeout=120
    )
    loaded, reused = map(int, told.stdout.split())
    instruction = RoleChatModel(holmes, model="scripted:", strategy="system").prompt([LINE])[0]
    assert loaded == 1
    assert reused > 0.95 * len(model.get_token_ids(instruction.text))
    assert files(model, home) == [kept]


def test_other_models_are_told_nothing_of_it(holmes: Persona, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    answer = Answer(body=stream_of("Good day.", end=end_of_stream()), content_type="text/event-stream")
    with serving(answer) as server:
        model = get_model("openai:some-model", base_url=server.url)
        for _ in role_graph(holmes, model=model, strategy="system").stream(
            {"messages": [LINE]}, stream_mode="messages"
        ):
            pass
    (body,) = server.requests
    assert [set(message) for message in body["messages"]] == [{"role", "content"}] * 2
    assert "cached_prefix" not in str(body)
