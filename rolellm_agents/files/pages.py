"""Names of web pages: text from outside in such a file would run as a program in a browser."""

from pathlib import Path

from rolellm_agents.errors import RoleLLMError

_PAGES = {".htm", ".html", ".mht", ".mhtml", ".shtml", ".svg", ".xht", ".xhtml", ".xml", ".xsl"}


def refuse_page(file: Path, what: str, failure: type[RoleLLMError]) -> None:
    """Raise for a file that a browser would open as a page, although its content is not one.

    Args:
        file: the file to write.
        what: the content in messages, such as `A script`.
        failure: the class of errors to raise.

    Raises:
        RoleLLMError: as `failure`, when the name is that of a page.
    """
    if file.suffix.lower() in _PAGES:
        raise failure(
            f"{what} is no web page, and a browser would open {file} as one; name a file with another "
            "ending."
        )
