"""The ranking judge's question, the parser of its ranking, and the combination of two orders.

RoleLLM's judge (arXiv 2310.00746) ranks replies by how distinctly they speak in the role and by how much of
the role's knowledge and memories they contain. Ours judges the replies twice, in reversed order the second
time, because models have a position bias. The prompt neither names the systems nor mentions length.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any, Final

from rolellm_agents.judging.asking import JudgeQuestion, form_of, reason_form, shortened
from rolellm_agents.judging.judged import Judged
from rolellm_agents.judging.showing import conversation_of, fenced, profile_of
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.models.loose_json import values_in
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.text.language import Language

MEASURE: Final = "preference"
MOST_RANKED: Final = 5
"""Maximum number of replies in one question: the schema lists every order, which is 120 for five."""
EMPTY_RULE: Final = "rule:empty-reply"
"""Model name in verdicts on pairs with an empty reply."""
SAME_RULE: Final = "rule:same-reply"
"""Model name in verdicts on pairs of equal replies."""
_TURNS = 6
_TITLES: Final[Mapping[Language, str]] = {"en": "Reply {number}:", "zh": "回答{number}："}
_OR: Final[Mapping[Language, str]] = {"en": " or ", "zh": "或"}
_ORDER_KEYS: Final = ("best_first", "order", "ranking", "rank", "ranks", "排名", "顺序")
_BEST_KEYS: Final = ("better", "best", "winner", "preferred", "更好", "最好")
_REASON_KEYS: Final = ("reason", "rationale", "explanation", "理由", "原因")
_PREFERRED = re.compile(
    r"\b(?:reply|response|answer)\s*#?([0-9])\s+(?:is|was|does|seems|reads|sounds)\s+"
    r"(?:clearly |much |far |slightly |a bit |the )*(?:better|best|superior|stronger)\b"
    r"|\b(?:prefer|choose|pick|select)\s+(?:reply|response|answer)\s*#?([0-9])"
    r"|\b(?:better|best|winner|preferred)(?:\s+(?:one|reply|response|answer))?\s*(?:is|:)\s*"
    r"(?:reply|response|answer)?\s*#?([0-9])"
    r"|回答\s*([0-9])\s*(?:更|比较)?(?:好|佳|胜)",
    re.IGNORECASE,
)
_CHAIN = re.compile(
    r"(?:(?:reply|回答)\s*)?[0-9](?:\s*[>＞]\s*(?:(?:reply|回答)\s*)?[0-9])+", re.IGNORECASE
)


@dataclass(frozen=True)
class RankingOrder:
    """A judge's ranking of the shown replies."""

    best_first: tuple[int, ...]
    """Indices of the shown replies, from 0."""
    reason: str


def ranking_question(replies: Sequence[Judged]) -> JudgeQuestion[RankingOrder]:
    """The judge's question about replies of one persona, shown in the given order.

    When the replies belong to different conversations, only the question is shown.

    Raises:
        ValueError: there are fewer than two replies, or more than `MOST_RANKED`.
    """
    count = len(replies)
    if not 2 <= count <= MOST_RANKED:
        raise ValueError(f"{count} replies cannot be ranked at once; 2 to {MOST_RANKED} can")
    first = replies[0]
    language, same = first.persona.language, all(one.turns == first.turns for one in replies)
    prompt = load_prompt("judge-ranking", language)
    orders = [" > ".join(map(str, order)) for order in permutations(range(1, count + 1))]
    examples = _OR[language].join(f'"{order}"' for order in (orders[0], orders[-1]))
    text = prompt.fill(
        name=first.persona.name,
        profile=profile_of(first.persona),
        conversation=conversation_of(first, turns=_TURNS if same else 1),
        references=_references(first),
        replies="\n\n".join(
            f"{_TITLES[language].format(number=number)}\n{fenced(one.reply)}"
            for number, one in enumerate(replies, 1)
        ),
        orders=examples if count == 2 else f"{examples}{_OR[language]}…",
    )
    form = form_of(
        "ranking",
        "A reason and the order that follows from it.",
        {"reason": reason_form(), "best_first": {"type": "string", "enum": orders}},
    )
    return JudgeQuestion(prompt=prompt.name, text=text, form=form, read=partial(read_order, count=count))


def read_order(text: str, count: int) -> RankingOrder | None:
    """Parse a ranking: JSON, `2 > 1`, or, for two replies, the better one; None when there is none.

    `count` is the number of replies in the question.
    """
    for value in reversed([*values_in(text)]):
        order = _ordered(value, count)
        if order is not None:
            return RankingOrder(order, shortened(_of(value, _REASON_KEYS)))
        if isinstance(value, dict) and _of(value, (*_ORDER_KEYS, *_BEST_KEYS)) is not None:
            return None
    chains = {_chain(found, count) for found in _CHAIN.findall(text)}
    if not chains and count == 2:
        chains = {_of_two(int(one)) for found in _PREFERRED.findall(text) for one in found if one}
    order = chains.pop() if len(chains) == 1 else None
    return None if order is None else RankingOrder(order, shortened(text))


def shown_orders(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The two orders in which the judge sees `count` replies: forwards and reversed."""
    forwards = tuple(range(count))
    return forwards, forwards[::-1]


def standing(rankings: Sequence[Sequence[int]], count: int) -> list[float]:
    """For each reply, the share of the other replies that it is ranked before, between 0 and 1.

    When the two orders rank a pair differently, the pair is a tie and counts half for each reply.

    Args:
        rankings: the ranking of each order, as indices of the replies, best first.
        count: number of replies, at least 2.
    """
    before = [[ranking.index(reply) for reply in range(count)] for ranking in rankings]
    return [
        sum(
            sum(places[one] < places[other] for places in before) / len(before)
            for other in range(count)
            if other != one
        )
        / (count - 1)
        for one in range(count)
    ]


def by_rule(first: Judged, second: Judged) -> Verdict | None:
    """The verdict on two replies that can be compared without a model; None when a model is needed.

    An empty reply loses to any other, equal replies tie, and two empty replies have no value.
    """
    empty = [not one.reply.strip() for one in (first, second)]
    if all(empty):
        return rule_verdict(first, None, EMPTY_RULE, "Both replies are empty.")
    if any(empty):
        reason = "One of the replies is empty and loses; no model was asked."
        return rule_verdict(first, float(empty[1]), EMPTY_RULE, reason)
    if " ".join(first.reply.split()) == " ".join(second.reply.split()):
        return rule_verdict(first, 0.5, SAME_RULE, "Both replies are the same.")
    return None


def rule_verdict(judged: Judged, value: float | None, rule: str, reason: str) -> Verdict:
    """The verdict of a rule; without a value its status is `skipped`."""
    return Verdict(
        subject=judged.key,
        measure=MEASURE,
        value=value,
        status="skipped" if value is None else "scored",
        reason=reason,
        model=rule,
        details={"orders": [], "consistent": True},
    )


def _references(judged: Judged) -> str:
    if not judged.references:
        return ""
    prompt = load_prompt("judge-ranking-references", judged.persona.language)
    return "\n" + prompt.fill(reference=fenced(judged.references[0])) + "\n"


def _ordered(value: Any, count: int) -> tuple[int, ...] | None:
    """The ranking in a JSON value: our format, numbers, or the paper's list of models and ranks."""
    if isinstance(value, list):
        ranked = [one for one in value if isinstance(one, dict) and "rank" in one]
        return _by_rank(ranked, count) if ranked else _permutation(value, count)
    if not isinstance(value, dict):
        return None
    order = _of(value, _ORDER_KEYS)
    if isinstance(order, str):
        return _chain(order, count)
    if isinstance(order, list):
        return _ordered(order, count)
    best = re.findall(r"[0-9]+", str(_of(value, _BEST_KEYS)))
    return _of_two(int(best[0])) if count == 2 and len(best) == 1 else None


def _by_rank(ranked: Sequence[Mapping[str, Any]], count: int) -> tuple[int, ...] | None:
    if not all(isinstance(one["rank"], int | float) for one in ranked):
        return None
    in_order = sorted(ranked, key=lambda one: one["rank"])
    if len({one["rank"] for one in ranked}) < len(ranked):
        return None
    names = (str(one.get("model", one.get("reply", ""))) for one in in_order)
    return _permutation([re.sub(r"\D", "", name) for name in names], count)


def _chain(text: str, count: int) -> tuple[int, ...] | None:
    return _permutation(re.findall(r"[0-9]+", text), count)


def _permutation(numbers: Sequence[Any], count: int) -> tuple[int, ...] | None:
    """Convert numbers from 1 to indices from 0; None unless each occurs exactly once."""
    found = [re.sub(r"\D", "", str(number)) for number in numbers]
    places = tuple(int(one) - 1 for one in found if one and len(one) < 3)
    return places if sorted(places) == [*range(count)] and len(places) == len(numbers) else None


def _of_two(best: int) -> tuple[int, ...] | None:
    return {1: (0, 1), 2: (1, 0)}.get(best)


def _of(value: Any, names: tuple[str, ...]) -> Any:
    if not isinstance(value, dict):
        return None
    return next((held for key, held in value.items() if key.casefold().strip() in names), None)
