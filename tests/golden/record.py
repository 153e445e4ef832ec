"""Record the golden files anew: `python tests/golden/record.py [PRODUCER …]`, all of them if none is named.

One may do so when a change is meant to change what the program makes: a prompt, a file's form, a command's
JSON. Read the difference in version control before it is committed, and let the commit say why. A change
that only moves or renames code never records anew; then a difference is a defect.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from golden import asking, commands, prompts, scores, transcripts
from golden.program import Files

RECORDED = Path(__file__).with_name("recorded")

Producer = Callable[[Path], Files]
"""Makes texts in a folder that is empty, with an empty home."""

PRODUCERS: dict[str, Producer] = {
    "prompts-strategies": prompts.strategies,
    "prompts-training": prompts.training,
    "prompts-scenes": prompts.scenes,
    "asking-generators": asking.generators,
    "asking-profile": asking.profile,
    "asking-judges": asking.judges,
    "transcripts-conversation": transcripts.conversation,
    "transcripts-scenes": transcripts.scenes,
    "transcripts-played-scenes": transcripts.played_scenes,
    "scores-rolebench": scores.rolebench,
    "scores-interviews": scores.interviews,
    "commands": commands.outputs,
}
"""By the folders under `recorded` in which their files lie."""


def record(name: str) -> None:
    """Replace the recorded files of one producer."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROLELLM_HOME"] = str(Path(folder, "home"))
        made = PRODUCERS[name](Path(folder))
    shutil.rmtree(RECORDED / name, ignore_errors=True)
    (RECORDED / name).mkdir(parents=True)
    for file, text in made.items():
        (RECORDED / name / file).write_bytes(text.encode())


if __name__ == "__main__":
    for variable in [one for one in os.environ if one.startswith("ROLELLM_")]:
        del os.environ[variable]
    for producer in sys.argv[1:] or PRODUCERS:
        record(producer)
        print(producer)  # it is a command
