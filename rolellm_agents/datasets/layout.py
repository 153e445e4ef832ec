"""RoleBench's folders: `rolebench-{eng,zh}/[split/]{general,role_specific}/{train,test,…}.jsonl`.

The Chinese part was published without a folder for its split, which is instruction generalization.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.datasets.sample import Kind, Part, Split
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text.language import Language

_ROOTS: Final[dict[Language, str]] = {"en": "rolebench-eng", "zh": "rolebench-zh"}
_LANGUAGES: Final[dict[str, Language]] = {name: language for language, name in _ROOTS.items()}
_SPLITS: Final[dict[str, Split]] = {
    "instruction-generalization": "instruction-generalization",
    "role-generalization": "role-generalization",
}
PARTS: Final[tuple[Part, ...]] = ("train", "test", "rolegpt_baseline")
_KINDS: Final[dict[str, Kind]] = {"role_specific": "role_specific", "general": "general"}


@dataclass(frozen=True, slots=True)
class LayoutPlace:
    """What the names of the folders around a file reveal about it; None for what they do not."""

    kind: Kind | None
    split: Split | None
    language: Language | None


def place_of(file: Path) -> LayoutPlace:
    """Read a file's place from the names of the folders around it, innermost first."""
    folder = file.parent.resolve()  # the file itself may be a link into a store without such folders
    kind = _KINDS.get(folder.name)
    if kind:
        folder = folder.parent
    split = _SPLITS.get(folder.name)
    if split:
        folder = folder.parent
    language = _LANGUAGES.get(folder.name)
    if language and not split:
        split = "instruction-generalization"
    return LayoutPlace(kind, split, language)


def path_in_layout(language: Language, split: Split, kind: Kind, part: Part) -> Path:
    """The path of a file relative to RoleBench's root; Chinese files have a folder for the split here."""
    return Path(_ROOTS[language], split, kind, f"{part}.jsonl")


def find_file(
    folder: Path,
    part: Part,
    *,
    kind: Kind,
    language: Language = "en",
    split: Split = "instruction-generalization",
) -> Path:
    """Find a file of RoleBench from its root or from any folder below it.

    A folder that was copied out of RoleBench may lack the names that tell language and split; the names
    that it has must agree with the arguments.

    The folder is for example `RoleBench`, `…/rolebench-eng/instruction-generalization` or
    `…/role_specific`; `part` is the file of the split.

    Raises:
        RoleBenchError: there is no such file, or a folder cannot be read.
    """
    root, inner = _ROOTS[language], Path(kind, f"{part}.jsonl")
    wanted = path_in_layout(language, split, kind, part)
    fitting = (
        LayoutPlace(kind, split, language),
        LayoutPlace(kind, split, None),
        LayoutPlace(kind, None, None),
    )
    try:
        for tried in (wanted, Path(root) / inner, Path(split) / inner, inner, Path(inner.name)):
            if (folder / tried).is_file() and place_of(folder / tried) in fitting:
                return folder / tried
    except OSError as error:
        raise RoleBenchError(f"{folder} cannot be read: {error.strerror}.") from error
    raise RoleBenchError(
        f"{folder} holds no {wanted}; name the folder of RoleBench that holds {root}, or one below it."
    )
