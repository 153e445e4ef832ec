"""Facts about a role that need no model: its part, its company, its style, its longest speeches."""

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
"""Words per sentence: sentences are “clipped” with a lower mean and “ample” with a higher one."""


def _cast_entry(script: Script, names: Sequence[str]) -> str:
    """The role's description in the list of persons; empty when there is none."""
    name_words = {word for name in names for word in name.casefold().split()}
    for listed, who in script.cast.items():
        if who and set(listed.casefold().split()) <= name_words:
            return who
    return ""


def _company(script: Script, names: Sequence[str]) -> list[str]:
    """The speakers with whom the role speaks most, most frequent first."""
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
    """Describe a role by its statistics, in the third person and in the script's language."""
    own = [passage for passage in script.passages if passage.speaker in names and passage.speech]
    return _DESCRIBE[script.language](script, names, role, habits, own)


def _describe_en(
    script: Script, names: Sequence[str], role: str, habits: Sequence[str], own: Sequence[ScriptPassage]
) -> str:
    who = _cast_entry(script, names)
    about = [
        f"{role} is {_with_article(who)} in {script.title}."
        if who
        else f"{role} is a character of {script.title}."
    ]
    if others := _company(script, names):
        described = []
        for original in others:
            name = original.title() if original.isupper() else original[:1].upper() + original[1:]
            other = _cast_entry(script, [original])
            described.append(f"{name} ({other})" if other else name)
        about.append(f"{role} speaks most with {_listed(described)}.")
    about.append(_style(own, role))
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
    who = _cast_entry(script, names)
    about = [f"{role}是《{script.title}》中的人物{f'，{who}' if who else ''}。"]
    if others := _company(script, names):
        about.append(f"与{'、'.join(others)}说话最多。")
    asked = mean(passage.speech.count("？") > 0 for passage in own)
    about.append("说话常带反问。" if asked > 0.4 else "说话多为陈述。")
    if habits:
        about.append("常说" + "、".join(f"“{habit}”" for habit in habits) + "。")
    about.append(f"{role}按例句的口吻回答：用书中的词句与语气，只知道自己在书中见过、听过的事。")
    return "".join(about)


_DESCRIBE = {"en": _describe_en, "zh": _describe_zh}


def _style(own: Sequence[ScriptPassage], role: str) -> str:
    """Describe the style of speech by punctuation and lengths."""
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
    style = f"{role} speaks in {size} sentences of {words:.0f} words on average"
    extras = [
        *(["asks much"] if asked > 0.2 else []),
        *(["often exclaims"] if cried > 0.2 else []),
        *(["holds the floor in long speeches"] if mean(length(p.speech, "en") for p in own) > 40 else []),
    ]
    return f"{style}, and {' and '.join(extras)}." if extras else f"{style}."


def own_words(
    script: Script, names: Sequence[str], most: int, *, exclude: Set[str] = frozenset()
) -> list[Knowledge]:
    """The role's longest speeches as knowledge, in the source's order.

    At most one speech of each scene is chosen, to cover the whole work, and none from the places in
    `exclude`, which are demonstrations already.
    """
    best: dict[int, tuple[int, ScriptPassage]] = {}
    for number, passage in enumerate(script.passages):
        if passage.place in exclude:
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
    """The role's first short speech with words of welcome; empty when there is none."""
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
