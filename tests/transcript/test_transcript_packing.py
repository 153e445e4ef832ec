"""What is stored in few bytes comes out as it went in; and how few they are."""

import json
import random
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from helpers.transcripts import BOTH, PERSONA
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.packing import (
    join_json,
    pack_text,
    split_json,
    to_iso,
    to_milliseconds,
    unpack_text,
)

HASHES = st.text("0123456789abcdef", min_size=8, max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | HASHES,
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | HASHES, inner),
    max_leaves=12,
)


@given(st.text() | st.text(min_size=100).map(lambda text: text * 4))
def test_a_text_comes_out_as_it_went_in(text: str) -> None:
    assert unpack_text(pack_text(text)) == text


def test_long_words_are_deflated_and_short_ones_stay_readable() -> None:
    assert pack_text("Good evening.") == "Good evening."
    assert isinstance(pack_text("It weaves algebraic patterns. " * 20), bytes)
    noise = "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9FFF), k=300)))
    assert len(pack_text(noise)) <= len(noise.encode())


@given(st.dictionaries(st.text() | HASHES, VALUES))
def test_json_comes_out_as_it_went_in(value: dict[str, Any]) -> None:
    shape, own = split_json(value)
    assert json.dumps(join_json(pack_text(shape), pack_text(own))) == json.dumps(value)


def test_messages_made_alike_share_a_shape() -> None:
    one = split_json(
        {"model": "m 100%", "prompt": "0123456789abcdef", "seed": 7, "usage": {"in": 1.5, "x": None}}
    )
    other = split_json(
        {"model": "m 100%", "prompt": "fedcba9876543210", "seed": -12, "usage": {"in": 2, "x": 1e300}}
    )

    assert one[0] == other[0]
    assert "m 100%" in one[0]
    assert len(one[1]) < 40


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_a_time_comes_out_as_it_went_in(milliseconds: int) -> None:
    moment = to_iso(milliseconds)
    assert to_milliseconds(moment) == milliseconds
    assert datetime.fromisoformat(moment) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
        milliseconds=milliseconds
    )


def test_a_time_of_another_zone_is_the_same_moment() -> None:
    assert to_iso(to_milliseconds("2026-11-21T23:30:00.123+02:00")) == "2026-11-21T21:30:00.123Z"


def test_a_store_of_ordinary_messages_stays_near_their_bare_text(tmp_path: Path) -> None:
    """At most half as large again, with ids, the tree, what made each answer, and the search."""
    file = tmp_path / "transcript.db"
    chance = random.Random(1)
    # As often as in English: of few words very often, of many words seldom.
    vocabulary = [
        "".join(chance.choices("etaoinshrdlucmfw", k=chance.randrange(2, 10))) for _ in range(9000)
    ]
    weights = [1 / (rank + 2) for rank in range(9000)]
    text_bytes = 0
    with Transcript(file) as transcript:
        conversation = transcript.create_conversation(PERSONA)
        last = None
        for _ in range(1500):
            line = " ".join(chance.choices(vocabulary, weights, k=15))
            answer = " ".join(chance.choices(vocabulary, weights, k=chance.randrange(60, 121)))
            last = transcript.append(conversation, last, speaker="user", audience=BOTH, text=line).id
            last = transcript.begin(
                conversation,
                last,
                speaker=PERSONA,
                audience=BOTH,
                made_by={"model": "llamacpp:smollm2", "strategy": "system", "prompt": secrets.token_hex(8)},
            )
            transcript.add_piece(last, answer)
            tokens = chance.randrange(900, 4000)
            usage = {"input_tokens": tokens, "output_tokens": 90, "total_tokens": tokens + 90}
            transcript.end(last, answer, "complete", usage, {"seed": tokens, "finish_reason": "stop"})
            text_bytes += len(line) + len(answer)

    assert list(tmp_path.iterdir()) == [file]
    assert file.stat().st_size < 1.5 * text_bytes
