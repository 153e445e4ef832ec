"""What can be said of a role without a model: its part, its company, its manner, its longest speeches."""

import re
from collections import Counter
from collections.abc import Sequence, Set
from statistics import mean

from rolellm_agents.persona import Knowledge
from rolellm_agents.persona.from_script.wording import clauses, length, sentences, shortened
from rolellm_agents.scripts.people import split_title
from rolellm_agents.scripts.script import Script, ScriptPassage
from rolellm_agents.text import one_line
from rolellm_agents.text.language import Language

_COMPANY = 4
_LONG_SPEECH = 40
_KNOWLEDGE_WORDS = 70
_GREETING_WORDS = 40
_WELCOME = re.compile(
    r"\b(?:welcome|good (?:morning|morrow|day|evening|even)|how do you do|hello|hail|well met"
    r"|glad to see)\b"
    r"|欢迎|你好|幸会|久仰|请坐|别来无恙|有失远迎",
    re.IGNORECASE,
)
_FEW_WORDS, _MANY_WORDS = 9, 20
"""Of a sentence: shorter ones on average are clipped, longer ones are ample."""


def shown_name(name: str) -> str:
    """A speaker's name as one writes it: `KING CLAUDIUS` is King Claudius."""
    return name.title() if name.isupper() else name[:1].upper() + name[1:]


def who_they_are(script: Script, names: Sequence[str]) -> str:
    """What the list of persons says of the role; empty when there is none."""
    wanted = {word for name in names for word in name.casefold().split()}
    for listed, who in script.cast.items():
        if who and set(listed.casefold().split()) <= wanted:
            return who
    return ""


def company(script: Script, names: Sequence[str]) -> list[str]:
    """Those with whom the role speaks most, the most frequent first."""
    counted = Counter(
        passage.to
        for passage in script.passages
        if passage.speaker in names and passage.to not in ("", *names)
    )
    counted.update(
        passage.speaker
        for passage in script.passages
        if passage.to in names and passage.speaker not in names
    )
    return [name for name, _ in counted.most_common(_COMPANY)]


def describe(script: Script, names: Sequence[str], role: str, habits: Sequence[str]) -> str:
    """A description from what can be counted, in the third person, in the script's language."""
    own = [passage for passage in script.passages if passage.speaker in names and passage.speech]
    return _DESCRIBE[script.language](script, names, role, habits, own)


def _describe_en(
    script: Script, names: Sequence[str], role: str, habits: Sequence[str], own: Sequence[ScriptPassage]
) -> str:
    who = who_they_are(script, names)
    about = [
        f"{role} is {_with_article(who)} in {script.title}."
        if who
        else f"{role} is a character of {script.title}."
    ]
    if others := [shown_name(name) for name in company(script, names)]:
        told = [
            f"{name} ({script_who})" if (script_who := who_they_are(script, [original])) else name
            for name, original in zip(others, company(script, names), strict=True)
        ]
        about.append(f"{role} speaks most with {_listed(told)}.")
    about.append(_turn_kind(own, role))
    if habits:
        about.append("Typical words are " + _listed([f"“{habit}”" for habit in habits]) + ".")
    about.append(
        f"{role} answers as in the examples: in the words, the period and the temper of the work, knowing "
        f"only what {role} has seen and heard in it."
    )
    return " ".join(about)


def _describe_zh(
    script: Script, names: Sequence[str], role: str, habits: Sequence[str], own: Sequence[ScriptPassage]
) -> str:
    who = who_they_are(script, names)
    about = [f"{role}是《{script.title}》中的人物{f'，{who}' if who else ''}。"]
    if others := company(script, names):
        about.append(f"与{'、'.join(others)}说话最多。")
    asked = mean(passage.speech.count("？") > 0 for passage in own)
    about.append("说话常带反问。" if asked > 0.4 else "说话多为陈述。")
    if habits:
        about.append("常说" + "、".join(f"“{habit}”" for habit in habits) + "。")
    about.append(f"{role}按例句的口吻回答：用书中的词句与语气，只知道自己在书中见过、听过的事。")
    return "".join(about)


_DESCRIBE = {"en": _describe_en, "zh": _describe_zh}


def _turn_kind(own: Sequence[ScriptPassage], role: str) -> str:
    """How somebody speaks, as far as marks and lengths show it."""
    spoken = [sentence for passage in own for sentence in sentences(passage.speech)]
    words = mean(length(sentence, "en") for sentence in spoken)
    size = (
        "short, clipped"
        if words < _FEW_WORDS
        else "long, ample"
        if words > _MANY_WORDS
        else "plain, middling"
    )
    asked = mean(sentence.rstrip("\"'”’").endswith("?") for sentence in spoken)
    cried = mean(sentence.rstrip("\"'”’").endswith("!") for sentence in spoken)
    told = f"{role} speaks in {size} sentences of {words:.0f} words on average"
    extras = [
        *(["asks much"] if asked > 0.2 else []),
        *(["often exclaims"] if cried > 0.2 else []),
        *(["holds the floor in long speeches"] if mean(length(p.speech, "en") for p in own) > 40 else []),
    ]
    return f"{told}, and {' and '.join(extras)}." if extras else f"{told}."


def own_words(
    script: Script, names: Sequence[str], most: int, *, besides: Set[str] = frozenset()
) -> list[Knowledge]:
    """The role's longest speeches as knowledge: what they lived through, in their own words.

    At most one from each scene, so that they tell of the whole, in the source's order; none from the places
    in `besides`, which serve otherwise.
    """
    best: dict[int, tuple[int, ScriptPassage]] = {}
    for number, passage in enumerate(script.passages):
        if passage.place in besides:
            continue
        is_theirs = passage.speaker in names and passage.certainty in ("named", "pronoun")
        if is_theirs and length(passage.speech, script.language) >= _LONG_SPEECH:
            held = best.get(passage.scene)
            if held is None or len(passage.speech) > len(held[1].speech):
                best[passage.scene] = (number, passage)
    longest = sorted(best.values(), key=lambda item: -len(item[1].speech))[:most]
    return [
        Knowledge(
            title=_title(passage, script.language),
            text=shortened(passage.speech, script.language, _KNOWLEDGE_WORDS),
            place=passage.place,
        )
        for _, passage in sorted(longest)
    ]


def find_greeting(script: Script, names: Sequence[str]) -> str:
    """The role's first short speech that welcomes somebody; empty when there is none."""
    for passage in script.passages:
        if passage.speaker in names and _WELCOME.search(passage.speech):
            greeting = shortened(passage.speech, script.language, _GREETING_WORDS)
            if _WELCOME.search(greeting) and length(greeting, script.language) <= _GREETING_WORDS:
                return greeting
    return ""


def _title(passage: ScriptPassage, language: Language) -> str:
    scene = re.sub(r",? ?(?:line|speech) \d+$", "", passage.place) or passage.place
    begins = next(clauses(passage.speech), passage.speech)
    return f"{scene}：“{begins[:12]}”" if language == "zh" else f"{scene}: “{one_line(begins, 40)}”"


def _with_article(who: str) -> str:
    title, _ = split_title(who)
    return who if title or re.match(r"(?:the|an?|his|her|their|one|two)\b", who) else f"the {who}"


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
