"""Detect replies that continue with the user's next line or narrate the user's actions."""

import re

_NAMES = r"user|you|human|me|question|用户|你|玩家|人类|问"
_TURN = re.compile(
    r"<\|?(?:im_start\|>)?\s*user\b|\{\{user\}\}\s*[:：]"
    rf"|(?:\A|\n)\s*\W{{0,3}}(?:{_NAMES})\W{{0,3}}[:：]",
    re.IGNORECASE,
)
_DEEDS = (
    r"nods?|smiles?|laughs?|sighs?|shrugs?|hesitates?|blinks?|gasps?|grins?|frowns?|whispers?|repl(?:y|ies)"
    r"|answers?|says?|asks?|steps?|walks?|follows?|reach(?:es)?|grabs?|takes?|turns?|sits?|stands?|leans?"
    r"|opens?|closes?|feels?|looks?|begins?|decides?|agrees?|stares?|swallows?|shakes?|pulls?|moves?"
)
_DEEDS_ZH = r"说|答|问|点头|点了点头|笑|微笑|摇头|摇了摇头|叹|走向|走过|转身|站起|坐下|低声|伸手"
_SPOKEN = re.compile(
    r"(?:\A|[.!?\n]\s*)You (?:say|reply|answer|ask|whisper|shout|respond|murmur)\b[^.!?\n\"“]{0,30}[,:]\s*"
    r"[\"“]"
    r"|[\"”]\s*you (?:reply|whisper|shout|respond|murmur|exclaim)\b"
    r"|你[^，。！？\n]{0,4}(?:说道|答道|回答道|问道|笑道|低声道)[：:]\s*[“\"「]"
)
"""Speech that is attributed to the user."""
_DIRECTION = re.compile(r"\*([^*\n]+)\*|[(（\[【]([^()（）\[\]【】\n]+)[)）\]】]")
_DOES = re.compile(
    rf"(?:\A|[.;,]|\b(?:and|then|as|while|when|before|until))\s*(?:\w+ly )?you (?:\w+ly )?(?:{_DEEDS})\b"
    rf"|(?:\A|[，。；,])你[^，。；]{{0,4}}(?:{_DEEDS_ZH})",
    re.IGNORECASE,
)


def speaks_for_user(reply: str, user: str = "") -> bool:
    """Whether a reply continues with the user's turn, or narrates what the user says or does.

    Only stage directions are searched for the user's actions: a character may say “you laugh, sir”.
    """
    if _TURN.search(reply) or _SPOKEN.search(reply):
        return True
    if user and re.search(rf"\n\s*\W{{0,3}}{re.escape(user)}\W{{0,3}}[:：]", reply):
        return True
    return any(_DOES.search(found[1] or found[2]) for found in _DIRECTION.finditer(reply))
