"""From measured figures to what is told: medians of the rounds, and ratios."""

from collections.abc import Container, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from rolellm_speed.engine.load import disturbance

Figures = dict[str, float | None]
"""One engine's, by name."""
OURS = "ours"


class _Ratio(NamedTuple):
    name: str
    figure: str
    other: str
    seconds: bool = False
    """Whether the other's figure is divided by ours, so that “times as fast” is told of seconds too."""


_RATIOS = (
    _Ratio("scene_vs_llama_cpp", "scene_s", "llama_cpp", seconds=True),
    _Ratio("scene_vs_llama_server", "scene_s", "llama_server", seconds=True),
    _Ratio("decode_1_vs_llama_server", "decode_1", "llama_server"),
    _Ratio("decode_1_vs_llama_server_tuned", "decode_1", "llama_server_tuned"),
    _Ratio("decode_1_vs_raw", "decode_1", "raw"),
    _Ratio("decode_8_vs_llama_server", "decode_8", "llama_server"),
    _Ratio("decode_8_vs_raw", "decode_8", "raw"),
    _Ratio("ttft_vs_llama_server", "ttft_ms", "llama_server"),
)


def ratios(engines: Mapping[str, Figures], omitted: Container[str] = ()) -> dict[str, float | None]:
    """How ours compares with the others that were measured.

    Scenes and decoding as how many times faster ours is; `ttft_vs_llama_server` as the share of the
    server's wait that is left, so less is better there.

    Args:
        engines: the figures of each.
        omitted: the ratios that are None, since their figures cannot be compared.
    """
    found: dict[str, float | None] = {}
    for ratio in _RATIOS:
        own = engines.get(OURS, {}).get(ratio.figure)
        other = engines.get(ratio.other, {}).get(ratio.figure)
        if own and other:
            compared = round(other / own if ratio.seconds else own / other, 3)
            found[ratio.name] = None if ratio.name in omitted else compared
    return found


def omitted_ratios(others: Mapping[str, Mapping[str, float | None]]) -> dict[str, str]:
    """The ratios that say nothing, since other programs computed during one of their figures, and why.

    Args:
        others: for each engine and figure the part of the machine that other programs used.
    """
    found: dict[str, str] = {}
    for ratio in _RATIOS:
        if not all(ratio.figure in others.get(engine, {}) for engine in (OURS, ratio.other)):
            continue
        for engine in (OURS, ratio.other):
            why = disturbance(others[engine][ratio.figure])
            if why:
                found.setdefault(ratio.name, f"{why} while {engine} was measured")
    return found


def medians(rounds: Sequence[Figures]) -> Figures:
    """Each figure's median over the rounds; a figure that one of them lacks is left out."""
    found: Figures = {}
    for name in rounds[0]:
        values = [value for measured in rounds if (value := measured.get(name)) is not None]
        if len(values) == len(rounds):
            found[name] = round(median(values), 3)
    return found
