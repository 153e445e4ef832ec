"""Ask any chat model for an answer in a form: prescribed where it can be, else read out of its words."""

from collections.abc import Sequence
from typing import TypeVar

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import PydanticOutputParser
from pydantic import BaseModel, ValidationError

Form = TypeVar("Form", bound=BaseModel)


def fill_form(model: BaseChatModel, form: type[Form], messages: Sequence[BaseMessage]) -> Form | None:
    """The model's answer as an object of `form`; `None` if its words do not make one.

    The messages should tell what is wanted, as JSON; where a model takes a schema, it is prescribed.

    Raises:
        ModelError: and whatever else the model raises when it cannot be reached.
    """
    try:
        structured = model.with_structured_output(form)
    except NotImplementedError:
        return _read(model.invoke(list(messages)).text, form)
    try:
        answer = structured.invoke(list(messages))
    except (OutputParserException, ValidationError):
        return None
    return answer if isinstance(answer, form) else None


def _read(text: str, form: type[Form]) -> Form | None:
    """The first JSON object in the text, if it fits the form."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        return PydanticOutputParser(pydantic_object=form).parse(text[start : end + 1])
    except OutputParserException:
        return None
