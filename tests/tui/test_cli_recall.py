"""`rolellm recall`, `rolellm bench recall`, and recall in `rolellm say`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.broken_servers import not_listening
from helpers.commands import rolellm
from helpers.here import rolellm_here
from helpers.user_files import ADA, conversation_ids, kept, write_config, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.transcript import Transcript

BAKER = (
    ADA
    + """\
demonstrations:
  - {user: "Do you fear wolves?", reply: "Only at night, {{user}}."}
  - {user: "How do you bake bread?", reply: "Slowly, with rye."}
knowledge:
  - {title: "The flood", text: "I saved the flour.", place: "chapter 3"}
lorebook:
  name: Valley
  entries:
    - {keys: [mill], content: "The mill of {{char}} burnt down.", enabled: true, insertion_order: 1}
"""
)


@pytest.fixture
def baker() -> Path:
    return write_persona(BAKER)


def recalled(*arguments: str, **options: Any) -> list[dict[str, Any]]:
    """What `recall … --json` prints when all is well."""
    done = rolellm_here("recall", *arguments, "--json", **options)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


# rolellm recall


@pytest.mark.core
def test_a_table_shows_what_comes_back_and_why() -> None:
    done = rolellm("recall", "sherlock-holmes", "How did you first meet Watson?", "--k", "3")

    assert (done.returncode, done.stderr) == (0, "")
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["SCORE", "NEAR", "SOURCE", "TEXT", "WHY"]
    assert len(rows) == 3
    assert all("sherlock-holmes, " in row and "(rank " in row for row in rows)
    scores = [float(row.split()[0]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert "“watson”" in rows[0].lower()
    assert " far " not in rows[0]


def test_json_tells_everything_of_each_hit(baker: Path) -> None:
    first, *others = recalled("ada", "A wolf! Wolves at night!", "--method", "bm25")

    assert first == {
        "text": "Do you fear wolves?\nOnly at night, User.",
        "kind": "demonstration",
        "score": first["score"],
        "source": "ada, demonstration 1",
        "closeness": first["closeness"],
        "near": True,
        "why": "shares “wolves”, “night”",
    }
    assert first["score"] > 0
    assert 0 < first["closeness"] < 1
    assert [(one["kind"], one["source"], one["score"], one["near"]) for one in others] == [
        ("demonstration", "ada, demonstration 2", 0.0, False),
        ("knowledge", "ada, knowledge 1 (chapter 3)", 0.0, False),
        ("lore", "lore of Valley, 0", 0.0, False),
    ]
    assert others[-1]["text"] == "The mill of Ada burnt down."


@pytest.mark.parametrize("method", ["bm25", "chroma", "hybrid"])
def test_every_method_finds_the_nearest(baker: Path, method: str) -> None:
    found = recalled("ada", "Ada, who saved flour from the flood?", "--method", method)
    assert (found[0]["source"], found[0]["near"]) == ("ada, knowledge 1 (chapter 3)", True)
    assert ("cosine" in found[0]["why"]) == (method != "bm25")
    assert ("shares" in found[0]["why"]) == (method != "chroma")
    assert len(found) == 4


def test_what_is_too_far_for_a_prompt_is_marked(baker: Path) -> None:
    done = rolellm_here("recall", "ada", "zebrafish")
    _, *rows = done.stdout.splitlines()
    assert len(rows) == 4
    assert all(" far " in row and "shares no word" in row for row in rows)


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        (["knowledge"], {"knowledge"}),
        (["lore"], {"lore"}),
        (["demonstration", "lore"], {"demonstration", "lore"}),
        (["memory", "knowledge"], {"knowledge", "memory"}),
    ],
)
def test_only_the_kinds_that_are_named_are_shown(baker: Path, kinds: list[str], found: set[str]) -> None:
    with Transcript(user_paths().transcript) as transcript:
        conversation = transcript.create_conversation("ada")
        both = ("user", "ada")
        asked = transcript.append(conversation, None, speaker="user", audience=both, text="A flood?")
        transcript.append(conversation, asked.id, speaker="ada", audience=both, text="Long ago.")

    options = [option for kind in kinds for option in ("--kind", kind)]
    assert {one["kind"] for one in recalled("ada", "a flood", *options)} == found


def test_memories_are_shown_only_to_who_asks_for_them(baker: Path) -> None:
    model = ("--model", "scripted:She bites.")
    assert rolellm_here("say", "ada", "My cat is called Marmalade.", *model).returncode == 0

    assert "memory" not in {one["kind"] for one in recalled("ada", "my cat")}
    (memory,) = recalled("ada", "my cat", "--kind", "memory")
    (conversation,) = conversation_ids()
    assert memory["text"] == "User: My cat is called Marmalade.\nAda: She bites."
    assert memory["source"].startswith(f"conversation {conversation} of ")


def test_a_dash_reads_standard_input(baker: Path) -> None:
    done = rolellm("recall", "ada", "-", "--json", "--method", "bm25", stdin="Wolves\nby night?\n狼\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)[0]["why"] == "shares “wolves”, “night”"


def test_a_chinese_persona_is_found_by_name_and_searched_in_chinese() -> None:
    found = recalled("孙悟空", "你师父是谁？", "--k", "2")
    assert len(found) == 2
    assert "师父" in found[0]["why"]


def test_the_settings_say_what_the_options_do_not(baker: Path) -> None:
    write_config('recall_method = "bm25"\nrecall_k = 2\nrecall_floor = 1.0\nuser_name = "Ben"\n')
    found = recalled("ada", "wolves by night and bread")
    assert [one["near"] for one in found] == [False, False]
    assert "cosine" not in found[0]["why"]
    assert found[0]["text"].endswith("Only at night, Ben.")
    assert len(recalled("ada", "wolves by night", "--k", "3")) == 3
    assert "cosine" in recalled("ada", "wolves by night", "--method", "hybrid")[0]["why"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--method", "chrome"),
            "There is no recall method 'chrome' (did you mean chroma?); known are bm25, chroma, hybrid.",
        ),
        (
            ("--kind", "demonstrations"),
            "There is no kind 'demonstrations' (did you mean demonstration?); "
            "known are demonstration, knowledge, lore, memory.",
        ),
        (
            ("--embeddings", "lexcal"),
            "There are no embeddings 'lexcal' (did you mean lexical?); known are lexical, minilm, "
            "huggingface:sentence-transformers/all-MiniLM-L6-v2, openai:text-embedding-3-small.",
        ),
        (
            ("--chroma-url", "localhost:8000"),
            "The Chroma URL 'localhost:8000' must begin with http:// or https:// and name a host.",
        ),
    ],
)
def test_a_wrong_option_is_told_in_one_sentence(baker: Path, options: tuple[str, str], told: str) -> None:
    done = rolellm_here("recall", "ada", "wolves", *options)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"rolellm: {told}\n")


@pytest.mark.parametrize(
    "arguments", [("shrekk", "x"), ("shrek",), ("shrek", "x", "--k", "0"), ("shrek", "x", "--k", "many")]
)
def test_wrong_arguments_are_told(arguments: tuple[str, ...]) -> None:
    done = rolellm_here("recall", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


def test_a_server_that_is_away_is_told(baker: Path) -> None:
    with not_listening() as url:
        place = url.removesuffix("/v1")
        done = rolellm_here("recall", "ada", "wolves", "--chroma-url", place)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"rolellm: The Chroma server at {place} cannot be used (")
        # Who looks up by words alone needs none.
        assert recalled("ada", "wolves", "--chroma-url", place, "--method", "bm25")[0]["near"]


@pytest.mark.parametrize("options", [(), ("--kind", "memory")])
def test_who_has_nothing_to_recall_is_told_so(options: tuple[str, ...]) -> None:
    write_persona()
    told = (
        "rolellm: Ada has nothing to recall; add demonstrations or knowledge to the persona, "
        "or name another --kind.\n"
    )
    done = rolellm_here("recall", "ada", "wolves", *options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", told)
    done = rolellm_here("recall", "ada", "wolves", *options, "--json")
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, [], told)
    assert not (user_paths().cache / "chroma").exists()


def test_what_would_reach_the_terminal_is_only_text() -> None:
    hostile = '"\\e[31mred wolf\\e[0m \\a"'
    write_persona(ADA + f"demonstrations:\n  - {{user: {hostile}, reply: {hostile}}}\n")
    for options in ((), ("--json",)):
        done = rolellm_here("recall", "ada", "\x1b[31mred\x1b[0m wolf", *options)
        assert done.returncode == 0
        assert "red wolf" in done.stdout
        assert not {"\x1b", "\x07"} & set(done.stdout + done.stderr)


# rolellm bench recall


def test_the_speed_of_so_many_lines_is_measured() -> None:
    done = rolellm("bench", "recall", "--lines", "100", "--lines", "20", "--json")

    assert done.returncode == 0
    measured = json.loads(done.stdout)
    assert measured["finding"] == []
    assert [(row["method"], row["lines"]) for row in measured["speed"]] == [
        ("bm25", 100),
        ("chroma", 100),
        ("bm25", 20),
        ("chroma", 20),
    ]
    for row in measured["speed"]:
        assert set(row) == {"method", "lines", "index_s", "query_ms"}
        assert row["index_s"] >= 0
        assert row["query_ms"] > 0
    assert done.stderr.splitlines() == [
        f"{method}, {lines} lines …" for lines in (100, 20) for method in ("bm25", "chroma")
    ]
    assert not (user_paths().cache / "chroma").exists()


@pytest.fixture
def rolebench(tmp_path: Path) -> Path:
    """Two roles, each of whose questions shares a word with its own answer and no other of the role."""
    for part, words in (("train", ("wolves", "bread", "ships")), ("test", ("bees",))):
        rows = [
            {
                "role": role,
                "question": f"{role}, what of {word}?",
                "generated": [f"I, {role}, like {word}."],
                "type": "script_based",
            }
            for role in ("Ada", "Ben")
            for word in words
        ]
        file = tmp_path / "rolebench-eng" / "instruction-generalization" / "role_specific" / f"{part}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def test_how_often_questions_find_their_answers_is_measured(rolebench: Path) -> None:
    done = rolellm_here("bench", "recall", "--data", str(rolebench), "--json")

    assert done.returncode == 0
    # Two pools, one of each role: the other's answers, which share as much, are not among them.
    assert json.loads(done.stdout) == {
        "finding": [
            {"method": method, "embeddings": name, "hit@1": 1.0, "hit@5": 1.0, "n": 8}
            for method, name in (("bm25", ""), ("chroma", "lexical"), ("hybrid", "lexical"))
        ],
        "speed": [],
    }
    table = rolellm_here("bench", "recall", "--data", str(rolebench))
    assert [line.split()[0] for line in table.stdout.splitlines() if line] == [
        "method",
        "bm25",
        "chroma",
        "hybrid",
    ]


def test_a_folder_without_questions_is_told(tmp_path: Path) -> None:
    done = rolellm_here("bench", "recall", "--data", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"rolellm: {tmp_path} holds no rolebench-eng" in done.stderr


# rolellm say


def test_say_recalls_offline_under_retrieval() -> None:
    said = rolellm(
        "say",
        "shrek",
        "Do you live alone in your swamp?",
        "--strategy",
        "retrieval",
        "--model",
        "scripted:What swamp?",
        "--json",
        env={"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"},
    )
    assert (said.returncode, said.stderr) == (0, "")
    answer = json.loads(said.stdout)
    assert (answer["text"], answer["strategy"]) == ("What swamp?", "retrieval")
    items = answer["made_by"]["recalled"]
    assert 0 < len(items) <= 5
    assert all("shares “" in item["why"] or "cosine 0." in item["why"] for item in items)
    assert all("text" not in item for item in items)
    assert (user_paths().cache / "chroma" / "chroma.sqlite3").is_file()


def test_say_takes_its_method_and_its_memory_from_the_options(baker: Path) -> None:
    def made_by(*options: str) -> list[dict[str, Any]]:
        done = rolellm_here(
            "say", "ada", "Wolves! And my cat Marmalade!", "--model", "scripted:Meow.", "--json", *options
        )
        assert (done.returncode, done.stderr) == (0, "")
        items: list[dict[str, Any]] = json.loads(done.stdout)["made_by"].get("recalled", [])
        return items

    by_words = made_by("--strategy", "retrieval", "--recall", "bm25")
    assert [item["why"] for item in by_words] == ["shares “wolves”"]
    assert not (user_paths().cache / "chroma").exists()
    assert made_by("--strategy", "system") == []
    remembered = made_by("--strategy", "system", "--remember")
    assert {item["of"] for item in remembered} == {"memory"}
    write_config("remember = true\n")
    assert {item["of"] for item in made_by("--strategy", "system")} == {"memory"}
    assert made_by("--strategy", "system", "--no-remember") == []
    assert len(conversation_ids()) == 5


def test_say_keeps_the_line_when_the_server_is_away(baker: Path) -> None:
    with not_listening() as url:
        place = url.removesuffix("/v1")
        write_config(f'chroma_url = "{place}"\n')
        done = rolellm_here("say", "ada", "Wolves?", "--strategy", "retrieval", "--model", "scripted:No.")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"The Chroma server at {place} cannot be used (" in done.stderr
    (conversation,) = conversation_ids()
    assert [message.text for message in kept(conversation)] == ["Wolves?"]


def test_say_with_a_wrong_method_is_told_before_anything_is_kept(baker: Path) -> None:
    done = rolellm_here("say", "ada", "Hi", "--recall", "chrome", "--model", "scripted:No.")
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no recall method 'chrome'" in done.stderr
    assert conversation_ids() == []


def test_who_recalls_nothing_loads_no_chroma(baker: Path) -> None:
    program = (
        "import sys, io, contextlib; from rolellm_tui.cli.main import main; "
        "sys.argv = ['rolellm', 'say', 'ada', 'Hi', '--model', 'scripted:No.', '--strategy', sys.argv[1]]\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(sorted({'chromadb', 'torch'} & set(sys.modules)))"
    )
    for strategy in ("system", "few-shot-dialogue"):
        told = subprocess.run(
            (sys.executable, "-c", program, strategy), capture_output=True, text=True, check=True
        )
        assert told.stdout == "No.\n[]\n"
