"""Medians of the rounds, and ratios between engines."""

from collections.abc import Container, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from rolellm_speed.engine.load import disturbance

Figures = dict[str, float | None]
"""One engine's figures by name."""
OURS = "ours"


class _Ratio(NamedTuple):
    name: str
    figure: str
    other: str
    seconds: bool = False
    """Whether to divide the other engine's figure by ours, so that times also become speedups."""


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
    """Ratios between our engine and the other measured engines.

    For scenes and decoding the ratio is our speedup. `ttft_vs_llama_server` is our time divided by the
    server's, so lower is better.

    Args:
        engines: the figures of each engine.
        omitted: ratios that are None, because their figures are not comparable.
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
    """Ratios that are not comparable because of other programs' load, with the reasons.

    Args:
        others: for each engine and figure the share of CPU time that other programs used.
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
    """Each figure's median over the rounds; figures that are missing in a round are left out."""
    found: Figures = {}
    for name in rounds[0]:
        values = [value for measured in rounds if (value := measured.get(name)) is not None]
        if len(values) == len(rounds):
            found[name] = round(median(values), 3)
    return found
