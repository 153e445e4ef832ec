"""What a server leaves on disk of what its clients send."""

import hashlib
from pathlib import Path

from helpers.api_server import asked_in_process, options_of

from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_graphs.server.app import create_app

CHAT = "/v1/chat/completions"


async def test_of_ten_clients_of_one_persona_the_personas_own_file_alone_is_left(home: Path) -> None:
    model = ChatLlamaCpp(
        model_path=embedded_gguf(), n_ctx=1024, sequences=1, temperature=0, max_tokens=1, weights="original"
    )
    folder = home / "cache" / "warm"
    names = []
    async with asked_in_process(create_app(options_of(model, strategy="system"))) as client:
        for number in range(10):
            told = f"{hashlib.sha256(bytes([number])).hexdigest()} is what only I know. " * 3
            roles = [("system", told), ("user", f"{number} and {told}")]
            messages = [{"role": role, "content": text} for role, text in roles]
            answer = await client.post(CHAT, json={"model": "sherlock-holmes", "messages": messages})
            assert answer.status_code == 200
            kept = model.load().engine._prompt_cache
            assert kept is not None
            kept.wait()
            names.append([file.name for file in folder.iterdir()])
    assert len(names[0]) == 1
    assert names == names[:1] * 10
