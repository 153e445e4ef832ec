"""Rules for the texts of a card."""

import re

from rolellm_agents.cards.json_text import json_path
from rolellm_agents.cards.lint.view import V1, Spots, View, listed
from rolellm_agents.cards.macros import unknown_macros

_PROMPTS = {*V1.required, "system_prompt", "post_history_instructions"} - {"name"}
_PROMPTS |= {"alternate_greetings", "group_only_greetings"}

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HALVES = re.compile(r"[\ud800-\udfff]")

_BYTES = {chr(code): bytes([code]) for code in range(0x80, 0x100)}
_BYTES |= {bytes([code]).decode("cp1252", "replace"): bytes([code]) for code in range(0x80, 0xA0)}
"""The bytes that were decoded to these characters by mistake, as Latin-1 or CP1252."""
_REST = "[" + "".join(one for one, code in _BYTES.items() if code[0] < 0xC0 and one != "\ufffd") + "]"
# The sequences of quotes, dashes, accents and emoji are certain signs. Of other sequences, several in a row
# are required, since “Spaß“ and “OLÉ…” are valid texts.
_MOJIBAKE = re.compile(
    rf"[ÂÃ]{_REST}|â{_REST}{{2}}|ð{_REST}{{3}}|(?:[\xc2-\xdf]{_REST}|[\xe0-\xef]{_REST}{{2}}){{3,}}"
)

_HOST = r"""//([^\s/"'<>()\\]+)"""
_SHOWN = re.compile(
    r"(?:!\[[^\]]{0,200}\]\(|\b(?:src|srcset|poster)\s{0,9}=|\burl\(|@import)"
    rf"""\s{{0,9}}["'<]?(?:https?:)?{_HOST}""",
    re.IGNORECASE,
)
"""References that a program loads automatically when it shows Markdown or HTML."""
_LINK = re.compile(rf"\bhttps?:{_HOST}", re.IGNORECASE)


def controls(view: View) -> Spots:
    """Control characters."""
    for where, words in view.texts:
        if found := _CONTROLS.findall(words):
            yield where, f"has control characters ({listed(found)}), which can break programs; remove them."


def lone_surrogates(view: View) -> Spots:
    """Lone surrogates."""
    for where, words in view.texts:
        if found := _HALVES.findall(words):
            yield (
                where,
                f"has lone surrogates ({listed(found)}), which cannot be saved; remove them.",
            )


def mojibake(view: View) -> Spots:
    """UTF-8 that was decoded as Latin-1."""
    for where, words in view.texts:
        if found := _MOJIBAKE.search(words):
            meant = b"".join(_BYTES[one] for one in found[0]).decode("utf-8", "replace")
            yield where, f"has {listed([found[0]])} for {listed([meant])}: it is UTF-8 read as Latin-1."


def remote_media(view: View) -> Spots:
    """Pictures and styles on other servers."""
    for where, words in view.texts:
        if hosts := _SHOWN.findall(words):
            yield where, f"loads what lies at {listed(hosts)}, whose server sees each reader; remove it."


def links(view: View) -> Spots:
    """Links, which are not loaded automatically."""
    for where, words in view.texts:
        shown = {*_SHOWN.findall(words)}
        if hosts := [host for host in _LINK.findall(words) if host not in shown]:
            yield where, f"names addresses at {listed(hosts)}, where the server sees each reader."


def macros(view: View) -> Spots:
    """Unknown macros, which are not replaced."""
    prompts = (spot for spot in view.texts if spot[0].removeprefix("data.").partition("[")[0] in _PROMPTS)
    lore = ((f"{one.where}.content", one.body) for one in view.lore)
    for where, words in (*prompts, *lore):
        if names := unknown_macros(words):
            yield where, f"has macros {listed(names)}, which are unknown and are not replaced."


def literal_names(view: View) -> Spots:
    """Example dialogues with names in place of macros."""
    named = {name.strip().casefold(): "{{char}}" for name in (view.card.name, view.card.char_name)}
    macro = {"user": "{{user}}", "you": "{{user}}", "anon": "{{user}}", **named}
    lines = view.card.examples.replace("：", ":").splitlines()
    heads = [line.partition(":")[0].strip() for line in lines if ":" in line]
    if found := [head for head in heads if head and head.casefold() in macro]:
        wanted = " and ".join(sorted({macro[head.casefold()] for head in found}))
        yield (
            json_path(view.root, "mes_example"),
            f"names speakers {listed(found)}; write {wanted} for them.",
        )
