"""The neutral prompt of an answer with contrast: the same conversation with nobody in particular.

Contrastive decoding (Li et al., arXiv 2210.15097) amplifies what one model knows better than another. Here
both are the same model, with and without the persona, as in context-aware decoding (Shi et al., arXiv
2305.14739): the difference is what the persona adds.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from langchain_core.messages import BaseMessage, SystemMessage

from rolellm_agents.models.message_marks import is_spoken
from rolellm_agents.text.language import Language, language_of

_NOBODY: Final[Mapping[Language, str]] = {
    "en": "You are a person who answers questions.\nAnswer as yourself.",
    "zh": "你是一个回答问题的人。\n请以自己的身份回答。",
}


def neutral_messages(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What was said in the conversation, after a neutral instruction.

    Args:
        messages: a prompt; its system messages, demonstrations, recalled passages and inserts are left out.
            The last message always stays.
    """
    if not messages:
        return []
    *before, last = messages
    spoken = [one for one in before if one.type != "system" and is_spoken(one.additional_kwargs)]
    return [SystemMessage(_NOBODY[language_of(last.text)]), *spoken, last]
