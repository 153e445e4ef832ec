"""Strings of a known format, such as dates: narrow enough that whoever reads one will take it."""

from typing import NamedTuple


class Format(NamedTuple):
    """What a string holds, in GBNF, and how many characters that can be."""

    content: str
    shortest: int
    longest: int


_YEAR = "[12] [0-9]{3}"
_DAY = '("0" [1-9] | [12] [0-9]'
_MONTH_AND_DAY = (
    f'(("0" [13578] | "1" [02]) "-" {_DAY} | "3" [01])'
    f' | ("0" [469] | "11") "-" {_DAY} | "30")'
    ' | "02-" ("0" [1-9] | "1" [0-9] | "2" [0-8]))'
)
_DATE = f'{_YEAR} "-" {_MONTH_AND_DAY}'
_HOUR = '([01] [0-9] | "2" [0-3])'
_TIME = f'{_HOUR} ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{{1,6}})? ("Z" | [+-] {_HOUR} ":" [0-5] [0-9])'
_COUNT = "[1-9] [0-9]?"
_SECONDS = f'{_COUNT} "S"'
_MINUTES = f'{_COUNT} "M" ({_SECONDS})?'
_HOURS = f'{_COUNT} "H" ({_MINUTES})?'
_CLOCK = f'"T" ({_HOURS} | {_MINUTES} | {_SECONDS})'
_DURATION = f'"P" ({_COUNT} "D" ({_CLOCK})? | {_CLOCK})'
_LABEL = '[a-z0-9]{1,20} ("-" [a-z0-9]{1,20})?'
# A last label of digits would be read as an address, and four letters could be “test”, of special use.
_HOST = f'({_LABEL} "."){{1,2}} [a-z]{{2,3}}'
_EMAIL = f'[a-z0-9]{{1,20}} ([._-] [a-z0-9]{{1,20}})? "@" {_HOST}'
_URI = f'"http" "s"? "://" {_HOST} ("/" [A-Za-z0-9._~-]{{0,40}}){{0,4}} ("?" [A-Za-z0-9=&._~-]{{1,40}})?'
_OCTET = '("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9]? [0-9])'
_IPV4 = f'{_OCTET} ("." {_OCTET}){{3}}'
_IPV6 = '[0-9a-f]{1,4} (":" [0-9a-f]{1,4}){7}'


def _uuid(version: int) -> Format:
    middle = f'[0-9a-f]{{4}} "-{version}" [0-9a-f]{{3}} "-" [89ab] [0-9a-f]{{3}}'
    return Format(f'[0-9a-f]{{8}} "-" {middle} "-" [0-9a-f]{{12}}', 36, 36)


_ADDRESS = Format(_IPV4, 7, 15)
_LINK = Format(_URI, 13, 316)

FORMATS = {
    "date": Format(_DATE, 10, 10),
    "time": Format(_TIME, 9, 21),
    "date-time": Format(f'{_DATE} "T" {_TIME}', 20, 32),
    "duration": Format(_DURATION, 4, 14),
    "email": Format(_EMAIL, 6, 130),
    "idn-email": Format(_EMAIL, 6, 130),
    "hostname": Format(_HOST, 4, 87),
    "uri": _LINK,
    "uri-reference": _LINK,
    "iri": _LINK,
    "ipv4": _ADDRESS,
    "ipv6": Format(_IPV6, 15, 39),
    "ipv4network": _ADDRESS,
    "ipv4interface": _ADDRESS,
    "ipvanyaddress": _ADDRESS,
    "ipvanyinterface": _ADDRESS,
    "ipvanynetwork": _ADDRESS,
    "ipv6network": Format(_IPV6, 15, 39),
    "ipv6interface": Format(_IPV6, 15, 39),
    "uuid": _uuid(4),
    "base64": Format("([A-Za-z0-9+/]{4}){0,500}", 0, 2000),
    "byte": Format("([A-Za-z0-9+/]{4}){0,500}", 0, 2000),
    "base64url": Format("([A-Za-z0-9_-]{4}){0,500}", 0, 2000),
    **{f"uuid{version}": _uuid(version) for version in range(1, 9)},
}
"""By JSON Schema's name, or pydantic's. Whatever has another is a string like any."""
