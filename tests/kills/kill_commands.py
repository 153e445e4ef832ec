"""Kill commands at random moments, and check after each kill that nothing is lost.

    python tests/kills/kill_commands.py --seed 1 --count 500

Other seeds are other shards. The commands run in children of this process, so that each starts with the
imports behind it. After a number of kills, a scenario starts again with an empty home.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.damaged_transcripts import everything, left_by_a_kill, whole
from helpers.small_scene import small_scene

from rolellm_agents.config.paths import user_paths
from rolellm_agents.scene.export import uncast
from rolellm_agents.scene.run_file import read_run_file
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.upkeep.checking import check_transcript

OLD_FORMAT = Path(__file__).parents[1] / "transcript" / "version_2.sql"
REPLY = "one two three four five six"
_MODELS = f'[models.slow]\nspec = "scripted:{REPLY}"\nseconds_per_word = 0.002\n'
_MOST_KILLS_OF_A_HOME = 25


class Scenario(ABC):
    """A command, in a home that its kills leave as they leave it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        os.environ["ROLELLM_HOME"] = str(home)
        config = user_paths().models_file
        config.parent.mkdir(parents=True)
        config.write_text(_MODELS, encoding="utf-8")
        user_paths().data.mkdir()

    stdin = ""

    @abstractmethod
    def arguments(self) -> tuple[str, ...]:
        """The command; called before each kill, when the state may be noted."""

    @abstractmethod
    def check(self, said: str, *, killed: bool) -> None:
        """Fail if anything is lost; `said` is what the command printed."""


def sound_messages(file: Path) -> dict[str, Message]:
    """All messages of a transcript, which must be sound."""
    assert check_transcript(file).findings == ()
    return everything(file)


class Chat(Scenario):
    """Messages, other answers, edits and undoing in plain mode; what was shown is kept."""

    stdin = "Hi\n/again\nAnd you?\n/undo\n/redo\n/edit 2 Hello there\n/note Be kind\nBye\n/again\n"
    _before: Mapping[str, Message]

    def arguments(self) -> tuple[str, ...]:
        place = user_paths().transcript
        self._before = everything(place) if place.exists() else {}
        return "chat", "shrek", "--plain", "--new", "--model", "slow"

    def check(self, said: str, *, killed: bool) -> None:
        if not user_paths().transcript.exists():
            assert "You:" not in said
            return
        after = sound_messages(user_paths().transcript)
        assert {id_: after.get(id_) for id_ in self._before} == self._before
        new = [message for id_, message in after.items() if id_ not in self._before]
        answers = [
            message.text for message in new if message.speaker == "shrek" and "model" in message.made_by
        ]
        shown = re.findall(r"^Shrek: (one.*)$", said, re.MULTILINE)
        assert sum(text == REPLY for text in answers) >= shown.count(REPLY)
        for text in shown:
            assert any(answer.startswith(text.rstrip()) for answer in answers), (text, answers)


class Say(Chat):
    """One line; the words that were shown are kept."""

    def arguments(self) -> tuple[str, ...]:
        super().arguments()
        return "say", "shrek", "Who are you?", "--model", "slow"

    def check(self, said: str, *, killed: bool) -> None:
        super().check(f"You: \nShrek: {said}" if said else "", killed=killed)


class SceneRun(Scenario):
    """A scene in a run file, which is continued until it is complete."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._scene = small_scene(home)
        self._out = home / "out" / "scene.jsonl"
        self._whole: list[str] | None = None
        self._before: list[str] = []

    def arguments(self) -> tuple[str, ...]:
        options = ("--seed", "4", "--turns", "4", "--model", "slow", "--out", str(self._out))
        return "scene", "run", str(self._scene), *options

    def check(self, said: str, *, killed: bool) -> None:
        if user_paths().transcript.exists():
            assert check_transcript(user_paths().transcript).findings == ()
        if not self._out.exists() or not self._out.read_bytes().count(b"\n"):
            assert killed
            return
        texts = [line["text"] for line in read_run_file(self._out, uncast).lines]
        assert texts[: len(self._before)] == self._before
        self._before = texts
        if not killed:
            assert self._whole in (None, texts)
            self._whole = texts
            self._out.unlink()
            self._before = []


class Dialogues(Scenario):
    """A generator's run, which is resumed until it is complete."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._run = home / "run"
        self._whole: str | None = None
        self._before = b""

    def arguments(self) -> tuple[str, ...]:
        options = ("--each", "4", "--turns", "2", "--model", "slow", "--out", str(self._run))
        return "data", "dialogues", "--personas", "shrek,sherlock-holmes", *options

    def check(self, said: str, *, killed: bool) -> None:
        items = self._run / "items.jsonl"
        content = items.read_bytes() if items.exists() else b""
        complete = content[: content.rfind(b"\n") + 1]
        assert complete.startswith(self._before)
        self._before = complete
        keys = [json.loads(line)["key"] for line in complete.splitlines()]
        assert len(keys) == len(set(keys)), "each item once"
        if not killed:
            made = (self._run / "left_out.jsonl").read_text() + (self._run / "samples.jsonl").read_text()
            assert self._whole in (None, made)
            self._whole = made
            shutil.rmtree(self._run)
            self._before = b""


class WithTranscript(Scenario):
    """A home with conversations."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.place = user_paths().transcript
        whole(self.place)
        self.known = everything(self.place)


class Backup(WithTranscript):
    """Backups: each is complete or not there, and the transcript stays."""

    def arguments(self) -> tuple[str, ...]:
        return "history", "backup"

    def check(self, said: str, *, killed: bool) -> None:
        assert sound_messages(self.place) == self.known
        for one in (self.place.parent / "backups").glob("transcript-*.db"):
            assert sound_messages(one) == self.known
            one.unlink()
        assert all(Path(line).name.startswith("transcript-backup") for line in said.splitlines())


class Salvage(WithTranscript):
    """Salvages: each is complete or not there, and the transcript stays."""

    def arguments(self) -> tuple[str, ...]:
        return "history", "salvage"

    def check(self, said: str, *, killed: bool) -> None:
        assert sound_messages(self.place) == self.known
        for one in self.place.parent.glob("transcript-salvaged-*.db"):
            assert sound_messages(one) == self.known
            one.unlink()


class Restore(WithTranscript):
    """Two files restored by turns: the transcript is one of them, and the former one is kept."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._files = [home / "a.db", home / "b.db"]
        for one in self._files:
            whole(one)
        self._killed = left_by_a_kill(home / "killed" / "transcript.db")
        shutil.copytree(self._killed.parent, home / "opened")
        opened = home / "opened" / "transcript.db"
        self._contents = [*(everything(one) for one in (*self._files, opened)), self.known]
        self._turn = 0

    def arguments(self) -> tuple[str, ...]:
        self._turn += 1
        if self._turn % 3 == 0:  # nearly everything is in its log
            shutil.copytree(self._killed.parent, self.place.parent, dirs_exist_ok=True)
        return "history", "restore", str(self._files[self._turn % 2])

    def check(self, said: str, *, killed: bool) -> None:
        now = sound_messages(self.place)
        assert now in self._contents
        assert killed or now == self._contents[self._turn % 2]
        for one in self.place.parent.glob("transcript-replaced-*.db"):
            assert sound_messages(one) in self._contents
            one.unlink()


class Migration(Scenario):
    """A file of format 2, which is converted when it is opened."""

    _known: dict[str, dict[str, Any]] | None = None

    def arguments(self) -> tuple[str, ...]:
        for one in user_paths().data.iterdir():
            one.unlink()
        database = sqlite3.connect(user_paths().transcript)
        database.executescript(OLD_FORMAT.read_text(encoding="utf-8"))
        database.close()
        if self._known is None:
            copy = self.home / "copy.db"
            shutil.copyfile(user_paths().transcript, copy)
            self._known = {id_: asdict(one) for id_, one in everything(copy).items()}
        return "history", "list"

    def check(self, said: str, *, killed: bool) -> None:
        for one in (user_paths().transcript, *user_paths().data.glob("transcript-format-2-*.db")):
            assert {id_: asdict(message) for id_, message in everything(one).items()} == self._known


class Export(WithTranscript):
    """An export that replaces a file: it is the old one or the new one."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        with Transcript(self.place) as transcript:
            self._conversation = transcript.conversations()[0].id
        self._out = home / "chat.json"
        self._new: str | None = None

    def arguments(self) -> tuple[str, ...]:
        self._out.write_text("old")
        return "history", "export", self._conversation, "--all", "--force", "--out", str(self._out)

    def check(self, said: str, *, killed: bool) -> None:
        content = self._out.read_text()
        if content != "old":
            assert len(json.loads(content)["messages"]) == 42
            assert self._new in (None, content)
            self._new = content
        assert killed or content != "old"


class Import(WithTranscript):
    """An import is there as a whole, or not at all."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        with Transcript(self.place) as transcript:
            conversation = transcript.conversations()[0].id
        self._file = home / "chat.json"
        run(("history", "export", conversation, "--all", "--out", str(self._file)), "", None)

    def arguments(self) -> tuple[str, ...]:
        self.known = everything(self.place)
        return "history", "import", str(self._file), "--persona", "shrek"

    def check(self, said: str, *, killed: bool) -> None:
        after = sound_messages(self.place)
        assert {id_: after.get(id_) for id_ in self.known} == self.known
        assert len(after) - len(self.known) in ((0, 42) if killed else (42,))


SCENARIOS: tuple[Callable[[Path], Scenario], ...] = (
    Chat,
    Say,
    SceneRun,
    Dialogues,
    Backup,
    Salvage,
    Restore,
    Migration,
    Export,
    Import,
)


def run(arguments: tuple[str, ...], stdin: str, seconds: float | None) -> tuple[str, bool, float]:
    """Run a command in a child, and kill it after so many seconds.

    Returns:
        What it printed, whether it was killed, and how long it took.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as given:
        given.write(stdin.encode())
        given.seek(0)
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            _become(arguments, given.fileno(), out.fileno())
        if seconds is not None:
            time.sleep(seconds)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        took = time.monotonic() - started
        killed = os.WIFSIGNALED(status)
        out.seek(0)
        said = out.read().decode()
    assert killed or os.waitstatus_to_exitcode(status) == 0, (arguments, said)
    return said, killed, took


def _become(arguments: tuple[str, ...], stdin: int, stdout: int) -> None:
    """Be the command, and end with it."""
    from rolellm_tui.cli.main import main

    code = 1
    try:
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        os.dup2(stdout, 2) if os.environ.get("KILLS_DEBUG") else os.dup2(
            os.open(os.devnull, os.O_WRONLY), 2
        )
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.argv = ["rolellm", *arguments]
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(code)


def _import_everything() -> None:
    """What the commands import when they run."""
    import rolellm_tui.cli.main
    import rolellm_tui.plain.chat  # noqa: F401


def kill(seed: int, count: int, only: str = "") -> Iterator[str]:
    """Kill commands, and yield the name of each scenario after its check.

    Raises:
        AssertionError: something was lost.
    """
    _import_everything()
    chance = random.Random(seed)
    kinds = [one for one in SCENARIOS if only in ("", getattr(one, "__name__", ""))]
    killed = 0
    kills_of_a_home = max(1, min(_MOST_KILLS_OF_A_HOME, count // len(kinds)))
    for number in range(sys.maxsize):
        kind = kinds[number % len(kinds)]
        with tempfile.TemporaryDirectory(prefix="rolellm-kills-", ignore_cleanup_errors=True) as home:
            scenario = kind(Path(home) / "home")
            arguments = scenario.arguments()
            said, _, took = run(arguments, scenario.stdin, None)
            scenario.check(said, killed=False)
            for _ in range(kills_of_a_home):
                arguments = scenario.arguments()
                said, was_killed, _ = run(arguments, scenario.stdin, chance.uniform(0, took * 1.1))
                scenario.check(said, killed=was_killed)
                if was_killed:
                    killed += 1
                    yield type(scenario).__name__
                if killed == count:
                    return


def main() -> None:
    """Kill as many as asked for, and print how many of which."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="another seed is another shard")
    parser.add_argument("--count", type=int, default=500, help="how many kills")
    parser.add_argument("--only", default="", help="only this scenario, for example SceneRun")
    given = parser.parse_args()
    started = time.monotonic()
    done: Counter[str] = Counter()
    for name in kill(given.seed, given.count, given.only):
        done[name] += 1
        if done.total() % 100 == 0:
            print(f"{done.total()} kills, nothing lost", flush=True)
    print(f"{done.total()} kills in {time.monotonic() - started:.0f} s, nothing lost: {dict(done)}")


if __name__ == "__main__":
    main()
