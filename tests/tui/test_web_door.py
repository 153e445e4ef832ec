"""Who may come to the app in a browser."""

import socket
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_tui.web.door import Door

THIS_MACHINE = socket.gethostname()
EVERYWHERE = "0.0.0.0"  # noqa: S104


@pytest.mark.parametrize(
    ("host", "port", "origin"),
    [
        ("127.0.0.1", 8000, "http://127.0.0.1:8000"),
        ("localhost", 80, "http://localhost"),
        ("::1", 8001, "http://[::1]:8001"),
        ("::1", 80, "http://[::1]"),
        (EVERYWHERE, 8000, f"http://{THIS_MACHINE}:8000"),
        ("::", 8000, f"http://{THIS_MACHINE}:8000"),
    ],
)
def test_the_link_has_the_address_and_the_token(host: str, port: int, origin: str) -> None:
    door = Door(host, port)

    assert door.address == f"{origin}{door.path}"
    assert door.link == f"{door.address}?token={door.token}"
    assert len(door.path) >= 20
    assert door.is_called(origin.removeprefix("http://"))


def test_every_token_is_new_and_too_long_to_guess() -> None:
    tokens = {Door("127.0.0.1", 8000).token for _ in range(100)}

    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 43
    assert not any(token in repr(Door("127.0.0.1", 8000, token)) for token in tokens)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_is_this_machine_alone(host: str) -> None:
    assert Door(host, 8000).is_on_loopback


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "192.168.1.5", "laptop.example", "localhost.example"])
def test_all_else_is_not(host: str) -> None:
    assert not Door(host, 8000).is_on_loopback


@pytest.mark.parametrize(
    "called",
    [
        *("evil.example:8000", "evil.example", "127.0.0.1.evil.example:8000", ""),
        *("127.0.0.1", "127.0.0.1:8001", "localhost:8000", "[::1]:8000", "127.0.0.1:8000 "),
    ],
)
def test_under_another_name_nothing_is_served(called: str) -> None:
    assert not Door("127.0.0.1", 8000).is_called(called)


@pytest.mark.parametrize(
    ("called", "answered"),
    [
        ("192.168.1.5:8000", True),
        ("192.168.1.5", True),
        ("[fe80::1]:9000", True),
        ("[fe80::1]", True),
        ("localhost:8000", True),
        (THIS_MACHINE, True),
        ("evil.example:8000", False),
        ("1.2.3.4.evil.example", False),
        (f"{THIS_MACHINE}.evil.example:8000", False),
        ("", False),
        (":8000", False),
    ],
)
def test_where_all_addresses_are_served_no_name_but_this_machines_is(called: str, answered: bool) -> None:
    assert Door(EVERYWHERE, 8000).is_called(called) is answered


@given(st.text())
def test_nothing_but_the_token_opens(offered: str) -> None:
    door = Door("127.0.0.1", 8000)

    assert door.opens_with(door.token)
    assert door.opens_with(offered) == (offered == door.token)


@pytest.mark.parametrize(
    "change", [str.lower, str.upper, lambda token: token[:-1], lambda token: token + "A"]
)
def test_a_token_that_is_nearly_right_opens_nothing(change: Callable[[str], str]) -> None:
    door = Door("127.0.0.1", 8000, token="aB" * 20)

    assert not door.opens_with(change(door.token))
