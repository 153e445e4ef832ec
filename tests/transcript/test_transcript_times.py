"""Times come out of the transcript as they went in; and how large a file is."""

import random
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

from helpers.transcripts import BOTH, PERSONA
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.times import to_iso, to_milliseconds


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
    """At most two and a half times as large, with ids, the tree, what made each answer, and the search."""
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
    assert file.stat().st_size < 2.5 * text_bytes
