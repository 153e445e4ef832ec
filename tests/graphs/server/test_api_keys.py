"""API keys: one as it stands, several in a file of hashes, each with its name, limit and last day."""

import logging
import os
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from helpers.api_server import asked_in_process, options_of, rolellm_serve
from helpers.commands import rolellm

from rolellm_agents.errors import SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs.server.addresses import network_of
from rolellm_graphs.server.api_keys import (
    ApiKey,
    KeyRing,
    entry_of,
    given_keys,
    hash_of,
    new_key,
    read_keys,
)
from rolellm_graphs.server.app import create_app
from rolellm_graphs.server.clients import Clients
from rolellm_graphs.server.metrics import Metrics
from rolellm_graphs.server.request_rates import RequestRates

CHAT = "/v1/chat/completions"
ASKED = {"model": "sherlock-holmes", "messages": [{"role": "user", "content": "Who are you?"}]}


def bearer(key: str) -> dict[str, Any]:
    return {"Authorization": f"Bearer {key}".encode()}


def key_file(place: Path, *entries: str) -> Path:
    file = place / "keys.toml"
    file.write_text("\n".join(entries), encoding="utf-8")
    return file


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


# One key


@pytest.mark.process
@pytest.mark.core
def test_a_key_with_blanks_in_the_environment_is_one_key(tmp_path: Path) -> None:
    key = "correct horse battery staple"
    environment = {"ROLELLM_HOME": str(tmp_path), "ROLELLM_API_KEY": key}
    with rolellm_serve("--model", "scripted:Good day.", environment=environment) as (_, url):
        asked = {
            offered: httpx.get(f"{url}/models", headers=bearer(offered)).status_code
            for offered in (key, *key.split())
        }
    assert asked == {key: 200, **dict.fromkeys(key.split(), 401)}


@pytest.mark.parametrize("key", ["pass word", "schlüssel 鍵", 'a"b\\c', "x" * 500])
async def test_a_key_is_compared_as_it_stands(key: str) -> None:
    app = create_app(options_of(ScriptedChatModel(replies=["Good day."]), api_keys=(key,)))
    async with asked_in_process(app) as client:
        right = await client.get("/v1/models", headers=bearer(key))
        other = await client.get("/v1/models", headers=[(b"x-api-key", key.encode())])
        wrong = await client.get("/v1/models", headers=bearer(key[:-1]))
    assert [one.status_code for one in (right, other, wrong)] == [200, 200, 401]


@pytest.mark.parametrize("key", ["", " ", "a\nb", "a\x00"])
def test_a_key_that_no_request_can_send_is_refused(key: str) -> None:
    with pytest.raises(SettingsError, match="API key 2 is empty or contains control characters"):
        given_keys(["right", key])


# A file of keys


def test_a_new_key_is_shown_once_and_its_entry_opens(tmp_path: Path) -> None:
    made = rolellm("serve", "new-key", "phone")
    assert made.returncode == 0
    key = made.stderr.strip().rpartition(" ")[2]
    assert key not in made.stdout
    (found,) = read_keys(key_file(tmp_path, made.stdout))
    assert found == ApiKey("phone", hash_of(key.encode()))
    assert KeyRing(file=tmp_path / "keys.toml").find(key.encode()) == found
    assert rolellm("serve", "new-key", "a b").returncode == 2


def test_keys_differ_and_their_entries_are_read(tmp_path: Path) -> None:
    keys = {name: new_key() for name in ("phone", "a.b", "9_x-")}
    file = key_file(tmp_path, *(entry_of(name, key) for name, key in keys.items()))
    assert len(set(keys.values())) == 3
    assert {one.name: one.sha256 for one in read_keys(file)} == {
        name: hash_of(key.encode()) for name, key in keys.items()
    }


HASH = hash_of(b"x").hex()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[keys.a\n", "is not valid TOML"),
        ("\udcff", "is not valid TOML"),
        ("other = 1", "must have its keys as tables"),
        ("keys = 1", "must have its keys as tables"),
        ("[keys]\na = 1", r"\[keys.a\] needs a sha256"),
        ('[keys.a]\nsha256 = "secret"', r"\[keys.a\] needs a sha256"),
        (f'[keys.a]\nsha256 = "{HASH}"\nspeed = 1', "has no option 'speed'"),
        (f'[keys.a]\nsha256 = "{HASH}"\nrequests_per_minute = 0', "needs a whole number from 1"),
        (f'[keys.a]\nsha256 = "{HASH}"\nrequests_per_minute = true', "needs a whole number from 1"),
        (f'[keys.a]\nsha256 = "{HASH}"\nexpires = "soon"', "needs a date as expires"),
        (f'[keys.a]\nsha256 = "{HASH}"\nexpires = 2027-01-01T00:00:00', "needs a date as expires"),
        (f'[keys."a b"]\nsha256 = "{HASH}"', "'a b' is not a valid name"),
        (f'[keys.a]\nsha256 = "{HASH}"\n[keys.b]\nsha256 = "{HASH}"', "the same sha256 under two names"),
        ("#" * (2**20 + 1), "larger than"),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError, match=told) as refused:
        KeyRing(file=file)
    assert str(refused.value).endswith(".")
    assert "secret" not in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        create_app(options_of(ScriptedChatModel(replies=["x"]), key_file=tmp_path / "none.toml"))


def test_a_changed_file_counts_without_a_restart_and_a_damaged_one_does_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    file = key_file(tmp_path, entry_of("first", "one"))
    ring = KeyRing(file=file, clock=clock)

    def names() -> list[str | None]:
        clock.now += 2
        found = map(ring.find, (b"one", b"two"))
        return [key.name if key else None for key in found]

    assert names() == ["first", None]
    key_file(tmp_path, entry_of("first", "one"), entry_of("second", "two"))
    assert names() == ["first", "second"]
    key_file(tmp_path, "[keys.first")
    with caplog.at_level(logging.WARNING):
        assert names() == names() == ["first", "second"]
    assert len([one for one in caplog.records if "stay valid" in one.getMessage()]) == 1
    file.unlink()
    assert names() == ["first", "second"]
    key_file(tmp_path, entry_of("second", "two"))
    assert names() == [None, "second"]


def test_a_file_is_looked_at_once_in_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, looks = Clock(), list[Path]()
    ring = KeyRing(file=key_file(tmp_path, entry_of("first", "one")), clock=clock)
    stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda self, **more: looks.append(self) or stat(self, **more))  # type: ignore[func-returns-value]
    for _ in range(100):
        ring.find(b"one")
    assert not looks
    clock.now += 1
    ring.find(b"one")
    assert len(looks) == 1


def test_a_key_is_valid_through_its_last_day(tmp_path: Path) -> None:
    days = [date(2027, 1, 31)]
    file = key_file(tmp_path, entry_of("guest", "one") + "expires = 2027-01-31\n")
    ring = KeyRing(file=file, today=lambda: days[-1])
    assert ring.find(b"one") is not None
    days.append(date(2027, 2, 1))
    assert ring.find(b"one") is None


async def test_metrics_name_a_key_and_never_show_it(tmp_path: Path) -> None:
    file = key_file(tmp_path, entry_of("phone", "the-secret"))
    app = create_app(options_of(ScriptedChatModel(replies=["Good day."]), key_file=file))
    async with asked_in_process(app) as client:
        assert (await client.post(CHAT, json=ASKED, headers=bearer("the-secret"))).status_code == 200
        assert (await client.post(CHAT, json=ASKED, headers=bearer("the-guess"))).status_code == 401
        told = (await client.get("/metrics", headers=bearer("the-secret"))).text
    assert 'rolellm_key_requests_total{key="phone",status="200"} 1.0' in told
    assert f'rolellm_requests_total{{path="{CHAT}",status="401"}} 1.0' in told
    assert "the-secret" not in told
    assert "the-guess" not in told


# Limits


def test_a_minutes_requests_may_come_at_once_and_then_one_at_a_time() -> None:
    clock = Clock()
    rates = RequestRates(clock)

    def sent() -> int:
        count = 0
        while not rates.seconds_left("one", 6):
            assert not rates.take("one", 6)
            count += 1
        return count

    assert (sent(), rates.seconds_left("one", 6)) == (6, 10)
    clock.now += 9.5
    assert rates.seconds_left("one", 6) == 1
    clock.now += 0.5
    assert (sent(), rates.seconds_left("other", 6)) == (1, 0)
    clock.now += 3600
    assert sent() == 6


def test_the_rates_of_very_many_clients_take_bounded_memory() -> None:
    rates = RequestRates(Clock())
    for client in range(20_001):
        rates.take(client, 1)
    assert rates.seconds_left(20_000, 1) == 60
    assert rates.seconds_left(0, 1) == 0  # long forgotten


async def test_a_key_has_its_own_limit_and_others_that_of_the_server(tmp_path: Path) -> None:
    entries = (entry_of("small", "s") + "requests_per_minute = 2\n", entry_of("usual", "u"))
    options = options_of(
        ScriptedChatModel(replies=["Good day."]),
        key_file=key_file(tmp_path, *entries),
        requests_per_minute=4,
    )
    async with asked_in_process(create_app(options)) as client:

        async def statuses(key: str) -> list[int]:
            asked = [await client.get("/v1/models", headers=bearer(key)) for _ in range(6)]
            return [one.status_code for one in asked]

        assert await statuses("s") == [200] * 2 + [429] * 4
        assert await statuses("u") == [200] * 4 + [429] * 2
        refused = await client.get("/v1/models", headers=bearer("s"))
        assert (await client.get("/health")).status_code == 200
    assert 1 <= int(refused.headers["retry-after"]) <= 30
    assert refused.json()["error"]["message"].startswith(
        "You may send 2 requests in a minute; try again in"
    )


async def test_without_keys_each_address_has_the_limit() -> None:
    options = options_of(ScriptedChatModel(replies=["Good day."]), requests_per_minute=2)
    app = create_app(options)
    statuses = []
    for address in ("192.0.2.1", "192.0.2.2"):
        transport = httpx.ASGITransport(app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            statuses += [(await client.get("/v1/models")).status_code for _ in range(3)]
    assert statuses == [200, 200, 429] * 2


class Ring(KeyRing):
    """Counts how often a key is looked for."""

    looked_for = 0

    def find(self, offered: bytes) -> ApiKey | None:
        self.looked_for += 1
        return super().find(offered)


async def test_an_address_that_guesses_is_not_heard_for_a_while() -> None:
    async def inside(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    clock, ring = Clock(), Ring(given_keys(["right"]))
    app = Clients(inside, keys=ring, per_minute=None, metrics=Metrics(), rates=RequestRates(clock))

    async def ask(key: str, address: str) -> int:
        transport = httpx.ASGITransport(app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return (await client.get("/v1/models", headers=bearer(key))).status_code

    guesses = [await ask(f"guess{number}", "192.0.2.1") for number in range(100)]
    assert guesses == [401] * 60 + [429] * 40
    assert ring.looked_for == 60
    assert (await ask("right", "192.0.2.1"), await ask("right", "192.0.2.2")) == (429, 200)
    clock.now += 60
    assert await ask("right", "192.0.2.1") == 200


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("a name", "a name"),
    ],
)
def test_one_subscriber_is_one_client(address: str, network: str) -> None:
    assert network_of(address) == network


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_keys(tmp_path)  # a folder
