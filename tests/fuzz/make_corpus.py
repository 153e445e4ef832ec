"""Write the seeds of a fuzzer: `python tests/fuzz/make_corpus.py NAME FOLDER`."""

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))


def main(name: str, folder: Path) -> None:
    """Each seed in a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, content in importlib.import_module(f"fuzz.fuzz_{name}").seeds().items():
        (folder / seed).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
