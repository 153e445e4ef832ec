"""Structured answers of any chat model, by constrained output or by parsing its text."""

from collections.abc import Sequence
from typing import TypeVar

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import PydanticOutputParser
from pydantic import BaseModel, ValidationError

from rolellm_agents.models.reasoning import split_reasoning

Form = TypeVar("Form", bound=BaseModel)


def fill_form(model: BaseChatModel, form: type[Form], messages: Sequence[BaseMessage]) -> Form | None:
    """The model's answer as an object of `form`; None if the answer is not valid.

    The messages should request JSON and describe it. Models that support structured output are constrained.

    Raises:
        ModelError: the model cannot be used; other exceptions of the model's library are passed on.
    """
    try:
        structured = model.with_structured_output(form)
    except NotImplementedError:
        return _read(split_reasoning(model.invoke(list(messages)).text)[0], form)
    try:
        answer = structured.invoke(list(messages))
    except (OutputParserException, ValidationError):
        return None
    return answer if isinstance(answer, form) else None


def _read(text: str, form: type[Form]) -> Form | None:
    """The JSON object in the text, if it is valid for the form."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        return PydanticOutputParser(pydantic_object=form).parse(text[start : end + 1])
    except OutputParserException:
        return None
